"""Runs in the order in which they were scheduled: who ran when, how it ended, on what. It shows drift. Pure.

Each candidate has three lines: passed, failed, no judgement. Below, a line for every model that answered and every
machine, so that a change in the middle of an experiment is seen as a step.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from fairtrial_analysis.html.markup import Element
from fairtrial_analysis.html.plots.arms import Arm
from fairtrial_analysis.html.svg import axis, scale
from fairtrial_analysis.html.svg.figure import Drawing
from fairtrial_analysis.html.svg.marks import line, marker, markers, text
from fairtrial_analysis.html.svg.text import fitted

_WIDTH, _LEFT, _RIGHT = 760, 190, 14
_LANE, _STRIP, _MOST_STRIPS, _OUTLINED = 15, 15, 10, 2
LANES = ("passed", "failed", "no judgement")


@dataclass(frozen=True)
class Moment:
    """One run at its place in the schedule."""

    position: int
    arm: Arm
    lane: int  # in LANES
    models: tuple[str, ...]
    node: str | None


def drawing(moments: Sequence[Moment], arms: tuple[Arm, ...], figure: str) -> Drawing:
    """All of it on one axis."""
    last = max((moment.position for moment in moments), default=1)
    across = scale.Linear(0, last + 1, _LEFT, _WIDTH - _RIGHT)
    size = 3.4 if len(moments) <= 300 else 2.2 if len(moments) <= 2000 else 1.2  # noqa: PLR2004 - what still fits
    marks: list[Element] = []
    top = y = 12.0
    for arm in arms:
        lanes, y = _arm(arm, moments, across, y, size)
        marks += lanes
    for name, strips in (("Model", _by_model(moments)), ("Machine", _by_node(moments))):
        drawn, y = _strips(name, strips, across, y)
        marks += drawn
    marks.insert(0, axis.below(across, y + 2, "place in the schedule", top=top, about=8))
    says = f"{len(moments)} runs in the order of the schedule. Their outcomes by candidate stand in the tables."
    return Drawing(figure, "Runs in order", says, _WIDTH, y + 44, tuple(marks))


def _arm(
    arm: Arm, moments: Sequence[Moment], across: scale.Linear, y: float, size: float
) -> tuple[list[Element], float]:
    marks = [marker(arm.shape, 7, y + 5, 4.5, f"mark {arm.colour}"), text(18, y + 9, fitted(arm.name, 100), "strong")]
    for lane, name in enumerate(LANES):
        middle = y + 5 + lane * _LANE
        points = [(across(m.position), middle) for m in moments if m.arm == arm and m.lane == lane]
        marks += [
            text(_LEFT - 10, middle + 4, name, "tick", "end"),
            line(_LEFT, middle, _WIDTH - _RIGHT, middle, "grid"),
        ]
        if points:
            # An outline around very small marks would hide their neighbours.
            kind = "mark bare" if size < _OUTLINED else "mark" if lane == 0 else "hollow"
            marks.append(markers(arm.shape, points, size, f"{kind} {arm.colour}"))
    return marks, y + len(LANES) * _LANE + 12


def _strips(name: str, strips: dict[str, list[int]], across: scale.Linear, y: float) -> tuple[list[Element], float]:
    """A tick for every run that had a value; values beyond the first ten share a line."""
    if not strips:
        return [], y
    marks = [text(0, y + 9, name, "strong")]
    ordered = sorted(strips.items(), key=lambda each: (min(each[1]), each[0]))
    shown, rest = ordered[:_MOST_STRIPS], ordered[_MOST_STRIPS:]
    if rest:
        shown = [*shown, (f"{len(rest)} others", sorted(place for _, places in rest for place in places))]
    y += 14 if name else 0
    for value, places in shown:
        ticks = "".join(f"M{across(place):.1f} {y:.1f}v8" for place in sorted(set(places)))
        marks += [text(_LEFT - 10, y + 8, fitted(value, _LEFT - 14, 11), "tick", "end"), _path(ticks)]
        y += _STRIP
    return marks, y + 10


def _path(data: str) -> Element:
    return Element("path", (("d", data), ("class", "open strip")))


def _by_model(moments: Sequence[Moment]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for moment in moments:
        for model in moment.models:
            found.setdefault(model, []).append(moment.position)
    return found


def _by_node(moments: Sequence[Moment]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for moment in moments:
        if moment.node:
            found.setdefault(moment.node, []).append(moment.position)
    return found
