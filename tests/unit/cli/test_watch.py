"""`fairtrial watch`: it ends when every run is recorded, and shows what pods said without obeying it."""

import io
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from fairtrial.cli import watch
from fairtrial.cli.kubectl import Kubectl, KubectlFailed

NOON = datetime(2026, 1, 1, 12, 0, 30, tzinfo=UTC)
RECORDED = {"conditions": [{"type": "Recorded", "status": "True"}], "phase": "Done", "outcome": "passed"}


def run(name: str = "run-1", **status: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "creationTimestamp": "2026-01-01T12:00:00Z"},
        "spec": {"taskRef": {"name": "task-1"}, "candidate": {"name": "candidate-1"}},
        "status": status,
    }


@pytest.fixture
def kubectl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A program named kubectl that gives one answer after another, the last for ever, and notes its arguments."""
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(watch, "POLL_SECONDS", 0)

    def answering(*answers: list[dict[str, Any]]) -> Kubectl:
        (tmp_path / "answers.json").write_text(json.dumps([{"items": items} for items in answers]))
        program = tmp_path / "kubectl"
        program.write_text(
            f"#!{sys.executable} -I\n"
            "import json, pathlib, sys\n"
            f"here = pathlib.Path({str(tmp_path)!r})\n"
            "answers = json.loads((here / 'answers.json').read_text())\n"
            "print(json.dumps(answers[0]))\n"
            "(here / 'answers.json').write_text(json.dumps(answers[1:] or answers))\n"
            "(here / 'arguments.json').write_text(json.dumps(sys.argv[1:]))\n"
        )
        program.chmod(0o755)
        return Kubectl(None, "trials")

    return answering


def test_watching_ends_when_every_run_is_recorded(kubectl, capsys):
    running, done = run(phase="Running"), run(**RECORDED)

    watch.watch(kubectl([], [running, run("run-2")], [done, run("run-2")], [done, run("run-2", **RECORDED)]), "")

    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        "no run yet; waiting for one",
        "run-1: Running",
        "run-2: Pending",
        "run-1: passed",
        "run-2: passed",
    ]


@pytest.mark.parametrize("selector", ["", "team=a"])
def test_a_selector_is_passed_on_only_if_there_is_one(kubectl, tmp_path, selector):
    watch.watch(kubectl([run(**RECORDED)]), selector)

    arguments = json.loads((tmp_path / "arguments.json").read_text())
    assert ("--selector" in arguments, selector in arguments) == (bool(selector), bool(selector))


def test_text_from_pods_is_shown_and_not_obeyed():
    shown = Console(file=io.StringIO(), width=200)

    shown.print(watch.table([run(phase="Waiting", message="odd [/b] and \x1b[2J")], NOON))

    text = shown.file.getvalue()  # type: ignore[attr-defined]
    assert "odd [/b] and \ufffd[2J" in text
    assert "30s" in text


@pytest.mark.parametrize(
    ("status", "says"),
    [
        ({}, "Pending"),
        ({"phase": "Waiting", "message": "No node has room."}, "Waiting · No node has room."),
        ({"phase": "Done", "outcome": "passed", "reason": None, "category": None}, "passed"),
        (
            {"outcome": "failed", "reason": "checks_failed", "category": "type_error"},
            "failed · checks_failed · type_error",
        ),
    ],
)
def test_a_run_is_told_in_one_line(status, says):
    assert watch.what_it_does(run(**status)) == says


def test_a_run_counts_as_recorded_by_its_condition_alone():
    assert watch.is_recorded(run(**RECORDED))
    assert not watch.is_recorded(run(phase="Done", outcome="passed"))
    assert not watch.is_recorded(run(conditions=[{"type": "Recorded", "status": "Unknown"}]))


def test_without_kubectl_the_next_move_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(KubectlFailed, match="make up"):
        Kubectl()
