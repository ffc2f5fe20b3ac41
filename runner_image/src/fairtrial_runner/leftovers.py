"""What an agent leaves behind beside its workspace: processes, listening ports, files elsewhere."""

import contextlib
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from fairtrial.archive import printable
from fairtrial.documents import Leftovers
from fairtrial.process import Ended

_LISTENING = "0A"
_FILES_MAX, _PROCESSES_MAX, _PORTS_MAX, _COUNT_MAX = 1000, 200, 100, 1_000_000


@dataclass
class Inventory:
    """Gathers leftovers over all steps; `before` is what lay outside the workspace before the first."""

    outside: tuple[Path, ...]
    before: frozenset[str]
    ports_before: frozenset[int]
    ports: set[int] = field(default_factory=set)

    @classmethod
    def begin(cls, outside: Iterable[Path]) -> "Inventory":
        """Look at the folders before the agent starts."""
        folders = tuple(outside)
        files = frozenset(path for path, _ in zip(_files(folders), range(_COUNT_MAX), strict=False))
        return cls(folders, files, frozenset(_ports()))

    def look_at_ports(self) -> None:
        """Note what listens now, while what listens still lives."""
        self.ports |= _ports() - self.ports_before

    def finish(self, ended: list[Ended]) -> Leftovers:
        """The account of all steps."""
        listed: list[str] = []
        count = 0
        for path in _files(self.outside):
            if path in self.before:
                continue
            count += 1
            if len(listed) < _FILES_MAX:
                listed.append(printable(path))
            if count >= _COUNT_MAX:
                break
        return Leftovers(
            processes=[line for each in ended for line in each.left][:_PROCESSES_MAX],
            processes_swept=sum(each.left_count for each in ended),
            zombies_reaped=sum(each.zombies_reaped for each in ended),
            files_outside=sorted(listed),
            files_outside_count=count,
            listening_ports=sorted(self.ports)[:_PORTS_MAX],
        )


def _ports() -> set[int]:
    found: set[int] = set()
    for file in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(OSError):
            found |= listening(Path(file).read_text("ascii"))
    return found


def listening(table: str) -> set[int]:
    """Ports in state LISTEN of a /proc/net/tcp table. Pure."""
    rows = [line.split() for line in table.splitlines()[1:]]
    return {int(row[1].rpartition(":")[2], 16) for row in rows if len(row) > 3 and row[3] == _LISTENING}  # noqa: PLR2004


def _files(folders: tuple[Path, ...]) -> Iterable[str]:
    for folder in folders:
        for inside, _, names in os.walk(folder):
            for name in sorted(names):
                yield f"{inside}/{name}"
