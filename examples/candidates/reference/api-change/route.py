"""Routes: one point after the other."""

from collections.abc import Sequence
from itertools import pairwise

from geo.plane import Point, distance


def route_length(points: Sequence[Point]) -> float:
    """How long a route is."""
    return sum(distance(a, b) for a, b in pairwise(points))


def nearest(origin: Point, candidates: Sequence[Point]) -> Point:
    """The one of some points that is nearest to a point; `ValueError` if there are none."""
    if not candidates:
        raise ValueError("no points to choose from")
    return min(candidates, key=lambda point: distance(origin, point))
