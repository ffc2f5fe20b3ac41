"""A store in memory with the semantics of the real one: what other parts' tests and local runs use."""

import hashlib
import threading
from collections.abc import Callable, Iterator

from fairtrial.errors import Conflict, DigestMismatch, NotStored, StoreError
from fairtrial.evidence.layout import check_key
from fairtrial.evidence.objects import GET_LIMIT, MIB, OCTETS, Download, StoredObject


class MemoryStore:
    """Create-only objects in a dictionary. `objects` may be read, and damaged, by a test."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self._digests: dict[str, str] = {}
        self._lock = threading.Lock()

    def put(self, key: str, data: bytes, *, media_type: str = OCTETS) -> StoredObject:  # noqa: ARG002
        """Create an object, or adopt an equal one; `Conflict` if another lies there."""
        ours = hashlib.sha256(data).hexdigest()
        with self._lock:
            theirs = self._digests.get(check_key(key))
            if theirs is None:
                self.objects[key], self._digests[key] = bytes(data), ours
            elif theirs != ours:
                raise Conflict(key, ours, theirs)
        return StoredObject(key, len(data), ours, created=theirs is None)

    def open_upload(self, key: str, *, media_type: str = OCTETS, sha256: str | None = None) -> "MemoryUpload":
        """Begin an object of any size. With `sha256` given, `commit` refuses anything else."""
        return MemoryUpload(self, check_key(key), media_type, sha256)

    def get(self, key: str, *, limit: int = GET_LIMIT) -> bytes:
        """An object's bytes, checked; `NotStored` if there is none, `StoreError` if it is larger than `limit`."""
        data = self.objects.get(key)
        if data is None:
            raise NotStored(f"get {key}: there is no such object.")
        if len(data) > limit:
            raise StoreError(f"{key} has {len(data)} bytes; at most {limit} are read at once here.")
        actual = hashlib.sha256(data).hexdigest()
        if actual != self._digests[key]:
            raise DigestMismatch(key, self._digests[key], actual)
        return data

    def open(self, key: str) -> Download:
        """An object's bytes in chunks, checked; `NotStored` if there is none."""
        return MemoryDownload(self.get(key, limit=2**63))

    def head(self, key: str) -> StoredObject | None:
        """What lies under a key, or None."""
        data = self.objects.get(key)
        return None if data is None else StoredObject(key, len(data), self._digests[key])

    def keys(self, prefix: str) -> list[str]:
        """The keys that begin with `prefix`, sorted."""
        with self._lock:
            return sorted(key for key in self.objects if key.startswith(prefix))


class MemoryUpload:
    """An object on its way into memory."""

    def __init__(self, store: MemoryStore, key: str, media_type: str, expected: str | None) -> None:
        self._store, self._key, self._media_type, self._expected = store, key, media_type, expected
        self._buffer = bytearray()

    def write(self, chunk: bytes | bytearray | memoryview) -> None:
        """Take the next bytes."""
        self._buffer += chunk

    def part(self, data: bytes | bytearray) -> Callable[[], None]:
        """Take the next `PART_SIZE` bytes; there is nothing to send."""
        self.write(data)
        return lambda: None

    def commit(self) -> StoredObject:
        """Create the object, or adopt an equal one; `Conflict` if another lies there."""
        actual = hashlib.sha256(self._buffer).hexdigest()
        if self._expected and self._expected != actual:
            raise DigestMismatch(self._key, self._expected, actual)
        return self._store.put(self._key, bytes(self._buffer), media_type=self._media_type)

    def abort(self) -> None:
        """Drop what was sent so far."""
        self._buffer = bytearray()


class MemoryDownload:
    """The chunks of an object in memory."""

    def __init__(self, data: bytes) -> None:
        self.size = len(data)
        self._chunks: Iterator[bytes] = (data[at : at + MIB] for at in range(0, len(data), MIB))

    def __iter__(self) -> "MemoryDownload":
        return self

    def __next__(self) -> bytes:
        return next(self._chunks)

    def close(self) -> None:
        """Nothing to let go of."""
