"""Tasks that a paired comparison of means needs, and the part of its error that more repetitions can't lower. By hand.

Reference: n = (z + z)² (ω² + σ²/K + σ²/K)/δ², re-derived from the variance of a mean of task differences (Miller 2024
has the same form). ω² is how much the effect differs between tasks: only more tasks lower it. Normal quantiles by
scipy.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from scipy import stats


@dataclass(frozen=True)
class Variances:
    """Between tasks (of the effect), and between runs of one task in each arm."""

    effect: Fraction
    treatment: Fraction
    control: Fraction

    def of_task_difference(self, repetitions: int) -> Fraction:
        """Variance of one task's difference of means."""
        return self.effect + (self.treatment + self.control) / repetitions


@dataclass(frozen=True)
class RepetitionLimit:
    """Standard errors of the mean difference, as planned and with endless repetitions of the same tasks."""

    tasks: int
    repetitions: int
    standard_error: float
    floor: float


def tasks_needed(
    delta: Fraction,
    variances: Variances,
    repetitions: int,
    alpha: Fraction = Fraction(1, 20),
    power: Fraction = Fraction(4, 5),
) -> int:
    """Tasks to find a mean difference of `delta`; `alpha` is two-sided."""
    reach = float(stats.norm.ppf(1 - float(alpha) / 2) + stats.norm.ppf(float(power)))
    return math.ceil(reach**2 * float(variances.of_task_difference(repetitions) / delta**2))


def repetition_limit(tasks: int, repetitions: int, variances: Variances) -> RepetitionLimit:
    """What more repetitions can't buy."""
    planned = variances.of_task_difference(repetitions) / tasks
    return RepetitionLimit(tasks, repetitions, math.sqrt(planned), math.sqrt(variances.effect / tasks))
