"""Distribution-free intervals for a median from order statistics, with their exact coverage; and the sizes they need.

Reference: David and Nagaraja, Order Statistics, section 7.1: [x(i), x(j)] covers the median of a continuous
distribution with a binomial probability. By hand, in rationals. With five values no such 95 % interval exists: [min,
max] covers 93.75 %.
"""

import functools
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
    ordered = sorted(values)
    enough = _innermost_rank(n, conventions.level)
    rank = enough or 1
    return Interval(
        Fraction(ordered[rank - 1]),
        Fraction(ordered[n - rank]),
        NAME,
        conventions.confidence,
        degenerate=ordered[0] == ordered[-1],
        coverage=_symmetric_coverage(n, rank),
        reason="" if enough else "too_few_values_for_this_confidence",
    )


@functools.lru_cache(maxsize=4096)
def _innermost_rank(n: int, level: Fraction) -> int:
    """The greatest rank, from 1, whose symmetric pair covers the level; 0 if none does. Tails are summed up once."""
    ways, tail, rank = 1, 1, 0  # C(n, 0), and the sum of C(n, i) below `rank + 1`
    allowed = (1 - level) * 2**n
    while 2 * tail <= allowed and rank < n // 2:
        rank += 1
        ways = ways * (n - rank + 1) // rank
        tail += ways
    return rank


@functools.lru_cache(maxsize=4096)
def _symmetric_coverage(n: int, rank: int) -> Fraction:
    return coverage(n, rank, n + 1 - rank)


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
