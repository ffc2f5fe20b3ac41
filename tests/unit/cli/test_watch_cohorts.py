"""`fairtrial watch COHORT …`: how far it is, what is under way, and an end when nothing more is to come."""

import io
from typing import Any

import pytest
from rich.console import Console

from fairtrial.cli import watch, watch_cohorts

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
    """A cluster that gives one cohort after another, the last for ever."""

    def __init__(self, *cohorts: dict[str, Any]) -> None:
        self.cohorts = list(cohorts)
        self.asked: list[tuple[str, ...]] = []

    def get(self, *arguments: str) -> dict[str, Any]:
        self.asked.append(arguments)
        if arguments[0] != watch_cohorts.KIND:
            return {"items": []}
        return self.cohorts.pop(0) if len(self.cohorts) > 1 else self.cohorts[0]


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
        "VOID",
        "LEFT",
        "VERDICT",
    ]
    assert [word for word in row.split() if not set(word) <= {"━", "╸", "╺"}] == [
        "paired", "confirmatory", "Analysed", "101/101", "30", "6", "1", "0", "SUPPORTED",
    ]  # fmt: skip


def test_runs_under_way_are_asked_for_by_the_cohorts_names(monkeypatch):
    answers = Answers(cohort())

    assert watch_cohorts._under_way(answers, ["a", "b"], None) == []  # type: ignore[arg-type]

    assert answers.asked[-1] == ("benchmarkruns.fairtrial.dev", "--selector", "fairtrial.dev/cohort in (a,b)")
