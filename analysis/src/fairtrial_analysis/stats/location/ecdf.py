"""The empirical distribution function: the share of values at or below each. Exact.

Reference: the step function of the sample, as scipy.stats.ecdf gives in floats; by hand, to stay exact. All values are
shown: of few values a density would be made up.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from fairtrial_analysis.stats.location.quantile import EMPTY
from fairtrial_analysis.stats.value import Value, sample


@dataclass(frozen=True)
class Ecdf:
    """Steps (value, share at or below it), and what could not be placed."""

    n: int
    n_missing: int
    steps: tuple[tuple[Fraction, Fraction], ...]
    reason: str = ""


def ecdf(values: Iterable[Value]) -> Ecdf:
    """The distribution of a sample."""
    seen = sample(values)
    lost = seen.missing + seen.not_applicable + seen.void
    below = 0
    steps = []
    for value, count in sorted(Counter(map(Fraction, seen.numbers)).items()):
        below += count
        steps.append((value, Fraction(below, seen.n)))
    return Ecdf(seen.n, lost, tuple(steps), "" if steps else EMPTY)
