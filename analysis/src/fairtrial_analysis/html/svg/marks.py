"""What a figure is made of: lines, bars, text, and markers that differ by shape as well as by colour. Pure."""

from collections.abc import Sequence
from typing import Literal

from fairtrial_analysis.html.markup import Element, tag

Shape = Literal["circle", "square", "diamond", "up", "plus", "down", "cross", "hexagon"]
SHAPES: tuple[Shape, ...] = ("circle", "square", "diamond", "up", "plus", "down", "cross", "hexagon")
Anchor = Literal["start", "middle", "end"]


def at(number: float) -> str:
    """A coordinate: two decimals at most, never `-0`."""
    text = f"{number:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Element:
    """A straight line. Along an axis it is put on whole pixels by the figure's own coordinates."""
    return tag("path", d=f"M{at(x1)} {at(y1)}L{at(x2)} {at(y2)}", class_=class_)


def polyline(points: Sequence[tuple[float, float]], class_: str) -> Element:
    """A line through points; it is never filled."""
    return tag("path", d="M" + "L".join(f"{at(x)} {at(y)}" for x, y in points), class_=f"open {class_}")


def rect(x: float, y: float, width: float, height: float, class_: str) -> Element:
    """A bar or a box."""
    return tag("rect", x=at(x), y=at(y), width=at(max(width, 0)), height=at(max(height, 0)), class_=class_)


def text(x: float, y: float, words: str, class_: str = "", anchor: Anchor = "start") -> Element:
    """A line of text, its baseline at y."""
    placed = None if anchor == "start" else anchor
    return tag("text", words, x=at(x), y=at(y), class_=class_ or None, text_anchor=placed)


def titled(mark: Element, words: str) -> Element:
    """A mark that says what it is when pointed at."""
    return Element(mark.name, mark.attributes, (tag("title", words), *mark.children))


def group(class_: str, *marks: Element) -> Element:
    """Marks that share a class."""
    return tag("g", *marks, class_=class_)


def marker(shape: Shape, x: float, y: float, size: float, class_: str) -> Element:
    """One marker around a point; `size` is its radius."""
    return markers(shape, [(x, y)], size, class_)


def markers(shape: Shape, points: Sequence[tuple[float, float]], size: float, class_: str) -> Element:
    """Markers at many points as one path: ten thousand of them stay small."""
    return tag("path", d="".join(outline(shape, x, y, size) for x, y in points), class_=class_)


def outline(shape: Shape, x: float, y: float, size: float) -> str:
    """Path data of a shape around a point; all shapes look equally large."""
    if shape == "circle":
        r = at(size)
        return f"M{at(x - size)} {at(y)}a{r} {r} 0 1 0 {at(2 * size)} 0a{r} {r} 0 1 0 {at(-2 * size)} 0z"
    return "M" + "L".join(f"{at(x + size * dx)} {at(y + size * dy)}" for dx, dy in _CORNERS[shape]) + "z"


_PLUS = ((-1.15, -0.4), (-0.4, -0.4), (-0.4, -1.15), (0.4, -1.15), (0.4, -0.4), (1.15, -0.4))
_CORNERS: dict[Shape, tuple[tuple[float, float], ...]] = {
    "square": ((-0.88, -0.88), (0.88, -0.88), (0.88, 0.88), (-0.88, 0.88)),
    "diamond": ((0, -1.25), (1.25, 0), (0, 1.25), (-1.25, 0)),
    "up": ((0, -1.2), (1.15, 0.85), (-1.15, 0.85)),
    "down": ((0, 1.2), (1.15, -0.85), (-1.15, -0.85)),
    "plus": (*_PLUS, *((-x, -y) for x, y in _PLUS)),
    "cross": tuple((0.71 * (x - y), 0.71 * (x + y)) for x, y in (*_PLUS, *((-x, -y) for x, y in _PLUS))),
    "hexagon": ((-0.55, -0.98), (0.55, -0.98), (1.12, 0), (0.55, 0.98), (-0.55, 0.98), (-1.12, 0)),
}


def interval(x1: float, x2: float, y: float, class_: str, *, limits: tuple[float, float]) -> Element:
    """A horizontal interval; an end beyond the limits becomes an arrow at the limit."""
    low, high = max(x1, limits[0]), min(x2, limits[1])
    ends = [
        _cap(low, y) if x1 >= limits[0] else _arrow(low, y, 5),
        _cap(high, y) if x2 <= limits[1] else _arrow(high, y, -5),
    ]
    return tag("path", d=f"M{at(low)} {at(y)}L{at(high)} {at(y)}" + "".join(ends), class_=f"open {class_}")


def _cap(x: float, y: float) -> str:
    return f"M{at(x)} {at(y - 3)}L{at(x)} {at(y + 3)}"


def _arrow(x: float, y: float, back: float) -> str:
    return f"M{at(x + back)} {at(y - 3.5)}L{at(x)} {at(y)}L{at(x + back)} {at(y + 3.5)}"
