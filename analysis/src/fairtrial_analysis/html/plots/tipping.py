"""How many runs without a judgement must have gone against the treatment before its advantage is gone. Pure."""

from dataclasses import dataclass

from fairtrial_analysis.html.markup import Element
from fairtrial_analysis.html.svg import axis, scale
from fairtrial_analysis.html.svg.figure import Drawing
from fairtrial_analysis.html.svg.marks import line, marker, rect, text

_WIDTH, _LEFT, _RIGHT, _CELL, _MOST_CELLS = 760, 24, 24, 16, 120


@dataclass(frozen=True)
class Strip:
    """The difference as observed, its bounds, and how many of the runs it takes; None: no number does."""

    observed: float | None
    low: float | None
    high: float | None
    turned: int | None
    of: int
    says: str


def drawing(strip: Strip, figure: str) -> Drawing:
    """Above the bounds of the difference, below one cell per run without a judgement."""
    values = [value for value in (strip.observed, strip.low, strip.high) if value is not None]
    across = scale.linear([0, *values], _LEFT, _WIDTH - _RIGHT, pad=0.12)
    marks: list[Element] = [
        axis.below(across, 62, "success difference, percentage points", top=14, label=scale.in_points, about=9)
    ]
    marks.append(line(across(0), 14, across(0), 62, "neutral"))
    if strip.low is not None and strip.high is not None:
        low, high = across(strip.low), across(strip.high)
        marks.append(rect(low, 30, max(high - low, 1), 12, "bounds"))
        marks += _ends(low, high)
    if strip.observed is not None:
        marks.append(marker("diamond", across(strip.observed), 36, 6, "estimate aggregate"))
    cells, height = _cells(strip, 118)
    return Drawing(figure, "Runs without a judgement", strip.says, _WIDTH, height, (*marks, *cells))


def _ends(low: float, high: float) -> list[Element]:
    """What the ends of the band are: beside the diamond, and in one where they are one."""
    if high - low < 1:
        return [text(low, 25, "worst = best", "tick", "middle")]
    return [text(low - 9, 40, "worst", "tick", "end"), text(high + 9, 40, "best", "tick")]


def _cells(strip: Strip, y: float) -> tuple[list[Element], float]:
    """The first of them are filled, as many as it takes; very many are one bar."""
    turned = strip.turned or 0
    marks = [text(0, y, strip.says, "label")]
    if not strip.of:
        return marks, y + 10
    y += 10
    if strip.of > _MOST_CELLS:
        whole = _WIDTH - _LEFT
        marks += [rect(0, y, whole, _CELL, "cell none"), rect(0, y, whole * turned / strip.of, _CELL, "cell turned")]
        return marks, y + _CELL + 8
    per_row = (_WIDTH - 2) // (_CELL + 2)
    for number in range(strip.of):
        x, row = (number % per_row) * (_CELL + 2), number // per_row
        marks.append(
            rect(
                x + 1,
                y + row * (_CELL + 2) + 1,
                _CELL - 2,
                _CELL - 2,
                "cell turned" if number < turned else "cell none",
            )
        )
    return marks, y + ((strip.of - 1) // per_row + 1) * (_CELL + 2) + 8
