"""McNemar's test of paired outcomes, exact and mid-p. Binomial tails by scipy.stats.binomtest.

Reference: McNemar 1947; mid-p as in Fagerland, Lydersen and Laake 2013. Deviation from statsmodels, whose asymptotic
form gives p = 0 where no pair disagrees: two identical arms give 1 here. The model behind it is fixed pairs.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import comb

from scipy import stats


@dataclass(frozen=True)
class McNemar:
    """Pairs in which only one arm succeeded, and the p-values."""

    only_treatment: int
    only_control: int
    exact: float
    mid_p: float


def mcnemar(only_treatment: int, only_control: int) -> McNemar:
    """From the discordant pairs."""
    n = only_treatment + only_control
    if n == 0:
        return McNemar(0, 0, 1.0, 1.0)
    exact = float(stats.binomtest(only_treatment, n).pvalue)
    point = Fraction(comb(n, only_treatment), 2**n)
    return McNemar(only_treatment, only_control, exact, exact - float(point))
