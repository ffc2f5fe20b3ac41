"""Distribution-free intervals for a median from order statistics, with their exact coverage; and the sizes they need.

Reference: David and Nagaraja, Order Statistics, section 7.1: [x(i), x(j)] covers the median of a continuous
distribution with a binomial probability. By hand, in rationals. With five values no such 95 % interval exists: [min,
max] covers 93.75 %.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import comb

from fairtrial_analysis.stats.conventions import CONVENTIONS, Conventions
from fairtrial_analysis.stats.interval import Interval, no_interval
from fairtrial_analysis.stats.location.quantile import EMPTY
from fairtrial_analysis.stats.value import Number

NAME = "median_order_statistics"


def coverage(n: int, lower_rank: int, upper_rank: int) -> Fraction:
    """Probability that the median lies between the values of these ranks, counted from 1."""
    return Fraction(sum(comb(n, below) for below in range(lower_rank, upper_rank)), 2**n)


def median_interval(values: Sequence[Number], conventions: Conventions = CONVENTIONS) -> Interval:
    """The narrowest symmetric interval that covers the confidence; else [min, max] with the coverage that it has."""
    n = len(values)
    if n == 0:
        return no_interval(NAME, conventions.confidence, EMPTY)
    ordered = [Fraction(each) for each in sorted(values)]
    enough = [rank for rank in range(1, n // 2 + 1) if coverage(n, rank, n + 1 - rank) >= conventions.level]
    rank = enough[-1] if enough else 1
    return Interval(
        ordered[rank - 1],
        ordered[n - rank],
        NAME,
        conventions.confidence,
        degenerate=ordered[0] == ordered[-1],
        coverage=coverage(n, rank, n + 1 - rank),
        reason="" if enough else "too_few_values_for_this_confidence",
    )


def minimum_n_for_median(conventions: Conventions = CONVENTIONS) -> int:
    """The smallest sample of which [min, max] covers the median with the confidence: 6 for 95 %."""
    n = 1
    while coverage(n, 1, n) < conventions.level:
        n += 1
    return n


def minimum_n_for_quantile(q: Fraction, conventions: Conventions = CONVENTIONS) -> int:
    """The smallest sample whose maximum is an upper bound of quantile `q` with the confidence: 59 for 95 % of p95."""
    n = 1
    while 1 - q**n < conventions.level:
        n += 1
    return n
