"""The decision rule as data: gates, conditions on known metrics, and the order in which they are read."""

from typing import Annotated, Literal

from pydantic import Field

from fairtrial.api.base import Image, Model, Name, Rule, Sentence, Sha256, Word, matching, unique_names
from fairtrial.api.provider import DecimalText
from fairtrial.api.run import Category

# The metrics of measurement tasks (runtime cohorts).
RuntimeMetric = Literal[
    "cold_start_ms", "warm_dispatch_ms", "valid_input_us", "invalid_input_us", "index_generation_ms", "resident_bytes",
    "peak_bytes", "clean_build_ms", "type_check_ms", "incremental_check_ms",
]  # fmt: skip
# Every metric that a rule may read.
Metric = Literal[
    "success_rate", "harness_reliability", "policy_compliance", "recovery_rate",
    "accounted_tokens", "uncached_input_tokens", "cached_input_tokens", "cache_write_tokens", "output_tokens",
    "reasoning_tokens", "total_tokens", "largest_call_input_tokens", "tokens_per_model_call", "cost", "model_calls",
    "duration_ms", "assistant_turns", "tool_calls", "failed_tool_calls", "retries", "test_commands", "files_inspected",
    "files_modified", "lines_added", "lines_deleted", "interventions", "time_to_first_useful_action_ms",
    "time_to_first_verifiable_outcome_ms", "first_token_ms", "cpu_ms", "throttled_ms", "peak_memory_bytes",
    "approvals", "clarifications", "provider_faults", "provider_faults_recovered", "model_retries",
    "invalid_tool_calls", "recovered_tool_failures", "failed_test_commands", "recovered_test_failures",
    "failed_attempts", "compactions", "truncated_outputs", "effect_receipts", "duplicate_effects",
    "leftover_processes", "leftover_ports", "first_token_change_ms", "context_change_tokens", "tool_failure_change",
    "repetition_change", RuntimeMetric,
]  # fmt: skip

# What is made of a metric, treatment against control. The analysis says how each is computed.
Statistic = Literal[
    "difference", "ratio", "pooledMedianRatio", "tasksLower", "tasksHigher", "treatmentValue", "controlValue",
    "pooledDifference", "worstCaseDifference", "medianTaskRatio", "worstLeaveOneOutRatio", "perSuccessRatio",
    "allRunsMedianRatio", "criticalExcess", "criticalTasks", "coverage", "unjudgedRate", "differentialLossP",
]  # fmt: skip
Step = Literal["gates", "falseConditions", "undecidedConditions"]
SignedDecimal = Annotated[
    str,
    Field(max_length=32),
    matching(r"-?[0-9]{1,12}(?:\.[0-9]{1,12})?", 'a threshold must be a decimal number in quotes, such as "-0.10".'),
]


class RuleCondition(Model):
    """One condition: a statistic of one metric, or a bound of its interval, against a threshold."""

    name: Name
    """Name of the condition, as the report shows it."""
    metric: Metric
    """Metric that is read; one of the constitution's primary metrics."""
    statistic: Statistic
    """What is made of the metric: treatment against control."""
    bound: Literal["point", "lower95", "upper95"] = "point"
    """Whether the value itself is compared, or the lower or upper end of its 95 % interval."""
    comparison: Literal["below", "atMost", "above", "atLeast"]
    """How it must lie to the threshold."""
    threshold: SignedDecimal
    """Decimal number in quotes: a margin, a ratio, or a number of tasks."""
    says: Sentence = ""
    """The condition in a sentence."""


class Budget(Model):
    """The most that a runtime metric of the treatment may be, fixed before any result."""

    name: Name
    """Name of the budget, as the report shows it."""
    metric: Metric
    """Metric of a measurement task."""
    maximum: DecimalText
    """The most that it may be, in the metric's own unit, in quotes."""
    says: Sentence = ""
    """The budget in a sentence."""


class DecisionRule(Model):
    """The rule that turns results into a verdict: a gate that is not passed makes it INCONCLUSIVE, a condition that is
    false NOT SUPPORTED, one that can't be decided INCONCLUSIVE; in this order, if no other is given."""

    name: Word
    """Name of the rule, as the analysis knows it."""
    sha256: Sha256 | None = None
    """SHA-256 of the rule's text, where it stands in a document of its own."""
    accounted_tokens: Literal["all_tokens", "fresh_tokens"] = "all_tokens"
    """The rule by which tokens are added up for accounted_tokens."""
    min_valid_per_cell: Annotated[int, Field(strict=True, ge=1, le=1000)] = 5
    """Valid runs that each task and candidate must have; with fewer the verdict is INCONCLUSIVE."""
    gates: Annotated[tuple[Name, ...], Field(max_length=32)] = ()
    """Names of the spec's gates that must have evidence."""
    conditions: Annotated[
        tuple[RuleCondition, ...],
        Field(max_length=32),
        Rule("self.size() > 0", "conditions must hold at least one condition: without any, all is supported.", bool),
        unique_names("two conditions"),
    ]
    """What must all hold for SUPPORTED."""
    data_gates: Annotated[tuple[RuleCondition, ...], Field(max_length=32), unique_names("two data gates")] = ()
    """What the data must be good enough for; one that does not hold makes it INCONCLUSIVE."""
    budgets: Annotated[tuple[Budget, ...], Field(max_length=32), unique_names("two budgets")] = ()
    """What the treatment's runtime may cost at most."""
    runtime_required: Annotated[bool, Field(strict=True)] = False
    """Whether nothing is supported without budgets for runtime."""
    order: Annotated[tuple[Step, ...], Field(max_length=3)] = ("gates", "falseConditions", "undecidedConditions")
    """In which order they are read; the first that decides, decides."""
    critical_categories: Annotated[tuple[Category, ...], Field(max_length=13)] = (
        "security_regression",
        "data_migration_error",
    )
    """Categories of failure that count as critical."""
    says: Sentence = ""
    """The rule in a sentence."""


class Analysis(Model):
    """The frozen version of the analysis."""

    version: Word
    """Version of the analysis."""
    image: Image
    """Image of the analysis, by digest."""
    seed: Annotated[int, Field(strict=True, ge=0, le=2**53)] = 0
    """Seed of every resampling in the analysis."""
