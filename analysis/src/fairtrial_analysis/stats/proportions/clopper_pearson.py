"""Clopper-Pearson interval of a proportion, for audits and beside Wilson's at 0/n and n/n. By scipy.stats.binomtest.

Reference: Clopper and Pearson 1934; covers at least its confidence, and usually more. Deviation: none; no runs, no
interval.
"""

from functools import lru_cache

from scipy import stats

from fairtrial_analysis.stats.conventions import CONVENTIONS, Conventions
from fairtrial_analysis.stats.interval import Interval, no_interval
from fairtrial_analysis.stats.proportions.rate import NO_VALID_RUNS


# scipy searches for the ends, and a report asks for those of none and of all in its few sizes again and again.
@lru_cache(4096)
def clopper_pearson(successes: int, n: int, conventions: Conventions = CONVENTIONS) -> Interval:
    """The exact interval of `successes` in `n`."""
    if n == 0:
        return no_interval("clopper_pearson", conventions.confidence, NO_VALID_RUNS)
    found = stats.binomtest(successes, n).proportion_ci(float(conventions.level), method="exact")
    return Interval(float(found.low), float(found.high), "clopper_pearson", conventions.confidence)


def upper_bound_of_none(n: int, conventions: Conventions = CONVENTIONS) -> Interval:
    """One-sided bound of a proportion of which none was seen in `n`: what the rule of three (3/n) approximates."""
    if n == 0:
        return no_interval("clopper_pearson_one_sided", conventions.confidence, NO_VALID_RUNS)
    found = stats.binomtest(0, n, alternative="less").proportion_ci(float(conventions.level), method="exact")
    return Interval(0.0, float(found.high), "clopper_pearson_one_sided", conventions.confidence)
