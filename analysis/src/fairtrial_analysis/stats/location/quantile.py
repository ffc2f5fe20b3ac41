"""A quantile by Hyndman and Fan's type 7: linear between the two values around rank (n - 1)q. Exact, by hand.

Reference: Hyndman and Fan 1996; numpy's `linear` and statistics.quantiles(method="inclusive") give the same. By hand
because the first gives floats, and the second needs rationals throughout, which takes most of a large report's time.
Other tools differ on five values ([1,2,3,4,10]: 2 and 4 here, 1.5 and 7 elsewhere). One value is every quantile of
itself. A tail quantile of few values is interpolation between the largest two, and says so.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from fairtrial_analysis.stats.conventions import CONVENTIONS, Conventions
from fairtrial_analysis.stats.location.ordering import ordered
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
    ranked = ordered(values)
    below, rest = divmod((len(ranked) - 1) * q.numerator, q.denominator)
    found = Fraction(ranked[below])
    if rest:
        found += Fraction(rest, q.denominator) * (ranked[below + 1] - ranked[below])
    # as many values as the convention asks for one beyond the 95th percentile, and in proportion for other tails
    needed = Fraction(conventions.tail_quantile_min_n, 20) / min(q, 1 - q)
    return Quantile(q, len(ranked), found, interpolation_only=min(q, 1 - q) < Fraction(1, 4) and len(ranked) < needed)
