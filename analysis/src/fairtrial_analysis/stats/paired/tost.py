"""Equivalence by two one-sided t tests. By scipy.stats.ttest_1samp.

Reference: Schuirmann 1987; p is the larger of the two (statsmodels issue 8213 took the smaller). Deviation: without
spread p is 0 inside the margins and 1 on or beyond them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from scipy import stats

from fairtrial_analysis.stats.value import Number


@dataclass(frozen=True)
class Equivalence:
    """The p-value against "as far apart as the margins, or farther"."""

    n: int
    low: Fraction
    high: Fraction
    p: float | None
    degenerate: bool = False
    reason: str = ""


def tost(differences: Sequence[Number], low: Fraction, high: Fraction) -> Equivalence:
    """Whether the mean difference lies between the margins."""
    n = len(differences)
    if n < 2:  # noqa: PLR2004
        return Equivalence(n, low, high, None, reason="one_value_has_no_spread" if n else "no_differences")
    if len(set(differences)) == 1:
        return Equivalence(n, low, high, 0.0 if low < differences[0] < high else 1.0, degenerate=True)
    values = [float(each) for each in differences]
    above = stats.ttest_1samp(values, float(low), alternative="greater").pvalue
    below = stats.ttest_1samp(values, float(high), alternative="less").pvalue
    return Equivalence(n, low, high, max(float(above), float(below)))
