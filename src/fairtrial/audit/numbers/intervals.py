"""The 95 % intervals that a report may hold, each from its definition. Pure.

Wilson 1927; Clopper and Pearson 1934; Newcombe 1998, method 10; Student over tasks; order statistics (David and
Nagaraja, 7.1).
"""

import math
import statistics
from collections.abc import Sequence
from fractions import Fraction
from functools import cache

from fairtrial.audit.numbers.distributions import TAIL, Z, beta_quantile, t_quantile
from fairtrial.audit.numbers.sample import ranked

Ends = tuple[float | Fraction, float | Fraction]
LEVEL = Fraction(95, 100)


def wilson(successes: int, n: int) -> Ends | None:
    """Score interval of a proportion."""
    if n == 0:
        return None
    p, square = successes / n, Z * Z
    center = (p + square / (2 * n)) / (1 + square / n)
    reach = Z * math.sqrt(p * (1 - p) / n + square / (4 * n * n)) / (1 + square / n)
    return (0.0 if successes == 0 else center - reach), (1.0 if successes == n else center + reach)


def clopper_pearson(successes: int, n: int) -> Ends | None:
    """Exact interval of a proportion."""
    if n == 0:
        return None
    low = 0.0 if successes == 0 else beta_quantile(TAIL, successes, n - successes + 1)
    high = 1.0 if successes == n else beta_quantile(1 - TAIL, successes + 1, n - successes)
    return low, high


def newcombe(successes: int, n: int, others: int, m: int) -> Ends | None:
    """Interval of the difference of two proportions."""
    ours, theirs = wilson(successes, n), wilson(others, m)
    if ours is None or theirs is None:
        return None
    p, q = successes / n, others / m
    low = p - q - math.hypot(p - ours[0], theirs[1] - q)
    return low, p - q + math.hypot(ours[1] - p, q - theirs[0])


def task_t(values: Sequence[Fraction | float]) -> Ends | None:
    """Student's interval of a mean over tasks; of one there is none."""
    n = len(values)
    if n <= 1:
        return None
    numbers = [float(each) for each in values]
    center = math.fsum(numbers) / n
    if len(set(values)) == 1:
        return float(values[0]), float(values[0])
    reach = t_quantile(1 - TAIL, n - 1) * statistics.stdev(numbers) / math.sqrt(n)
    return center - reach, center + reach


def share_difference_t(differences: Sequence[Fraction]) -> Ends | None:
    """The same of differences of shares, cut to what one can be."""
    found = task_t(differences)
    return None if found is None else (max(found[0], -1.0), min(found[1], 1.0))


def log_ratio_t(ratios: Sequence[Fraction]) -> Ends | None:
    """The same of logarithms, exponentiated; of positive ratios."""
    found = task_t([math.log(each) for each in ratios])
    return None if found is None else (math.exp(found[0]), math.exp(found[1]))


def order_statistics(values: Sequence[Fraction]) -> tuple[Fraction, Fraction, Fraction] | None:
    """The narrowest symmetric pair that covers a median with 95 %, else the range; and what it covers."""
    n, ordered = len(values), ranked(values)
    if n == 0:
        return None
    rank, covered = _innermost(n)
    return ordered[rank - 1], ordered[n - rank], covered


@cache
def _innermost(n: int) -> tuple[int, Fraction]:
    """The greatest rank whose pair covers enough, else 1; and what it covers: all but both tails, summed up once."""
    rank, ways, tail = 1, 1, 1  # C(n, 0), and the sum of all C(n, i) below the rank
    allowed = (1 - LEVEL) * 2**n
    while rank < n // 2:
        ways = ways * (n - rank + 1) // rank
        if 2 * (tail + ways) > allowed:
            break
        rank, tail = rank + 1, tail + ways
    return rank, 1 - Fraction(2 * tail, 2**n)
