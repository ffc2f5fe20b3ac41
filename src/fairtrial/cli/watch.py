"""`fairtrial watch`: what every run of a namespace is doing, live; plain lines where there is no terminal."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table

from fairtrial.cli.kubectl import Kubectl, KubectlFailed
from fairtrial.cli.output import plain

POLL_SECONDS = 1.0
FOR_GOOD = (
    "(NotFound)",
    "(Forbidden)",
    "(Unauthorized)",
    "(BadRequest)",
)  # of the API server's answers, as kubectl says
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
    table: Callable[[list[dict[str, Any]], datetime], RenderableType]
    done: bool


def follow(look: Callable[[], Look], timeout_seconds: float) -> list[dict[str, Any]]:
    """Look again and again until all is done: a live table on a terminal, elsewhere a line for each change.

    A cluster that answered once may be away for a while: that is shown, and asked again.
    """
    deadline = time.monotonic() + timeout_seconds
    screen, answered = Screen(), False
    with screen.live:
        while True:
            try:
                seen = look()
                screen.show(seen)
            except KubectlFailed as error:
                if not answered or time.monotonic() > deadline or any(one in str(error) for one in FOR_GOOD):
                    raise
                screen.no_answer(error)
            else:
                answered = True
                if seen.done or time.monotonic() > deadline:
                    return list(seen.objects)
            time.sleep(POLL_SECONDS)


class Screen:
    """Where what was seen is shown: a live table on a terminal, elsewhere lines, each once."""

    def __init__(self) -> None:
        self._console = Console()
        self.live = Live(console=self._console, refresh_per_second=4, transient=True)
        self._shown: dict[str, str] = {}
        self._drawn: RenderableType = ""
        self._away = False

    def show(self, seen: Look) -> None:
        """Show what was seen."""
        if self._console.is_terminal and seen.objects:
            self._drawn = seen.table(seen.objects, datetime.now(UTC))
            self.live.update(self._drawn)
        else:
            for name, state in seen.lines.items():
                if self._shown.get(name) != state:
                    self._shown[name] = state
                    self._print(f"{name}: {state}" if name else state)
        self._away = False

    def no_answer(self, error: KubectlFailed) -> None:
        """Say that the cluster does not answer, once for each time, under what was seen last."""
        told = f"no answer, trying again: {error}"
        if self._console.is_terminal:
            self.live.update(Group(self._drawn, plain(told)))
        elif not self._away:
            self._print(told)
        self._away = True

    def _print(self, text: str) -> None:
        self._console.print(plain(f"  {text}"), soft_wrap=True)


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
