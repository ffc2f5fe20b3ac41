"""Running somebody else's program as an ordinary process: told truly, bounded in time, swept clean."""

import os
import signal
import subprocess
import threading
from pathlib import Path

import pytest

from fairtrial.process import Command, OomCounter, Proc, Stop, run, sender
from fairtrial.process.tree import descendants


def sh(script: str, seconds: float = 10, grace: float = 0.2, stdin: bytes = b"") -> Command:
    return Command(["/bin/sh", "-c", script], Path("/"), {"PATH": os.environ["PATH"]}, seconds, grace, stdin)


class Taken:
    """What a program said."""

    def __init__(self) -> None:
        self.streams = {"stdout": b"", "stderr": b""}

    def __call__(self, stream: str, data: bytes) -> None:
        self.streams[stream] += data


def test_an_exit_code_is_the_programs_own_even_if_it_looks_like_a_signal():
    for code in (0, 3, 124, 137, 143):
        ended = run(sh(f"exit {code}"), output=Taken())
        assert (ended.end, ended.exit_code, ended.signal, ended.timed_out) == ("exited", code, None, False)


def test_input_and_output_pass_through():
    taken = Taken()
    run(sh("cat; echo err >&2", stdin=b"x" * 300_000), output=taken)

    assert taken.streams == {"stdout": b"x" * 300_000, "stderr": b"err\n"}


def test_input_that_nobody_reads_is_no_error():
    assert run(sh("exit 4", stdin=b"x" * 300_000), output=Taken()).exit_code == 4


def test_without_input_there_is_an_end_at_once():
    assert run(sh("cat"), output=Taken()).exit_code == 0


def test_the_deadline_asks_and_then_forces():
    """The deadline leaves a shell time to set its trap."""
    polite = run(sh("trap 'exit 5' TERM; sleep 60 & wait", 1, 20), output=Taken())
    stubborn = run(sh("trap '' TERM; sleep 60 & wait; sleep 60", 1), output=Taken())

    assert (polite.timed_out, polite.exit_code) == (True, 5)
    assert (stubborn.timed_out, stubborn.signal, stubborn.signal_sender) == (True, signal.SIGKILL, "launch")


def test_what_escaped_by_a_double_fork_is_listed_and_killed():
    taken = Taken()
    ended = run(sh("(setsid sleep 987 &) ; (setsid sh -c 'trap \"\" TERM; sleep 988' &); echo done"), output=taken)

    assert ended.exit_code == 0 and ended.left_count >= 2
    assert any("sleep 987" in line for line in ended.left)
    assert ended.duration_ms < 60_000 and ended.unkillable == []


def test_time_is_measured_to_the_clocks_own_resolution():
    ended = run(sh("sleep 0.05"), output=Taken())

    assert 50_000_000 < ended.duration_ns < 60_000_000_000
    assert ended.duration_ns % 1_000_000 != 0
    assert ended.duration_ms == ended.duration_ns // 1_000_000


def test_our_own_children_are_spared():
    with subprocess.Popen(["sleep", "30"]) as ours:
        run(sh("sleep 60", 0.1), output=Taken())
        assert ours.poll() is None
        ours.kill()


def test_a_stop_from_another_thread_is_told_apart_from_a_deadline():
    stop = Stop()

    def heard(stream: str, data: bytes) -> None:
        threading.Thread(target=stop.set, args=["outside"]).start()

    ended = run(sh("echo up; exec sleep 60"), output=heard, stop=stop)
    later = run(sh("echo never"), output=Taken(), stop=stop)

    assert (ended.stopped, ended.timed_out, ended.signal) == ("outside", False, signal.SIGTERM)
    assert (later.end, later.stopped) == ("not_started", "outside")


def test_whoever_takes_the_output_can_end_it_by_failing():
    def refuse(stream: str, data: bytes) -> None:
        raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        run(sh("yes"), output=refuse)


def test_what_cannot_be_started_is_told():
    ended = run(Command(["/no/such"], Path("/"), {}, 1), output=Taken())

    assert ended.end == "not_started" and "/no/such" in str(ended.error)
    assert run(Command([], Path("/"), {}, 1), output=Taken()).end == "not_started"


def test_a_program_starts_with_no_signal_blocked_and_no_descriptor_of_ours():
    taken = Taken()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    try:
        run(sh("grep SigBlk /proc/self/status; ls /proc/self/fd | wc -l"), output=taken)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR1})

    assert taken.streams["stdout"] == b"SigBlk:\t0000000000000000\n4\n"  # 0, 1, 2 and the listing's own


@pytest.mark.parametrize(
    ("number", "ours", "kills", "who"),
    [
        (signal.SIGKILL, {signal.SIGKILL}, 1, "launch"),
        (signal.SIGKILL, set(), 1, "kernel"),
        (signal.SIGKILL, set(), 0, "agent"),
        (signal.SIGKILL, set(), None, "unknown"),
        (signal.SIGSEGV, {signal.SIGTERM}, 0, "agent"),
        (signal.SIGTERM, set(), 0, "agent"),
        (signal.SIGTERM, {signal.SIGTERM}, None, "launch"),
    ],
)
def test_who_sent_a_signal(number, ours, kills, who):
    assert sender(number, frozenset(ours), kills) == who


def test_the_kernels_counter_is_read_in_both_versions(tmp_path):
    (tmp_path / "v2").write_text("low 0\noom 3\noom_kill 2\n")
    (tmp_path / "v1").write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 7\n")

    assert OomCounter.read((tmp_path / "none", tmp_path / "v2")).kills == 2
    assert OomCounter.read((tmp_path / "v1",)).since(OomCounter(5)) == 2
    assert OomCounter.read((tmp_path / "none",)).since(OomCounter(5)) is None


def test_descendants_leave_out_the_spared_and_what_is_below_them():
    tree = [Proc(2, 1, "S", ""), Proc(3, 2, "S", ""), Proc(4, 1, "S", ""), Proc(5, 4, "S", ""), Proc(6, 9, "S", "")]

    assert sorted(p.pid for p in descendants(tree, 1, frozenset({4}))) == [2, 3]
