"""Write the one form of archive, member by member, counting and hashing what is written."""

import hashlib
import tarfile
from collections.abc import Iterable
from typing import Protocol

from fairtrial.archive.rules import Member

BLOCK = 512


class Sink(Protocol):
    """Anything that takes bytes in order, such as a binary file."""

    def write(self, data: bytes, /) -> object:
        """Take the next bytes."""


class Writer:
    """Writes members to a sink. The caller gives them in order and closes at the end."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._hash = hashlib.sha256()
        self.size = 0

    def add(self, member: Member, content: Iterable[bytes] = ()) -> None:
        """Write one member. The content must have exactly the size that the member states."""
        self._put(header(member))
        written = 0
        for chunk in content:
            written += len(chunk)
            self._put(chunk)
        if written != member.size:
            raise ValueError(f"{member.path}: {written} bytes given, {member.size} announced")
        self._put(bytes(-written % BLOCK))

    def close(self) -> str:
        """Write the end mark; the digest of the whole archive."""
        self._put(bytes(2 * BLOCK))
        return self._hash.hexdigest()

    def _put(self, data: bytes) -> None:
        self._sink.write(data)
        self._hash.update(data)
        self.size += len(data)


def header(member: Member) -> bytes:
    """The header blocks of a member: a function of its name, kind, size, target and executable bit alone."""
    info = tarfile.TarInfo(member.path)
    info.size = member.size
    info.linkname = member.target
    info.type = {"file": tarfile.REGTYPE, "dir": tarfile.DIRTYPE, "link": tarfile.SYMTYPE}[member.kind]
    info.mode = 0o755 if member.executable or member.kind == "dir" else 0o644
    return info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")


def stored_size(member: Member) -> int:
    """How many bytes a member takes in an archive."""
    return len(header(member)) + member.size + (-member.size % BLOCK)
