"""Who ended a process: told from who sent which signal, never from an exit code that a program can choose itself."""

import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Sender = Literal["launch", "agent", "outside", "kernel", "unknown"]

_OOM_FILES = (
    Path("/sys/fs/cgroup/memory.events"),  # cgroup v2, as a container sees it
    Path("/sys/fs/cgroup/memory/memory.oom_control"),  # cgroup v1
)


@dataclass(frozen=True)
class OomCounter:
    """How many processes of this container the kernel has killed for want of memory; None where that is not told."""

    kills: int | None

    @classmethod
    def read(cls, files: tuple[Path, ...] = _OOM_FILES) -> "OomCounter":
        """Read the container's own counter, whichever cgroup version is mounted."""
        for file in files:
            try:
                text = file.read_text("ascii")
            except (OSError, ValueError):
                continue
            for line in text.splitlines():
                key, _, value = line.partition(" ")
                if key == "oom_kill" and value.isdecimal():
                    return cls(int(value))
        return cls(None)

    def since(self, before: "OomCounter") -> int | None:
        """Kills between two readings; None if either is unknown."""
        return None if self.kills is None or before.kills is None else self.kills - before.kills


def sender(number: int, ours: frozenset[int], oom_kills: int | None) -> Sender:
    """Who sent the signal that ended the program.

    `ours` are the signals that we sent to it. A SIGKILL that is neither ours nor the kernel's can only have come from
    inside: what kills from outside a PID namespace takes its PID 1 with it. Faults such as SIGSEGV are its own doing.
    """
    if number in ours:
        return "launch"
    if number != signal.SIGKILL:
        return "agent"
    if oom_kills is None:
        return "unknown"
    return "kernel" if oom_kills else "agent"
