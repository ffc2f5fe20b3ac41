"""Routes: one point after the other."""

from collections.abc import Sequence

from geo.plane import distance


def route_length(xs: Sequence[float], ys: Sequence[float]) -> float:
    """How long a route is."""
    return sum(distance(xs[i], ys[i], xs[i + 1], ys[i + 1]) for i in range(len(xs) - 1))


def nearest(x: float, y: float, xs: Sequence[float], ys: Sequence[float]) -> tuple[float, float]:
    """The one of some points that is nearest to a point; `ValueError` if there are none."""
    if not xs:
        raise ValueError("no points to choose from")
    best = min(range(len(xs)), key=lambda i: distance(x, y, xs[i], ys[i]))
    return xs[best], ys[best]
