"""The results from a rule's side: treatment and control, by task, each sum made once. Pure."""

from collections import defaultdict
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from fairtrial_analysis.rule.model import DecisionRule
from fairtrial_analysis.rule.recovery import recovered
from fairtrial_analysis.rule.results import Results, Trial
from fairtrial_analysis.rule.vocabulary import METRICS
from fairtrial_analysis.stats.conventions import CONVENTIONS, Conventions
from fairtrial_analysis.stats.location.summary import median
from fairtrial_analysis.stats.ratios.task_ratio import Medians
from fairtrial_analysis.stats.value import Number, Value, missing

NOT_RECORDED = missing("not_recorded")
Cell = tuple[str, str]  # task, arm


@dataclass(frozen=True)
class View:
    """What statistics of a rule are computed from. Tasks are in the order of their names, runs of their repetition."""

    rule: DecisionRule
    results: Results
    conventions: Conventions = CONVENTIONS
    seed: int = 0
    _by_task: dict[str, Medians] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def arms(self) -> tuple[str, str]:
        """Treatment and control."""
        return (self.rule.treatment, self.rule.control)

    @cached_property
    def tasks(self) -> tuple[str, ...]:
        """The names of the tasks."""
        return tuple(sorted(self.results.design.tasks))

    @cached_property
    def trials(self) -> dict[Cell, list[Trial]]:
        """Every run by cell, in the order of the schedule, replacements after what they replace."""
        found: dict[Cell, list[Trial]] = defaultdict(list)
        for trial in sorted(self.results.trials, key=lambda trial: (trial.repetition, trial.run)):
            found[trial.task, trial.arm].append(trial)
        return found

    @cached_property
    def valid(self) -> dict[Cell, list[Trial]]:
        """Valid runs by cell; a cell without any has an empty list."""
        return {
            (task, arm): [trial for trial in self.trials.get((task, arm), ()) if trial.valid]
            for task in self.tasks
            for arm in self.arms
        }

    @cached_property
    def evidence(self) -> tuple[str, ...]:
        """The runs that count, by name."""
        return tuple(sorted(trial.run for trials in self.valid.values() for trial in trials))

    def of_arm(self, arm: str) -> list[Trial]:
        """Valid runs of one arm."""
        return [trial for task in self.tasks for trial in self.valid[task, arm]]

    def counts(self, metric: str, task: str, arm: str) -> tuple[int, int]:
        """Numerator and denominator of a rate in one cell."""
        if metric == "success_rate":
            valid = self.valid[task, arm]
            return sum(trial.passed for trial in valid), len(valid)
        trials = [trial for trial in self.trials.get((task, arm), ()) if trial.outcome != "not_run"]
        if metric == "harness_reliability":
            return sum(trial.valid or trial.cause == "policy_violation" for trial in trials), len(trials)
        if metric == "policy_compliance":
            judged = [trial for trial in trials if trial.valid or trial.cause == "policy_violation"]
            return sum(trial.cause != "policy_violation" for trial in judged), len(judged)
        told = [found for trial in self.valid[task, arm] if (found := recovered(trial.values)) is not None]
        return sum(told), len(told)

    def arm_counts(self, metric: str, arm: str) -> tuple[int, int]:
        """Numerator and denominator of a rate over all tasks."""
        cells = [self.counts(metric, task, arm) for task in self.tasks]
        return sum(top for top, _ in cells), sum(bottom for _, bottom in cells)

    def value(self, trial: Trial, metric: str) -> Value:
        """One run's measurement."""
        return trial.values.get(metric, NOT_RECORDED)

    def amounts(self, metric: str, task: str, arm: str, *, passed: bool = True) -> list[Number]:
        """What was measured in the successful runs of one cell, or in all valid ones."""
        found = [self.value(trial, metric).value for trial in self.valid[task, arm] if trial.passed or not passed]
        return [number for number in found if number is not None]

    def arm_amounts(self, metric: str, arm: str, *, passed: bool = True) -> list[Number]:
        """The same over all tasks."""
        return [number for task in self.tasks for number in self.amounts(metric, task, arm, passed=passed)]

    def by_task(self, metric: str) -> Medians:
        """Both arms' value in each task: a rate, or the median of successful runs; None where there is none."""
        if metric not in self._by_task:
            ours, theirs = self.arms
            self._by_task[metric] = {
                task: (self._of_cell(metric, task, ours), self._of_cell(metric, task, theirs)) for task in self.tasks
            }
        return self._by_task[metric]

    def _of_cell(self, metric: str, task: str, arm: str) -> Number | None:
        if METRICS[metric].kind != "rate":
            return median(self.amounts(metric, task, arm))
        top, bottom = self.counts(metric, task, arm)
        return Fraction(top, bottom) if bottom else None

    def hidden(self, metric: str) -> tuple[str, ...]:
        """Tasks whose comparison is lost for no reason but missing values: they might have gone either way."""
        if METRICS[metric].kind == "rate":
            return ()
        lost = [task for task, pair in self.by_task(metric).items() if None in pair]
        return tuple(task for task in lost if all(self._measurable(metric, task, arm) for arm in self.arms))

    def _measurable(self, metric: str, task: str, arm: str) -> bool:
        """Whether a successful run of the cell has the metric, or would have if it were not missing."""
        states = {self.value(trial, metric).state for trial in self.valid[task, arm] if trial.passed}
        return bool(states & {"measured", "missing"})

    def critical(self, task: str, arm: str) -> int:
        """Valid runs of a cell with a failure of a critical category, primary or secondary."""
        critical = set(self.rule.critical_categories)
        return sum(
            bool(critical & {trial.category, *trial.tags}) for trial in self.valid[task, arm] if not trial.passed
        )
