"""Task-normalised ratio: one ratio of medians per task, so that no large task decides. Exact per task.

Reference: the geometric mean is symmetric under exchange of arms; the median beside it resists one odd task. A zero
ratio stays in the list and in the median but has no logarithm, so it leaves the geometric mean, with a reason. The
leave-one-out range shows whether one task carries the result.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from fairtrial_analysis.stats.conventions import CONVENTIONS, Conventions
from fairtrial_analysis.stats.interval import Interval
from fairtrial_analysis.stats.location.summary import median
from fairtrial_analysis.stats.paired.log_ratio_t import log_ratio_t
from fairtrial_analysis.stats.ratios.leave_one_out import LeaveOneOut, leave_one_out
from fairtrial_analysis.stats.ratios.ratio import Ratio, ratio
from fairtrial_analysis.stats.value import Number

Medians = Mapping[str, tuple[Number | None, Number | None]]  # task → (treatment, control)


@dataclass(frozen=True)
class TaskRatio:
    """Ratios by task and their aggregates over the tasks that have one."""

    per_task: tuple[tuple[str, Ratio], ...]
    tasks: int
    geometric_mean: float | None
    interval: Interval
    median: Fraction | None
    leave_one_out: LeaveOneOut
    zeros_left_out: tuple[str, ...] = ()
    reason: str = ""


def task_ratio(medians: Medians, conventions: Conventions = CONVENTIONS) -> TaskRatio:
    """From both arms' medians by task."""
    per_task = tuple((task, ratio(*pair)) for task, pair in sorted(medians.items()))
    found = {task: each.value for task, each in per_task if each.value is not None}
    positive = {task: value for task, value in found.items() if value > 0}
    log = log_ratio_t(list(positive.values()), conventions)
    return TaskRatio(
        per_task,
        len(found),
        log.value,
        log.interval,
        median(found.values()),
        leave_one_out(positive),
        tuple(task for task in found if task not in positive),
        "" if positive else "no_task_with_a_positive_ratio",
    )
