"""A forest plot: an estimate with its interval for every task, and below it what they come to together. Pure.

Long ones are cut into sheets that fit a printed page, all on the same scale. Where no effect would be is a line.
"""

from dataclasses import dataclass
from typing import Literal

from fairtrial_analysis.html.markup import Element
from fairtrial_analysis.html.svg import axis, scale
from fairtrial_analysis.html.svg.figure import Drawing
from fairtrial_analysis.html.svg.marks import interval, line, marker, text
from fairtrial_analysis.html.svg.text import fitted

_WIDTH, _LEFT, _COUNTS, _RIGHT = 760, 176, 104, 172
_ROW, _TOP, _PER_SHEET = 21, 46, 40
_PLOT = (_LEFT + _COUNTS + 10, _WIDTH - _RIGHT - 10)
Kind = Literal["task", "aggregate", "range"]


@dataclass(frozen=True)
class Row:
    """One line. Without an estimate its reason is printed instead; an infinite end is an arrow."""

    label: str
    counts: str
    point: float | None
    low: float | None
    high: float | None
    words: str
    kind: Kind = "task"


@dataclass(frozen=True)
class Forest:
    """All of it. `towards` says what lies left and right of no effect."""

    title: str
    says: str
    axis: str
    counts: str
    estimate: str
    rows: tuple[Row, ...]
    towards: tuple[str, str]
    logarithmic: bool = False
    limits: tuple[float, float] | None = None  # of the scale, where values have natural ones
    percent: bool = False  # whether ticks are printed times a hundred


def drawings(forest: Forest, figure: str) -> tuple[Drawing, ...]:
    """As many sheets as it takes; what belongs to all tasks stands on the last."""
    tasks = [row for row in forest.rows if row.kind == "task"]
    others = [row for row in forest.rows if row.kind != "task"]
    parts = [tasks[first : first + _PER_SHEET] for first in range(0, len(tasks), _PER_SHEET)] or [[]]
    placed = _scale(forest)
    sheets = []
    for number, part in enumerate(parts):
        rows = [*part, *others] if number == len(parts) - 1 else part
        name = figure if len(parts) == 1 else f"{figure}-{number + 1}"
        title = forest.title if len(parts) == 1 else f"{forest.title} (sheet {number + 1} of {len(parts)})"
        sheets.append(_sheet(forest, rows, placed, name, title))
    return tuple(sheets)


def _scale(forest: Forest) -> axis.Scale:
    neutral = 1 if forest.logarithmic else 0
    values = [
        v for row in forest.rows for v in (row.point, row.low, row.high) if v is not None and abs(v) != float("inf")
    ]
    if forest.logarithmic:
        return scale.log([neutral, *values], *_PLOT)
    if forest.limits:
        low = max(min([*values, neutral - 0.05]), forest.limits[0])
        high = min(max([*values, neutral + 0.05]), forest.limits[1])
        return scale.linear([low, high], *_PLOT)
    return scale.linear([neutral, *values], *_PLOT)


def _sheet(forest: Forest, rows: list[Row], placed: axis.Scale, name: str, title: str) -> Drawing:
    bottom = _TOP + _ROW * len(rows) + 6
    neutral = placed(1 if forest.logarithmic else 0)
    label = scale.plain if forest.logarithmic else scale.in_points if forest.percent else scale.signed
    marks = [
        text(0, 14, "Task", "heading"),
        text(_LEFT + _COUNTS, 14, forest.counts, "heading", "end"),
        text(_WIDTH, 14, forest.estimate, "heading", "end"),
        *_directions(forest, neutral),
        axis.below(placed, bottom, forest.axis, top=_TOP - 10, label=label, about=8),
        line(neutral, _TOP - 10, neutral, bottom, "neutral"),
    ]
    for number, row in enumerate(rows):
        marks += _row(row, placed, _TOP + _ROW * number + 8, divided=number > 0 and rows[number - 1].kind != row.kind)
    return Drawing(name, title, forest.says, _WIDTH, bottom + 42, tuple(marks))


def _directions(forest: Forest, neutral: float) -> list[Element]:
    """What lies on either side, as far as there is room for it."""
    left, right = (f"◂ {forest.towards[0]}", f"{forest.towards[1]} ▸")
    return [
        text(neutral - 8, 32, fitted(left, neutral - 8 - _LEFT - 20, 11), "towards", "end"),
        text(neutral + 8, 32, fitted(right, _WIDTH - neutral - 20, 11), "towards"),
    ]


def _row(row: Row, placed: axis.Scale, y: float, *, divided: bool) -> list[Element]:
    class_ = "label" if row.kind == "task" else "strong"
    marks = [line(0, y - 11, _WIDTH, y - 11, "divider")] if divided and row.kind == "aggregate" else []
    marks += [
        text(0, y + 4, fitted(row.label, _LEFT - 4), class_),
        text(_LEFT + _COUNTS, y + 4, fitted(row.counts, _COUNTS - 6), "figure", "end"),
        text(_WIDTH, y + 4, fitted(row.words, _RIGHT if row.point is not None else _RIGHT + 150), "figure", "end"),
    ]
    if row.low is not None and row.high is not None:
        ends = [placed(v) if _finite(v, placed) else (-1e9 if v == row.low else 1e9) for v in (row.low, row.high)]
        marks.append(interval(ends[0], ends[1], y, f"interval {row.kind}", limits=_PLOT))
    if row.point is not None and _finite(row.point, placed):
        shape, size = ("square", 4.2) if row.kind == "task" else ("diamond", 5.5)
        if row.kind != "range":
            marks.append(marker(shape, placed(row.point), y, size, f"estimate {row.kind}"))  # type: ignore[arg-type]
    return marks


def _finite(value: float, placed: axis.Scale) -> bool:
    return abs(value) != float("inf") and (value > 0 or not isinstance(placed, scale.Log))
