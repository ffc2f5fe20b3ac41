"""Archive a tree as it is left, whatever is in it: what cannot be kept is listed, and nothing stops the rest."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from fairtrial.archive.rules import Member
from fairtrial.archive.walk import Walk
from fairtrial.archive.writer import BLOCK, Sink, Writer, stored_size

_CHUNK = 256 * 1024


@dataclass(frozen=True)
class Taken:
    """A snapshot as written: `skipped` tells "path: why" of what is not in it, `skipped_count` how many those are."""

    sha256: str
    size: int
    files: int
    content_bytes: int
    skipped: list[str]
    skipped_count: int


def snapshot(
    root: Path,
    sink: Sink,
    *,
    max_bytes: int,
    max_members: int = 100_000,
    wanted: Callable[[str], bool] = lambda _: True,
) -> Taken:
    """Write the tree below `root`, or those of its members whose path is `wanted`, to `sink`: at most `max_bytes`.

    A file that does not fit any more is left out whole and listed, judged by its stated size, so that a sparse file
    of a terabyte costs nothing. A file that changes while it is read is kept as long as it first was, and listed.
    """
    walk = Walk(root, max_members)
    writer = Writer(sink)
    files = content_bytes = 0
    for member, descriptor in walk:
        if not wanted(member.path):
            continue
        if writer.size + stored_size(member) + 2 * BLOCK > max_bytes:
            walk.skips.add(member.path, f"does not fit: {member.size} bytes, {max_bytes} in all")
            continue
        writer.add(member, _content(member, descriptor, walk))
        if member.kind == "file":
            files, content_bytes = files + 1, content_bytes + member.size
    sha256 = writer.close()
    return Taken(sha256, writer.size, files, content_bytes, walk.skips.listed, walk.skips.count)


def _content(member: Member, descriptor: int, walk: Walk) -> Iterator[bytes]:
    """Exactly `member.size` bytes: cut, or filled with zeros, where the file changed since it was measured."""
    left = member.size if descriptor >= 0 else 0
    try:
        while left and (chunk := os.read(descriptor, min(left, _CHUNK))):
            left -= len(chunk)
            yield chunk
    except OSError as error:
        walk.skips.add(member.path, f"unreadable in part: {error.strerror}")
    else:
        if descriptor >= 0 and (left or os.fstat(descriptor).st_size != member.size):
            walk.skips.add(member.path, "changed while it was read")
    while left:
        filler = bytes(min(left, _CHUNK))
        left -= len(filler)
        yield filler
