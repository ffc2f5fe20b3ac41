"""The range of a geometric mean as each task is left out in turn: how much rests on one task.

Reference: jackknife influence, shown rather than turned into an interval.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from fairtrial_analysis.stats.paired.log_ratio_t import geometric_mean
from fairtrial_analysis.stats.value import Number


@dataclass(frozen=True)
class LeaveOneOut:
    """The full value, the range without one task, and the task whose absence moves it most."""

    full: float | None
    low: float | None
    high: float | None
    most_influential: str | None
    reason: str = ""


def leave_one_out(ratios: Mapping[str, Number]) -> LeaveOneOut:
    """Of positive ratios by task; two tasks or more."""
    full = geometric_mean(list(ratios.values()))
    if full is None or len(ratios) < 2:  # noqa: PLR2004
        return LeaveOneOut(full, None, None, None, "fewer_than_two_tasks")
    without = {}
    for task in sorted(ratios):
        left = geometric_mean([value for name, value in ratios.items() if name != task])
        assert left is not None
        without[task] = left
    moved = max(without, key=lambda task: abs(without[task] - full))
    return LeaveOneOut(full, min(without.values()), max(without.values()), moved)
