"""Rows by task and arm, grouped once: what every section is computed from. Pure."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from fairtrial_analysis.load.loaded import Loaded
from fairtrial_analysis.load.rows import Row
from fairtrial_analysis.load.values import COLUMNS
from fairtrial_analysis.report.numbers import NO_PAIR
from fairtrial_analysis.rule.vocabulary import METRICS
from fairtrial_analysis.stats.conventions import CONVENTIONS, Conventions
from fairtrial_analysis.stats.value import Value, missing

Role = Literal["primary", "secondary", "other"]
_NOT_RECORDED = missing("not_recorded")
NO_RATIO = "a_change_has_no_ratio"  # it may be below zero, and zero is no change


@dataclass(frozen=True)
class Data:
    """The rows of a cohort from a report's side."""

    loaded: Loaded
    conventions: Conventions = CONVENTIONS

    @property
    def rows(self) -> tuple[Row, ...]:
        """All of them, in the order of the schedule."""
        return self.loaded.rows

    @property
    def arms(self) -> tuple[str, ...]:
        """Treatment, control, others."""
        return self.loaded.plan.arms

    @cached_property
    def pair(self) -> tuple[str, str] | None:
        """Treatment and control, where there are both."""
        plan = self.loaded.plan
        return (plan.treatment, plan.control) if plan.treatment and plan.control else None

    @cached_property
    def tasks(self) -> tuple[str, ...]:
        """Names of the tasks, in their order."""
        return tuple(sorted(self.loaded.plan.schedule.tasks))

    @property
    def repetitions(self) -> int:
        """Runs that each task and arm was to have."""
        return self.loaded.plan.schedule.repetitions

    @cached_property
    def cells(self) -> dict[tuple[str, str], list[Row]]:
        """Every row by task and arm."""
        found: dict[tuple[str, str], list[Row]] = defaultdict(list)
        for row in self.rows:
            found[row.task, row.arm].append(row)
        return found

    @cached_property
    def _valid(self) -> dict[tuple[str, str], list[Row]]:
        return {cell: [row for row in rows if row.valid] for cell, rows in self.cells.items()}

    def valid(self, task: str | None, arm: str) -> list[Row]:
        """Valid runs of one arm, in one task or all."""
        tasks = self.tasks if task is None else (task,)
        return [row for each in tasks for row in self._valid.get((each, arm), ())]

    def passed(self, task: str | None, arm: str) -> list[Row]:
        """Successful ones."""
        return [row for row in self.valid(task, arm) if row.outcome == "passed"]

    def begun(self, arm: str) -> list[Row]:
        """Every run of an arm that there was, replaced ones too."""
        return [row for task in self.tasks for row in self.cells.get((task, arm), ()) if row.begun]

    def counts(self, task: str | None, arm: str) -> tuple[int, int]:
        """Successes and valid runs."""
        valid = self.valid(task, arm)
        return sum(row.outcome == "passed" for row in valid), len(valid)

    def scheduled(self, task: str | None) -> int:
        """Runs that one arm was to have."""
        return self.repetitions * (len(self.tasks) if task is None else 1)

    def role(self, metric: str) -> Role:
        """What the constitution calls a metric."""
        constitution = self.loaded.plan.spec["constitution"]
        if metric in constitution.get("primaryMetrics", ()):
            return "primary"
        return "secondary" if metric in constitution.get("secondaryMetrics", ()) else "other"

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """Amounts that are shown: what the constitution or the rule names, and what any valid run has or should."""
        rule = self.loaded.plan.rule
        named = {each.metric for each in (*rule.conditions, *rule.data_gates)} if rule else set()
        seen = {
            metric
            for row in self.rows
            if row.valid
            for metric, value in row.values.items()
            if value.state != "not_applicable"
        }
        wanted = seen | named | {metric for metric in COLUMNS if self.role(metric) != "other"}
        order = {"primary": 0, "secondary": 1, "other": 2}
        return tuple(sorted((each for each in COLUMNS if each in wanted), key=lambda each: order[self.role(each)]))

    @cached_property
    def currency(self) -> str:
        """Of costs, where all have one."""
        found = {row.prices.pricing.currency for row in self.rows if row.prices}
        return found.pop() if len(found) == 1 else "money"

    def unit(self, metric: str) -> str:
        """Of a metric."""
        return self.currency if metric == "cost" else METRICS[metric].unit

    def ratios(self, metric: str) -> str:
        """Why there are no ratios of a metric, apart from missing values; empty where there are."""
        if self.pair is None:
            return NO_PAIR
        return NO_RATIO if METRICS[metric].kind == "change" else ""

    @staticmethod
    def value(row: Row, metric: str) -> Value:
        """One run's value."""
        return row.values.get(metric, _NOT_RECORDED)

    def values(self, rows: Sequence[Row], metric: str) -> list[Value]:
        """Those of several runs."""
        return [self.value(row, metric) for row in rows]

    @cached_property
    def blocks(self) -> dict[str, dict[str, Row]]:
        """By block and arm, the valid run that stands for the entry; blocks in the order of their names."""
        found: dict[str, dict[str, Row]] = {row.block: {} for row in sorted(self.rows, key=lambda row: row.block)}
        for row in self.rows:
            if row.valid:
                found[row.block][row.arm] = row
        return found
