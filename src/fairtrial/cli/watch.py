"""`fairtrial watch`: what every run of a namespace is doing, live; plain lines where there is no terminal."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.table import Table

from fairtrial.cli.kubectl import Kubectl
from fairtrial.cli.output import plain

POLL_SECONDS = 1.0
COLOURS = {"passed": "green", "failed": "red", "invalid": "yellow", "void": "magenta", "cancelled": "blue"}


def watch(kubectl: Kubectl, selector: str) -> None:
    """Show the runs until each is recorded, however long that takes, and leave the table where it was."""
    runs = until_recorded(kubectl, selector, timeout_seconds=float("inf"))
    console = Console()
    if console.is_terminal:
        console.print(table(runs, datetime.now(UTC)))


def until_recorded(kubectl: Kubectl, selector: str, *, timeout_seconds: float = 3600) -> list[dict[str, Any]]:
    """Show the runs that match `selector` until each is recorded; returns them as they are at the end."""
    which = ("--selector", selector) if selector else ()

    def look() -> Look:
        runs = kubectl.get("benchmarkruns.fairtrial.dev", *which)["items"]
        lines = {run["metadata"]["name"]: what_it_does(run) for run in runs}
        done = bool(runs) and all(is_recorded(run) for run in runs)
        return Look(runs, lines or {"": "no run yet; waiting for one"}, table, done=done)

    return follow(look, timeout_seconds)


@dataclass(frozen=True)
class Look:
    """What was seen at one moment: objects, a line for each of them by name, and whether that was all."""

    objects: list[dict[str, Any]]
    lines: dict[str, str]
    table: Callable[[list[dict[str, Any]], datetime], Table]
    done: bool


def follow(look: Callable[[], Look], timeout_seconds: float) -> list[dict[str, Any]]:
    """Look again and again until all is done: a live table on a terminal, elsewhere a line for each change."""
    console = Console()
    deadline = time.monotonic() + timeout_seconds
    shown: dict[str, str] = {}
    with Live(console=console, refresh_per_second=4, transient=True) as live:
        while True:
            seen = look()
            if console.is_terminal and seen.objects:
                live.update(seen.table(seen.objects, datetime.now(UTC)))
            else:
                for name, state in seen.lines.items():
                    _print_once(console, shown, name, state)
            if seen.done or time.monotonic() > deadline:
                return list(seen.objects)
            time.sleep(POLL_SECONDS)


def is_recorded(run: dict[str, Any]) -> bool:
    """Whether the run's record is stored."""
    return any(
        condition["type"] == "Recorded" and condition["status"] == "True"
        for condition in run.get("status", {}).get("conditions", [])
    )


def what_it_does(run: dict[str, Any]) -> str:
    """One line about a run: its outcome, or its phase and what it waits for."""
    status = run.get("status", {})
    if status.get("outcome"):
        parts = [status["outcome"], status.get("reason", ""), status.get("category", "")]
        return " · ".join(part for part in parts if part and part != "none")
    return " · ".join(part for part in (status.get("phase", "Pending"), status.get("message", "")) if part)


def table(runs: list[dict[str, Any]], now: datetime) -> Table:
    """The live table."""
    result = Table(box=None, pad_edge=False)
    for column in ("RUN", "TASK", "CANDIDATE", "AGE", "STATE"):
        result.add_column(column, overflow="fold")
    for run in sorted(runs, key=lambda item: str(item["metadata"]["name"])):
        created = datetime.fromisoformat(run["metadata"]["creationTimestamp"])
        colour = COLOURS.get(run.get("status", {}).get("outcome", ""), "")
        cells = (
            run["metadata"]["name"],
            run["spec"]["taskRef"]["name"],
            run["spec"]["candidate"]["name"],
            f"{(now - created).total_seconds():.0f}s",
            what_it_does(run)[:90],
        )
        result.add_row(*(plain(cell) for cell in cells), style=colour)
    return result


def _print_once(console: Console, shown: dict[str, str], name: str, state: str) -> None:
    if shown.get(name) != state:
        shown[name] = state
        console.print(plain(f"  {name}: {state}" if name else f"  {state}"), soft_wrap=True)
