"""Fills the workspace with MiB after MiB, up to a given number, and waits for what comes of it."""

import os
import sys
import time
from pathlib import Path

folder, mebibytes = Path(sys.argv[1]) / "filling", int(sys.argv[2])
folder.mkdir()
for number in range(mebibytes):
    (folder / f"{number}.bin").write_bytes(os.urandom(2**20))
print(f"wrote {mebibytes} MiB", flush=True)
time.sleep(600)
