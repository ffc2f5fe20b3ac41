"""Says 100 MiB: short lines, one line of 20 MiB, and bytes that are no text."""

import sys

MIB = 2**20
out = sys.stdout.buffer
out.write(b"first line\n")
line = b"the quick brown fox jumps over the lazy dog, again and again and so on\n"
for _ in range(70):
    out.write((line * (MIB // len(line) + 1))[:MIB])
out.write(b"\n" + b"x" * (20 * MIB) + b"\n")
out.write((b"\x00\xff\xfe\xed\xa0\x80\x1b[2J\r\n" * MIB)[: 10 * MIB])
out.write(b"\nlast line\n")
out.flush()
sys.stderr.write("nothing more to say\n")
