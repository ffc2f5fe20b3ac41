"""Candidates by their rate, with intervals, the ranks they may have, and bars along those that are tied. Pure."""

from dataclasses import dataclass

from fairtrial_analysis.html.markup import Element
from fairtrial_analysis.html.plots.arms import Arm
from fairtrial_analysis.html.svg import axis, scale
from fairtrial_analysis.html.svg.figure import Drawing
from fairtrial_analysis.html.svg.marks import interval, line, marker, text
from fairtrial_analysis.html.svg.text import fitted

_UNRANKED = "unranked"
_WIDTH, _LEFT, _RIGHT, _ROW, _TOP = 760, 190, 150, 26, 34


@dataclass(frozen=True)
class Entry:
    """One candidate, best first; tied with those at these positions of the same list. `ranks`: that it may have."""

    arm: Arm
    counts: str
    rate: float | None
    low: float | None
    high: float | None
    ranks: str = ""  # none: it is unranked
    tied: frozenset[int] = frozenset()


def drawing(entries: tuple[Entry, ...], figure: str) -> Drawing:
    """The board."""
    bars = tie_bars(entries)
    plot = (_LEFT + 60, _WIDTH - _RIGHT - 9 * min(len(bars), 8) - 10)
    across = scale.Linear(0, 1, *plot)
    bottom = _TOP + _ROW * len(entries) + 2
    marks = [
        text(0, 14, "Candidate", "heading"),
        text(_LEFT + 50, 14, "passed/valid", "heading", "end"),
        axis.below(across, bottom, "success rate, with 95 % interval", top=_TOP - 6),
        text(_WIDTH, 14, "possible ranks", "heading", "end"),
    ]
    for number, entry in enumerate(entries):
        marks += _row(entry, _TOP + number * _ROW + 12, across, plot)
    for place, (first, last) in enumerate(bars[:8]):
        x = plot[1] + 12 + 9 * place
        marks.append(line(x, _TOP + first * _ROW + 4, x, _TOP + last * _ROW + 20, "tie"))
    says = (
        "; ".join(
            f"{entry.arm.name}: {entry.counts}, {f'possible ranks {entry.ranks}' if entry.ranks else _UNRANKED}"
            for entry in entries
        )
        + "."
    )
    return Drawing(figure, "Candidates by success rate", says, _WIDTH, bottom + 42, tuple(marks))


def _row(entry: Entry, y: float, across: scale.Linear, plot: tuple[float, float]) -> list[Element]:
    marks = [
        marker(entry.arm.shape, 7, y, 4.5, f"mark {entry.arm.colour}"),
        text(18, y + 4, fitted(entry.arm.name, _LEFT - 40), "label"),
        text(_LEFT + 50, y + 4, entry.counts, "figure", "end"),
        text(_WIDTH, y + 4, entry.ranks or _UNRANKED, "figure", "end"),
    ]
    if entry.low is not None and entry.high is not None:
        marks.append(interval(across(entry.low), across(entry.high), y, "interval task", limits=plot))
    if entry.rate is not None:
        marks.append(marker(entry.arm.shape, across(entry.rate), y, 4.8, f"mark {entry.arm.colour}"))
    return marks


def tie_bars(entries: tuple[Entry, ...]) -> list[tuple[int, int]]:
    """Longest stretches of neighbours that are all tied with one another; a stretch inside another is left out."""
    found: list[tuple[int, int]] = []
    for first in range(len(entries)):
        last = first
        while last + 1 < len(entries) and all(last + 1 in entries[each].tied for each in range(first, last + 1)):
            last += 1
        if last > first and (not found or last > found[-1][1]):
            found.append((first, last))
    return found
