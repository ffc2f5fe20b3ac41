"""Mantel-Haenszel difference of success rates over tasks, and the plain mean of the tasks' differences. Exact.

Reference: Mantel and Haenszel 1959, Greenland and Robins 1985 for the difference. By hand, in rationals: libraries
return floats. In balanced cells pooled difference, mean difference and this one are equal; where runs are invalid they
are not.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Stratum:
    """One task's counts in both arms."""

    treatment: int
    treatment_n: int
    control: int
    control_n: int

    @property
    def difference(self) -> Fraction | None:
        """The task's own difference; none unless both arms have runs."""
        if not self.treatment_n or not self.control_n:
            return None
        return Fraction(self.treatment, self.treatment_n) - Fraction(self.control, self.control_n)


@dataclass(frozen=True)
class StratifiedDifference:
    """Both aggregates, over the tasks in which both arms have runs; the others are listed."""

    mantel_haenszel: Fraction | None
    mean_of_tasks: Fraction | None
    tasks: int
    not_evaluable: tuple[str, ...]
    reason: str = ""


def stratified_difference(strata: Mapping[str, Stratum]) -> StratifiedDifference:
    """Treatment minus control over strata."""
    usable = {name: each for name, each in sorted(strata.items()) if each.difference is not None}
    lost = tuple(sorted(set(strata) - set(usable)))
    if not usable:
        return StratifiedDifference(None, None, 0, lost, "no_task_with_runs_in_both_arms")
    weights = {
        name: Fraction(each.treatment_n * each.control_n, each.treatment_n + each.control_n)
        for name, each in usable.items()
    }
    differences = {name: each.difference or Fraction(0) for name, each in usable.items()}
    weighted = sum((weights[name] * differences[name] for name in usable), Fraction(0))
    total = sum(weights.values(), Fraction(0))
    mean = sum(differences.values(), Fraction(0)) / len(usable)
    return StratifiedDifference(weighted / total, mean, len(usable), lost)
