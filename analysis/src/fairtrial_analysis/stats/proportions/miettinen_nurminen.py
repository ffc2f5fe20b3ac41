"""Miettinen-Nurminen score interval for a difference of two rates. By hand; roots by scipy.optimize.brentq.

Reference: Miettinen and Nurminen 1985, with their n/(n - 1) variance. By hand because scipy has none and statsmodels'
`score` uses a wrong coefficient in the constrained estimate and raises at 5/5 against 5/5 (issue 10269). For audits.
"""

import math
from collections.abc import Callable

from scipy import optimize, stats

from fairtrial_analysis.stats.conventions import CONVENTIONS, Conventions
from fairtrial_analysis.stats.interval import Interval, no_interval
from fairtrial_analysis.stats.proportions.rate import NO_VALID_RUNS

_EDGE = 1e-12  # how close to -1 and 1 a root is looked for


def miettinen_nurminen(
    treatment: int, treatment_n: int, control: int, control_n: int, conventions: Conventions = CONVENTIONS
) -> Interval:
    """The interval of all differences that a score test at this confidence does not reject."""
    name = "miettinen_nurminen"
    if not treatment_n or not control_n:
        return no_interval(name, conventions.confidence, NO_VALID_RUNS, "these_tasks")
    limit = float(stats.norm.ppf(1 - float(conventions.tail)))
    point = treatment / treatment_n - control / control_n

    def beyond(difference: float) -> float:
        return abs(_score(difference, treatment, treatment_n, control, control_n)) - limit

    return Interval(_root(beyond, -1.0, point), _root(beyond, 1.0, point), name, conventions.confidence, "these_tasks")


def _root(beyond: Callable[[float], float], end: float, point: float) -> float:
    inner = end * (1 - _EDGE)
    if abs(end - point) <= _EDGE or beyond(inner) <= 0:
        return end
    return float(optimize.brentq(beyond, min(inner, point), max(inner, point)))


def _score(difference: float, x1: int, n1: int, x2: int, n2: int) -> float:
    p2 = _constrained(difference, x1, n1, x2, n2)
    p1 = min(max(p2 + difference, 0.0), 1.0)
    total = n1 + n2
    variance = (p1 * (1 - p1) / n1 + p2 * (1 - p2) / n2) * total / (total - 1)
    distance = x1 / n1 - x2 / n2 - difference
    if variance <= 0:
        return 0.0 if abs(distance) <= _EDGE else math.copysign(math.inf, distance)
    return distance / math.sqrt(variance)


def _constrained(d: float, x1: int, n1: int, x2: int, n2: int) -> float:
    """The control rate that is most likely if the rates differ by `d`: the middle root of a cubic, in closed form."""
    total, successes = n1 + n2, x1 + x2
    a, b = float(total), (n1 + 2 * n2) * d - total - successes
    c, e = (n2 * d - total - 2 * x2) * d + successes, x2 * d * (1 - d)
    q = (b / (3 * a)) ** 3 - b * c / (6 * a * a) + e / (2 * a)
    p = math.copysign(math.sqrt(max((b / (3 * a)) ** 2 - c / (3 * a), 0.0)), q)
    turn = 0.0 if p == 0 else min(max(q / p**3, -1.0), 1.0)
    root = 2 * p * math.cos((math.pi + math.acos(turn)) / 3) - b / (3 * a)
    return min(max(root, 0.0, -d), 1.0, 1.0 - d)
