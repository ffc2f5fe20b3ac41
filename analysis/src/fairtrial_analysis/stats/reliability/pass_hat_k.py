"""pass^k: the probability that all of k attempts at a task succeed. Exact, by math.comb.

Reference: tau-bench (Yao et al. 2024), the unbiased estimator C(c, k)/C(n, k). By hand, as for pass@k. Of fewer than k
runs it is undefined, never (c/n)^k, which says .512 where 4 of 5 give .4.
"""

from fractions import Fraction
from math import comb

from fairtrial_analysis.stats.reliability.curve import Point, point


def pass_hat_k(n: int, c: int, k: int) -> Point:
    """Of `c` successes in `n` valid runs."""
    return point(n, c, k, lambda: Fraction(comb(c, k), comb(n, k)))
