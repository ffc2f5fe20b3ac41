"""A field of every valid run that is not there: one cell per field and candidate, darker the more is missing. Pure."""

from dataclasses import dataclass

from fairtrial_analysis.html.markup import Element
from fairtrial_analysis.html.plots.arms import Arm
from fairtrial_analysis.html.svg.figure import Drawing
from fairtrial_analysis.html.svg.marks import marker, rect, text
from fairtrial_analysis.html.svg.text import fitted

_LEFT, _ROW, _TOP, _CELL, _WIDTH = 240, 22, 34, 150, 760
# The share of values that are missing, at most, of each shade in style.css.
_SHADES = ((0.0, "m0"), (0.05, "m1"), (0.25, "m2"), (0.75, "m3"), (1.0, "m4"))


@dataclass(frozen=True)
class Cell:
    """One field of one candidate. No share: it applies to no run."""

    share: float | None
    missing: int
    applies: int


@dataclass(frozen=True)
class HeatMap:
    """Fields by candidates."""

    arms: tuple[Arm, ...]
    fields: tuple[tuple[str, tuple[Cell, ...]], ...]


def drawing(heat: HeatMap, figure: str) -> Drawing:
    """The map; each cell says its count as well as its shade."""
    cell = min(_CELL, (_WIDTH - _LEFT) / max(len(heat.arms), 1))
    marks: list[Element] = []
    for place, arm in enumerate(heat.arms):
        x = _LEFT + place * cell
        marks += [
            marker(arm.shape, x + 8, 15, 4.5, f"mark {arm.colour}"),
            text(x + 19, 19, fitted(arm.name, cell - 22), "label"),
        ]
    for number, (name, cells) in enumerate(heat.fields):
        y = _TOP + number * _ROW
        marks.append(text(_LEFT - 10, y + 15, fitted(name, _LEFT - 14), "label", "end"))
        for place, each in enumerate(cells):
            marks += _cell(each, _LEFT + place * cell, y, cell)
    gaps = sum(each.missing > 0 for _, cells in heat.fields for each in cells)
    says = f"{len(heat.fields)} fields of {len(heat.arms)} candidates; in {gaps} of these cells values are missing."
    return Drawing(figure, "Missing values", says, _WIDTH, _TOP + len(heat.fields) * _ROW + 6, tuple(marks))


def _cell(cell: Cell, x: float, y: float, width: float) -> list[Element]:
    if cell.share is None:
        return [
            rect(x + 1, y + 1, width - 2, _ROW - 2, "cell none"),
            text(x + width / 2, y + 15, "n/a", "tick", "middle"),
        ]
    shade = next(name for most, name in _SHADES if cell.share <= most)
    words = "complete" if not cell.missing else f"{cell.missing} of {cell.applies} missing"
    return [
        rect(x + 1, y + 1, width - 2, _ROW - 2, f"cell {shade}"),
        text(x + width / 2, y + 15, fitted(words, width - 6, 11), f"tick on-{shade}", "middle"),
    ]
