"""The plane."""

import math
from dataclasses import dataclass
from typing import overload


@dataclass(frozen=True)
class Point:
    """A point of the plane."""

    x: float
    y: float


@overload
def distance(a: Point, b: Point) -> float: ...
@overload
def distance(a: float, b: float, c: float, d: float) -> float: ...
def distance(a: Point | float, b: Point | float, c: float = 0.0, d: float = 0.0) -> float:
    """How far two points are from each other."""
    if isinstance(a, Point) and isinstance(b, Point):
        return math.hypot(b.x - a.x, b.y - a.y)
    assert not isinstance(a, Point) and not isinstance(b, Point)
    return math.hypot(c - a, d - b)
