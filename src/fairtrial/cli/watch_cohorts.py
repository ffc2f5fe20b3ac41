"""`fairtrial watch COHORT …`: how far cohorts are, live, and what their runs under way are doing."""

from datetime import datetime
from typing import Any

from rich.console import Console, Group, RenderableType
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
BAR_WIDTH = 20
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


def table(cohorts: list[dict[str, Any]]) -> RenderableType:
    """The cohorts, a line each, and below what there is to know of each. Fits 80 columns: what is empty has none."""
    rows, made = [_row(one) for one in cohorts], Table(box=None, pad_edge=False)
    shown = [name for name in rows[0] if any(row[name] for row in rows)]
    for name in shown:
        # The name may be long, and the bar gives way first.
        made.add_column(
            name, no_wrap=name not in ("COHORT", ""), overflow="fold", max_width=None if name else BAR_WIDTH
        )
    for row in rows:
        made.add_row(*(row[name] for name in shown))
    told = [(one["metadata"]["name"], message(one)) for one in cohorts]
    return Group(made, *(plain(f"{name}: {text}") for name, text in told if text))


def _row(cohort: dict[str, Any]) -> dict[str, RenderableType]:
    """The cells of a cohort by their columns; empty where there is nothing to show."""
    status = cohort.get("status", {})
    counts = status.get("counts", {})
    total = counts.get("scheduled", 0) + counts.get("replacements", 0)
    ended = sum(counts.get(place, 0) for place in ("passed", "failed", "invalid", "void", "cancelled"))
    final = status.get("phase", "") in (*_FINAL, "Analysed")
    cells = {
        "COHORT": cohort["metadata"]["name"],
        "STAGE": cohort["spec"]["stage"],
        "PHASE": status.get("phase", "Draft"),
        "DONE": status.get("progress", ""),
    }
    more = {place.upper(): str(counts.get(place, 0)) for place in ("passed", "failed", "invalid")}
    more["VOID"] = str(counts["void"]) if counts.get("void") else ""
    more |= {"LEFT": "" if final else status.get("eta", ""), "VERDICT": verdict(cohort)}
    bar = "" if final else ProgressBar(total=max(total, 1), completed=ended)
    return {**_plain(cells), "": bar, **_plain(more)}


def _plain(cells: dict[str, str]) -> dict[str, RenderableType]:
    return {name: plain(text) for name, text in cells.items()}


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
