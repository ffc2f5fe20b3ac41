"""Which processes there are, which of them are ours to end, and the kernel switches that make ending them certain."""

import ctypes
import os
import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_PR_SET_DUMPABLE, _PR_SET_CHILD_SUBREAPER = 4, 36
_SWEEP_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class Proc:
    """One process as /proc shows it."""

    pid: int
    parent: int
    state: str
    command: str

    def __str__(self) -> str:
        """As a report lists it."""
        return f"{self.pid} {self.command}"


def become_subreaper() -> None:
    """Orphans below this process become its children, so that no double fork escapes a sweep."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def hide_from_peers() -> None:
    """Other processes of the same user may no longer trace this one or read its memory and descriptors."""
    _prctl(_PR_SET_DUMPABLE, 0)


def processes() -> list[Proc]:
    """Every process in sight, this one included."""
    pids = [int(entry.name) for entry in os.scandir("/proc") if entry.name.isdecimal()]
    return [proc for pid in pids if (proc := _read(pid))]


def others(*, alone: bool, spare: frozenset[int] = frozenset()) -> list[Proc]:
    """Living processes that are ours to end: all but this one, or this one's descendants but for `spare` and theirs."""
    living = [proc for proc in processes() if proc.state not in "ZX" and proc.pid != os.getpid()]
    return living if alone else descendants(living, os.getpid(), spare)


def descendants(found: Iterable[Proc], root: int, spare: frozenset[int]) -> list[Proc]:
    """Those below `root`, without `spare` and what is below those. Pure."""
    children: dict[int, list[Proc]] = {}
    for proc in found:
        children.setdefault(proc.parent, []).append(proc)
    result: list[Proc] = []
    queue = [root]
    while queue:
        below = [proc for proc in children.get(queue.pop(), []) if proc.pid not in spare]
        result += below
        queue += [proc.pid for proc in below]
    return result


def children() -> frozenset[int]:
    """This process's own children now, zombies included."""
    return frozenset(proc.pid for proc in processes() if proc.parent == os.getpid())


def signal_all(number: int, *, alone: bool, spare: frozenset[int]) -> int:
    """Send a signal to everything that is ours to end; how many processes that were (1 stands for all when alone)."""
    if alone:
        # As PID 1 the kernel does this in one step, which no fork bomb outruns.
        try:
            os.kill(-1, number)
        except ProcessLookupError:
            return 0
        return 1
    found = others(alone=False, spare=spare)
    for proc in found:
        try:
            os.kill(proc.pid, number)
        except (ProcessLookupError, PermissionError):
            continue
    return len(found)


def sweep(*, alone: bool, spare: frozenset[int]) -> list[Proc]:
    """Kill everything that is ours to end until nothing is left; what could not be ended in time is returned."""
    deadline = time.monotonic() + _SWEEP_SECONDS
    while time.monotonic() < deadline:
        if not alone:
            # Stopped first, what forks faster than we look cannot fork any more.
            signal_all(signal.SIGSTOP, alone=False, spare=spare)
        if not signal_all(signal.SIGKILL, alone=alone, spare=spare) or not others(alone=alone, spare=spare):
            return []
        time.sleep(0.005)
    return others(alone=alone, spare=spare)


def _read(pid: int) -> Proc | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes().decode("utf-8", "replace")
        line = Path(f"/proc/{pid}/cmdline").read_bytes()[:400]
    except OSError:
        return None
    name, _, rest = stat.partition("(")[2].rpartition(") ")
    state, parent = rest.split()[:2]
    command = line.rstrip(b"\0").replace(b"\0", b" ").decode("utf-8", "replace") or f"[{name}]"
    return Proc(pid, int(parent), state, "".join(c if c.isprintable() else "\ufffd" for c in command))


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0):
        raise OSError(ctypes.get_errno(), f"prctl({option}, {value}) failed")
