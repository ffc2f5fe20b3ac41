"""The payload files of a package: path, size and SHA-256 of each. Pure.

A cohort of 10,000 runs may have a million files, so a run's are kept compressed until they are written out.
"""

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from fairtrial.evidence.layout import sha256

RUNS = "runs/"


class File(NamedTuple):
    """One payload file; its path is below `data/`."""

    path: str
    size: int
    sha256: str

    @classmethod
    def of(cls, path: str, data: bytes) -> "File":
        """A file by its content."""
        return cls(path, len(data), sha256(data))


@dataclass(frozen=True, slots=True)
class Packed:
    """Many files in few bytes, sorted by path."""

    data: bytes
    count: int
    size: int

    @classmethod
    def of(cls, files: Iterable[File]) -> "Packed":
        """Pack these."""
        taken = sorted(files)
        lines = "".join(f"{one.sha256} {one.size} {one.path}\n" for one in taken)
        return cls(zlib.compress(lines.encode(), 1), len(taken), sum(one.size for one in taken))

    def __iter__(self) -> Iterator[File]:
        for line in zlib.decompress(self.data).decode().splitlines():
            digest, size, path = line.split(" ", 2)
            yield File(path, int(size), digest)


class Listing:
    """All payload files. The same files give the same listing, in whatever order they come."""

    def __init__(self) -> None:
        self.count, self.size = 0, 0
        self._files: dict[str, File] = {}
        self._runs: dict[str, Packed] = {}

    def add(self, *files: File) -> None:
        """Take files that belong to no run."""
        for file in files:
            assert file.path not in self._files, f"{file.path} is listed twice"
            self._files[file.path] = file
            self.count, self.size = self.count + 1, self.size + file.size

    def add_run(self, run: str, files: Packed) -> None:
        """Take all files of a run, whose paths begin with `runs/<run>/`."""
        assert run not in self._runs, f"run {run} is listed twice"
        self._runs[run] = files
        self.count, self.size = self.count + files.count, self.size + files.size

    def __iter__(self) -> Iterator[File]:
        """All files, sorted by their paths."""
        others = sorted(self._files.values())
        yield from (file for file in others if file.path < RUNS)
        # By "name/": the paths of run-1-r1 come before those of run-1, since "-" does before "/".
        for run in sorted(self._runs, key=lambda run: f"{run}/"):
            yield from self._runs[run]
        yield from (file for file in others if file.path > RUNS)
