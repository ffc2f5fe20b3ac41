"""Fieller's interval for a ratio of two paired means. By hand: the roots of a quadratic; t quantile by scipy.

Reference: Fieller 1954. By hand because scipy has none. If the control mean is not distinguishable from zero the set is
unbounded, and is said to be: a finite interval would be false.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from scipy import stats

from fairtrial_analysis.stats.conventions import CONVENTIONS, Conventions
from fairtrial_analysis.stats.interval import Interval, no_interval
from fairtrial_analysis.stats.value import Number

NAME = "fieller"


@dataclass(frozen=True)
class RatioOfMeans:
    """Mean of treatment over mean of control."""

    pairs: int
    value: float | None
    interval: Interval


def fieller(
    treatment: Sequence[Number], control: Sequence[Number], conventions: Conventions = CONVENTIONS
) -> RatioOfMeans:
    """Of pairs in the same order, such as two means per task."""
    pairs = list(zip(map(float, treatment), map(float, control), strict=True))
    n = len(pairs)
    if n < 2:  # noqa: PLR2004
        return RatioOfMeans(n, None, no_interval(NAME, conventions.confidence, "fewer_than_two_pairs"))
    ours, theirs = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    top, bottom = math.fsum(ours) / n, math.fsum(theirs) / n
    if bottom == 0:
        return RatioOfMeans(n, None, no_interval(NAME, conventions.confidence, "zero_denominator"))
    reach = float(stats.t.ppf(1 - float(conventions.tail), n - 1)) ** 2 / n
    a = bottom**2 - reach * statistics.variance(theirs)
    b = top * bottom - reach * statistics.covariance(ours, theirs)
    c = top**2 - reach * statistics.variance(ours)
    if a <= 0:
        unbounded = Interval(
            None, None, NAME, conventions.confidence, "task_population", unbounded=True, reason="control_mean_near_zero"
        )
        return RatioOfMeans(n, top / bottom, unbounded)
    root = math.sqrt(max(b * b - a * c, 0.0))
    interval = Interval((b - root) / a, (b + root) / a, NAME, conventions.confidence, "task_population")
    return RatioOfMeans(n, top / bottom, interval)
