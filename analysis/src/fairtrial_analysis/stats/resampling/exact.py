"""The bootstrap distribution itself, by enumeration of all resamples: no seed, no simulation error, the same bytes.

Reference: Fisher and Hall 1991; for the median of an odd sample Maritz and Jarrett 1978 give the weights in closed
form. By hand: scipy only simulates. n values have C(2n-1, n) distinct resamples, 126 for five, 6435 for eight.
"""

import itertools
import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

from fairtrial_analysis.stats.value import Number

Distribution = tuple[tuple[Fraction, Fraction], ...]  # (value, probability), by value
Statistic = Callable[[Sequence[Fraction]], Fraction]


def mean(values: Sequence[Fraction]) -> Fraction:
    """The mean, exactly."""
    return sum(values, Fraction(0)) / len(values)


def median(values: Sequence[Fraction]) -> Fraction:
    """The median, exactly."""
    return Fraction(statistics.median(values))


def distribution(values: Sequence[Number], statistic: Statistic) -> Distribution:
    """The statistic over all resamples of one sample."""
    exact = [Fraction(each) for each in sorted(values)]
    whole = len(exact) ** len(exact)
    found: dict[Fraction, int] = {}
    for positions, ways in _resamples(len(exact)):
        value = statistic([exact[position] for position in positions])
        found[value] = found.get(value, 0) + ways
    return tuple((value, Fraction(ways, whole)) for value, ways in sorted(found.items()))


def combined(
    treatment: Distribution, control: Distribution, combine: Callable[[Fraction, Fraction], Fraction]
) -> Distribution:
    """Of two samples that are resampled apart, such as a difference or a ratio of medians."""
    found: dict[Fraction, Fraction] = {}
    for (ours, weight), (theirs, other) in itertools.product(treatment, control):
        value = combine(ours, theirs)
        found[value] = found.get(value, Fraction(0)) + weight * other
    return tuple(sorted(found.items()))


def percentile(found: Distribution, q: Fraction) -> Fraction:
    """The smallest value at or below which at least `q` of the distribution lies."""
    below = Fraction(0)
    for value, weight in found:
        below += weight
        if below >= q:
            return value
    return found[-1][0]


def standard_error(found: Distribution) -> float:
    """The distribution's own standard deviation: of a median, Maritz and Jarrett's."""
    center = sum((value * weight for value, weight in found), Fraction(0))
    return math.sqrt(sum((weight * (value - center) ** 2 for value, weight in found), Fraction(0)))


def median_weights(n: int) -> tuple[Fraction, ...]:
    """For an odd sample: how often each value, by rank, is the median of a resample. Binomial, in closed form."""
    if n % 2 == 0:
        raise ValueError("the median of an even sample lies between its values")
    at_most = [_at_least(n, Fraction(rank, n), n // 2 + 1) for rank in range(n + 1)]
    return tuple(high - low for low, high in itertools.pairwise(at_most))


def _at_least(n: int, p: Fraction, k: int) -> Fraction:
    return sum((math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k, n + 1)), Fraction(0))


def _resamples(n: int) -> Iterator[tuple[tuple[int, ...], int]]:
    """Every multiset of n positions, and in how many orders it is drawn."""
    orders = math.factorial(n)
    for positions in itertools.combinations_with_replacement(range(n), n):
        repeats = math.prod(math.factorial(len(list(group))) for _, group in itertools.groupby(positions))
        yield positions, orders // repeats
