"""Jeffreys interval of a proportion, equal-tailed Beta(c + 1/2, n - c + 1/2). Quantiles by scipy.stats.beta.

Reference: Brown, Cai and DasGupta 2001. Deviation: their boundary modification is not applied, as in statsmodels; of no
runs there is no interval, where the bare formula gives (0.0015, 0.9985) as if there were data.
"""

from scipy import stats

from fairtrial_analysis.stats.conventions import CONVENTIONS, Conventions
from fairtrial_analysis.stats.interval import Interval, no_interval
from fairtrial_analysis.stats.proportions.rate import NO_VALID_RUNS


def jeffreys(successes: int, n: int, conventions: Conventions = CONVENTIONS) -> Interval:
    """The interval of `successes` in `n`."""
    if n == 0:
        return no_interval("jeffreys", conventions.confidence, NO_VALID_RUNS)
    tail = float(conventions.tail)
    posterior = stats.beta(successes + 0.5, n - successes + 0.5)
    return Interval(float(posterior.ppf(tail)), float(posterior.ppf(1 - tail)), "jeffreys", conventions.confidence)
