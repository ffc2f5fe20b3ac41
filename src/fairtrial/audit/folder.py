"""The files of a package, found without following anything: a package is somebody else's, and may be made to hurt.

Links, devices and odd names are findings and are never opened. What is read into memory has a limit.
"""

import hashlib
import os
import re
import stat
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from io import FileIO
from pathlib import Path

from fairtrial.audit.findings import Findings

SEGMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
PAYLOAD_SEGMENT = re.compile(r"[a-z0-9][a-z0-9._-]{0,127}")
DEPTH_MAX = 16
DOCUMENT_MAX = 256 * 1024 * 1024  # bytes; a report of 20,000 runs has a tenth of it


@dataclass
class Folder:
    """An unpacked package. `sizes` are the bytes of every regular file, by path with `/`."""

    root: Path
    findings: Findings
    sizes: dict[str, int] = field(default_factory=dict)

    def __contains__(self, path: str) -> bool:
        return path in self.sizes

    def below(self, prefix: str) -> Iterator[str]:
        """Paths that begin with `prefix`, in order. Asked for each of thousands of runs: all are sorted once."""
        for place in range(bisect_left(self._paths, prefix), len(self._paths)):
            if not self._paths[place].startswith(prefix):
                return
            yield self._paths[place]

    @cached_property
    def _paths(self) -> list[str]:
        return sorted(self.sizes)

    def sha256(self, path: str) -> str | None:
        """A file's digest, streamed; None, and a finding, where it can't be read."""
        try:
            with self._open(path) as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            self.findings.add("FILE_UNREADABLE", path, f"{error.strerror}.")
            return None

    def read(self, path: str) -> bytes | None:
        """A document's bytes; None where there is none, where it is too large, or can't be read."""
        if path not in self.sizes:
            return None
        if self.sizes[path] > DOCUMENT_MAX:
            self.findings.add("DOCUMENT_TOO_LARGE", path, f"Has {self.sizes[path]} bytes.")
            return None
        try:
            with self._open(path) as file:
                return file.read(DOCUMENT_MAX)
        except OSError as error:
            self.findings.add("FILE_UNREADABLE", path, f"{error.strerror}.")
            return None

    def _open(self, path: str) -> FileIO:
        return FileIO(os.open(self.root / path, os.O_RDONLY | os.O_NOFOLLOW), "rb")


def scan(root: Path, findings: Findings) -> Folder:
    """Every file below `root`; OSError where the folder itself can't be read."""
    folder = Folder(root, findings)
    os.scandir(root).close()
    pending = [("", 0)]
    while pending:
        inside, depth = pending.pop()
        for path, mode, size in _entries(root, inside, findings):
            if stat.S_ISDIR(mode) and depth >= DEPTH_MAX:
                findings.add("PATH_UNSAFE", path, f"Folders are nested more than {DEPTH_MAX} deep.")
            elif stat.S_ISDIR(mode):
                pending.append((f"{path}/", depth + 1))
            elif stat.S_ISREG(mode):
                folder.sizes[path] = size
            else:
                findings.add("PATH_UNSAFE", path, "Is a link or a device, and was not followed.")
    _collisions(folder)
    return folder


def _entries(root: Path, inside: str, findings: Findings) -> list[tuple[str, int, int]]:
    """Path, mode and size of what lies in one folder, itself never followed."""
    made = []
    try:
        with os.scandir(root / inside) as entries:
            for entry in entries:
                about = entry.stat(follow_symlinks=False)
                path = f"{inside}{entry.name}"
                if not is_name(path):
                    findings.add("NAME_UNSAFE", path, "Holds what some store or screen shows as another.")
                made.append((path, about.st_mode, about.st_size))
    except OSError as error:
        findings.add("FILE_UNREADABLE", inside, f"{error.strerror}.")
    return made


def is_name(path: str) -> bool:
    """Whether every store and every screen keeps this path as it is."""
    payload = path.startswith("data/")
    return all((PAYLOAD_SEGMENT if payload else SEGMENT).fullmatch(part) for part in path.split("/"))


def _collisions(folder: Folder) -> None:
    """Names that differ in letters' case alone: on some file systems the second one replaces the first."""
    seen: dict[str, str] = {}
    for path in sorted(folder.sizes):
        other = seen.setdefault(path.casefold(), path)
        if other != path:
            folder.findings.add("KEY_COLLISION", path, f"Differs from {other} in case alone.")
