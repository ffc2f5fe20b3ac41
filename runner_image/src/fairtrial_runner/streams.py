"""Keep a stream's head and tail, raw, within a bound; count and hash all of it; store it piece by piece as it comes.

The head half goes out in segments while the stream is running, so that a run that is lost keeps it. What comes after it
is kept in a ring of the same size, whose content is stored at the end.
"""

import contextlib
import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from fairtrial.documents import Artifact, Stream
from fairtrial_runner.uploads import Uploads

SEGMENT_BYTES = 1024 * 1024
_SEGMENT_SECONDS, _SEGMENT_SECONDS_LATER, _MANY = 5.0, 60.0, 60
MEDIA_TYPE = "application/octet-stream"


class StreamKeeper:
    """One stream. `add` and `tick` are called by one thread; `finish` once, after which `result` may be asked for."""

    def __init__(
        self,
        name: str,
        folder: Path,
        keep: int,
        uploads: Uploads,
        clock: Callable[[], float] = time.monotonic,
        *,
        copies: Path | None = None,  # where a second name of every piece stays when it is stored
    ) -> None:
        self.name, self._folder, self._uploads, self._clock = name, folder, uploads, clock
        self._copies = copies
        self._keep = keep
        self._head_left = keep - keep // 2
        self._ring = _Ring(folder / f"{name}.tail", keep // 2)
        self._hash = hashlib.sha256()
        self.seen = 0
        self._segment = bytearray()
        self._began = 0.0
        self._count = 0
        self._segments: list[Artifact] = []
        self._resumed = False

    def add(self, data: bytes) -> None:
        """Take the next bytes of the stream."""
        self._hash.update(data)
        self.seen += len(data)
        head, rest = data[: self._head_left], data[self._head_left :]
        self._head_left -= len(head)
        self._into_segment(head)
        self._ring.add(rest)
        self.tick()

    def tick(self) -> None:
        """Send off what has waited long enough; the more segments there are, the longer they wait."""
        patience = _SEGMENT_SECONDS if self._count < _MANY else _SEGMENT_SECONDS_LATER
        if self._segment and self._clock() - self._began >= patience:
            self._send_off()

    def resume(self, stored: Iterable[Artifact]) -> None:
        """Take up what an earlier life of this container left: what it stored, and what it had not got to store.

        How much more it had seen is not known any more, so the stream counts as truncated, without a digest.
        """
        mine = f"agent/streams/{self.name}/"
        self._segments += [artifact for artifact in stored if artifact.name.startswith(mine)]
        for file in sorted(self._folder.glob(f"{self.name}.[0-9]*")):
            name = mine + file.suffix.removeprefix(".")
            self._uploads.put(name, file, media_type=MEDIA_TYPE, then=self._segments.append)
        self._resumed = True

    def finish(self) -> None:
        """Send off the rest, and the ring's content in order."""
        for piece in self._ring.pieces(SEGMENT_BYTES):
            self._into_segment(piece)
        self._send_off()
        self._ring.close()

    def result(self) -> Stream:
        """What was seen and what is stored of it; a segment that could not be stored counts as not kept."""
        kept = sum(segment.size for segment in self._segments)
        segments = sorted(self._segments, key=lambda segment: segment.name)
        if self._resumed:
            return Stream(self.name, kept, "", kept, True, segments)
        return Stream(self.name, self.seen, self._hash.hexdigest(), kept, kept < self.seen, segments)

    @property
    def seam(self) -> tuple[int | None, int]:
        """Where in what was kept something was left out, and how many bytes; None, 0 if nothing was."""
        left_out = self.seen - self._keep
        return (self._keep - self._keep // 2, left_out) if left_out > 0 else (None, 0)

    def _into_segment(self, data: bytes) -> None:
        while data:
            if not self._segment:
                self._began = self._clock()
            room = SEGMENT_BYTES - len(self._segment)
            self._segment += data[:room]
            data = data[room:]
            if len(self._segment) == SEGMENT_BYTES:
                self._send_off()

    def _send_off(self) -> None:
        if not self._segment:
            return
        file = self._folder / f"{self.name}.{self._count:06d}"
        file.write_bytes(self._segment)
        if self._copies is not None:
            with contextlib.suppress(OSError):  # whoever reads the copies sees that one is missing
                os.link(file, self._copies / file.name)
        name = f"agent/streams/{self.name}/{self._count:06d}"
        self._uploads.put(name, file, media_type=MEDIA_TYPE, then=self._segments.append)
        self._count += 1
        self._segment = bytearray()


class _Ring:
    """The last `size` bytes of what it was given, in a file."""

    def __init__(self, path: Path, size: int) -> None:
        self._size = size
        self._path = path
        self._file = path.open("w+b")
        self._total = 0

    def add(self, data: bytes) -> None:
        if not self._size:
            return
        self._total += len(data)
        data = data[-self._size :]
        position = (self._total - len(data)) % self._size
        for piece, at in ((data[: self._size - position], position), (data[self._size - position :], 0)):
            if piece:
                self._file.seek(at)
                self._file.write(piece)

    def pieces(self, size: int) -> Iterator[bytes]:
        """The content in order, from the oldest byte."""
        start = self._total % self._size if self._total > self._size else 0
        for first, end in ((start, min(self._total, self._size)), (0, start)):
            self._file.seek(first)
            left = end - first
            while left and (piece := self._file.read(min(size, left))):
                left -= len(piece)
                yield piece

    def close(self) -> None:
        self._file.close()
        self._path.unlink(missing_ok=True)
