"""Hodges-Lehmann estimate of a shift: the median of all Walsh averages. Exact, by hand: scipy has no public one.

Reference: Hodges and Lehmann 1963, one sample, each value paired with itself too.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations_with_replacement

from fairtrial_analysis.stats.location.ordering import whole
from fairtrial_analysis.stats.location.summary import median
from fairtrial_analysis.stats.value import Number


def hodges_lehmann(differences: Sequence[Number]) -> Fraction | None:
    """The estimate; None of no differences."""
    scaled, scale = whole(differences)  # integers add and compare many times as fast as fractions
    twice = median(one + other for one, other in combinations_with_replacement(scaled, 2))
    return None if twice is None else twice / (2 * scale)
