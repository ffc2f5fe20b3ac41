"""What came of a local run: a table for people, JSON for `--keep`. Both say that it is no evidence."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from fairtrial import documents
from fairtrial.classify import Classification
from fairtrial.cli.output import plain
from fairtrial.documents import AgentReport, CheckResult, EvaluationReport, StepResult

LABEL = "local: not isolated, not evidence"
_PATHS_SHOWN = 5


@dataclasses.dataclass(frozen=True)
class Tried:
    """A local run. `evaluation` is None where there was nothing to judge."""

    name: str
    agent: AgentReport
    evaluation: EvaluationReport | None
    classification: Classification


def summary(tried: Tried) -> dict[str, Any]:
    """What `--keep` leaves as summary.json."""
    found = tried.classification
    return {
        "what": LABEL,
        "run": tried.name,
        "outcome": found.outcome,
        "cause": found.cause,
        "reason": found.reason,
        "message": found.message,
        "category": found.category,
        "tags": list(found.tags),
        "agent": documents.to_json(tried.agent),
        "evaluation": documents.to_json(tried.evaluation) if tried.evaluation else None,
    }


def show(console: Console, tried: Tried, keep: Path | None) -> None:
    """A small table for people."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for what, value in _rows(tried):
        table.add_row(plain(what), plain(value))
    table.add_row("kept", plain(str(keep) if keep else "nothing; --keep FOLDER keeps every artifact"))
    console.print(table)


def _rows(tried: Tried) -> list[tuple[str, str]]:
    """The table's lines. Pure."""
    found, agent, evaluation = tried.classification, tried.agent, tried.evaluation
    paths = agent.diff.paths
    more = f" and {len(paths) - _PATHS_SHOWN} more" if len(paths) > _PATHS_SHOWN else ""
    return [
        ("run", tried.name),
        ("outcome", found.outcome),
        ("cause", found.cause),
        ("reason", " · ".join(part for part in (found.reason, found.category) if part)),
        ("", found.message),
        ("agent", " ".join(part for part in (agent.ending, agent.message) if part)),
        *((f"step {step.name}", _end_of(step)) for step in agent.steps),
        ("changed", ", ".join(paths[:_PATHS_SHOWN]) + more if paths else "nothing"),
        *((f"check {check.name}", _judgement(check)) for check in (evaluation.checks if evaluation else [])),
        ("timings", _timings(agent.timings_ms | (evaluation.timings_ms if evaluation else {}))),
    ]


def _end_of(step: StepResult) -> str:
    if step.end == "exited":
        return f"exit code {step.exit_code}, {step.duration_ms} ms"
    if step.end == "signaled":
        return f"signal {step.signal}, {step.duration_ms} ms"
    if step.end == "lost":
        return f"nobody saw its end, {step.duration_ms} ms"
    return f"not started: {step.error}"


def _judgement(check: CheckResult) -> str:
    wrong = ", ".join([*check.tests_failed[:3], *check.tests_missing[:3]])
    return " ".join(part for part in (check.state, check.reason, f"({wrong})" if wrong else "") if part)


def _timings(phases: Mapping[str, int]) -> str:
    return ", ".join(f"{phase} {milliseconds} ms" for phase, milliseconds in phases.items())
