"""`fairtrial watch COHORT …`: how far it is, what is under way, and an end when nothing more is to come."""

import contextlib
import fcntl
import io
import json
import os
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from fairtrial.cli import watch, watch_cohorts
from fairtrial.cli.app import app
from fairtrial.cli.kubectl import KubectlFailed

COMPLETE = {"type": "Complete", "status": "True", "reason": "AllAccountedFor"}
CANCELLED = COMPLETE | {"reason": "Cancelled"}
ANALYSED = {"type": "Analysed", "status": "True", "reason": "Supported"}
PENDING = {"type": "Analysed", "status": "Unknown", "reason": "Pending"}  # there from the first status on
RETRYING = {"type": "Analysed", "status": "False", "reason": "Retrying"}
FAILED = {"type": "Analysed", "status": "False", "reason": "AnalysisFailed"}
COUNTS = {"scheduled": 100, "replacements": 1, "passed": 30, "failed": 6, "invalid": 1, "running": 4, "pending": 60}


def cohort(name: str = "paired", *conditions: dict[str, str], **status: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name},
        "spec": {"stage": "confirmatory"},
        "status": {"conditions": list(conditions), **status},
    }


class Answers:
    """A cluster that gives one cohort after another, the last for ever; or fails instead."""

    def __init__(self, *cohorts: dict[str, Any] | KubectlFailed) -> None:
        self.cohorts = list(cohorts)
        self.asked: list[tuple[str, ...]] = []

    def get(self, *arguments: str) -> dict[str, Any]:
        self.asked.append(arguments)
        if arguments[0] != watch_cohorts.KIND:
            return {"items": []}
        found = self.cohorts.pop(0) if len(self.cohorts) > 1 else self.cohorts[0]
        if isinstance(found, KubectlFailed):
            raise found
        return found


def test_each_change_is_a_line_and_it_ends_with_the_cohort(monkeypatch, capsys):
    monkeypatch.setattr(watch, "POLL_SECONDS", 0)
    running = cohort(phase="Running", progress="37/101", eta="25m", counts=COUNTS)
    over = cohort("paired", COMPLETE, phase="Complete", progress="101/101", counts={"passed": 101})

    watch_cohorts.run(Answers(cohort(), running, running, over), ["paired"])  # type: ignore[arg-type]

    assert [line.strip() for line in capsys.readouterr().out.splitlines()] == [
        "paired: Draft",
        "paired: Running · 37/101 · passed 30 · failed 6 · invalid 1 · running 4 · pending 60 · about 25m left",
        "paired: Complete · 101/101 · passed 101",
    ]


@pytest.mark.parametrize(
    ("conditions", "without", "with_analysis"),
    [
        ([PENDING], False, False),
        ([COMPLETE | {"status": "False"}, PENDING], False, False),
        ([COMPLETE], True, False),
        ([COMPLETE, PENDING], True, False),
        ([COMPLETE, RETRYING], True, False),
        ([COMPLETE, FAILED], True, True),
        ([COMPLETE, ANALYSED], True, True),
        ([CANCELLED, PENDING], True, True),
    ],
)
def test_a_cohort_is_over_when_neither_runs_nor_an_analysis_are_to_come(conditions, without, with_analysis):
    made = cohort("paired", *conditions)
    asking = made | {"spec": made["spec"] | {"analysis": {"version": "1"}}}

    assert (watch_cohorts.is_over(made), watch_cohorts.is_over(asking)) == (without, with_analysis)


def test_a_smoke_cohort_is_analysed_only_if_somebody_asks():
    made = cohort("paired", COMPLETE, PENDING)
    made["spec"] = {"stage": "smoke", "analysis": {"version": "1"}}
    asked = made | {"metadata": made["metadata"] | {"annotations": {"fairtrial.dev/analyse": "now"}}}

    assert (watch_cohorts.is_over(made), watch_cohorts.is_over(asked)) == (True, False)


def test_the_table_counts_and_shows_the_verdict():
    shown = Console(file=io.StringIO(), width=200)
    done = cohort(phase="Analysed", progress="101/101", counts=COUNTS, analysis={"verdict": "SUPPORTED"})

    shown.print(watch_cohorts.table([done]))

    header, row = shown.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert header.split() == [
        "COHORT",
        "STAGE",
        "PHASE",
        "DONE",
        "PASSED",
        "FAILED",
        "INVALID",
        "VERDICT",
    ]
    assert row.split() == ["paired", "confirmatory", "Analysed", "101/101", "30", "6", "1", "SUPPORTED"]


@pytest.mark.parametrize(
    "status",
    [
        {"phase": "Running", "progress": "370/1010", "eta": "2h25m"},
        {"phase": "Running", "progress": "37/101", "eta": "25m", "counts": COUNTS | {"void": 1}},
        {"phase": "Analysed", "progress": "101/101", "eta": "1m", "analysis": {"verdict": "NOT SUPPORTED"}},
        {"phase": "Suspended", "progress": "37/101", "message": "Suspended: 4 runs go on. " * 9},
    ],
)
def test_a_terminal_of_80_columns_has_room_for_a_cohort_in_one_line(status: dict[str, Any]):
    shown = Console(file=io.StringIO(), width=80)

    shown.print(watch_cohorts.table([cohort(**{"counts": COUNTS, **status})]))

    _, row, *below = shown.file.getvalue().splitlines()  # type: ignore[attr-defined]
    for cell in ("paired", "confirmatory", status["phase"], status["progress"], "30"):
        assert f"{cell} " in row
    assert ("━" in row) == (status["phase"] != "Analysed"), "a bar while something is still to come"
    assert "".join(below).startswith("paired: Suspended" if "message" in status else "")


def test_what_holds_a_cohort_is_told():
    waits = {"type": "CapacityAvailable", "reason": "WaitingForQueue", "message": "3 of 4 runs under way wait: …"}
    waiting = cohort("paired", waits | {"status": "False"}, phase="Running", progress="2/20")
    shown = Console(file=io.StringIO(), width=200)

    shown.print(watch_cohorts.table([waiting]))

    assert "3 of 4 runs under way wait" in shown.file.getvalue()  # type: ignore[attr-defined]
    assert watch_cohorts.line(waiting) == "Running · 2/20 · WaitingForQueue"
    assert watch_cohorts.line(cohort("paired", waits | {"status": "True"}, phase="Running")) == "Running"


@pytest.mark.parametrize(
    ("kind", "reason", "told"),
    [
        ("Accepted", "TaskNotFound", True),
        ("Sealed", "NotAsked", True),
        ("Sealed", "StoreUnavailable", True),
        ("Complete", "LedgerBroken", True),
        ("Complete", "Running", False),
        ("Analysed", "AnalysisFailed", True),
        ("Accepted", "Cancelled", False),
        ("Comparable", "BlocksDiffer", False),  # told by its count, and nothing waits for it
    ],
)
def test_whatever_keeps_it_from_going_on_is_told_with_its_message(kind: str, reason: str, told: bool):
    made = cohort("paired", {"type": kind, "status": "False", "reason": reason, "message": "Do this."}, phase="Draft")
    shown = Console(file=io.StringIO(), width=200)

    shown.print(watch_cohorts.table([made]))

    assert watch_cohorts.line(made) == (f"Draft · {reason} · Do this." if told else "Draft")
    assert ("Do this." in shown.file.getvalue()) == told  # type: ignore[attr-defined]


def test_what_comes_first_in_its_life_holds_it():
    last, first = ({"type": kind, "status": "False", "reason": "R", "message": kind} for kind in ("Sealed", "Accepted"))
    assert watch_cohorts.message(cohort("paired", last, first)) == "Accepted"


def test_labels_choose_among_single_runs_only():
    done = CliRunner().invoke(app, ["watch", "paired", "--selector", "team=a"])
    assert done.exit_code == 2
    assert "give it or COHORT" in done.stderr


def test_blocks_that_can_not_be_compared_are_told():
    assert watch_cohorts.line(cohort(phase="Complete", blocksNotComparable=2)) == (
        "Complete · 2 blocks are not comparable: see condition Comparable"
    )


def test_a_cluster_that_is_away_for_a_while_ends_no_watch(monkeypatch, capsys):
    monkeypatch.setattr(watch, "POLL_SECONDS", 0)
    away, over = KubectlFailed("Unable to connect to the server: EOF"), cohort("paired", COMPLETE, phase="Complete")

    watch_cohorts.run(Answers(cohort(), away, away, cohort(), away, over), ["paired"])  # type: ignore[arg-type]

    assert [line.strip() for line in capsys.readouterr().out.splitlines()] == [
        "paired: Draft",
        "no answer, trying again: Unable to connect to the server: EOF",
        "no answer, trying again: Unable to connect to the server: EOF",
        "paired: Complete",
    ]


@pytest.mark.parametrize(
    "answers",
    [
        [KubectlFailed("Unable to connect to the server: EOF")],  # nobody knows that it ever was there
        [cohort(), KubectlFailed('Error from server (NotFound): … "paired" not found')],
        [cohort(), KubectlFailed("Error from server (Forbidden): …")],
    ],
)
def test_what_time_does_not_mend_ends_it(monkeypatch, answers):
    monkeypatch.setattr(watch, "POLL_SECONDS", 0)
    with pytest.raises(KubectlFailed):
        watch_cohorts.run(Answers(*answers, cohort("paired", COMPLETE)), ["paired"])  # type: ignore[arg-type]


def test_only_runs_under_way_are_asked_for_by_the_cohorts_names():
    answers = Answers(cohort())

    assert watch_cohorts._under_way(answers, ["a", "b"], None) == []  # type: ignore[arg-type]

    of_theirs = ("--selector", "fairtrial.dev/cohort in (a,b)")
    assert answers.asked[-1] == ("benchmarkruns.fairtrial.dev", *of_theirs, "--field-selector", "status.phase!=Done")


def test_a_terminal_gets_a_live_table_that_stays_when_all_is_over(tmp_path):
    running = cohort(phase="Running", progress="37/101", eta="25m", counts=COUNTS)
    over = cohort("paired", COMPLETE, phase="Complete", progress="101/101", counts={"scheduled": 101, "passed": 101})
    answers = tmp_path / "answers.json"
    answers.write_text(json.dumps([running, None, over]))
    program = tmp_path / "kubectl"
    program.write_text(
        f"#!{sys.executable} -I\n"
        "import json, pathlib, sys\n"
        f"file = pathlib.Path({str(answers)!r})\n"
        "answers = json.loads(file.read_text())\n"
        "of_a_cohort = any('benchmarkcohorts' in one for one in sys.argv)\n"
        "if of_a_cohort: file.write_text(json.dumps(answers[1:] or answers))\n"
        "if of_a_cohort and answers[0] is None: sys.exit('Unable to connect to the server: EOF')\n"
        "print(json.dumps(answers[0] if of_a_cohort else {'items': []}))\n"
    )
    program.chmod(0o755)

    quickly = "from fairtrial.cli import app, watch; watch.POLL_SECONDS = 0.3; app.app(['watch', 'paired'])"
    shown = on_a_terminal([sys.executable, "-c", quickly], path=tmp_path)

    live, _, last = shown.rpartition("\x1b[2K")  # what was drawn while it ran was taken away again
    assert "37/101" in live
    assert "25m" in live
    assert "no answer, trying again: kubectl get: Unable to connect to the server: EOF" in live
    assert "━" in live
    assert "101/101" in last
    assert "paired: " not in shown, "the lines of a pipe"


def on_a_terminal(command: list[str], *, path: Path) -> str:
    """What a program shows on a terminal of 200 columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
    environ = os.environ | {"PATH": f"{path}:{os.environ['PATH']}", "TERM": "xterm-256color"}
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "CI"):
        environ.pop(name, None)
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environ)
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # how Linux says that nobody writes any more
        while data := os.read(ours, 65536):
            shown += data
    os.close(ours)
    assert process.wait() == 0, shown.decode()
    return shown.decode()
