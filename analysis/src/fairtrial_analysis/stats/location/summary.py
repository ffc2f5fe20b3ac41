"""Median, quartiles, interquartile range and full range, mean and standard deviation; and of how many values.

Exact, but for the root in the standard deviation. Reference: the middle value or the mean of both, quartiles by Hyndman
and Fan's type 7; the standard deviation with n - 1, which protocol 2 §4 asks of every reading. Missing values are left
out and counted. The mean is supplementary: protocol 0 lets it never stand alone.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from fairtrial_analysis.stats.conventions import CONVENTIONS, Conventions
from fairtrial_analysis.stats.location.ordering import ordered
from fairtrial_analysis.stats.location.quantile import EMPTY, quantile
from fairtrial_analysis.stats.value import Number, Sample, Value, sample

_QUARTER = Fraction(1, 4)


@dataclass(frozen=True)
class Summary:
    """The five numbers and the range between quartiles; all None where there is no value."""

    n: int
    n_missing: int
    n_not_applicable: int
    n_void: int
    minimum: Fraction | None = None
    q1: Fraction | None = None
    median: Fraction | None = None
    q3: Fraction | None = None
    maximum: Fraction | None = None
    iqr: Fraction | None = None
    mean: Fraction | None = None
    deviation: float | None = None  # None of a single value
    reason: str = ""


def summary(values: Iterable[Value] | Sample, conventions: Conventions = CONVENTIONS) -> Summary:
    """The summary of a sample."""
    seen = values if isinstance(values, Sample) else sample(values)
    counts = (seen.n, seen.missing, seen.not_applicable, seen.void)
    if not seen.numbers:
        return Summary(*counts, reason=EMPTY)
    low, high = (quantile(seen.numbers, q, conventions).value for q in (_QUARTER, 1 - _QUARTER))
    assert low is not None and high is not None
    middle = median(seen.numbers)
    mean, deviation = _moments(seen.numbers)
    least, most = Fraction(min(seen.numbers)), Fraction(max(seen.numbers))
    return Summary(*counts, least, low, middle, high, most, high - low, mean, deviation)


def _moments(values: Sequence[Number]) -> tuple[Fraction, float | None]:
    """Mean and standard deviation. Squares are summed exactly: differences of large numbers lose nothing."""
    n, total = len(values), sum(values)
    if n == 1:
        return Fraction(total), None
    squares = sum(value * value for value in values)
    variance = Fraction(n * squares - total * total) / (n * (n - 1))
    return Fraction(total) / n, math.sqrt(variance)


def median(values: Iterable[Number]) -> Fraction | None:
    """The median alone, exactly; None of no values. By hand: statistics.median divides integers to a float."""
    ranked = ordered(values)
    if not ranked:
        return None
    high, low = ranked[len(ranked) // 2], ranked[(len(ranked) - 1) // 2]
    return Fraction(high) if low == high else Fraction(low + high) / 2
