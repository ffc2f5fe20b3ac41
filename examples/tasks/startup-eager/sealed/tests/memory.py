"""Runs the program and writes the most memory that it ever had resident.

By its own page of /proc: what the kernel tells a parent of a child begins with the parent's memory.
"""

import contextlib
import json
import re
import runpy
import sys
from pathlib import Path

results = sys.argv.pop(1)
sys.argv[1:] = ["words", "to be or not to be"]
with contextlib.suppress(SystemExit):
    runpy.run_module("menu", run_name="__main__")
found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
assert found
with open(results, "w") as file:
    json.dump([int(found[1]) * 1024], file)
