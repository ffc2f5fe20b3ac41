"""What a tree or an archive holds, as data: for the initial-state digest, for diffs, for comparing one with another."""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from fairtrial.archive.reader import CHUNK, chunks_of, read_members
from fairtrial.archive.rules import LIMITS, Limits, Member, order
from fairtrial.archive.walk import Walk


def index(archive: Path, *, limits: Limits = LIMITS) -> dict[str, Member]:
    """The members of a stored archive by path, with digests and with the offset of each content."""
    with archive.open("rb") as file:
        return _index(chunks_of(file), limits)


def content(archive: BinaryIO, member: Member, *, at_most: int) -> bytes:
    """The first `at_most` bytes of a member that `index` found."""
    archive.seek(member.offset)
    return archive.read(min(member.size, at_most))


def inventory(
    root: Path, *, max_members: int = 100_000, ignore: Callable[[str], bool] = lambda _: False
) -> dict[str, Member]:
    """The members of a tree by path, read as a snapshot reads it: nothing is followed, special files are left out."""
    walk = Walk(root, max_members, ignore)
    return {member.path: _with_digest(member, _read(descriptor)) for member, descriptor in walk}


def tree_digest(members: Iterable[Member]) -> str:
    """One digest of names, kinds, executable bits, link targets and contents: equal trees, equal digest."""
    digest = hashlib.sha256()
    for member in sorted(members, key=lambda m: order(m.path)):
        facts = (member.path, member.kind, "x" if member.executable else "-", member.target, member.sha256)
        for fact in facts:
            raw = fact.encode("utf-8", "surrogateescape")
            digest.update(len(raw).to_bytes(8, "big") + raw)
    return digest.hexdigest()


def printable(path: str) -> str:
    """A path as a report shows it: what is not UTF-8 or not printable becomes U+FFFD."""
    clean = path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return "".join(c if c.isprintable() else "\ufffd" for c in clean)


def _index(chunks: Iterable[bytes], limits: Limits) -> dict[str, Member]:
    members: dict[str, Member] = {}
    for member, pieces in read_members(chunks, limits):
        members[member.path] = _with_digest(member, pieces)
    return members


def _read(descriptor: int) -> Iterator[bytes]:
    while descriptor >= 0 and (chunk := os.read(descriptor, CHUNK)):
        yield chunk


def _with_digest(member: Member, pieces: Iterable[bytes]) -> Member:
    if member.kind != "file":
        return member
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return replace(member, sha256=digest.hexdigest())
