"""What a store of evidence promises, whatever keeps the bytes: objects are made once, whole, and known by SHA-256."""

import base64
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

MIB = 1024 * 1024
PART_SIZE = 8 * MIB  # of a multipart upload; an object up to this size is one request
GET_LIMIT = 64 * MIB  # `get` returns bytes; what may be larger is read by `open`
OCTETS = "application/octet-stream"


@dataclass(frozen=True)
class StoredObject:
    """An object as stored. `created` says whether this call is known to have made it, or found an equal one."""

    key: str
    size: int
    sha256: str
    created: bool = False


class Upload(Protocol):
    """An object on its way. Nothing is visible before `commit`; `abort` leaves nothing behind and may be repeated.

    Either `write` is used, or `part` and at the end `write` for the rest. Calls are for one thread at a time; only what
    `part` returns may run beside others, and must have returned before `commit` or `abort`.
    """

    def write(self, chunk: bytes | bytearray | memoryview) -> None:
        """Take the next bytes. A bytearray is the upload's from then on."""

    def part(self, data: bytes | bytearray) -> Callable[[], None]:
        """Take the next `PART_SIZE` bytes; the call that is returned sends them."""

    def commit(self) -> StoredObject:
        """Create the object, or adopt an equal one; `Conflict` if another lies there."""

    def abort(self) -> None:
        """Drop what was sent so far."""


class Download(Iterator[bytes], Protocol):
    """An object's chunks. The last comes only after the whole was found to be what was stored."""

    size: int

    def close(self) -> None:
        """Let go of the connection; needed only where the end is not reached."""


class ObjectStore(Protocol):
    """Create-only storage. Every method blocks: asynchronous callers use threads."""

    def put(self, key: str, data: bytes, *, media_type: str = OCTETS) -> StoredObject:
        """Create an object, or adopt an equal one; `Conflict` if another lies there."""

    def open_upload(self, key: str, *, media_type: str = OCTETS, sha256: str | None = None) -> Upload:
        """Begin an object of any size. With `sha256` given, `commit` refuses anything else."""

    def get(self, key: str, *, limit: int = GET_LIMIT) -> bytes:
        """An object's bytes, checked; `NotStored` if there is none, `StoreError` if it is larger than `limit`."""

    def open(self, key: str) -> Download:
        """An object's bytes in chunks, checked; `NotStored` if there is none."""

    def head(self, key: str) -> StoredObject | None:
        """What lies under a key, or None."""

    def keys(self, prefix: str) -> list[str]:
        """The keys that begin with `prefix`, sorted. What is put meanwhile may be among them or not."""


class PartDigest:
    """The SHA-256 of a stream, and of its parts as S3 combines them: the second is all that a server can vouch for."""

    def __init__(self, part_size: int = PART_SIZE) -> None:
        self.size = 0
        self._part_size = part_size
        self._whole, self._part = hashlib.sha256(), hashlib.sha256()
        self._parts: list[bytes] = []

    def update(self, chunk: bytes) -> None:
        """Take the next bytes, however they are cut."""
        self._whole.update(chunk)
        view = memoryview(chunk)
        while view:
            room = self._part_size - self.size % self._part_size
            self._part.update(view[:room])
            self.size += len(view[:room])
            view = view[room:]
            if self.size % self._part_size == 0:
                self._parts.append(self._part.digest())
                self._part = hashlib.sha256()

    def hexdigest(self) -> str:
        """The SHA-256 of everything."""
        return self._whole.hexdigest()

    def matches(self, checksum: str) -> bool:
        """Whether an `x-amz-checksum-sha256` value is ours: of the whole, or `<digest of part digests>-<parts>`."""
        value, dash, _count = checksum.partition("-")
        if not dash:
            return value == b64(self._whole.digest())
        parts = list(self._parts)
        if self.size % self._part_size or not parts:
            parts.append(self._part.digest())
        return checksum == f"{b64(hashlib.sha256(b''.join(parts)).digest())}-{len(parts)}"


def b64(digest: bytes) -> str:
    """A digest as S3's headers write it."""
    return base64.b64encode(digest).decode("ascii")
