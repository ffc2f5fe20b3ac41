"""Outliers by Tukey's fences: flagged and shown, never removed.

Reference: Tukey 1977, one and a half interquartile ranges beyond the type 7 quartiles.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from fairtrial_analysis.stats.conventions import CONVENTIONS, Conventions
from fairtrial_analysis.stats.location.quantile import EMPTY
from fairtrial_analysis.stats.location.summary import summary
from fairtrial_analysis.stats.value import Number, Sample


@dataclass(frozen=True)
class Outliers:
    """The fences, and the positions in the given sequence of what lies outside them."""

    n: int
    lower_fence: Fraction | None
    upper_fence: Fraction | None
    positions: tuple[int, ...] = ()
    reason: str = ""


def outliers(values: Sequence[Number], conventions: Conventions = CONVENTIONS) -> Outliers:
    """Which of these values lie far out."""
    five = summary(Sample(tuple(values)), conventions)
    if five.q1 is None or five.q3 is None or five.iqr is None:
        return Outliers(0, None, None, reason=EMPTY)
    reach = Fraction(conventions.outlier_fence) * five.iqr
    low, high = five.q1 - reach, five.q3 + reach
    far = tuple(position for position, each in enumerate(values) if not low <= each <= high)
    return Outliers(len(values), low, high, far)
