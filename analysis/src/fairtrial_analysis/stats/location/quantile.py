"""A quantile by Hyndman and Fan's type 7. By statistics.quantiles(method="inclusive"), which stays exact on rationals.

Reference: Hyndman and Fan 1996; numpy's `linear` gives the same in floats. Other tools differ on five values
([1,2,3,4,10]: 2 and 4 here, 1.5 and 7 elsewhere). Deviation: one value is every quantile of itself, where the library
raises. A tail quantile of few values is interpolation between the largest two, and says so.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from fairtrial_analysis.stats.conventions import CONVENTIONS, Conventions
from fairtrial_analysis.stats.value import Number

EMPTY = "no_values"


@dataclass(frozen=True)
class Quantile:
    """The quantile, and whether so few values identify it."""

    q: Fraction
    n: int
    value: Fraction | None
    interpolation_only: bool = False
    reason: str = ""


def quantile(values: Sequence[Number], q: Fraction, conventions: Conventions = CONVENTIONS) -> Quantile:
    """The quantile `q`, strictly between 0 and 1."""
    if not 0 < q < 1:
        raise ValueError(f"a quantile lies strictly between 0 and 1, not at {q}")
    if not values:
        return Quantile(q, 0, None, reason=EMPTY)
    exact = [Fraction(each) for each in values]
    if len(exact) == 1:
        found = exact[0]
    else:
        found = Fraction(statistics.quantiles(exact, n=q.denominator, method="inclusive")[q.numerator - 1])
    # as many values as the convention asks for one beyond the 95th percentile, and in proportion for other tails
    needed = Fraction(conventions.tail_quantile_min_n, 20) / min(q, 1 - q)
    return Quantile(q, len(exact), found, interpolation_only=min(q, 1 - q) < Fraction(1, 4) and len(exact) < needed)
