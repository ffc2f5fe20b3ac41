"""Standard deviation, and mean with minimum and maximum.

Reference: the sample standard deviation (ddof = 1) by statistics.stdev, exact up to its root. Of one value there is
none: some harnesses print 0. A range grows with n, so n stands beside it and ranges of different n are not compared.
"""

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from fairtrial_analysis.stats.location.quantile import EMPTY
from fairtrial_analysis.stats.value import Value, sample


@dataclass(frozen=True)
class Spread:
    """The standard deviation is None below two values. Of readings that are 0 or 1 it says no more than their mean."""

    n: int
    n_missing: int
    mean: Fraction | None
    minimum: Fraction | None
    maximum: Fraction | None
    standard_deviation: float | None
    binary: bool = False
    reason: str = ""


def spread(values: Iterable[Value]) -> Spread:
    """Of a sample; what is missing is left out and counted."""
    seen = sample(values)
    lost = seen.missing + seen.not_applicable + seen.void
    exact = [Fraction(each) for each in seen.numbers]
    if not exact:
        return Spread(0, lost, None, None, None, None, reason=EMPTY)
    deviation = statistics.stdev(exact) if len(exact) > 1 else None
    return Spread(
        len(exact),
        lost,
        sum(exact, Fraction(0)) / len(exact),
        min(exact),
        max(exact),
        None if deviation is None else float(deviation),
        binary=set(exact) <= {Fraction(0), Fraction(1)},
        reason="" if len(exact) > 1 else "one_value_has_no_spread",
    )
