"""What a container has used, by the counters of its own cgroup: version 2 as well as version 1.

The kernel counts; nothing is estimated or sampled, and the agent can't write there. Processor time and throttling are
counted up, so that two readings give what lies between; the memory's peak is since the container was started and holds
the page cache, because the kernel counts it so.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")
_NS_PER_US = 1000


@dataclass(frozen=True)
class Counters:
    """One reading; None where the kernel does not tell."""

    cpu_us: int | None = None  # processor time, user and system
    periods: int | None = None  # of the processor quota that have gone by while something wanted to run
    throttled_periods: int | None = None  # in which the quota was used up
    throttled_us: int | None = None  # that threads were held back for it, summed over processors
    memory_peak_bytes: int | None = None  # since the container was started

    @classmethod
    def read(cls, root: Path = CGROUP) -> "Counters":
        """The counters of the cgroup that is mounted below `root`."""
        if (root / "cgroup.controllers").exists():
            stat = _fields(root / "cpu.stat")
            return cls(
                stat.get("usage_usec"),
                stat.get("nr_periods"),
                stat.get("nr_throttled"),
                stat.get("throttled_usec"),
                _number(root / "memory.peak"),
            )
        stat = _fields(root / "cpu/cpu.stat")
        return cls(
            _in_us(_number(root / "cpuacct/cpuacct.usage")),
            stat.get("nr_periods"),
            stat.get("nr_throttled"),
            _in_us(stat.get("throttled_time")),
            _number(root / "memory/memory.max_usage_in_bytes"),
        )

    def since(self, before: "Counters") -> "Counters":
        """What was counted between two readings; the memory's peak is this reading's."""
        return Counters(
            _between(before.cpu_us, self.cpu_us),
            _between(before.periods, self.periods),
            _between(before.throttled_periods, self.throttled_periods),
            _between(before.throttled_us, self.throttled_us),
            self.memory_peak_bytes,
        )


def _between(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None or after < before else after - before


def _in_us(nanoseconds: int | None) -> int | None:
    return None if nanoseconds is None else nanoseconds // _NS_PER_US


def _number(file: Path) -> int | None:
    text = text_of(file)
    return int(text) if text.isascii() and text.isdecimal() else None


def _fields(file: Path) -> dict[str, int]:
    return dict(_pairs(text_of(file)))


def _pairs(text: str) -> Iterator[tuple[str, int]]:
    for line in text.splitlines():
        key, _, value = line.partition(" ")
        if value.isascii() and value.isdecimal():
            yield key, int(value)


def text_of(file: Path) -> str:
    """What a file of the kernel says; empty if it is not there, or not for us."""
    try:
        return file.read_text("ascii").strip()
    except (OSError, ValueError):
        return ""
