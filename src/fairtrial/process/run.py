"""Run one command from start to the last of its descendants. See the package for what is promised."""

import contextlib
import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Literal

from fairtrial.process import tree
from fairtrial.process.cause import OomCounter, Sender, sender

_CHUNK = 64 * 1024
_LEFT_MAX = 200
_DRAIN_SECONDS = 120.0
Output = Callable[[str, bytes], None]


@dataclass(frozen=True)
class Command:
    """What to run and how long it may take. `env` is the whole environment."""

    argv: list[str]
    cwd: Path
    env: Mapping[str, str]
    deadline_seconds: float
    grace_seconds: float = 10
    stdin: bytes = b""  # empty: /dev/null
    pass_fds: tuple[int, ...] = ()


@dataclass(frozen=True)
class Ended:
    """How a command ended. A timeout and an exit are two facts: both may be true."""

    end: Literal["exited", "signaled", "not_started"]
    duration_ms: int = 0
    exit_code: int | None = None
    signal: int | None = None
    signal_sender: Sender | None = None
    timed_out: bool = False
    stopped: str | None = None  # why `Stop` was set, if it was
    error: str | None = None  # why it did not start
    left: list[str] = field(default_factory=list)  # "pid command" of what still ran when the program had ended
    left_count: int = 0
    unkillable: list[str] = field(default_factory=list)
    zombies_reaped: int = 0
    oom_kills: int | None = None
    duration_ns: int = 0  # from before its start until its end was seen, to the clock's own resolution


class Stop:
    """Tells a running command to stop before its deadline. Set once; the first reason stays."""

    def __init__(self) -> None:
        self.reason: str | None = None
        self._wake: list[Callable[[], None]] = []
        self._lock = threading.Lock()

    def set(self, reason: str) -> None:
        """Stop the command that runs now, and every later one before it starts."""
        with self._lock:
            self.reason = self.reason or reason
            wake = list(self._wake)
        for call in wake:
            call()

    @contextlib.contextmanager
    def watched(self, call: Callable[[], None]) -> Iterator[None]:
        """Have `call` made when this is set; at once if it is."""
        with self._lock:
            self._wake.append(call)
            at_once = self.reason is not None
        if at_once:
            call()
        try:
            yield
        finally:
            with self._lock:
                self._wake.remove(call)


@dataclass
class _Events:
    """What the waiting thread learns from the others."""

    queue: "queue.SimpleQueue[str]" = field(default_factory=queue.SimpleQueue)
    status: tuple[int, int] | None = None  # of the program: si_code, si_status
    zombies: int = 0
    failure: BaseException | None = None  # of whoever took the output

    def ended(self, code: int, status: int) -> None:
        self.status = (code, status)
        self.queue.put("ended")

    def failed(self, error: BaseException) -> None:
        self.failure = self.failure or error
        self.queue.put("stop")


@dataclass
class _Verdict:
    """What was done to a program while it was waited for."""

    timed_out: bool = False
    ours: set[int] = field(default_factory=set)


_one_at_a_time = threading.Lock()  # descendants cannot be told apart between two commands


def run(
    command: Command,
    *,
    output: Output,
    stop: Stop | None = None,
    alone: bool = False,
    before_sweep: Callable[[], None] = lambda: None,
) -> Ended:
    """Run one command and end all that it started. `before_sweep` sees what the ended program left running."""
    stop = stop or Stop()
    with _one_at_a_time:
        if stop.reason:
            return Ended("not_started", stopped=stop.reason, error="stopped before it started")
        if not alone:
            tree.become_subreaper()
        spare = frozenset() if alone else tree.children()
        if not command.argv:
            return Ended("not_started", error="the argv is empty")
        oom, began = OomCounter.read(), time.monotonic_ns()
        try:
            child = _start(command)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            return Ended("not_started", error=f"{command.argv[0]}: {error}")
        events = _Events()
        threads = _threads(child, command, output, events, alone)
        with stop.watched(lambda: events.queue.put("stop")):
            verdict = _wait(command, events, alone, spare)
        duration = time.monotonic_ns() - began
        left = tree.others(alone=alone, spare=spare)
        before_sweep()
        unkillable = tree.sweep(alone=alone, spare=spare)
        _finish(threads, events, spare, alone)
        return _ended(
            events,
            verdict,
            oom_kills=OomCounter.read().since(oom),
            duration_ms=duration // 1_000_000,
            duration_ns=duration,
            stopped=stop.reason,
            left=[str(proc) for proc in left[:_LEFT_MAX]],
            left_count=len(left),
            unkillable=[str(p) for p in unkillable],
        )


def _start(command: Command) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        command.argv,
        cwd=command.cwd,
        env=dict(command.env),
        stdin=subprocess.PIPE if command.stdin else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        pass_fds=command.pass_fds,
        bufsize=0,
        # We may hold signals back for ourselves; the program must start with none blocked. Nothing here takes a lock.
        preexec_fn=_unblock_signals,  # noqa: PLW1509
    )


def _unblock_signals() -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _threads(
    child: "subprocess.Popen[bytes]", command: Command, output: Output, events: _Events, alone: bool
) -> list[threading.Thread]:
    assert child.stdout is not None and child.stderr is not None
    reaper = _reap_all if alone else _reap_one
    work: list[tuple[Callable[..., None], tuple[object, ...]]] = [
        (reaper, (child.pid, events)),
        (_pump, ("stdout", child.stdout, output, events)),
        (_pump, ("stderr", child.stderr, output, events)),
    ]
    if child.stdin is not None:
        work.append((_feed, (child.stdin, command.stdin)))
    child.returncode = 0  # the reaper waits for it, not Popen
    threads = [threading.Thread(target=target, args=args, daemon=True) for target, args in work]
    for thread in threads:
        thread.start()
    return threads


def _wait(command: Command, events: _Events, alone: bool, spare: frozenset[int]) -> _Verdict:
    """Wait for the program's end; at the deadline or when told to stop, ask, then force."""
    verdict = _Verdict()
    event = _next(events, command.deadline_seconds)
    if event == "ended":
        return verdict
    verdict.timed_out = event is None
    verdict.ours.add(signal.SIGTERM)
    tree.signal_all(signal.SIGTERM, alone=alone, spare=spare)
    tree.signal_all(signal.SIGCONT, alone=alone, spare=spare)  # a stopped program can only hear us when it runs
    grace = time.monotonic() + command.grace_seconds
    while events.status is None and (left := grace - time.monotonic()) > 0:
        _next(events, left)
    while events.status is None:
        verdict.ours.add(signal.SIGKILL)
        tree.sweep(alone=alone, spare=spare)
        _next(events, 1)
    return verdict


def _next(events: _Events, timeout: float) -> str | None:
    try:
        return events.queue.get(timeout=max(0.0, timeout))
    except queue.Empty:
        return None


def _reap_one(pid: int, events: _Events) -> None:
    """Wait for the program alone: an ordinary process has children that are none of our business."""
    with contextlib.suppress(ChildProcessError):
        if found := os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT):
            events.ended(found.si_code, found.si_status)


def _reap_all(pid: int, events: _Events) -> None:
    """As PID 1: reap whatever ends, until there is nothing left to wait for."""
    with contextlib.suppress(ChildProcessError):
        while found := os.waitid(os.P_ALL, 0, os.WEXITED):
            if found.si_pid == pid:
                events.ended(found.si_code, found.si_status)
            else:
                events.zombies += 1


def _pump(stream: str, pipe: IO[bytes], output: Output, events: _Events) -> None:
    try:
        with pipe:
            while data := os.read(pipe.fileno(), _CHUNK):
                output(stream, data)
    except BaseException as error:  # noqa: BLE001 — raised again by `run`, after the sweep
        events.failed(error)


def _feed(pipe: IO[bytes], data: bytes) -> None:
    with contextlib.suppress(OSError), pipe:  # a program need not read its input
        while data:
            data = data[os.write(pipe.fileno(), data) :]


def _finish(threads: list[threading.Thread], events: _Events, spare: frozenset[int], alone: bool) -> None:
    if not alone:
        for pid in tree.children() - spare:
            with contextlib.suppress(ChildProcessError):
                events.zombies += os.waitpid(pid, os.WNOHANG)[0] == pid
        events.zombies -= 1  # the program itself
    deadline = time.monotonic() + _DRAIN_SECONDS
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
        if thread.is_alive():
            events.failed(TimeoutError(f"output was not taken within {_DRAIN_SECONDS:.0f} s after the end"))
    if events.failure is not None:
        raise events.failure


def _ended(events: _Events, verdict: _Verdict, *, oom_kills: int | None, **facts: Any) -> Ended:
    assert events.status is not None
    code, status = events.status
    facts |= {"timed_out": verdict.timed_out, "zombies_reaped": events.zombies, "oom_kills": oom_kills}
    if code == os.CLD_EXITED:
        return Ended("exited", exit_code=status, **facts)
    return Ended("signaled", signal=status, signal_sender=sender(status, frozenset(verdict.ours), oom_kills), **facts)
