"""One point of a reliability curve, and the curve over k = 1 … n with n beside it. Pure."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Point:
    """The value at one k, or why there is none; never extrapolated beyond the runs that there are."""

    k: int
    n: int
    c: int
    value: Fraction | None
    reason: str = ""


def point(n: int, c: int, k: int, value: Callable[[], Fraction]) -> Point:
    """A point, if `n` runs are enough for it."""
    if not 0 <= c <= n or k < 1:
        raise ValueError(f"{c} of {n} runs, k = {k}: no such counts")
    if k > n:
        return Point(k, n, c, None, "no_valid_runs" if n == 0 else "fewer_runs_than_k")
    return Point(k, n, c, value())


def curve(n: int, c: int, estimator: Callable[[int, int, int], Point]) -> tuple[Point, ...]:
    """All points of one task, by `pass_at_k` or `pass_hat_k`."""
    return tuple(estimator(n, c, k) for k in range(1, n + 1))
