"""`fairtrial-acp` with agents that behave badly: it ends, says why, loses no line and leaves nothing running."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fairtrial.api.adapter import Adapter
from fairtrial.events import conformance
from fairtrial.events.rules import load
from fairtrial.process import processes

AGENT = Path(__file__).with_name("agent.py")
COMMAND = [sys.executable, "-m", "fairtrial.acp"]
MARK = "FAIRTRIAL_ACP_TEST"


@dataclass(frozen=True)
class Driven:
    """What came of it."""

    code: int
    output: bytes
    error: str
    seconds: float

    @property
    def lines(self) -> list[bytes]:
        return self.output.splitlines()

    @property
    def records(self) -> list[Any]:
        return [json.loads(line) for line in self.lines if line.startswith(b"{")]

    @property
    def end(self) -> dict[str, Any]:
        found: dict[str, Any] = self.records[-1]["run"]
        return found

    def client(self) -> list[dict[str, Any]]:
        return [one for one in self.records if "client" in one]

    def texts(self) -> list[str]:
        """What the agent said, of whole lines."""
        updates = [one["params"]["update"] for one in self.records if one.get("method") == "session/update"
                   and isinstance(one.get("params", {}).get("update"), dict)]  # fmt: skip
        return [one["content"]["text"] for one in updates]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "inside.txt").write_text("inside")
    (tmp_path / "outside").write_text("outside")
    (folder / "link").symlink_to(tmp_path / "outside")
    return folder


def start(project: Path, behaviour: str, *options: str) -> "subprocess.Popen[bytes]":
    name, *more = behaviour.split()
    return subprocess.Popen(
        [*COMMAND, *options, "--", sys.executable, os.fspath(AGENT), name, *more],
        cwd=project,
        env={**os.environ, MARK: os.fspath(project)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def ended(process: "subprocess.Popen[bytes]", project: Path, began: float) -> Driven:
    try:
        output, error = process.communicate(timeout=60)
    finally:
        process.kill()
    assert living(project) == [], "something was left running"
    return Driven(process.returncode, output, error.decode(), time.monotonic() - began)


def drive(project: Path, behaviour: str, *options: str, prompt: str = "Do it.") -> Driven:
    began = time.monotonic()
    process = start(project, behaviour, *options)
    assert process.stdin
    process.stdin.write(prompt.encode())
    return ended(process, project, began)


def living(project: Path) -> list[str]:
    """Every process that carries the test's mark, however it was started."""
    wanted, found = f"{MARK}={project}".encode(), []
    for proc in processes():
        try:
            environment = Path(f"/proc/{proc.pid}/environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if proc.state not in "ZX" and wanted in environment:
            found.append(str(proc))
    return found


def check(driven: Driven) -> conformance.Taken:
    """The adapter makes events of it, and passes its suite on it."""
    adapter = load(Adapter(name="acp").to_plan())
    failed = [one for one in conformance.check(adapter, {"agent": driven.output}, root="/") if not one.ok]
    assert [one.check for one in failed if not one.warning and one.check != "every line can be read"] == []
    return conformance.take(adapter, {"agent": driven.output}, root="/")


@pytest.mark.parametrize(
    ("reason", "code"),
    [("end_turn", 0), ("max_tokens", 10), ("max_turn_requests", 11), ("refusal", 12), ("cancelled", 13)],
)
def test_the_exit_code_tells_why_the_agent_stopped(project: Path, reason: str, code: int) -> None:
    driven = drive(project, f"well {reason}")

    assert (driven.code, driven.end["reason"], driven.end["agentExit"]) == (code, reason, 0)
    ends = [event for event in check(driven).events if event.kind == "session_end"]
    assert [event.detail.reason for event in ends] == [reason]


def test_both_sides_stand_in_the_output_in_the_order_in_which_they_spoke(project: Path) -> None:
    driven = drive(project, "well", prompt="Mend it.\n")

    said = [
        one["run"]["event"]
        if "run" in one
        else one["client"]["method"]
        if "client" in one
        else sorted(one["result"])[0]
        for one in driven.records
    ]
    assert said == [
        "start", "initialize", "protocolVersion", "session/new", "sessionId", "session/prompt", "stopReason", "end"
    ]  # fmt: skip
    new, prompt = (one["client"]["params"] for one in driven.client()[1:])
    assert new == {"cwd": os.fspath(project), "mcpServers": []}
    assert prompt["prompt"] == [{"type": "text", "text": "Mend it."}]


@pytest.mark.parametrize(("policy", "option", "status"), [("allow", "yes", "ok"), ("reject", "no", "denied")])
def test_permission_is_given_by_the_policy_and_stands_among_the_events(
    project: Path, policy: str, option: str, status: str
) -> None:
    driven = drive(project, "permitted", "--permissions", policy)

    assert driven.texts() == [f"told {option}"]
    assert driven.records[0]["run"]["permissions"] == policy
    taken = check(driven)
    (asked, decided) = (event for event in taken.events if event.kind.startswith("approval"))
    assert (asked.detail.call_id, decided.detail.call_id) == ("c1", "c1")
    assert (decided.status, decided.detail.reason) == (status, option)
    assert taken.interaction.approvals.value["requested"] == 1


def test_garbage_is_written_down_byte_for_byte_and_the_session_goes_on(project: Path) -> None:
    driven = drive(project, "garbage")

    assert (driven.code, driven.end["reason"]) == (0, "end_turn"), driven.error
    assert driven.texts() == ["before", "after"]
    assert b"Loading the model..." in driven.lines
    assert b"\xff\xfe\x00{" in driven.lines
    assert b"[" * 50_000 in driven.lines
    assert driven.end["noMessages"] == 13
    assert [one["unread"]["begins"] for one in driven.records if "unread" in one] == [
        '{"client": {"id": 0}}', '{"run": {"event": "end"}}'
    ]  # fmt: skip
    assert "Traceback" not in driven.error
    assert check(driven).interaction.session_end.value["reason"] == "end_turn"


def test_a_line_that_is_too_long_is_left_out_with_its_size_and_the_session_goes_on(project: Path) -> None:
    driven = drive(project, "huge")

    assert (driven.code, driven.texts()) == (0, ["before", "after"])
    (unread,) = (one["unread"] for one in driven.records if "unread" in one)
    assert unread["bytes"] > 17 * 2**20
    assert len(driven.output) < 10_000
    assert "output" in {event.kind for event in check(driven).events}


def test_files_are_read_and_written_in_the_folder_only_and_no_terminal_is_made(project: Path) -> None:
    driven = drive(project, "paths", "--files")

    assert driven.code == 0, driven.error
    assert (project / "new" / "made.txt").read_text() == "made"
    assert (project.parent / "outside").read_text() == "outside"
    refused = [one for one in driven.client() if "error" in one["client"]]
    assert [one["to"] for one in refused[:2]] == ["fs/read_text_file", "fs/write_text_file"]
    assert len(refused) == 8 + 5
    denied = [event for event in check(driven).events if event.status == "denied"]
    assert len(denied) == len(refused)


def test_without_being_told_to_it_offers_no_files_and_serves_none(project: Path) -> None:
    driven = drive(project, "nothing_offered")

    assert driven.code == 0, driven.error
    assert "clientCapabilities" not in driven.client()[0]["client"]["params"]


def test_what_is_asked_after_the_end_is_written_down_and_not_done(project: Path) -> None:
    driven = drive(project, "goes_on", "--files")

    assert (driven.code, driven.end["unanswered"]) == (0, 2)
    assert driven.seconds < 20
    assert driven.texts() == ["after the end"]
    assert [one["id"] for one in driven.records if "method" in one and "id" in one] == ["late", 9]
    assert all("error" not in one["client"] and "result" not in one["client"] for one in driven.client())
    assert not (project / "late.txt").exists()


@pytest.mark.parametrize(
    ("behaviour", "told"),
    [
        ("never_answers", "did not answer initialize within 1 s"),
        ("other_version", "version 2 of the protocol"),
        ("no_answer", "no InitializeResponse"),
        ("wants_login", "error -32000: Authentication required"),
        ("dies", "ended, or closed its output"),
        ("well bored", "no PromptResponse"),
    ],
)
def test_an_agent_that_fails_is_exit_code_1_with_the_reason(project: Path, behaviour: str, told: str) -> None:
    driven = drive(project, behaviour, "--start-seconds", "1" if behaviour == "never_answers" else "60")

    assert (driven.code, driven.end["reason"]) == (1, "agent_failed")
    assert told in driven.end["told"]
    assert told in driven.error
    assert "Traceback" not in driven.error
    (end,) = (event for event in check(driven).events if event.kind == "session_end" and event.status == "error")
    assert end.detail.reason == "agent_failed"


def test_an_agent_that_never_ends_is_ended_at_the_deadline_after_it_was_asked_to(project: Path) -> None:
    driven = drive(project, "silent", "--seconds", "2")

    assert (driven.code, driven.end["reason"]) == (124, "deadline")
    assert driven.client()[-1]["client"]["method"] == "session/cancel"
    taken = check(driven)
    assert taken.interaction.session_end.value == {"status": "timeout", "reason": "deadline"}
    assert taken.interaction.interventions.value == 1


def test_an_agent_that_reads_nothing_does_not_hold_it_up(project: Path) -> None:
    driven = drive(project, "never_answers", "--seconds", "2", prompt="x" * 2**20)

    assert driven.code == 124
    assert driven.seconds < 20


def test_nothing_that_the_agent_started_outlives_it(project: Path) -> None:
    assert drive(project, "leaves_children").code == 0
    assert drive(project, "deaf", "--seconds", "1").code == 124


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_becomes_a_request_to_cancel_and_the_agents_last_word_is_kept(
    project: Path, number: signal.Signals, code: int
) -> None:
    began = time.monotonic()
    process = start(project, "cancellable")
    assert process.stdin and process.stdout
    process.stdin.write(b"Do it.")
    process.stdin.close()
    process.stdin = None
    seen = b""
    while b"working" not in seen:
        seen += process.stdout.readline()

    process.send_signal(number)
    driven = ended(process, project, began)

    assert (driven.code, driven.end["reason"], driven.end["told"]) == (code, "signal", number.name)
    assert driven.records[-2]["result"] == {"stopReason": "cancelled"}
    assert check(driven).interaction.session_end.value == {"status": "cancelled", "reason": "signal"}


def test_it_authenticates_by_the_method_that_it_is_told(project: Path) -> None:
    driven = drive(project, "well", "--authenticate", "api-key")

    assert (driven.code, driven.texts()) == (0, ["logged in by api-key"])


def test_it_takes_the_mode_that_it_is_told(project: Path) -> None:
    driven = drive(project, "well", "--mode", "ask")

    assert (driven.code, driven.texts()) == (0, ["in mode ask"])


def test_a_program_that_is_not_there_is_exit_code_127(project: Path) -> None:
    done = subprocess.run([*COMMAND, "--", "no-such-agent"], input=b"x", capture_output=True, check=False)

    assert done.returncode == 127
    assert json.loads(done.stdout.splitlines()[-1])["run"]["reason"] == "not_started"


def test_no_prompt_is_wrong_usage(project: Path) -> None:
    done = subprocess.run([*COMMAND, "--", "cat"], input=b" \n", capture_output=True, text=False, check=False)

    assert (done.returncode, done.stdout) == (2, b"")
    assert b"stdin: prompt" in done.stderr
