"""The runner's smaller parts: streams, leaks, isolation, what steps are told, what ends them."""

import datetime as dt
import hashlib
import json
import socket
import subprocess
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from fairtrial_runner import environment, home, isolation
from fairtrial_runner.account import Account
from fairtrial_runner.launch import step_result, stops_all, told
from fairtrial_runner.leaks import Scan
from fairtrial_runner.leftovers import listening
from fairtrial_runner.streams import StreamKeeper
from fairtrial_runner.uploads import Uploads
from hypothesis import given, settings
from hypothesis import strategies as st

from fairtrial import failure
from fairtrial.classify import classify, facts_of
from fairtrial.documents import AgentPlan, Artifact, Probe, ProbeResult, RunIdentity, Snapshot, Step, StepNotice
from fairtrial.errors import FairtrialError, InvalidInput
from fairtrial.process import Ended
from fairtrial.testing import AGENT_POD_UID, RUN_UID, container_facts, make_finished_run, pod_facts
from fairtrial.testing import step_result as made_step

CANARY = "fairtrial-canary-" + "ab" * 16
PLAN = AgentPlan(RunIdentity("ns", "run", "uid"), "0" * 64, [Step("main", ["x"], 60)], limits={"cpu": "2"})


class Folder:
    """Artifacts in memory."""

    def __init__(self) -> None:
        self.stored: dict[str, bytes] = {}

    def put_artifact(self, name, content, *, media_type=""):
        data = content if isinstance(content, bytes) else content.read_bytes()
        self.stored[name] = data
        return Artifact(name, len(data), hashlib.sha256(data).hexdigest())


def kept(folder: Path, pieces: list[bytes], keep: int, clock=lambda: 0.0):
    store = Folder()
    uploads = Uploads(store, folder / "journal")
    keeper = StreamKeeper("stdout", folder, keep, uploads, clock)
    for piece in pieces:
        keeper.add(piece)
    keeper.finish()
    uploads.finish()
    return keeper.result(), b"".join(data for _, data in sorted(store.stored.items())), store


@given(st.lists(st.binary(max_size=30), max_size=20), st.integers(0, 60))
@settings(max_examples=200, deadline=None)
def test_a_stream_keeps_its_first_and_last_bytes_and_counts_all(tmp_path_factory, pieces, keep):
    stream, stored, _ = kept(tmp_path_factory.mktemp("s"), pieces, keep)
    whole = b"".join(pieces)
    head = keep - keep // 2

    assert (stream.bytes_seen, stream.sha256_seen) == (len(whole), hashlib.sha256(whole).hexdigest())
    assert stream.truncated == (len(whole) > keep)
    tail = whole[max(head, len(whole) - keep // 2) :]
    assert stored == whole[:head] + tail


def test_a_quiet_stream_goes_out_after_a_while_and_in_order(tmp_path):
    now = iter(range(0, 100, 3))
    _, stored, store = kept(tmp_path, [b"a", b"b", b"c", b"d"], 1000, lambda: float(next(now)))

    assert stored == b"abcd" and len(store.stored) > 1


def test_what_could_not_be_stored_is_not_called_kept(tmp_path):
    class Refusing(Folder):
        def put_artifact(self, name, content, *, media_type=""):
            raise FairtrialError("no")

    uploads = Uploads(Refusing(), tmp_path / "journal")
    keeper = StreamKeeper("stdout", tmp_path, 100, uploads)
    keeper.add(b"lost")
    keeper.finish()
    uploads.finish()

    assert (keeper.result().bytes_kept, keeper.result().truncated) == (0, True)
    assert uploads.failures == ["agent/streams/stdout/000000: no"]


def test_leaks_are_found_in_files_names_links_and_the_environment(tmp_path):
    (tmp_path / "file").write_bytes(b"x" * (1024 * 1024 - 10) + CANARY.encode())  # over the edge of a chunk
    (tmp_path / CANARY).touch()
    (tmp_path / "link").symlink_to(f"/{CANARY}")
    scan = Scan()
    scan.tree(tmp_path)
    scan.environment({"HINT": CANARY, "OTHER": "fairtrial-canary-short"})

    assert sorted(leak.split()[0] for leak in scan.leaks) == [str(tmp_path / "file"), "environment", "link", "name"]


def git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=x", "-c", "user.email=x@example.invalid", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.mark.parametrize("packed", [False, True])
def test_leaks_are_found_in_what_a_repository_has_forgotten(tmp_path, packed):
    git(tmp_path, "init")
    for number in range(20):
        (tmp_path / "f").write_text(f"{number}\n" * 200 + (CANARY if number == 10 else ""))
        git(tmp_path, "add", "f")
        git(tmp_path, "commit", "-m", str(number))
    if packed:
        git(tmp_path, "gc", "--aggressive")
    scan = Scan()
    scan.tree(tmp_path)

    assert scan.leaks and all("git" in leak for leak in scan.leaks)


def test_a_scan_that_ran_out_of_budget_says_so(tmp_path):
    (tmp_path / "big").write_bytes(bytes(5_000_000))
    scan = Scan(budget=1_000_000)
    scan.tree(tmp_path)

    assert scan.exhausted


def test_probes_tell_refusals_from_connections_and_answers():
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(type=socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        results = isolation.prove(
            [
                Probe("open", "tcp", "127.0.0.1", tcp.getsockname()[1]),
                Probe("closed", "tcp", "127.0.0.1", 1),
                Probe("silent", "udp-dns", "127.0.0.1", silent.getsockname()[1]),
                Probe("nowhere", "tcp", "fe80::1", 1),
            ],
            attempts=1,
            pauses=(0,),
        )

    assert [result.answers for result in results] == [["connected"], ["refused"], ["timeout"], ["unreachable"]]
    assert isolation.judge(results, 1) == "failed"
    assert isolation.judge(results[1:], 1) == "proven"
    assert isolation.judge([], 1) == "not_applicable"


def test_a_dns_server_that_would_have_to_ask_another_answers_all_the_same():
    """One that forwards the question to nobody, as in a cluster without a way out, is reached nevertheless."""
    with socket.socket(type=socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))

        def answer_for_itself() -> None:
            while True:
                request, sender = server.recvfrom(512)
                if request[2] >> 3 & 0xF == 2:  # opcode STATUS; the answer is NOTIMP
                    server.sendto(request[:2] + b"\x90\x04" + bytes(8), sender)
                    return

        threading.Thread(target=answer_for_itself, daemon=True).start()
        (result,) = isolation.prove([Probe("dns", "udp-dns", *server.getsockname())], attempts=1, pauses=(0,))

    assert result.answers == ["connected"]


def test_a_name_proves_nothing_since_no_pod_resolves_it():
    with pytest.raises(ValueError, match="metadata"):
        isolation.prove([Probe("x", "tcp", "metadata.internal", 80)], attempts=1, pauses=(0,))


@pytest.mark.parametrize(
    ("host", "far"),
    [
        ("10.0.0.1", False),
        ("169.254.169.254", False),
        ("fd00:ec2::254", False),
        ("1.1.1.1", True),
        ("2606:4700::1", True),
    ],
)
def test_an_answer_is_waited_for_as_long_as_it_may_take_from_there(host, far, monkeypatch):
    waited = []
    monkeypatch.setattr(isolation, "_try", lambda _, patience: waited.append(patience) or "timeout")

    isolation.prove([Probe("x", "tcp", host, 1)], attempts=1, pauses=(0,))

    assert waited == [0.5 if far else 0.2]


def test_one_connection_among_many_refusals_disproves_isolation():
    assert isolation.judge([ProbeResult("x", "tcp", "h", 1, ["timeout", "connected", "timeout"])], 3) == "failed"


def test_a_policy_that_is_enforced_a_moment_late_is_proven_by_a_later_round_and_told(monkeypatch):
    answers = iter(["timeout", "connected", "timeout", "timeout", "connected"])
    monkeypatch.setattr(isolation, "_try", lambda *_: next(answers))

    (late,) = isolation.prove([Probe("x", "tcp", "10.0.0.1", 1)], attempts=2, pauses=(0, 0, 0))

    assert late.answers == ["timeout", "connected", "timeout", "timeout"]
    assert isolation.judge([late], 2) == "proven"
    assert isolation.reached([late], 2) == ""


def test_what_is_reached_in_every_round_is_never_proven(monkeypatch):
    monkeypatch.setattr(isolation, "_try", lambda *_: "connected")

    results = isolation.prove([Probe("x", "tcp", "10.0.0.1", 1)], attempts=1, pauses=(0, 0))

    assert results[0].answers == ["connected", "connected"]
    assert isolation.judge(results, 1) == "failed"


def test_a_step_is_told_its_limits():
    began = dt.datetime(2030, 1, 1, tzinfo=dt.UTC)

    assert told(PLAN, PLAN.steps[0], began) == {
        "FAIRTRIAL_STEP": "main",
        "FAIRTRIAL_WALL_SECONDS": "60",
        "FAIRTRIAL_DEADLINE": "2030-01-01T00:01:00Z",
        "FAIRTRIAL_CPU_LIMIT": "2",
        "FAIRTRIAL_MEMORY_LIMIT": "",
    }


@pytest.mark.parametrize(
    ("ended", "ending"),
    [
        (Ended("exited", exit_code=1), None),
        (Ended("signaled", signal=9, signal_sender="agent"), None),
        (Ended("exited", exit_code=0, timed_out=True), "deadline"),
        (Ended("exited", exit_code=0, stopped="outside"), "stopped_from_outside"),
        (Ended("not_started", error="no such file"), "start_failed"),
    ],
)
def test_what_ends_all_steps(ended, ending):
    verdict = stops_all(PLAN.steps[0], ended)

    assert (verdict and verdict[0]) == ending


def test_our_kill_on_behalf_of_somebody_outside_is_theirs():
    ended = Ended("signaled", signal=15, signal_sender="launch", stopped="outside")

    assert step_result(PLAN.steps[0], dt.datetime.now(dt.UTC), ended).signal_sender == "outside"


def test_what_was_set_for_the_runtime_is_not_passed_on():
    own = {"PATH": "/bin", "PYTHONPATH": "own", "PYTHONHOME": "own", "LD_LIBRARY_PATH": "own"}

    assert environment.inherited({**own, "LD_PRELOAD": "", "LD_AUDIT": "", "KUBERNETES_SERVICE_HOST": "x"}) == own


def test_limits_are_read_in_both_cgroup_versions(tmp_path):
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory/memory.limit_in_bytes").write_text("1024\n")
    (tmp_path / "pids.max").write_text("max\n")

    assert environment.cgroup_limits(tmp_path) == {
        "cpuMax": None,
        "cpuPeriod": None,
        "memoryMax": "1024",
        "pidsMax": "max",
    }


def test_listening_ports_are_those_in_state_listen():
    table = "  sl  local_address rem_address   st\n 0: 0100007F:1F90 00000000:0000 0A x\n 1: 0100007F:1F91 0:0 01 x\n"

    assert listening(table) == {8080}


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"type": "x"},
        {"type": "end", "ending": "won"},
        {"type": "step", "result": {}},
        {"type": "timing", "phase": "A"},
        {"type": "step_started", "name": "no step", "startedAt": ""},
    ],
)
def test_a_message_that_does_not_fit_is_refused(message):
    with pytest.raises(InvalidInput):
        Account(PLAN, "pod", isolation="proven").told(message, {})


TWO_STEPS = replace(PLAN, steps=[Step("one", ["x"], 60), Step("two", ["x"], 30)])


def test_the_next_step_is_told_with_the_time_of_those_before():
    account = Account(TWO_STEPS, "pod", isolation="proven")
    first = account.next_step({"type": "next_step", "name": "one"})
    account.steps.append(made_step(name="one", duration_ms=1500))

    assert first == (1, StepNotice("one", 60, 0))
    assert account.next_step({"type": "next_step", "name": "two"}) == (2, StepNotice("two", 30, 1500))


@pytest.mark.parametrize(
    ("isolation", "done", "name"),
    [("failed", 0, "one"), ("proven", 0, "two"), ("proven", 1, "one"), ("proven", 2, "two"), ("proven", 0, None)],
)
def test_a_step_out_of_its_turn_or_without_a_proof_is_told_to_nobody(isolation, done, name):
    account = Account(TWO_STEPS, "pod", isolation=isolation, steps=[made_step() for _ in range(done)])

    with pytest.raises(InvalidInput):
        account.next_step({"type": "next_step", "name": name})


def test_no_step_begins_while_another_runs():
    account = Account(TWO_STEPS, "pod", isolation="proven")
    account.told({"type": "step_started", "name": "one", "startedAt": ""}, {})

    with pytest.raises(InvalidInput, match="not the next step"):
        account.next_step({"type": "next_step", "name": "one"})


def test_an_account_without_an_end_is_never_complete():
    account = Account(PLAN, "pod", isolation="proven")
    account.told({"type": "step_started", "name": "main", "startedAt": ""}, {"stdout": 5})
    account.lost("gone")

    report = account.report([], [], [])

    assert (report.ending, report.complete, report.message) == ("launch_lost", False, "gone during step main")
    finished = replace(account, ending="finished")
    assert finished.report([], [], []).complete and not finished.report([], [], ["x: not stored"]).complete


@pytest.mark.parametrize(("killed_by", "row"), [("Error", "launch_lost"), ("OOMKilled", "out_of_memory")])
def test_an_agent_that_takes_launch_down_in_its_first_step_has_failed(killed_by, row):
    """Kubelets kill a whole container for the memory of one process: were that no failure, it would win another try."""
    now = iter([10.0, 12.5])
    plan = replace(PLAN, run=RunIdentity("trials", "run-1", RUN_UID))
    account = Account(plan, AGENT_POD_UID, isolation="proven", clock=lambda: next(now))
    account.told({"type": "step_started", "name": "main", "startedAt": "2026-01-01T12:00:00.000Z"}, {"stdout": 5})
    account.lost("gone")
    account.snapshot = Snapshot("measured", Artifact("agent/snapshot.tar", 1, "0" * 64))

    report = account.report([], [], [])

    (step,) = report.steps
    assert (step.name, step.argv, step.end, step.duration_ms, step.stream_offsets) == (
        "main",
        ["x"],
        "lost",
        2500,
        {"stdout": 5},
    )
    pod = pod_facts(phase="Failed", containers={"agent": container_facts(exit_code=137, reason=killed_by)})
    agent = make_finished_run().status.agent_pod.model_copy(update={"facts": pod})
    run = make_finished_run()
    run = run.model_copy(update={"status": run.status.model_copy(update={"agent_pod": agent, "evaluator_pod": None})})
    assert classify(facts_of(run, report, None)).row == row


@pytest.mark.parametrize(
    "message",
    [
        {"type": "step_started", "name": "main", "startedAt": ""},
        {"type": "end", "ending": "isolation_not_enforced", "message": ""},
    ],
)
def test_launchs_word_on_the_proof_is_not_taken_against_our_own(message):
    with pytest.raises(InvalidInput, match="proof"):
        Account(PLAN, "pod", isolation="proven" if message["type"] == "end" else "failed").told(message, {})


@pytest.mark.parametrize("ending", ["isolation_not_enforced", "preflight_failed", "leak_found"])
def test_what_keeps_an_agent_from_starting_can_not_end_one_that_has(ending):
    account = Account(PLAN, "pod", isolation="failed" if ending == "isolation_not_enforced" else "proven")
    account.steps = [made_step()]
    with pytest.raises(InvalidInput, match="had started"):
        account.told({"type": "end", "ending": ending, "message": ""}, {})


def test_a_failure_is_told_to_the_kubelet_in_few_bytes(tmp_path, capsys):
    failure.report(InvalidInput("ü" * 10_000), tmp_path / "log")

    told_to = (tmp_path / "log").read_bytes()
    assert json.loads(told_to)["reason"] == "InvalidInput"
    assert len(told_to) < 4096 * 6


# --- home -------------------------------------------------------------------------------------------------------------
def test_the_key_for_model_calls_is_filled_in_beside_the_agent_only(tmp_path):
    token = tmp_path / "token"
    token.write_text("a.b.c\n")

    home.furnish(tmp_path, home.filled({".tool/config.json": '{"key": "{modelToken}"}'}, home.model_token(token)))

    assert (tmp_path / ".tool/config.json").read_text() == '{"key": "a.b.c"}'
    assert home.model_token(tmp_path / "none") == ""


@pytest.mark.parametrize("path", ["../x", "/x", "a/../../x", ""])
def test_a_home_file_outside_the_home_folder_is_refused(tmp_path, path):
    with pytest.raises(InvalidInput, match="homeFiles"):
        home.furnish(tmp_path, {path: "x"})
