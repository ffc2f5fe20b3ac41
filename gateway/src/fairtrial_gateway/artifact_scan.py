"""Searches a pod's artifacts, as they were stored, for secrets. It blocks and works: for threads, or another process.

A stream's pieces are one text. Archives are searched as they are, where names and files lie whole, and once more for
what their compressed files hold. Memory is bounded by the store's chunks.
"""

import itertools
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from fairtrial.archive.reader import read_members
from fairtrial.archive.rules import Limits
from fairtrial.documents import RunIdentity
from fairtrial.errors import DigestMismatch, UnsafeArchive
from fairtrial.evidence.layout import Layout
from fairtrial.evidence.objects import ObjectStore
from fairtrial.secrets.scan import Scanner
from fairtrial.secrets.stored import LEAKS_MAX, ArtifactScan, StoredLeak, joined
from fairtrial_gateway.models.decompress import Plain

UNPACKED_MAX = 64 << 20  # of one compressed file
_ARCHIVE = Limits(members=10_000_000, bytes=1 << 40)  # it is in the store already: only time bounds its reading
_PACKED = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    **dict.fromkeys((b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda"), "deflate"),  # git's loose objects, too
}


@dataclass(frozen=True)
class Asked:
    """Search what `folder` of a run holds. `until` is in seconds of the machine's monotonic clock."""

    run: RunIdentity
    cohort: str
    folder: str  # agent/ or evaluation/
    secrets: Mapping[str, bytes] = field(repr=False)
    until: float


@dataclass(frozen=True)
class ArtifactScanning:
    """Searches artifacts in one store."""

    store: ObjectStore
    layout: Layout
    clock: Callable[[], float] = time.monotonic

    def scan(self, asked: Asked) -> ArtifactScan:
        """What is in the artifacts that are there now; `StoreError` if they can't be read."""
        run = asked.run
        base = f"{self.layout.run(run.namespace, run.name, run.uid, asked.cohort).base}/artifacts/"
        names = [key.removeprefix(base) for key in self.store.keys(base + asked.folder)]
        search, reason = _Search(asked, self.clock), ""
        try:
            for name, pieces in joined(names):
                search.artifact(name, self._chunks([base + piece for piece in pieces]))
        except _TooSlow:
            reason = "too_slow"
        except DigestMismatch:
            reason = "damaged_artifact"  # whoever reads the record's artifacts will find it
        reason = reason or search.problem
        return ArtifactScan(
            run=run,
            state="failed" if reason else "done",
            reason=reason,
            secrets=sorted(asked.secrets),
            artifacts=len(names),
            bytes=search.bytes,
            leaks=search.leaks[:LEAKS_MAX],
        )

    def _chunks(self, keys: list[str]) -> Iterator[bytes]:
        for key in keys:
            yield from self.store.open(key)


class _TooSlow(Exception):
    """There is no time left."""


class _Search:
    def __init__(self, asked: Asked, clock: Callable[[], float]) -> None:
        self._asked, self._clock = asked, clock
        self.leaks: list[StoredLeak] = []
        self.bytes = 0
        self.problem = ""

    def artifact(self, name: str, chunks: Iterator[bytes]) -> None:
        """Search one artifact; what was found before the time was over counts."""
        content, unpacked = Scanner(self._asked.secrets), Scanner(self._asked.secrets)
        try:
            read = self._timed(chunks, content)
            if name.endswith(".tar"):
                self._archive(read, unpacked)
            for _ in read:
                pass
        finally:
            self._take(name, "content", content)
            self._take(name, "unpacked", unpacked)

    def _timed(self, chunks: Iterator[bytes], scanner: Scanner) -> Iterator[bytes]:
        for chunk in chunks:
            if self._clock() > self._asked.until:
                raise _TooSlow
            scanner.feed(chunk)
            self.bytes += len(chunk)
            yield chunk

    def _archive(self, chunks: Iterator[bytes], scanner: Scanner) -> None:
        try:
            for _, content in read_members(chunks, _ARCHIVE):
                for piece in unpacked(content):
                    if self._clock() > self._asked.until:
                        raise _TooSlow
                    scanner.feed(piece)
        except UnsafeArchive:  # not what our writer makes; its plain content is searched all the same
            self.problem = "unreadable_archive"

    def _take(self, name: str, where: Literal["content", "unpacked"], scanner: Scanner) -> None:
        self.leaks += [StoredLeak(one.name, one.encoding, name, one.offset, where) for one in scanner.finish()]


def unpacked(content: Iterator[bytes]) -> Iterator[bytes]:
    """What a compressed file holds, up to a limit and as far as it is one; nothing of any other file."""
    first = next(content, b"")
    coding = next((coding for magic, coding in _PACKED.items() if first.startswith(magic)), None)
    if coding is None:
        return
    plain = Plain(coding, UNPACKED_MAX)
    for packed in itertools.chain((first,), content):
        yield from plain.pieces(packed)
