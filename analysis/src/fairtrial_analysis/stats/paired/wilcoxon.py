"""Wilcoxon signed-rank test. By scipy.stats.wilcoxon, method="auto".

Reference: Wilcoxon 1945; zeros are dropped and counted. Ties are exact since scipy 1.15 (its PR 21567). Deviation: only
zeros give p = 1 without scipy's warning. Differences become integers first, so that equal ranks are found exactly.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from scipy import stats

from fairtrial_analysis.stats.paired.sign_flip import Alternative
from fairtrial_analysis.stats.value import Number


@dataclass(frozen=True)
class Wilcoxon:
    """The p-value, over how many differences that are not zero."""

    n: int
    zeros: int
    p: float
    alternative: Alternative = "two-sided"


def wilcoxon(differences: Sequence[Number], alternative: Alternative = "two-sided") -> Wilcoxon:
    """The test of symmetry about zero."""
    kept = [Fraction(each) for each in differences if each]
    zeros = len(differences) - len(kept)
    if not kept:
        return Wilcoxon(0, zeros, 1.0, alternative)
    scale = math.lcm(*(each.denominator for each in kept))
    found = stats.wilcoxon([float(each * scale) for each in kept], method="auto", alternative=alternative)
    return Wilcoxon(len(kept), zeros, float(found.pvalue), alternative)
