"""The table: what was observed, and what it means. Data; the first row that holds decides, and the last always holds.

Outcomes and causes are protocol 4's, reason codes of invalid runs and categories of failures protocol 0's. How to read
the order: what had already ended stands, whatever happened to the pod afterwards; a violation is not offset by a green
test; a time-out is a failure, whatever the workspace holds; what a person or the cluster stopped is not the agent's;
what the agent does to itself is; and no evaluator's error makes a failure.

Two rows need a reason. `start_failed`: a candidate whose program cannot be started was never asked anything, so its
capability was not measured: its image or argv is wrong, and the run is invalid. Once a step of it has run, the program
was there, and if it is gone now the agent has removed it. `agent_overdue`: a pod whose launcher could not end the agent
in time had its whole time, so it is a time-out like any other; otherwise a fork bomb would win another try.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

from fairtrial.api.run import Category, Cause, Invalidity, Outcome
from fairtrial.classify.facts import Facts
from fairtrial.classify.pods import Trouble


@dataclass(frozen=True)
class Row:
    """One line of the table. `reason` is the row's name unless two rows share a reason."""

    name: str
    when: Callable[[Facts], bool]
    outcome: Outcome
    cause: Cause
    says: str
    invalidity: Invalidity | None = None
    category: Category | Literal["of_first_failed_check"] | None = None
    reason: str = ""
    names_budget: bool = False  # the message goes on with which budget was used up, and in which step


@dataclass(frozen=True)
class Classification:
    """What a run amounts to. `row` names the line of the table that decided."""

    outcome: Outcome
    cause: Cause
    reason: str
    message: str
    row: str
    invalidity: Invalidity | None = None
    category: Category | None = None
    tags: tuple[str, ...] = ()


def classify(facts: Facts) -> Classification:
    """What the facts mean."""
    row = next(row for row in TABLE if row.when(facts))
    category = facts.category if row.category == "of_first_failed_check" else row.category
    return Classification(
        outcome=row.outcome,
        cause=row.cause,
        reason=row.reason or row.name,
        message=f"{row.says} Used up: {facts.used_up}." if row.names_budget and facts.used_up else row.says,
        row=row.name,
        invalidity=row.invalidity,
        category=category,
        tags=facts.tags,
    )


def _invalid(name: str, when: Callable[[Facts], bool], code: Invalidity, says: str, cause: Cause | None = None) -> Row:
    return Row(name, when, "invalid", cause or "evaluation_infra_error", says, invalidity=code)


def _own_failure(name: str, when: Callable[[Facts], bool], says: str) -> Row:
    return Row(name, when, "failed", "agent_failure", says, category="agent_operational_error")


# --- what the outside can do to a pod ---------------------------------------------------------------------------------
_TROUBLES: dict[Trouble, tuple[Invalidity, Cause, str]] = {
    "evicted": ("host_failure", "evaluation_infra_error", "was evicted for lack of a resource on its node"),
    "node_drained": (
        "host_failure",
        "evaluation_infra_error",
        "was evicted through the API, as a drain does it, or its node was shut down",
    ),
    "preempted": ("host_failure", "evaluation_infra_error", "was preempted by a pod of a higher priority"),
    "node_lost": ("host_failure", "evaluation_infra_error", "was lost together with its node"),
    "pod_deleted": ("host_failure", "evaluation_infra_error", "was deleted by somebody"),
    "node_refused": ("host_failure", "evaluation_infra_error", "was refused by its node, or not started there"),
    "no_capacity": ("host_failure", "evaluation_infra_error", "found no node with room for it before its deadline"),
    "image_pull_failed": ("host_failure", "evaluation_infra_error", "could not get its image"),
    "image_invalid": ("wrong_configuration", "evaluation_infra_error", "names an image that is no image name"),
    "container_not_created": ("wrong_configuration", "evaluation_infra_error", "has a container that could not start"),
    "setup_overdue": ("fixture_creation_failed", "harness_failure", "was not set up before its deadline"),
    "snapshot_overdue": ("telemetry_corrupt", "harness_failure", "did not hand over its results before its deadline"),
    "overdue": ("telemetry_corrupt", "harness_failure", "outlived its deadline without a result"),
    "recorder_disk_full": ("telemetry_corrupt", "harness_failure", "was evicted because its recorder's disk was full"),
}


def _agent_trouble(what: Trouble) -> Row:
    code, cause, says = _TROUBLES[what]
    return Row(
        f"agent_pod_{what}",
        lambda f: f.agent_trouble == what and not f.handed_over,
        "invalid",
        cause,
        f"The agent pod {says}.",
        invalidity=code,
        reason=what,
    )


def _evaluator_trouble(what: Trouble) -> Row:
    code, _, says = _TROUBLES[what]
    return Row(
        f"evaluator_pod_{what}",
        lambda f: f.evaluator_trouble == what and not f.judged,
        "invalid",
        "evaluation_infra_error",
        f"The evaluator pod {says}; nothing was scored.",
        invalidity="host_failure" if code == "host_failure" else "evaluator_infrastructure_failure",
        reason=f"evaluator_{what}",
    )


TABLE: tuple[Row, ...] = (
    # --- the agent's part ended before the agent was asked anything ---------------------------------------------------
    _invalid(
        "isolation_not_enforced",
        lambda f: f.ending == "isolation_not_enforced",
        "wrong_configuration",
        "A destination that must be refused could be reached; the agent was not started. Check that the cluster's "
        "network plugin enforces NetworkPolicy.",
    ),
    _invalid(
        "preflight_failed",
        lambda f: f.ending == "preflight_failed",
        "fixture_creation_failed",
        "The fixture was not in the state that the task says; the agent was not started.",
    ),
    _invalid(
        "leak_found",
        lambda f: f.ending == "leak_found",
        "solution_accessed",
        "A part of the sealed archive lay where the agent could read it; the agent was not started.",
    ),
    _invalid(
        "start_failed",
        lambda f: f.ending == "start_failed" and not f.program_started,
        "wrong_configuration",
        "The candidate's program could not be started; its image or argv is wrong.",
        "harness_failure",
    ),
    # --- what stands, whatever happened to a pod afterwards -----------------------------------------------------------
    Row(
        "tampering",
        lambda f: f.judged and f.tampering,
        "failed",
        "policy_violation",
        "Protected files were touched or results forged; whatever the checks say does not count.",
        category="prohibited_shortcut",
    ),
    # --- the model that it was meant for ------------------------------------------------------------------------------
    _invalid(
        "wrong_model",
        lambda f: f.wrong_model,
        "wrong_configuration",
        "Another model answered than the pinned one, or the candidate asked for others only.",
        "harness_failure",
    ),
    _invalid(
        "model_unavailable",
        lambda f: f.calls_never_served,
        "provider_outage",
        "The gateway could serve none of the run's model calls: see what it says of its ModelProvider.",
        "harness_failure",
    ),
    _invalid(
        "provider_outage",
        lambda f: f.outage_at_once,  # whatever the checks say: validity that hung on the score would be another try
        "provider_outage",
        "The model provider failed before the agent had its first usable answer.",
    ),
    Row(
        "deadline",
        lambda f: f.ending == "deadline",
        "failed",
        "budget_exhausted",
        "The agent's time was over before it had ended.",
        category="time_limit",
        names_budget=True,
    ),
    Row(
        "agent_overdue",
        lambda f: f.agent_trouble == "overdue" and f.program_started and not f.handed_over,
        "failed",
        "budget_exhausted",
        "The agent's time was over, and its pod had to be stopped.",
        category="time_limit",
    ),
    # --- stopped from outside -----------------------------------------------------------------------------------------
    Row(
        "cancelled",
        lambda f: f.cancelled and not f.judged and (f.handed_over or f.agent_own_limit is None),
        "cancelled",
        "human_abort",
        "A person stopped the run before its end.",
    ),
    *(_agent_trouble(what) for what in get_args(Trouble)),
    _invalid(
        "gateway_unavailable",
        lambda f: f.setup == "unavailable",
        "provider_outage",
        "The gateway or the store did not answer in time; the agent was not started.",
        "harness_failure",
    ),
    _invalid(
        "bundle_refused",
        lambda f: f.setup == "refused",
        "fixture_creation_failed",
        "The workspace could not be laid out: see what the container record says in the agent pod's facts.",
        "harness_failure",
    ),
    # --- what the agent did to itself ---------------------------------------------------------------------------------
    _own_failure(
        "out_of_memory",
        lambda f: f.agent_own_limit == "memory" and not f.handed_over,
        "The agent used more memory than its limit and was killed.",
    ),
    _own_failure(
        "out_of_disk",
        lambda f: f.agent_own_limit == "storage" and not f.handed_over,
        "The agent used more local disk than its limit and was evicted.",
    ),
    # --- can the recorder's account be relied on? ---------------------------------------------------------------------
    _invalid(
        "agent_report_missing",
        lambda f: f.agent_report == "missing",
        "telemetry_corrupt",
        "The recorder left no report of the agent's part.",
        "harness_failure",
    ),
    _invalid(
        "agent_report_foreign",
        lambda f: f.agent_report == "foreign",
        "telemetry_corrupt",
        "The report of the agent's part names another run or another pod.",
        "harness_failure",
    ),
    _own_failure(
        "launch_lost",
        lambda f: f.ending == "launch_lost" and f.program_started,
        "The agent brought down the process that it ran under.",
    ),
    _invalid(
        "launch_crashed",
        lambda f: f.ending == "launch_lost",
        "fixture_creation_failed",
        "The launcher died before the agent had started.",
        "harness_failure",
    ),
    _own_failure(
        "program_removed",
        lambda f: f.ending == "start_failed",
        "The candidate's program could not be started again for a later step.",
    ),
    _invalid(
        "stopped_from_outside",
        lambda f: f.ending == "stopped_from_outside",
        "host_failure",
        "Something outside the pod stopped the agent, and left no trace of what it was.",
    ),
    _invalid(
        "recorder_error",
        lambda f: f.ending == "recorder_error",
        "telemetry_corrupt",
        "The recorder failed, so its account is incomplete.",
        "harness_failure",
    ),
    _invalid(
        "snapshot_missing",
        lambda f: f.snapshot == "missing",
        "telemetry_corrupt",
        "There is no snapshot of the workspace to evaluate.",
        "harness_failure",
    ),
    _invalid(
        "model_calls_lost",
        lambda f: f.calls_lost,
        "telemetry_corrupt",
        "Of a model call that began the end was never recorded, so usage and journal are incomplete.",
        "harness_failure",
    ),
    # --- can the evaluator's account be relied on? --------------------------------------------------------------------
    *(_evaluator_trouble(what) for what in get_args(Trouble)),
    _invalid(
        "evaluator_out_of_resources",
        lambda f: f.evaluator_own_limit is not None and not f.judged,
        "evaluator_infrastructure_failure",
        "The evaluator ran into a limit of its own; nothing was scored.",
    ),
    _invalid(
        "evaluation_missing",
        lambda f: f.evaluation == "missing",
        "evaluator_infrastructure_failure",
        "The evaluator left no report; nothing was scored.",
    ),
    _invalid(
        "evaluation_foreign",
        lambda f: f.evaluation == "foreign",
        "evaluator_infrastructure_failure",
        "The evaluator's report is about another run, pod or snapshot; nothing was scored.",
    ),
    _invalid(
        "evaluation_inconsistent",
        lambda f: f.evaluation == "inconsistent",
        "evaluator_infrastructure_failure",
        "The evaluator's verdict contradicts its checks; nothing was scored.",
    ),
    _invalid(
        "negative_control_failed",
        lambda f: f.negative_control_failed,
        "evaluator_infrastructure_failure",
        "A check that must fail on the untouched fixture did not; the evaluator's verdict means nothing.",
    ),
    _invalid(
        "evaluation_error",
        lambda f: f.evaluation == "error",
        "evaluator_infrastructure_failure",
        "The evaluator could not judge; nothing was scored.",
    ),
    Row(
        "model_budget",
        lambda f: f.handed_over and f.evaluation == "failed" and f.category is not None and f.model_budget_used_up,
        "failed",
        "budget_exhausted",
        "A budget for model calls, of the run or of a step, was used up, and the result did not pass every check.",
        category="of_first_failed_check",
        names_budget=True,
    ),
    # --- the final state decides --------------------------------------------------------------------------------------
    Row(
        "checks_failed",
        lambda f: f.handed_over and f.evaluation == "failed" and f.category is not None,
        "failed",
        "agent_failure",
        "The result did not pass every check.",
        category="of_first_failed_check",
    ),
    Row(
        "all_checks_passed",
        lambda f: f.handed_over and f.evaluation == "passed",
        "passed",
        "none",
        "The result passed every check.",
    ),
    _invalid(
        "unknown",
        lambda _: True,
        "unknown",
        "The facts fit no rule; look at the record's facts and artifacts before anything else.",
    ),
)
