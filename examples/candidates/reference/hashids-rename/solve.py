"""Renames encrypt and decrypt in every file of the project."""

import re
import sys
from pathlib import Path

for name in ("hashids.py", "README.rst", "test/test_hashids.py"):
    file = Path(sys.argv[1]) / name
    text = file.read_text()
    text = re.sub(r"(?i)(en|de)crypt(?!ion)", r"\1code", text)
    text = re.sub(r"(?i)(en|de)cryption", r"\1coding", text)
    file.write_text(text)
    print(f"renamed in {name}")
