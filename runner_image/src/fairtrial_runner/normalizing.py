"""Read what was recorded with the candidate's adapter; a program of its own, since both are somebody else's.

`python3 -m fairtrial_runner.normalizing JOB` writes events.jsonl and interaction.json beside JOB. It bounds its own
time and memory; whatever becomes of it, the recorder goes on (see `events`).
"""

import fnmatch
import io
import resource
import sys
import tarfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Any

from fairtrial import documents
from fairtrial.events import Event, Interactions, Normalizer, Source, line, load
from fairtrial.failure import leave
from fairtrial_runner.arrivals import arrival

EVENTS, INTERACTION = "events.jsonl", "interaction.json"
SECONDS = 60.0  # then what has been read so far is what there is
_MEMORY_BYTES = 160 * 1024 * 1024  # beside the recorder's own, within its container's limit
_CHUNK = 1024 * 1024
_EVENTS_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True)
class Recorded:
    """One stream as it was kept: its pieces joined, a part may be missing at `seam`."""

    pieces: list[str]
    seam: int | None = None
    left_out: int = 0  # bytes
    marks: list[list[int]] = field(default_factory=list)  # see arrivals


@dataclass(frozen=True)
class Job:
    """What to read, and with what."""

    adapter: dict[str, Any]
    streams: dict[str, Recorded]
    collected: str | None = None  # the archive of collected files
    collected_artifact: str = ""


class Joined(io.RawIOBase):
    """Files one after another, as one stream."""

    def __init__(self, files: Sequence[str]) -> None:
        super().__init__()
        self._left = deque(files)
        self._file: io.FileIO | None = None

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """The next bytes; fewer than there is room for at the end of a file."""
        while True:
            if self._file is not None:
                if count := self._file.readinto(buffer):
                    return count
                self._file.close()
                self._file = None
            if not self._left:
                return 0
            self._file = io.FileIO(self._left.popleft())

    def close(self) -> None:
        """Close what is open."""
        if self._file is not None:
            self._file.close()
        super().close()


def normalize(job: Job, folder: Path, clock: Callable[[], float] = time.monotonic) -> None:
    """Write the two documents."""
    until = clock() + SECONDS
    normalizer = Normalizer(load(job.adapter))
    counted = Interactions(normalizer.adapter)
    with (folder / EVENTS).open("wb") as sink:

        def give_up() -> str:
            if sink.tell() > _EVENTS_BYTES:
                return "too_many_bytes"
            return "deadline" if clock() > until else ""

        for source in normalizer.adapter.sources:
            for event in _events(normalizer, source, job, folder, give_up):
                sink.write(line(event, normalizer.adapter.trial))
                counted.add(event)
    (folder / INTERACTION).write_bytes(documents.dump(counted.result(normalizer.counts)))


def _events(
    normalizer: Normalizer, source: Source, job: Job, folder: Path, give_up: Callable[[], str]
) -> Iterator[Event]:
    if source.read == "file":
        yield from _of_file(normalizer, source, job, folder, give_up)
        return
    kept = job.streams.get(source.read)
    if kept is None or not kept.pieces:
        return
    with io.BufferedReader(Joined(kept.pieces)) as stream:
        yield from normalizer.events(
            source,
            f"agent/streams/{source.read}",
            stream,
            seam=kept.seam,
            arrival=partial(_arrived, kept) if kept.marks else None,
            give_up=give_up,
        )


def _arrived(kept: Recorded, offset: int) -> int | None:
    """When a byte came: marks are of the whole stream, offsets of what was kept of it."""
    beyond = kept.seam is not None and offset >= kept.seam
    return arrival(kept.marks, offset + kept.left_out if beyond else offset)


def _of_file(
    normalizer: Normalizer, source: Source, job: Job, folder: Path, give_up: Callable[[], str]
) -> Iterator[Event]:
    """A collected file, taken out of the archive so that it need not be held; references name the archive."""
    if job.collected is None:
        return
    with tarfile.open(job.collected, "r:") as archive:
        found = [one for one in archive if one.isfile() and fnmatch.fnmatchcase(one.name, source.file)]
        if not found:
            return
        member = min(found, key=lambda one: one.name)
        content = archive.extractfile(member)
        assert content is not None
        copy = folder / "collected"
        with copy.open("wb") as sink:
            _copied(content, sink)
    with copy.open("rb") as stream:
        yield from normalizer.events(source, job.collected_artifact, stream, base=member.offset_data, give_up=give_up)
    copy.unlink()


def _copied(content: IO[bytes], sink: IO[bytes]) -> None:
    while data := content.read(_CHUNK):
        sink.write(data)


def main() -> int:
    """Do the job that the argument names."""
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY_BYTES, _MEMORY_BYTES))
    seconds = int(SECONDS) + 20
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    job = Path(sys.argv[1])
    normalize(documents.load(Job, job.read_bytes(), name=job.name), job.parent)
    return 0


if __name__ == "__main__":
    leave(main())
