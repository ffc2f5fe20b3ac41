"""Which files an agent looked into and changed, from the results of its tool calls. The rules are in `derive`."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from fairtrial.events import programs
from fairtrial.events.measures import LISTED_MOST, Path
from fairtrial.events.model import Event

_KEPT_MOST = 20_000
# Endings of files of source code: what counts as a source path.
SOURCES = (
    ".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".py", ".pyi", ".go", ".rs", ".java", ".kt", ".kts",
    ".scala", ".c", ".h", ".cc", ".cpp", ".hpp", ".cxx", ".cs", ".fs", ".rb", ".php", ".swift", ".m", ".mm", ".ex",
    ".exs", ".erl", ".hs", ".ml", ".clj", ".lua", ".pl", ".r", ".jl", ".dart", ".zig", ".sh", ".sql", ".vue", ".svelte",
)  # fmt: skip
EDITS = ("edit_file", "write_file")


@dataclass
class Paths:
    """Paths, how often each and through what."""

    times: Counter[str] = field(default_factory=Counter)
    by: dict[str, set[str]] = field(default_factory=dict)
    unattributed: int = 0

    def add(self, found: Iterable[str], by: str) -> None:
        """Take paths that one call named."""
        for path in found:
            if path in self.times or len(self.times) < _KEPT_MOST:
                self.times[path] += 1
                self.by.setdefault(path, set()).add(by)
            else:
                self.unattributed += 1

    def listed(self) -> list[Path]:
        """The paths in order, at most `LISTED_MOST`."""
        return [Path(path, times, sorted(self.by[path])) for path, times in sorted(self.times.items())[:LISTED_MOST]]

    def counts(self) -> dict[str, Any]:
        """How many there are."""
        ways = Counter(way for ways in self.by.values() for way in ways)
        return {
            "unique": len(self.times),
            "repeats": self.times.total() - len(self.times),
            "unattributed": self.unattributed,
            "source": sum(path.lower().endswith(SOURCES) for path in self.times),
            "by": dict(sorted(ways.items())),
        }


@dataclass
class Looked:
    """What calls have shown and changed."""

    inspected: Paths = field(default_factory=Paths)
    modified: Paths = field(default_factory=Paths)
    changes: int = 0  # calls that changed something
    bytes_shown: int = 0

    def returned(self, event: Event) -> None:
        """Take a result that did not fail."""
        detail = event.detail
        if event.capability == "read_file":
            self._shown(event, detail.paths, "direct_read", unattributed=not detail.paths)
        elif event.capability in EDITS:
            self._changed(detail.paths, event.capability, unattributed=not detail.paths)
        elif event.capability == "search":
            self._shown(
                event, detail.cited, "search_result", unattributed=bool(detail.output_bytes) and not detail.cited
            )
        elif detail.command:
            self._ran(event)

    def _ran(self, event: Event) -> None:
        detail = event.detail
        found, by_search = programs.files(detail.command), programs.searches(detail.command)
        if detail.output_bytes != 0:  # None: the harness does not show outputs
            self._shown(event, found.direct, "direct_read", unattributed=found.unnamed_reads)
            hits = dict.fromkeys((*found.searched, *(detail.cited if by_search else ())))
            self._shown(event, hits, "search_result", unattributed=0)
        if not by_search:
            self.diagnosed(event, besides=found.direct)
        self._changed(found.written, event.capability, unattributed=found.unnamed_writes)

    def diagnosed(self, event: Event, besides: Sequence[str] = ()) -> None:
        """Take the files that the output of a command names with a line: it shows them also where it has failed."""
        if event.detail.command:
            cited = [path for path in event.detail.cited if path not in besides]
            self._shown(event, cited, "diagnostic", unattributed=0)

    def _shown(self, event: Event, paths: Iterable[str], by: str, *, unattributed: int) -> None:
        paths = tuple(paths)
        self.inspected.add(paths, by)
        self.inspected.unattributed += unattributed
        if paths or unattributed:
            self.bytes_shown += event.detail.output_bytes or 0

    def _changed(self, paths: Iterable[str], by: str, *, unattributed: int) -> None:
        paths = tuple(paths)
        self.modified.add(paths, by)
        self.modified.unattributed += unattributed
        self.changes += bool(paths or unattributed)
