"""Standard error of a mean whose observations come in clusters, such as runs of one task. By hand, in rationals.

Reference: Miller 2024 (arXiv 2411.00640), with the correction G/(G - 1); equals an ordinary least squares fit with
clustered errors. By hand because only statsmodels has it, in floats: rounding noise there gave p = .004 where every run
succeeded. Of one cluster there is none.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from fairtrial_analysis.stats.value import Number


@dataclass(frozen=True)
class ClusteredMean:
    """The mean over all observations and its clustered standard error; use t with clusters - 1."""

    clusters: int
    n: int
    mean: Fraction | None
    standard_error: float | None
    reason: str = ""


def clustered_mean(clusters: Mapping[str, Sequence[Number]]) -> ClusteredMean:
    """Of observations by cluster; empty clusters do not count."""
    full = [[Fraction(each) for each in values] for values in clusters.values() if values]
    n = sum(map(len, full))
    if not n:
        return ClusteredMean(0, 0, None, None, "no_values")
    mean = sum((sum(values, Fraction(0)) for values in full), Fraction(0)) / n
    if len(full) == 1:
        return ClusteredMean(1, n, mean, None, "one_cluster_has_no_spread")
    squares = sum((sum((each - mean for each in values), Fraction(0)) ** 2 for values in full), Fraction(0))
    variance = squares / n**2 * Fraction(len(full), len(full) - 1)
    return ClusteredMean(len(full), n, mean, math.sqrt(variance))
