"""Pooled medians against task-normalised ones: they can contradict each other in every task. Exact.

Reference: Simpson's paradox. Efficiency among successes is selected by success, which unbalances the mix of tasks
between arms; a report that shows only the pooled medians may have the sign wrong.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from fairtrial_analysis.stats.location.summary import median
from fairtrial_analysis.stats.paired.log_ratio_t import geometric_mean
from fairtrial_analysis.stats.ratios.ratio import ratio
from fairtrial_analysis.stats.value import Number

ByTask = Mapping[str, Sequence[Number]]


@dataclass(frozen=True)
class PooledAgainstTasks:
    """Both views, and whether they point in different directions."""

    pooled_treatment: Fraction | None
    pooled_control: Fraction | None
    tasks: int
    tasks_lower: int
    tasks_higher: int
    geometric_mean: float | None
    contradiction: bool | None
    reason: str = ""


def pooled_against_tasks(treatment: ByTask, control: ByTask) -> PooledAgainstTasks:
    """Of values by task; tasks that lack an arm count in the pooled medians only."""
    ours = median(value for values in treatment.values() for value in values)
    theirs = median(value for values in control.values() for value in values)
    both = sorted(task for task in treatment if treatment[task] and control.get(task))
    ratios = [ratio(median(treatment[task]), median(control[task])).value for task in both]
    usable = [each for each in ratios if each is not None]
    counts = (len(usable), sum(each < 1 for each in usable), sum(each > 1 for each in usable))
    aggregate = geometric_mean([each for each in usable if each > 0])
    if ours is None or theirs is None or aggregate is None:
        return PooledAgainstTasks(ours, theirs, *counts, aggregate, None, "no_task_with_values_in_both_arms")
    # a geometric mean of exactly 1 may round to either side of it
    pooled, normal = _sign(ours - theirs), 0 if abs(aggregate - 1) < 1e-12 else _sign(aggregate - 1)  # noqa: PLR2004
    return PooledAgainstTasks(ours, theirs, *counts, aggregate, pooled * normal < 0)


def _sign(value: Fraction | float) -> int:
    return (value > 0) - (value < 0)
