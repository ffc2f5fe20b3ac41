"""A decision rule: gates, conditions, budgets, and the order in which they are read. Data with a digest, never code.

The fields are those of a cohort's `decisionRule`, and a few that only a rule document of its own has. Thresholds are
decimal text and become rationals, so that no comparison depends on how a machine rounds.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

from fairtrial import documents
from fairtrial.errors import InvalidInput

Comparison = Literal["below", "atMost", "above", "atLeast"]
Bound = Literal["point", "lower95", "upper95"]
Step = Literal["gates", "falseConditions", "undecidedConditions"]
ORDER: tuple[Step, ...] = ("gates", "falseConditions", "undecidedConditions")


@dataclass(frozen=True)
class Condition:
    """A statistic of one metric, or a bound of its interval, against a threshold."""

    name: str
    metric: str
    statistic: str
    comparison: Comparison
    threshold: str
    bound: Bound = "point"
    says: str = ""

    @cached_property
    def limit(self) -> Fraction:
        """The threshold, exactly."""
        try:
            return Fraction(self.threshold)
        except (ValueError, ZeroDivisionError) as error:
            raise InvalidInput(
                f"condition {self.name}: threshold: {self.threshold!r} is not a decimal number.",
                next_move='Write it in quotes, such as "-0.10".',
            ) from error


@dataclass(frozen=True)
class Budget:
    """The most that a runtime metric of the treatment may be, fixed after smoke measurements and before any result."""

    name: str
    metric: str
    maximum: str
    says: str = ""


@dataclass(frozen=True)
class DecisionRule:
    """What must be shown, what must hold, and what follows if not."""

    name: str
    treatment: str
    control: str
    conditions: list[Condition]
    schema_version: Literal[1] = 1
    accounted_tokens: str = "all_tokens"
    min_valid_per_cell: int = 5
    gates: list[str] = field(default_factory=list)  # names of what must have evidence
    data_gates: list[Condition] = field(default_factory=list)  # what the data must be good enough for
    budgets: list[Budget] = field(default_factory=list)
    runtime_required: bool = False  # without budgets that were fixed in time, nothing is supported
    order: list[Step] = field(default_factory=lambda: list(ORDER))
    critical_categories: list[str] = field(default_factory=lambda: ["security_regression", "data_migration_error"])
    says: str = ""

    def to_bytes(self) -> bytes:
        """The canonical document."""
        return documents.dump(self)

    @cached_property
    def sha256(self) -> str:
        """The digest that a seal names."""
        return hashlib.sha256(self.to_bytes()).hexdigest()


def load_rule(data: bytes | str, *, name: str = "decision rule") -> DecisionRule:
    """A rule from its document, strictly: what is unknown or of another type is refused with its path."""
    return documents.load(DecisionRule, data, name=name)


def rule_of_spec(raw: Mapping[str, Any], treatment: str, control: str) -> DecisionRule:
    """The rule in a cohort's `decisionRule`, between these two candidates."""
    fields = {key: value for key, value in raw.items() if key != "sha256"}
    rule: DecisionRule = documents.from_json(
        DecisionRule, fields | {"treatment": treatment, "control": control}, "spec.decisionRule"
    )
    return rule
