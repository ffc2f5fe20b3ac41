"""Copies of the submission and of the fixture that submitted code cannot reach between two runs.

Each tree is held in a file without a name, open in this process alone: every run gets a fresh copy from it, so what
one run does to its copy, or to the volume, changes nothing for the next.
"""

import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import IO

from fairtrial.archive import Limits, Member, extract, read_members, snapshot
from fairtrial.task.globs import matcher

MAX_BYTES = 2 * 1024**3
_CHUNK = 256 * 1024
_FILE_MAX = 8 * 1024 * 1024  # of a file whose content the judge asks for
_CONTENTS_MAX = 48 * 1024 * 1024


class HeldTree:
    """One tree, as it was when it was taken."""

    def __init__(self, folder: Path) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 — open as long as this process lives
        taken = snapshot(folder, self._file, max_bytes=MAX_BYTES)
        self._file.flush()
        self.skipped = taken.skipped

    def close(self) -> None:
        """Let go of it."""
        self._file.close()

    def lay_out(self, target: Path) -> None:
        """Make a fresh copy below `target`, an empty folder."""
        extract(self._chunks(), target, unsafe="skip")

    def digests(self, patterns: Sequence[str]) -> dict[str, str]:
        """Files by glob with their SHA-256; a link counts by where it points."""
        return {path: member.sha256 for path, (member, _) in self._select(patterns).items()}

    def contents(self, patterns: Sequence[str]) -> dict[str, bytes]:
        """Files by glob with their content, as far as that has a sane size."""
        found: dict[str, bytes] = {}
        room = _CONTENTS_MAX
        for path, (_, data) in self._select(patterns).items():
            if len(data) <= room:
                found[path] = data
                room -= len(data)
        return found

    def _select(self, patterns: Sequence[str]) -> dict[str, tuple[Member, bytes]]:
        found = {}
        matches = matcher(patterns)
        for member, pieces in read_members(self._chunks(), Limits()):
            if member.kind != "dir" and matches(member.path):
                data = b"".join(pieces)
                digest = _digest(f"link:{member.target}".encode() if member.kind == "link" else data)
                kept = data if len(data) <= _FILE_MAX else b""
                found[member.path] = (Member(member.path, member.kind, sha256=digest), kept)
        return found

    def _chunks(self) -> Iterator[bytes]:
        offset = 0
        while chunk := os.pread(self._file.fileno(), _CHUNK, offset):
            offset += len(chunk)
            yield chunk


def place(root: Path, path: str, data: bytes, *, executable: bool = False) -> None:
    """Write a file below `root`, replacing whatever stands in its way; no link that lies there is followed."""
    current = root
    parts = PurePosixPath(path).parts
    for part in parts[:-1]:
        current = current / part
        if current.is_symlink() or not current.is_dir():
            delete(current)
            current.mkdir()
    target = current / parts[-1]
    delete(target)
    mode = 0o755 if executable else 0o644
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)


def delete(path: Path) -> None:
    """Remove a file, a link, or a folder with all in it, whatever modes it has; nothing there is fine."""
    try:
        state = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return
    if not stat.S_ISDIR(state.st_mode):
        path.unlink()
        return
    for folder, names, _ in os.walk(path):
        for name in names:
            child = Path(folder, name)
            if not child.is_symlink():
                child.chmod(0o700)
    path.chmod(0o700)
    shutil.rmtree(path, ignore_errors=True)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
