"""Walk a tree that somebody hostile may have left, without following, hanging on or being kept out by anything in it.

Every entry is first opened as a mere place (O_PATH, not following links), judged by its type, and only then reopened
through that descriptor: what was judged is what is read. Modes that keep us out are changed, since the owner is us.
"""

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from fairtrial.archive.rules import PATH_BYTES, Member, name_fault

_PLACE = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
SKIPPED_MAX = 1000
NAMES_BYTES = 32 * 1024 * 1024  # whoever compares two trees holds all their names and links


@dataclass
class Skips:
    """What was left out, "path: why", in order; past a bound only counted."""

    listed: list[str] = field(default_factory=list)
    count: int = 0

    def add(self, path: str, why: str) -> None:
        """Note one path that was left out."""
        self.count += 1
        if len(self.listed) < SKIPPED_MAX:
            self.listed.append(f"{path}: {why}")


@dataclass
class Walk:
    """One walk over a tree. Iterating yields each member with a descriptor of a file's content (-1 for others)."""

    root: Path
    max_members: int = 100_000
    ignore: Callable[[str], bool] = lambda _: False
    max_name_bytes: int = NAMES_BYTES
    skips: Skips = field(default_factory=Skips)
    _count: int = 0
    _name_bytes: int = 0

    def __iter__(self) -> Iterator[tuple[Member, int]]:
        """Members in the order of an archive: sorted by path."""
        place = os.open(self.root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield from self._folder(place, "")
        finally:
            os.close(place)

    def _folder(self, place: int, path: str) -> Iterator[tuple[Member, int]]:
        try:
            folder = _reopen(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            self.skips.add(path or ".", f"unreadable: {error.strerror}")
            return
        try:
            for name in self._names(folder, path):
                child = f"{path}/{name}" if path else name
                if self.ignore(child):
                    continue
                yield from self._entry(folder, name, child)
        finally:
            os.close(folder)

    def _names(self, folder: int, path: str) -> list[str]:
        """The folder's names, sorted as whole paths sort; no more of them than there is room for members."""
        room = self.max_members - self._count
        names: list[str] = []
        with os.scandir(folder) as entries:
            for entry in entries:
                if len(names) >= room:
                    self.skips.add(path or ".", f"more than {self.max_members} members in all")
                    break
                names.append(entry.name)
        return sorted(names, key=os.fsencode)

    def _entry(self, folder: int, name: str, path: str) -> Iterator[tuple[Member, int]]:
        if self._count >= self.max_members:
            return
        if fault := name_fault(path, strict=False):
            self.skips.add(path[:PATH_BYTES], fault)
            return
        try:
            place = os.open(name, _PLACE, dir_fd=folder)
        except OSError as error:
            self.skips.add(path, f"unreadable: {error.strerror}")
            return
        try:
            yield from self._judged(place, path)
        finally:
            os.close(place)

    def _judged(self, place: int, path: str) -> Iterator[tuple[Member, int]]:
        state = os.fstat(place)
        link = os.readlink("", dir_fd=place) if stat.S_ISLNK(state.st_mode) else ""
        if not self._takes(path, link):
            return
        if stat.S_ISDIR(state.st_mode):
            self._count += 1
            yield Member(path, "dir"), -1
            yield from self._folder(place, path)
        elif link:
            self._count += 1
            yield Member(path, "link", target=link), -1
        elif stat.S_ISREG(state.st_mode):
            try:
                file = _reopen(place, _READ)
            except OSError as error:
                self.skips.add(path, f"unreadable: {error.strerror}")
                return
            self._count += 1
            try:
                yield Member(path, "file", bool(state.st_mode & 0o100), state.st_size), file
            finally:
                os.close(file)
        else:
            self.skips.add(path, _special(state.st_mode))

    def _takes(self, path: str, link: str) -> bool:
        """Whether there is room for one more name."""
        self._name_bytes += len(os.fsencode(path)) + len(os.fsencode(link))
        if self._name_bytes > self.max_name_bytes:
            self.skips.add(path, f"more than {self.max_name_bytes} bytes of names and links in all")
        return self._name_bytes <= self.max_name_bytes


def _reopen(place: int, flags: int) -> int:
    """Open for reading what a place descriptor stands for; give ourselves the right to where the owner took it."""
    door = f"/proc/self/fd/{place}"
    try:
        return os.open(door, flags)
    except PermissionError:
        os.chmod(door, stat.S_IMODE(os.fstat(place).st_mode) | (0o700 if flags & os.O_DIRECTORY else 0o600))  # noqa: PTH101
        return os.open(door, flags)


def _special(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return "fifo"
    return "socket" if stat.S_ISSOCK(mode) else "device"
