"""Read the one form of archive from a stream, trusting nothing: memory stays bounded whatever the bytes say."""

import hashlib
import tarfile
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from fairtrial.archive.rules import Kind, Limits, Member
from fairtrial.errors import DigestMismatch, UnsafeArchive

BLOCK, CHUNK = 512, 256 * 1024
_PAX_BYTES = 16 * 1024  # of one member's extended header
_KINDS: dict[bytes, Kind] = {tarfile.REGTYPE: "file", tarfile.DIRTYPE: "dir", tarfile.SYMTYPE: "link"}
_FOREIGN = {
    tarfile.LNKTYPE: "a hard link",
    tarfile.CHRTYPE: "a device",
    tarfile.BLKTYPE: "a device",
    tarfile.FIFOTYPE: "a fifo",
    tarfile.GNUTYPE_SPARSE: "a sparse file",
}


def chunks_of(file: BinaryIO) -> Iterator[bytes]:
    """The rest of an open file in chunks."""
    return iter(lambda: file.read(CHUNK), b"")


def verified(chunks: Iterable[bytes], sha256: str, what: str) -> Iterator[bytes]:
    """Pass chunks on and raise at the end if they do not hash to `sha256`: what was read before must be discarded."""
    digest = hashlib.sha256()
    for chunk in chunks:
        digest.update(chunk)
        yield chunk
    if digest.hexdigest() != sha256:
        raise DigestMismatch(what, sha256, digest.hexdigest())


def read_members(chunks: Iterable[bytes], limits: Limits) -> Iterator[tuple[Member, Iterator[bytes]]]:
    """Yield each member with an iterator over its content; what is left unread of it is skipped.

    Names are not judged here. The stream is read to its end, so that a digest check around it is complete.
    """
    stream = _Stream(chunks, limits.bytes)
    count = 0
    extended: dict[str, str] = {}
    while (block := stream.exactly(BLOCK)).strip(b"\0"):
        info = _header(block)
        if info.type == tarfile.XHDTYPE:
            extended = _extended(stream, info.size)
            continue
        count += 1
        if count > limits.members:
            raise UnsafeArchive(f"The archive has more than {limits.members} members.")
        member = _member(info, extended, stream.position)
        extended = {}
        content = stream.content(member.size)
        yield member, content
        for _ in content:
            pass
        stream.exactly(-member.size % BLOCK)
    stream.drain()


def _header(block: bytes) -> tarfile.TarInfo:
    try:
        return tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except tarfile.HeaderError as error:
        raise UnsafeArchive(f"The archive has a broken header: {error}.") from error


def _member(info: tarfile.TarInfo, extended: dict[str, str], offset: int) -> Member:
    path = extended.get("path", info.name).rstrip("/")
    kind = _KINDS.get(info.type)
    if kind is None:
        what = _FOREIGN.get(info.type, f"a member of type {info.type!r} that another tool wrote")
        raise UnsafeArchive(f"The archive holds {what}: {path!r}.")
    size = int(extended["size"]) if extended.get("size", "").isdecimal() else info.size
    if size < 0 or (kind != "file" and size):
        raise UnsafeArchive(f"The archive states an impossible size for {path!r}.")
    target = extended.get("linkpath", info.linkname) if kind == "link" else ""
    return Member(path, kind, kind == "file" and bool(info.mode & 0o100), size, target, offset=offset)


def _extended(stream: "_Stream", size: int) -> dict[str, str]:
    """Parse a pax header: only what the writer writes. Sparse files announce themselves here and are refused."""
    if not 0 < size <= _PAX_BYTES:
        raise UnsafeArchive("The archive has an extended header that is too big.")
    rest = stream.exactly(size)
    stream.exactly(-size % BLOCK)
    found: dict[str, str] = {}
    while rest:
        length, _, _ = rest.partition(b" ")
        if not length.isdigit() or not len(length) + 2 < int(length) <= len(rest) or rest[int(length) - 1] != ord("\n"):
            raise UnsafeArchive("The archive has a broken extended header.")
        key, mark, value = rest[len(length) + 1 : int(length) - 1].partition(b"=")
        name = key.decode("utf-8", "replace")
        if not mark or name not in ("path", "linkpath", "size", "hdrcharset") or name in found:
            raise UnsafeArchive(f"The archive has an extended header that is not understood: {name!r}.")
        found[name] = value.decode("utf-8", "surrogateescape")
        rest = rest[int(length) :]
    return found


class _Stream:
    """Exact reads over chunks of any size, bounded in all."""

    def __init__(self, chunks: Iterable[bytes], limit: int) -> None:
        self._chunks = iter(chunks)
        self._buffer = memoryview(b"")
        self._limit = limit
        self.position = 0

    def exactly(self, size: int) -> bytes:
        """The next `size` bytes; for small sizes only."""
        return b"".join(self.content(size))

    def content(self, size: int) -> Iterator[bytes]:
        """The next `size` bytes, in pieces of bounded size."""
        while size:
            if not self._buffer and not self._fill():
                raise UnsafeArchive("The archive ends in the middle of a member.")
            piece = self._buffer[: min(size, CHUNK)]
            self._buffer = self._buffer[len(piece) :]
            self.position += len(piece)
            size -= len(piece)
            yield bytes(piece)

    def drain(self) -> None:
        """Read on to the end: after the end mark there may be nothing but padding."""
        while self._buffer or self._fill():
            if bytes(self._buffer).strip(b"\0"):
                raise UnsafeArchive("The archive has content after its end mark.")
            self.position += len(self._buffer)
            self._buffer = memoryview(b"")

    def _fill(self) -> bool:
        for chunk in self._chunks:
            if self.position + len(chunk) > self._limit:
                raise UnsafeArchive(f"The archive is bigger than {self._limit} bytes.")
            if chunk:
                self._buffer = memoryview(chunk)
                return True
        return False
