"""Sign test of paired differences. By scipy.stats.binomtest.

Reference: Conover; ties are dropped and counted. Seven of ten alone has a one-sided p of .17: it is no evidence on its
own.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from scipy import stats

from fairtrial_analysis.stats.value import Number


@dataclass(frozen=True)
class SignTest:
    """Counts, and the p-values of a fair coin; 1 where there are only ties."""

    wins: int
    losses: int
    ties: int
    one_sided: float
    two_sided: float


def sign_test(wins: int, losses: int, ties: int = 0) -> SignTest:
    """From counts; one-sided asks whether wins are more than chance gives."""
    if not wins + losses:
        return SignTest(wins, losses, ties, 1.0, 1.0)
    one = stats.binomtest(wins, wins + losses, alternative="greater").pvalue
    two = stats.binomtest(wins, wins + losses).pvalue
    return SignTest(wins, losses, ties, float(one), float(two))


def sign_test_of(differences: Sequence[Number]) -> SignTest:
    """From differences in which lower is better."""
    return sign_test(sum(d < 0 for d in differences), sum(d > 0 for d in differences), sum(d == 0 for d in differences))
