"""Mean difference over the tasks that both arms have. Exact.

Reference: the mean of paired differences. Arms that are averaged each over its own tasks do not compare.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from fairtrial_analysis.stats.value import Value


@dataclass(frozen=True)
class CommonSupport:
    """The difference, the tasks it rests on, and those it does not."""

    difference: Fraction | None
    tasks_used: tuple[str, ...]
    tasks_dropped: tuple[str, ...]
    reason: str = ""


def common_support(treatment: Mapping[str, Value], control: Mapping[str, Value]) -> CommonSupport:
    """Of one value per task and arm."""
    used, total = [], Fraction(0)
    for task in sorted(set(treatment) & set(control)):
        ours, theirs = treatment[task].value, control[task].value
        if ours is not None and theirs is not None:
            used.append(task)
            total += Fraction(ours) - Fraction(theirs)
    dropped = tuple(sorted((set(treatment) | set(control)) - set(used)))
    if not used:
        return CommonSupport(None, (), dropped, "no_common_task")
    return CommonSupport(total / len(used), tuple(used), dropped)
