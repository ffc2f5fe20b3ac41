"""Failures by category, one bar per candidate stacked upon that of the next, so that each category is one row. Pure.

Categories that never happened have their row too: it shows that they did not.
"""

from dataclasses import dataclass

from fairtrial_analysis.html.markup import Element
from fairtrial_analysis.html.plots.arms import Arm, legend
from fairtrial_analysis.html.svg import axis, scale
from fairtrial_analysis.html.svg.figure import Drawing
from fairtrial_analysis.html.svg.marks import group, marker, rect, text
from fairtrial_analysis.html.svg.text import fitted, width

_WIDTH, _LEFT, _RIGHT, _ROW, _BAR = 760, 210, 40, 26, 16


@dataclass(frozen=True)
class Category:
    """One category and its counts, in the order of the candidates."""

    name: str
    counts: tuple[int, ...]


def drawing(categories: tuple[Category, ...], arms: tuple[Arm, ...], figure: str) -> Drawing:
    """Stacked counts, a row per category."""
    keys, below = legend(arms, _LEFT, 16, _WIDTH)
    top = below + 4
    most = max((sum(category.counts) for category in categories), default=0)
    across = scale.Linear(0, max(most, 4), _LEFT, _WIDTH - _RIGHT)
    bottom = top + _ROW * len(categories) + 4
    marks = [*keys, axis.below(across, bottom, "failed runs", top=top, about=min(max(most, 4), 8))]
    for number, category in enumerate(categories):
        marks += _row(category, arms, across, top + number * _ROW + 6)
    failures = ", ".join(f"{arm.name} {sum(c.counts[i] for c in categories)}" for i, arm in enumerate(arms))
    return Drawing(figure, "Failures by category", f"Failed runs: {failures}.", _WIDTH, bottom + 42, tuple(marks))


def _row(category: Category, arms: tuple[Arm, ...], across: scale.Linear, y: float) -> list[Element]:
    marks = [text(_LEFT - 10, y + 12, fitted(category.name.replace("_", " "), _LEFT - 14), "label", "end")]
    start = 0
    for arm, count in zip(arms, category.counts, strict=True):
        if not count:
            continue
        x, end = across(start), across(start + count)
        marks.append(rect(x + 0.5, y, end - x - 1, _BAR, f"bar {arm.colour}"))
        if end - x > width(str(count), 11) + 22:
            marks.append(_label(arm, count, (x + end) / 2, y))
        elif end - x > width(str(count), 11) + 4:
            marks.append(text((x + end) / 2, y + 12, str(count), "on-bar", "middle"))
        start += count
    total = str(start) if start else "0"
    marks.append(text(across(start) + 6, y + 12, total, "figure" if start else "tick"))
    return marks


def _label(arm: Arm, count: int, x: float, y: float) -> Element:
    """The count and the candidate's own shape, inside its part of the bar."""
    return group(
        "on", marker(arm.shape, x - 8, y + 8, 3.6, "mark on-fill"), text(x + 8, y + 12, str(count), "on-bar", "middle")
    )
