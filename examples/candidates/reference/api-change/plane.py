"""The plane."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Point:
    """A point of the plane."""

    x: float
    y: float


def distance(a: Point, b: Point) -> float:
    """How far two points are from each other."""
    return math.hypot(b.x - a.x, b.y - a.y)
