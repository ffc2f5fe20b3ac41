"""A folder as a sink of exchanges, for local use. Files are made once, whole, and never written again."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

from fairtrial.errors import Conflict, NotStored
from fairtrial.evidence.objects import GET_LIMIT, OCTETS, StoredObject


class FolderSink:
    """Objects as files below a folder; what all keys begin with is left out of their paths."""

    def __init__(self, folder: Path, prefix: str) -> None:
        self._folder, self._prefix = folder, prefix

    def put(self, key: str, data: bytes, *, media_type: str = OCTETS) -> StoredObject:
        """Create a file, or adopt an equal one."""
        upload = self.open_upload(key, media_type=media_type)
        upload.write(data)
        return upload.commit()

    def open_upload(self, key: str, *, media_type: str = OCTETS, sha256: str | None = None) -> "FolderUpload":  # noqa: ARG002
        """Begin a file of any size."""
        return FolderUpload(key, self._path(key))

    def keys(self, prefix: str) -> list[str]:
        """The keys that begin with `prefix`."""
        files = (path for path in self._path(prefix.rstrip("/")).rglob("*") if path.is_file())
        return sorted(self._prefix + path.relative_to(self._folder).as_posix() for path in files)

    def get(self, key: str, *, limit: int = GET_LIMIT) -> bytes:  # noqa: ARG002 — they are ours
        """A file's bytes."""
        try:
            return self._path(key).read_bytes()
        except FileNotFoundError as error:
            raise NotStored(f"get {key}: there is no such file.") from error

    def _path(self, key: str) -> Path:
        return self._folder / key.removeprefix(self._prefix)


class FolderUpload:
    """A file on its way: written beside its place, then linked into it, which fails where another lies."""

    def __init__(self, key: str, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._key, self._path = key, path
        self._part = path.with_name(f".{path.name}.part")
        self._file = self._part.open("wb")
        self._digest = hashlib.sha256()

    def write(self, chunk: bytes | bytearray | memoryview) -> None:
        """Take the next bytes."""
        self._digest.update(chunk)
        self._file.write(chunk)

    def part(self, data: bytes | bytearray) -> Callable[[], None]:
        """Take bytes; there is nothing to send."""
        self.write(data)
        return lambda: None

    def commit(self) -> StoredObject:
        """Create the file, or adopt an equal one."""
        self._file.close()
        ours, size = self._digest.hexdigest(), self._part.stat().st_size
        try:
            os.link(self._part, self._path)
            created = True
        except FileExistsError as error:
            theirs, created = hashlib.sha256(self._path.read_bytes()).hexdigest(), False
            if theirs != ours:
                raise Conflict(str(self._path), ours, theirs) from error
        finally:
            self._part.unlink()
        return StoredObject(self._key, size, ours, created=created)

    def abort(self) -> None:
        """Drop what was written so far."""
        self._file.close()
        self._part.unlink(missing_ok=True)
