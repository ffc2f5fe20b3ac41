"""Outcome rate, harness reliability, policy compliance and recovery, kept apart. Exact.

Reference: the causal-harness protocol. What can't be judged leaves the outcome's denominator and lowers the harness's
reliability instead. That a person's abort can't be judged is a convention.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from fairtrial_analysis.stats.proportions.rate import Rate, rate

NOT_JUDGEABLE = ("evaluation_infra_error", "human_abort")


@dataclass(frozen=True)
class OutcomeRates:
    """Three rates of one set of runs."""

    outcome_rate: Rate
    harness_reliability: Rate
    policy_compliance: Rate


def outcome_rates(
    outcomes: Mapping[str, int], scheduled: int, not_judgeable: tuple[str, ...] = NOT_JUDGEABLE
) -> OutcomeRates:
    """From counts by outcome: `success`, or one of the causes."""
    judged = sum(count for outcome, count in outcomes.items() if outcome not in not_judgeable)
    violations = outcomes.get("policy_violation", 0)
    return OutcomeRates(
        rate(outcomes.get("success", 0), judged, scheduled),
        rate(judged, scheduled, empty="nothing_scheduled"),
        rate(judged - violations, judged, scheduled),
    )


def recovery_rate(recovered: int, injected: int) -> Rate:
    """Recovered of injected faults; of none injected there is no rate."""
    return rate(recovered, injected, empty="no_fault_injected")
