"""The metrics and statistics that a rule may name, and what values they can have. Data.

A linter needs to know that a success difference lies between -1 and 1 before anyone waits for a threshold that can't be
met. The cohort's schema knows the same metrics and statistics, and docs/rules.md lists them.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

Kind = Literal["rate", "amount", "change"]

ZERO, ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True)
class Metric:
    """A rate counts runs; an amount is measured in every run, and compared among successful ones.

    A change is an amount that may be below zero: it has no ratio.
    """

    kind: Kind
    unit: str
    runtime: bool = False  # of measurement tasks
    whole: bool = True  # an integer in every run


RATES = ("success_rate", "harness_reliability", "policy_compliance", "recovery_rate")
_TOKENS = (
    "accounted_tokens", "uncached_input_tokens", "cached_input_tokens", "cache_write_tokens", "output_tokens",
    "reasoning_tokens", "total_tokens", "largest_call_input_tokens",
)  # fmt: skip
_COUNTS = (
    "model_calls", "assistant_turns", "tool_calls", "failed_tool_calls", "retries", "test_commands", "files_inspected",
    "files_modified", "lines_added", "lines_deleted", "interventions", "approvals", "clarifications",
    "provider_faults", "provider_faults_recovered", "model_retries", "invalid_tool_calls", "recovered_tool_failures",
    "failed_test_commands", "recovered_test_failures", "failed_attempts", "compactions", "truncated_outputs",
    "effect_receipts", "duplicate_effects", "leftover_processes", "leftover_ports",
)  # fmt: skip
_MILLISECONDS = (
    "duration_ms", "time_to_first_useful_action_ms", "time_to_first_verifiable_outcome_ms", "first_token_ms", "cpu_ms",
    "throttled_ms",
)  # fmt: skip
# The tail of a run less its start.
_CHANGES = {
    "first_token_change_ms": Metric("change", "ms"),
    "context_change_tokens": Metric("change", "tokens"),
    "tool_failure_change": Metric("change", "share", whole=False),
    "repetition_change": Metric("change", "share", whole=False),
}
_RUNTIME = {
    "cold_start_ms": "ms", "warm_dispatch_ms": "ms", "valid_input_us": "µs", "invalid_input_us": "µs",
    "index_generation_ms": "ms", "resident_bytes": "bytes", "peak_bytes": "bytes", "clean_build_ms": "ms",
    "type_check_ms": "ms", "incremental_check_ms": "ms",
}  # fmt: skip

METRICS: dict[str, Metric] = {
    **{name: Metric("rate", "") for name in RATES},
    **{name: Metric("amount", "tokens") for name in _TOKENS},
    "tokens_per_model_call": Metric("amount", "tokens", whole=False),
    "cost": Metric("amount", "money", whole=False),
    **{name: Metric("amount", "count") for name in _COUNTS},
    **{name: Metric("amount", "ms") for name in _MILLISECONDS},
    "peak_memory_bytes": Metric("amount", "bytes"),
    **_CHANGES,
    **{name: Metric("amount", unit, runtime=True) for name, unit in _RUNTIME.items()},
}


@dataclass(frozen=True)
class Statistic:
    """What is made of a metric. `range_of_rate` is where it can lie for a rate, `range_of_amount` for an amount."""

    title: str
    kinds: tuple[Kind, ...]
    interval: str  # how its 95 % interval is made; empty if it has none
    range_of_rate: tuple[Fraction | None, Fraction | None] = (None, None)
    range_of_amount: tuple[Fraction | None, Fraction | None] = (None, None)
    range_of_change: tuple[Fraction | None, Fraction | None] = (None, None)
    whole: bool = False  # a number of tasks or runs
    about: str = ""  # these tasks, or the population that they stand for

    def values(self, kind: Kind) -> tuple[Fraction | None, Fraction | None]:
        """Lowest and highest possible value; None is no limit."""
        if kind == "change":
            return self.range_of_change
        return self.range_of_rate if kind == "rate" else self.range_of_amount


_ALL: tuple[Kind, ...] = ("rate", "amount", "change")
_BOTH: tuple[Kind, ...] = ("rate", "amount")
_POSITIVE = (ZERO, None)
_SIGNED = (-ONE, ONE)

STATISTICS: dict[str, Statistic] = {
    "difference": Statistic(
        "treatment minus control, the mean of the tasks' own differences",
        _ALL,
        "the wider of a t interval over tasks and, for success rates, Newcombe's interval of the pooled counts",
        _SIGNED,
        about="task_population",
    ),
    "ratio": Statistic(
        "treatment over control, the geometric mean of the tasks' own ratios",
        _BOTH,
        "a t interval of the logarithms over tasks",
        _POSITIVE,
        _POSITIVE,
        about="task_population",
    ),
    "pooledMedianRatio": Statistic(
        "the median of all successful treatment runs over that of all successful control runs",
        ("amount",),
        "a seeded bootstrap of pooled runs",
        range_of_amount=_POSITIVE,
        about="these_tasks",
    ),
    "tasksLower": Statistic(
        "the number of tasks in which the treatment's value is strictly lower",
        _ALL,
        "",
        _POSITIVE,
        _POSITIVE,
        range_of_change=_POSITIVE,
        whole=True,
    ),
    "tasksHigher": Statistic(
        "the number of tasks in which the treatment's value is strictly higher",
        _ALL,
        "",
        _POSITIVE,
        _POSITIVE,
        range_of_change=_POSITIVE,
        whole=True,
    ),
    "treatmentValue": Statistic(
        "the treatment's own value: a rate, or the median of its successful runs",
        _ALL,
        "Wilson's interval for a rate, order statistics for a median",
        (ZERO, ONE),
        _POSITIVE,
        about="these_tasks",
    ),
    "controlValue": Statistic(
        "the control's own value: a rate, or the median of its successful runs",
        _ALL,
        "Wilson's interval for a rate, order statistics for a median",
        (ZERO, ONE),
        _POSITIVE,
        about="these_tasks",
    ),
    "pooledDifference": Statistic(
        "treatment minus control over all runs of all tasks together",
        ("rate",),
        "Newcombe's interval",
        _SIGNED,
        about="these_tasks",
    ),
    "worstCaseDifference": Statistic(
        "treatment minus control if every run without a judgement had gone against the treatment",
        ("rate",),
        "",
        _SIGNED,
    ),
    "medianTaskRatio": Statistic(
        "the median of the tasks' own ratios", _BOTH, "", _POSITIVE, _POSITIVE, about="these_tasks"
    ),
    "worstLeaveOneOutRatio": Statistic(
        "the highest geometric mean of the tasks' ratios that leaving out one task gives",
        _BOTH,
        "",
        _POSITIVE,
        _POSITIVE,
        about="these_tasks",
    ),
    "perSuccessRatio": Statistic(
        "what a success costs the treatment, failures included, over what it costs the control",
        ("amount",),
        "",
        range_of_amount=_POSITIVE,
        about="these_tasks",
    ),
    "allRunsMedianRatio": Statistic(
        "the median of all valid treatment runs over that of all valid control runs",
        ("amount",),
        "",
        range_of_amount=_POSITIVE,
        about="these_tasks",
    ),
    "criticalExcess": Statistic(
        "runs with a critical failure, treatment minus control", ("rate",), "", (None, None), whole=True
    ),
    "criticalTasks": Statistic(
        "the number of tasks in which the treatment has more critical failures than the control",
        ("rate",),
        "",
        _POSITIVE,
        whole=True,
    ),
    "coverage": Statistic(
        "the share of valid runs that have the metric, in the arm that has less of it",
        ("amount", "change"),
        "",
        range_of_change=(ZERO, ONE),
        range_of_amount=(ZERO, ONE),
    ),
    "unjudgedRate": Statistic(
        "the share of scheduled runs without a judgement, in the arm that has more of them", ("rate",), "", (ZERO, ONE)
    ),
    "differentialLossP": Statistic("Fisher's p of both arms having lost runs at one rate", ("rate",), "", (ZERO, ONE)),
}
