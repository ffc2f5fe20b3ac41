"""The strongest and the widest that a design can give, known before it runs; and the replacements to expect. Exact.

Reference: two of 2^n flips for the smallest two-sided p; a geometric number of attempts for replacements, up to the
cell's maximum. Ten tasks give .00195 at best.
"""

from dataclasses import dataclass
from fractions import Fraction

from fairtrial_analysis.stats.conventions import CONVENTIONS, Conventions
from fairtrial_analysis.stats.interval import Interval
from fairtrial_analysis.stats.location.order_statistic import minimum_n_for_median
from fairtrial_analysis.stats.proportions.wilson import wilson


@dataclass(frozen=True)
class Attainable:
    """What the numbers of tasks and repetitions allow."""

    smallest_p_over_tasks: Fraction
    widest_cell_interval: Interval
    median_interval_exists: bool
    repetitions_for_median_interval: int


def attainable(tasks: int, repetitions: int, conventions: Conventions = CONVENTIONS) -> Attainable:
    """Of a paired design."""
    needed = minimum_n_for_median(conventions)
    widest = wilson(repetitions // 2, repetitions, conventions)
    return Attainable(min(Fraction(2, 2**tasks), Fraction(1)), widest, repetitions >= needed, needed)


def expected_replacements(runs: int, invalid: Fraction, maximum_per_run: int) -> Fraction:
    """How many of `runs` scheduled runs lead to replacements, each attempt invalid with the same probability."""
    return runs * sum((invalid**attempt for attempt in range(1, maximum_per_run + 1)), Fraction(0))
