"""What one success costs: everything that was spent on valid runs, failures too, over the successes. Exact.

Reference: plain division. A median among successes ignores what failures cost; a harness whose cost per run rose by 43
% cost 99 % more per success. Unavailable as soon as one valid run's spending is: a partial sum is no sum.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from fairtrial_analysis.stats.value import Value


@dataclass(frozen=True)
class PerSuccess:
    """The total, the successes, and their quotient."""

    runs: int
    successes: int
    total: Fraction | None
    value: Fraction | None
    n_missing: int = 0
    reason: str = ""


def per_success(runs: Iterable[tuple[bool, Value]]) -> PerSuccess:
    """Of (succeeded, spent) for every valid run."""
    everything = list(runs)
    successes = sum(success for success, _ in everything)
    lacking = [spent for _, spent in everything if spent.value is None]
    if lacking or not everything:
        why = lacking[0].reason if lacking else "no_valid_runs"
        return PerSuccess(len(everything), successes, None, None, len(lacking), why)
    total = sum((Fraction(spent.value or 0) for _, spent in everything), Fraction(0))
    if not successes:
        return PerSuccess(len(everything), 0, total, None, reason="no_success")
    return PerSuccess(len(everything), successes, total, total / successes)
