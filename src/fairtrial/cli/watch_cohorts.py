"""`fairtrial watch COHORT …`: how far cohorts are, live, and what their runs under way are doing."""

from datetime import datetime
from typing import Any

from rich.console import Console, Group
from rich.progress_bar import ProgressBar
from rich.table import Table

from fairtrial import names
from fairtrial.api import Reason
from fairtrial.api.conditions import ACCEPTED, ANALYSED, CAPACITY_AVAILABLE, COMPLETE, SEALED
from fairtrial.cli import watch
from fairtrial.cli.kubectl import Kubectl
from fairtrial.cli.output import plain

KIND = "benchmarkcohorts.fairtrial.dev"
RUNS_SHOWN = 20
TOLD_MAX = 160  # characters of a message in the table
_PLACES = ("passed", "failed", "invalid", "void", "cancelled", "running", "waiting", "pending")
_FINAL = ("Complete", "Cancelled")
# Conditions that keep a cohort from going on while they are false, in the order of its life; and reasons that do not.
_HOLDING = (ACCEPTED, SEALED, COMPLETE, CAPACITY_AVAILABLE, ANALYSED)
_GOING_ON = (Reason.RUNNING, Reason.CANCELLED)
# Why an analysis will not come by itself any more; other reasons are passing.
GIVEN_UP = (Reason.ANALYSIS_FAILED, Reason.DEADLINE, Reason.ANALYSIS_IMAGE_NOT_ALLOWED, Reason.ANALYSIS_NOT_CONFIGURED)


def run(kubectl: Kubectl, cohorts: list[str]) -> None:
    """Show these cohorts until each is complete, and analysed where it asks for that; leave the table where it was."""
    found = watch.follow(lambda: _look(kubectl, cohorts), float("inf"))
    console = Console()
    if console.is_terminal:
        console.print(table(found))


def _look(kubectl: Kubectl, cohorts: list[str]) -> watch.Look:
    seen = [kubectl.get(KIND, name) for name in cohorts]
    lines = {one["metadata"]["name"]: line(one) for one in seen}

    def drawn(objects: list[dict[str, Any]], now: datetime) -> Any:
        return Group(table(objects), *_under_way(kubectl, cohorts, now))

    return watch.Look(seen, lines, drawn, done=all(is_over(one) for one in seen))


def is_over(cohort: dict[str, Any]) -> bool:
    """Whether nothing more is to come: no run, and no analysis that is asked for and has not ended."""
    conditions = {one["type"]: one for one in cohort.get("status", {}).get("conditions", [])}
    complete, analysed = conditions.get(COMPLETE, {}), conditions.get(ANALYSED, {})
    if complete.get("status") != "True":
        return False
    asked = names.ANALYSE_ANNOTATION in cohort["metadata"].get("annotations", {})
    by_itself = cohort["spec"]["stage"] != "smoke" and complete.get("reason") != Reason.CANCELLED
    if "analysis" not in cohort["spec"] or not (asked or by_itself):
        return True
    return analysed.get("status") == "True" or analysed.get("reason") in GIVEN_UP


def line(cohort: dict[str, Any]) -> str:
    """One line: phase, progress, counts that are not zero, time left, what holds it, verdict, and what to know."""
    status = cohort.get("status", {})
    parts = [status.get("phase", "Draft"), status.get("progress", "")]
    parts += [f"{place} {count}" for place in _PLACES if (count := status.get("counts", {}).get(place))]
    if status.get("eta") and status.get("phase") not in _FINAL:
        parts.append(f"about {status['eta']} left")
    holds = held(cohort)
    # Of what runs wait for the reason alone: its message counts, and would be another line every second.
    told = status.get("message", "") if holds.get("type") == CAPACITY_AVAILABLE else message(cohort)
    parts += [holds.get("reason", ""), verdict(cohort), told]
    return " · ".join(part for part in parts if part)


def held(cohort: dict[str, Any]) -> dict[str, Any]:
    """The condition that says why it does not go on; {} where none does."""
    found: dict[str, dict[str, Any]] = {one["type"]: one for one in cohort.get("status", {}).get("conditions", [])}
    false = (one for kind in _HOLDING if (one := found.get(kind, {})).get("status") == "False")
    return next((one for one in false if one.get("reason") not in _GOING_ON), {})


def message(cohort: dict[str, Any]) -> str:
    """What to know or to do next, for people; empty where there is nothing."""
    status = cohort.get("status", {})
    differ = status.get("blocksNotComparable", 0)
    blocks = f"{differ} blocks are not comparable: see condition Comparable" if differ else ""
    return str(status.get("message") or held(cohort).get("message") or blocks)


def verdict(cohort: dict[str, Any]) -> str:
    """The verdict of the cohort's analysis; empty where there is none yet."""
    return str(cohort.get("status", {}).get("analysis", {}).get("verdict", ""))


def table(cohorts: list[dict[str, Any]]) -> Table:
    """The cohorts, a line each, with a bar."""
    result = Table(box=None, pad_edge=False)
    for column in (
        "COHORT",
        "STAGE",
        "PHASE",
        "DONE",
        "",
        "PASSED",
        "FAILED",
        "INVALID",
        "VOID",
        "LEFT",
        "VERDICT",
        "",
    ):
        result.add_column(column, overflow="fold")
    for cohort in cohorts:
        status = cohort.get("status", {})
        counts = status.get("counts", {})
        total = counts.get("scheduled", 0) + counts.get("replacements", 0)
        ended = sum(counts.get(place, 0) for place in ("passed", "failed", "invalid", "void", "cancelled"))
        cells = (
            cohort["metadata"]["name"],
            cohort["spec"]["stage"],
            status.get("phase", "Draft"),
            status.get("progress", ""),
        )
        more = [str(counts.get(place, 0)) for place in ("passed", "failed", "invalid", "void")]
        more += [status.get("eta", ""), verdict(cohort), message(cohort)[:TOLD_MAX]]
        bar = ProgressBar(total=max(total, 1), completed=ended, width=20)
        result.add_row(*map(plain, cells), bar, *map(plain, more))
    return result


def _under_way(kubectl: Kubectl, cohorts: list[str], now: datetime) -> list[Any]:
    which = f"{names.COHORT_LABEL} in ({','.join(cohorts)})"
    # Of ten thousand runs, those under way only: all of them, once a second, would be hundreds of megabytes.
    under_way = ("--field-selector", "status.phase!=Done")
    found = kubectl.get("benchmarkruns.fairtrial.dev", "--selector", which, *under_way)["items"]
    open_ones = [one for one in found if not watch.is_recorded(one)]
    if not open_ones:
        return []
    more = len(open_ones) - RUNS_SHOWN
    return ["", watch.table(open_ones[:RUNS_SHOWN], now), *([f"and {more} more under way"] if more > 0 else [])]
