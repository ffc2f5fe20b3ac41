"""In how many tasks the treatment's median is strictly lower: the count behind a seven-of-ten condition. Exact.

Reference: the paired protocol. Both arms need a successful run with the measurement; ties and tasks that can't be
evaluated do not count, and the denominator stays. By chance alone, with no difference and no ties, seven of ten happen
17.2 % of the time, whatever the number of repetitions.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import comb

from fairtrial_analysis.stats.ratios.task_ratio import Medians


@dataclass(frozen=True)
class TaskWins:
    """Tasks by how their medians compare, each by name."""

    tasks: int
    lower: tuple[str, ...]
    ties: tuple[str, ...]
    higher: tuple[str, ...]
    not_evaluable: tuple[str, ...]

    @property
    def strictly_lower(self) -> int:
        """How many count."""
        return len(self.lower)

    def at_least(self, needed: int) -> bool | None:
        """Whether enough are lower; None if what can't be evaluated could still decide it."""
        if len(self.lower) >= needed:
            return True
        return False if len(self.lower) + len(self.not_evaluable) < needed else None


def task_wins(medians: Medians) -> TaskWins:
    """From both arms' medians by task."""
    lower: list[str] = []
    ties: list[str] = []
    higher: list[str] = []
    lost: list[str] = []
    for task, (treatment, control) in sorted(medians.items()):
        if treatment is None or control is None:
            lost.append(task)
        elif treatment < control:
            lower.append(task)
        else:
            (ties if treatment == control else higher).append(task)
    return TaskWins(len(medians), tuple(lower), tuple(ties), tuple(higher), tuple(lost))


def chance_of_at_least(needed: int, tasks: int, p: Fraction = Fraction(1, 2)) -> Fraction:
    """Probability of at least so many wins if each task is won with probability `p`. Exact binomial tail."""
    return sum((comb(tasks, k) * p**k * (1 - p) ** (tasks - k) for k in range(needed, tasks + 1)), Fraction(0))
