"""Sign-flip test of differences, one-sided or drawn too: what the reports tell is counted (counted_flip.py). By scipy.

Reference: Fisher's randomisation test; the statistic is the sum. Blocks are the unit for "no effect on any run", tasks
for "no average effect over tasks". Differences become integers first, so that ties are exact. Up to a declared size
every flip is enumerated, beyond it flips are drawn and p is (b + 1)/(m + 1). Deviation: one difference gives p = 1,
where scipy raises.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from scipy import stats

from fairtrial_analysis.stats.conventions import CONVENTIONS, Conventions
from fairtrial_analysis.stats.value import Number

Alternative = Literal["two-sided", "less", "greater"]


@dataclass(frozen=True)
class SignFlip:
    """The p-value, how it was found, and the smallest that so many differences could give."""

    n: int
    p: float | None
    smallest_attainable: Fraction | None
    how: Literal["enumerated", "drawn", ""] = ""
    alternative: Alternative = "two-sided"
    reason: str = ""


def sign_flip(
    differences: Sequence[Number],
    rng: np.random.Generator,
    conventions: Conventions = CONVENTIONS,
    alternative: Alternative = "two-sided",
) -> SignFlip:
    """The test of a sum of zero; `rng` is used only where flips are drawn."""
    n = len(differences)
    if n == 0:
        return SignFlip(0, None, None, reason="no_differences")
    exact = n <= conventions.permutation_exact_max_n
    sides = 2 if alternative == "two-sided" else 1
    smallest = min(Fraction(sides, 2**n), Fraction(1)) if exact else Fraction(1, conventions.permutation_resamples + 1)
    if n == 1 and alternative == "two-sided":
        return SignFlip(1, 1.0, smallest, "enumerated")
    whole = [Fraction(each) for each in differences]
    scale = math.lcm(*(each.denominator for each in whole))
    integers = np.array([int(each * scale) for each in whole], dtype=np.float64)

    def total(x: Any, axis: int = -1) -> Any:
        return np.sum(x, axis=axis)

    if n == 1:
        p = 0.5 if (integers[0] < 0) == (alternative == "less") and integers[0] else 1.0
        return SignFlip(1, p, smallest, "enumerated", alternative)
    found = stats.permutation_test(
        (integers,),
        total,
        permutation_type="samples",
        vectorized=True,
        n_resamples=2**n if exact else conventions.permutation_resamples,
        batch=1024,
        alternative=alternative,
        rng=rng,
    )
    return SignFlip(n, float(found.pvalue), smallest, "enumerated" if exact else "drawn", alternative)


def monte_carlo_p(exceedances: int, resamples: int) -> Fraction:
    """The p-value of drawn permutations, never zero. Reference: Phipson and Smyth 2010, (b + 1)/(m + 1)."""
    return Fraction(exceedances + 1, resamples + 1)
