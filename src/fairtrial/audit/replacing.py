"""The policy of replacement again: which invalid runs may be tried another time. Data and one function; pure.

Another try is an advantage, so a run is replaced only if its reason code was preregistered, its cell has replacements
left, and nothing inside the run can have brought its end about: the reasons that are named here.
"""

from typing import Any

# Finer reasons that no agent, submission or person who watches can bring about.
OUTSIDE = frozenset({
    # the agent was never started
    "isolation_not_enforced", "preflight_failed", "leak_found", "gateway_unavailable", "bundle_refused",
    "launch_crashed", "setup_overdue", "no_capacity", "image_pull_failed", "node_refused",
    # told by the cluster about a node, or by a component other than the pod
    "evicted", "node_drained", "preempted", "node_lost", "stopped_from_outside", "evaluator_evicted",
    "evaluator_node_drained", "evaluator_preempted", "evaluator_node_lost", "evaluator_no_capacity",
    "evaluator_image_pull_failed", "evaluator_image_invalid", "evaluator_container_not_created",
    "evaluator_node_refused",
    # told by gateway or evaluator about what is theirs
    "provider_outage", "model_unavailable", "model_calls_lost", "agent_report_foreign", "negative_control_failed",
})  # fmt: skip
REASON_CODES = frozenset({
    "provider_outage", "telemetry_corrupt", "fixture_creation_failed", "evaluator_infrastructure_failure",
    "solution_accessed", "wrong_configuration", "host_failure", "unknown",
})  # fmt: skip


def decision(record: dict[str, Any], reasons: tuple[str, ...], used: int, cap: int) -> str:
    """The code that the policy gives: `allowed`, or why not. `used`: replacements that the cell has had."""
    found = record["classification"]
    if found["outcome"] != "invalid" or found.get("invalidity") is None:
        return "not_invalid"
    if found["invalidity"] not in reasons:
        return "not_preregistered"
    if not _outside(found["reason"], record):
        return "not_outside"
    return "cell_used_up" if used >= cap else "allowed"


def _outside(reason: str, record: dict[str, Any]) -> bool:
    if reason == "wrong_model":  # another model answered: the provider's doing; only others asked for: the candidate's
        return bool(record["usage"]["answeredCalls"].get("value"))
    return reason in OUTSIDE
