"""Takes memory until it is killed: by itself, or in a child that it outlives (`--in-child`)."""

import os
import sys

CHUNK = 16 * 1024 * 1024


def hog() -> None:
    held = []
    while True:
        held.append(b"\1" * CHUNK)
        print(f"holding {len(held) * CHUNK // 2**20} MiB", flush=True)


if "--in-child" not in sys.argv:
    hog()
child = os.fork()
if child == 0:
    hog()
_, status = os.waitpid(child, 0)
print(f"my child ended with status {status}; I go on")
