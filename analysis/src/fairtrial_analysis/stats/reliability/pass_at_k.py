"""pass@k: the probability that at least one of k attempts at a task succeeds. Exact, by math.comb.

Reference: Chen et al. 2021, the unbiased estimator 1 - C(n-c, k)/C(n, k). By hand: the usual product in numpy overflows
silently. Of fewer than k runs it is undefined, never 1 and never 1 - (1 - c/n)^k.
"""

from fractions import Fraction
from math import comb

from fairtrial_analysis.stats.reliability.curve import Point, point


def pass_at_k(n: int, c: int, k: int) -> Point:
    """Of `c` successes in `n` valid runs."""
    return point(n, c, k, lambda: 1 - Fraction(comb(n - c, k), comb(n, k)))
