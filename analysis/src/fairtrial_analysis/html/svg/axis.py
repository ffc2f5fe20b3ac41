"""Axes: lines with ticks, what they count, and faint lines across the figure. Pure."""

from collections.abc import Callable
from fractions import Fraction

from fairtrial_analysis.html.markup import Element
from fairtrial_analysis.html.svg.marks import group, line, text
from fairtrial_analysis.html.svg.scale import Linear, Log, plain
from fairtrial_analysis.html.svg.text import width

Scale = Linear | Log
Label = Callable[[Fraction], str]
_SIZE = 11


def below(scale: Scale, y: float, title: str, *, top: float, label: Label = plain, about: int = 6) -> Element:
    """A horizontal axis at `y`, with lines up to `top`; labels that would touch are left out, their ticks are not."""
    marks = [line(min(scale.start, scale.end), y, max(scale.start, scale.end), y, "axis")]
    edge = float("-inf")
    for tick in scale.ticks(about):
        x = scale(tick)
        marks += [line(x, top, x, y, "grid"), line(x, y, x, y + 4, "axis")]
        half = width(label(tick), _SIZE) / 2
        if x - half > edge + 4:
            marks.append(text(x, y + 16, label(tick), "tick", "middle"))
            edge = x + half
    if title:
        marks.append(text((scale.start + scale.end) / 2, y + 33, title, "axis-title", "middle"))
    return group("x-axis", *marks)


def left(scale: Scale, x: float, title: str, *, right: float, label: Label = plain, about: int = 5) -> Element:
    """A vertical axis at `x`, with lines to `right`; its title stands above it, where it is read without turning."""
    marks = [line(x, scale.start, x, scale.end, "axis")]
    for tick in scale.ticks(about):
        y = scale(tick)
        marks += [
            line(x, y, right, y, "grid"),
            line(x - 4, y, x, y, "axis"),
            text(x - 7, y + 4, label(tick), "tick", "end"),
        ]
    if title:
        marks.append(text(x - 30, min(scale.start, scale.end) - 10, title, "axis-title"))
    return group("y-axis", *marks)
