"""Journals that are being written, or wait for the store: files in one folder of bounded size.

Writing is done in the event loop on purpose: it copies into the kernel's page cache, and what has been written outlives
this process whatever ends it.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from fairtrial.errors import FairtrialError
from fairtrial.journal.exchange import is_exchange_id
from fairtrial.journal.frames import FILE_HEADER, PAYLOAD_MAX, Kind, frame_head

SUFFIX = ".ftj"
HELD_MAX = 64 * 1024  # a longer payload is not kept for the next frame
FULL = 0.75  # new calls are refused from here on; the rest is for calls that are under way


class SpoolFull(FairtrialError):
    """The spool holds as many journals as it may: the store does not take them as fast as they come."""

    reason = "SpoolFull"


class Spool:
    """The folder, and how many bytes of it are in use."""

    def __init__(self, folder: Path, size: int) -> None:
        self.folder, self.size = folder, size
        folder.mkdir(parents=True, exist_ok=True)
        self._sizes = {path: path.stat().st_size for path in self.files()}
        self.used = sum(self._sizes.values())

    @property
    def full(self) -> bool:
        """Whether no new call should begin."""
        return self.used >= self.size * FULL

    def files(self) -> list[Path]:
        """The journals that are here, oldest first."""
        return sorted(p for p in self.folder.glob(f"*{SUFFIX}") if is_exchange_id(p.stem))

    def create(self, exchange: str) -> "SpoolFile":
        """A new journal."""
        try:
            return SpoolFile(self, self.folder / f"{exchange}{SUFFIX}")
        except OSError as error:
            raise SpoolFull(f"The journal could not be made: {error.strerror}.") from error

    def take(self, path: Path, size: int, *, always: bool = False) -> None:
        """Use some bytes more for a journal."""
        if self.used + size > self.size and not always:
            raise SpoolFull(f"The journal's spool of {self.size} bytes is full.", next_move="Look at the store.")
        self.used += size
        self._sizes[path] = self._sizes.get(path, 0) + size

    def put_aside(self, path: Path, suffix: str) -> None:
        """Keep a file that is no journal, out of the way."""
        self.used -= self._sizes.pop(path)
        path.rename(path.with_suffix(suffix))

    def remove(self, path: Path) -> None:
        """Delete a journal that the store has, or that never began."""
        self.used -= self._sizes.pop(path, 0)
        path.unlink()


class SpoolFile:
    """One journal, appended to frame by frame."""

    def __init__(self, spool: Spool, path: Path) -> None:
        self._spool, self.path = spool, path
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        self._file = os.open(path, flags, 0o600)
        self._held: list[bytes] = []  # written with the next frame
        self.size = 0

    def append(self, kind: Kind, ms: int, payload: bytes = b"", *, always: bool = False, more: bool = False) -> None:
        """Write one frame, or several if `payload` is longer than one may be; `always` even if the spool is full.

        With `more` the caller appends the next frame at once, waiting for nothing; both are written in one go.
        """
        for part in _parts(payload):
            self._held += (frame_head(kind, ms, part), part)
            if not more or len(part) > HELD_MAX:
                buffers, self._held = self._held, []
                self._write(buffers if self.size else [FILE_HEADER, *buffers], always=always)

    def close(self) -> None:
        """Nothing more is written."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def discard(self) -> None:
        """It never began."""
        self.close()
        self._spool.remove(self.path)

    def _write(self, buffers: list[bytes], *, always: bool = False) -> None:
        size = sum(map(len, buffers))
        self._spool.take(self.path, size, always=always)
        try:
            written = os.writev(self._file, buffers)
            rest = memoryview(b"".join(buffers))[written:] if written < size else memoryview(b"")
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except OSError as error:
            os.ftruncate(self._file, self.size)  # half a frame would hide all that follows
            self._spool.take(self.path, -size, always=True)
            raise SpoolFull(f"The journal could not be written: {error.strerror}.") from error
        self.size += size


def _parts(payload: bytes) -> Iterator[bytes]:
    if len(payload) <= PAYLOAD_MAX:
        yield payload
        return
    for start in range(0, len(payload), PAYLOAD_MAX):
        yield payload[start : start + PAYLOAD_MAX]
