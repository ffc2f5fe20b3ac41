"""Median, quartiles, interquartile range and full range, and how many values they rest on. Exact.

Reference: medians by statistics.median, quartiles by Hyndman and Fan's type 7. Missing values are left out and counted.
"""

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from fairtrial_analysis.stats.conventions import CONVENTIONS, Conventions
from fairtrial_analysis.stats.location.quantile import EMPTY, quantile
from fairtrial_analysis.stats.value import Sample, Value, sample

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
    reason: str = ""


def summary(values: Iterable[Value] | Sample, conventions: Conventions = CONVENTIONS) -> Summary:
    """The summary of a sample."""
    seen = values if isinstance(values, Sample) else sample(values)
    counts = (seen.n, seen.missing, seen.not_applicable, seen.void)
    if not seen.numbers:
        return Summary(*counts, reason=EMPTY)
    low, high = (quantile(seen.numbers, q, conventions).value for q in (_QUARTER, 1 - _QUARTER))
    assert low is not None and high is not None
    middle = Fraction(statistics.median(map(Fraction, seen.numbers)))
    return Summary(*counts, Fraction(min(seen.numbers)), low, middle, high, Fraction(max(seen.numbers)), high - low)


def median(values: Iterable[int | Fraction]) -> Fraction | None:
    """The median alone, exactly; None of no values."""
    exact = [Fraction(each) for each in values]
    return Fraction(statistics.median(exact)) if exact else None
