"""Failures by primary category and arm, secondary tags beside them. Exact counts.

Reference: the thirteen categories of the paired protocol. A failed run has one primary category; one without is counted
as such, and never guessed. Ambiguous ones are marked, and stay failures.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import get_args

from fairtrial.api.run import Category

CATEGORIES: tuple[str, ...] = get_args(Category)
UNCLASSIFIED = "unclassified"


@dataclass(frozen=True)
class Failure:
    """One failed run."""

    arm: str
    task: str
    category: str | None = None
    tags: tuple[str, ...] = ()
    ambiguous: bool = False


@dataclass(frozen=True)
class Taxonomy:
    """Of one arm: every category, zeros too, so that what did not happen is seen not to have happened."""

    arm: str
    failures: int
    primary: tuple[tuple[str, int], ...]
    tags: tuple[tuple[str, int], ...]
    by_task: tuple[tuple[str, str, int], ...]  # task, category, count
    ambiguous: int


def taxonomy(failures: Iterable[Failure]) -> tuple[Taxonomy, ...]:
    """By arm, in the order of names."""
    everything = list(failures)
    return tuple(_of_arm(arm, [each for each in everything if each.arm == arm]) for arm in _arms(everything))


def _arms(failures: list[Failure]) -> list[str]:
    return sorted({each.arm for each in failures})


def _of_arm(arm: str, failures: list[Failure]) -> Taxonomy:
    primary = Counter(each.category or UNCLASSIFIED for each in failures)
    order = (*CATEGORIES, *sorted(set(primary) - set(CATEGORIES)))
    by_task = Counter((each.task, each.category or UNCLASSIFIED) for each in failures)
    return Taxonomy(
        arm,
        len(failures),
        tuple((category, primary[category]) for category in order),
        tuple(sorted(Counter(tag for each in failures for tag in set(each.tags)).items())),
        tuple((task, category, count) for (task, category), count in sorted(by_task.items())),
        sum(each.ambiguous for each in failures),
    )
