"""Geometric mean of ratios over tasks with a t interval on the logarithms. Quantiles by scipy.

Reference: the t interval of task log ratios, exponentiated; symmetric under exchange of arms, which an arithmetic mean
of ratios is not (2 and 1/2 average 1.25). Ratios must be positive.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fairtrial_analysis.stats.conventions import CONVENTIONS, Conventions
from fairtrial_analysis.stats.interval import Interval, no_interval
from fairtrial_analysis.stats.paired.task_t import t_limits
from fairtrial_analysis.stats.value import Number

NAME = "log_ratio_t"


@dataclass(frozen=True)
class GeometricMean:
    """The geometric mean and its interval over tasks."""

    tasks: int
    value: float | None
    interval: Interval


def geometric_mean(ratios: Sequence[Number]) -> float | None:
    """The geometric mean of positive ratios; None of none."""
    if not ratios:
        return None
    return math.exp(math.fsum(math.log(each) for each in ratios) / len(ratios))


def log_ratio_t(ratios: Sequence[Number], conventions: Conventions = CONVENTIONS) -> GeometricMean:
    """Of one positive ratio per task."""
    value = geometric_mean(ratios)
    if len(ratios) < 2:  # noqa: PLR2004
        why = "one_task_has_no_spread" if ratios else "no_task"
        return GeometricMean(len(ratios), value, no_interval(NAME, conventions.confidence, why, "task_population"))
    low, high, _ = t_limits([math.log(each) for each in ratios], conventions)
    same = len(set(ratios)) == 1
    interval = Interval(math.exp(low), math.exp(high), NAME, conventions.confidence, "task_population", degenerate=same)
    return GeometricMean(len(ratios), value, interval)
