"""Repetitions per task until a Wilson interval is as narrow as wanted. By hand: the half width in closed form.

Reference: Wilson 1927. Expected width at p = .8: .55 at 5 runs, .43 at 10, .215 at 50.
"""

import math
from fractions import Fraction

from fairtrial_analysis.stats.conventions import CONVENTIONS, Conventions


def wilson_half_width(p: Fraction, n: int, conventions: Conventions = CONVENTIONS) -> float:
    """Half the width at an observed rate of `p` in `n` runs."""
    z, rate = float(conventions.z), float(p)
    return z / (1 + z * z / n) * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))


def repetitions_for_half_width(
    p: Fraction, half_width: Fraction, tasks: int, conventions: Conventions = CONVENTIONS
) -> int:
    """The smallest number of repetitions of `tasks` tasks."""
    if half_width <= 0:
        raise ValueError("no number of runs makes an interval of no width")
    repetitions = 1
    while wilson_half_width(p, tasks * repetitions, conventions) > half_width:
        repetitions += 1
    return repetitions
