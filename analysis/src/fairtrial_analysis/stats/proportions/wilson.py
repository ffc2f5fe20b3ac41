"""Wilson score interval of a proportion, the primary one. By scipy.stats.binomtest.

Reference: Wilson 1927, without continuity correction. Mean coverage is right even at n = 5, with dips near 0 and 1, so
Clopper-Pearson is printed beside it for 0/n and n/n. Never Wald, which gives [0, 0] for 0/5. Deviation: of no runs
there is no interval, where libraries raise or give NaN.
"""

import functools

from scipy import stats

from fairtrial_analysis.stats.conventions import CONVENTIONS, Conventions
from fairtrial_analysis.stats.interval import Interval, no_interval
from fairtrial_analysis.stats.proportions.rate import NO_VALID_RUNS


@functools.lru_cache(maxsize=65536)  # a simulation asks for the same few counts thousands of times
def wilson(successes: int, n: int, conventions: Conventions = CONVENTIONS) -> Interval:
    """The interval of `successes` in `n`."""
    if n == 0:
        return no_interval("wilson", conventions.confidence, NO_VALID_RUNS)
    found = stats.binomtest(successes, n).proportion_ci(float(conventions.level), method="wilson")
    # rounding leaves 1e-17 where the limit is a closed 0 or 1
    low, high = 0.0 if successes == 0 else float(found.low), 1.0 if successes == n else float(found.high)
    return Interval(low, high, "wilson", conventions.confidence)
