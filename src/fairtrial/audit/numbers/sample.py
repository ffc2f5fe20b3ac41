"""Which runs a number is of: the cohort's rows by task and arm, and what they have of a metric. Pure.

Tasks are in the order of their names; runs in that of the schedule. A rate counts runs; an amount is measured in each,
and is compared among those that passed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from fairtrial.audit.numbers.conduct import recovered
from fairtrial.audit.numbers.rows import Row
from fairtrial.audit.numbers.told import Value

RATES = ("success_rate", "harness_reliability", "policy_compliance", "recovery_rate")
NOT_RECORDED = Value("missing", None, "not_recorded")
Pair = tuple[Fraction | None, Fraction | None]  # treatment, control


@dataclass(frozen=True)
class Sample:
    """All rows, and how they are compared. `arms`: treatment and control first, where there are both."""

    rows: tuple[Row, ...]
    tasks: tuple[str, ...]
    arms: tuple[str, ...]
    repetitions: int
    treatment: str | None
    control: str | None
    _cells: dict[tuple[str, str], list[Row]] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        for row in self.rows:
            self._cells.setdefault((row.task, row.arm), []).append(row)

    def of(self, task: str | None = None, arm: str | None = None) -> list[Row]:
        """Rows of a task, of an arm, of both, or all."""
        if task is not None and arm is not None:
            return self._cells.get((task, arm), [])
        return [row for row in self.rows if task in (None, row.task) and arm in (None, row.arm)]

    @cached_property
    def pair(self) -> tuple[str, str]:
        """Treatment and control; KeyError where a cohort has not both."""
        if self.treatment is None or self.control is None:
            raise KeyError("the cohort has no treatment and control")
        return self.treatment, self.control

    @property
    def compares(self) -> bool:
        """Whether there are both."""
        return self.treatment is not None and self.control is not None

    @cached_property
    def blocks(self) -> Mapping[str, Mapping[str, Row]]:
        """By block, in the order of names, the valid run of each arm."""
        found: dict[str, dict[str, Row]] = {row.block: {} for row in sorted(self.rows, key=lambda row: row.block)}
        for row in self.rows:
            if row.valid:
                found[row.block][row.arm] = row
        return found

    def scheduled(self, task: str | None = None, arm: str | None = None) -> int:
        """How many runs were planned."""
        return self.repetitions * (1 if task else len(self.tasks)) * (1 if arm else len(self.arms))

    def counts(self, metric: str, task: str | None, arm: str | None) -> tuple[int, int]:
        """Numerator and denominator of a rate."""
        found = self.of(task, arm)
        if metric == "success_rate":
            return sum(row.outcome == "passed" for row in found), sum(row.valid for row in found)
        begun = [row for row in found if row.begun]
        judged = [row for row in begun if row.valid or cause(row) == "policy_violation"]
        if metric == "harness_reliability":
            return len(judged), len(begun)
        if metric == "policy_compliance":
            return sum(cause(row) != "policy_violation" for row in judged), len(judged)
        told = [has for row in found if row.valid and (has := recovered(row.values)) is not None]
        return sum(told), len(told)

    def value_in(self, metric: str, task: str, arm: str) -> Fraction | None:
        """One cell's value: its rate, or the median of its passed runs."""
        if metric in RATES:
            top, bottom = self.counts(metric, task, arm)
            return Fraction(top, bottom) if bottom else None
        return median(numbers(self.passed(task, arm), metric))

    def by_task(self, metric: str) -> Mapping[str, Pair]:
        """Both arms' value in each task."""
        ours, theirs = self.pair
        return {task: (self.value_in(metric, task, ours), self.value_in(metric, task, theirs)) for task in self.tasks}

    def passed(self, task: str | None = None, arm: str | None = None) -> list[Row]:
        """Runs that passed."""
        return [row for row in self.of(task, arm) if row.outcome == "passed"]

    def valid(self, task: str | None = None, arm: str | None = None) -> list[Row]:
        """Runs that count."""
        return [row for row in self.of(task, arm) if row.valid]


def cause(row: Row) -> str:
    """The record's cause."""
    return str(row.end.get("cause", ""))


def value(row: Row, metric: str) -> Value:
    """What a run has of a metric."""
    return row.values.get(metric, NOT_RECORDED)


def numbers(rows: Iterable[Row], metric: str) -> list[Fraction]:
    """The numbers that some runs have, in order; what is missing is left out."""
    return [found for row in rows if (found := value(row, metric).number) is not None]


def ranked(given: Iterable[Fraction]) -> list[Fraction]:
    """In ascending order. Fractions compare slowly; rounding turns no two of them round, and so may go first."""
    return sorted(given, key=lambda each: (float(each), each))


def median(given: Iterable[Fraction]) -> Fraction | None:
    """The median; None of nothing."""
    ordered = ranked(given)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2 if ordered else None


def quantile(given: Iterable[Fraction], q: Fraction) -> Fraction:
    """Hyndman and Fan's type 7, of at least one value."""
    return quantile_of_ranked(ranked(given), q)


def quantile_of_ranked(ordered: Sequence[Fraction] | Sequence[int], q: Fraction) -> Fraction:
    """The same of values that are in ascending order already."""
    at = (len(ordered) - 1) * q
    below = int(at)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (at - below) * (ordered[above] - ordered[below])
