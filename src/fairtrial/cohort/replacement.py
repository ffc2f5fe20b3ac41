"""Whether an invalid run may be replaced. Pure; decided on evidence about the infrastructure, before any score is read.

Another try is an advantage. So a run is replaced only if its reason code was preregistered, its cell has replacements
left, and the agent can't have brought its end about: a row of the table of outcomes that an agent or its submission
could reach by itself is never one of `OUTSIDE`, however innocent most runs that end there may be. What the evaluator
found is no input at all.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from fairtrial.api.cohort import Replacement
from fairtrial.api.run import BenchmarkRunStatus, Invalidity, Outcome
from fairtrial.evidence.record_model import Record

# Reasons of the table of outcomes that nothing inside an agent's pod can bring about, and why.
OUTSIDE: dict[str, str] = {
    # The agent was never started.
    "isolation_not_enforced": "the agent was not started",
    "preflight_failed": "the agent was not started",
    "leak_found": "the agent was not started",
    "gateway_unavailable": "the agent was not started",
    "bundle_refused": "the agent was not started",
    "launch_crashed": "the agent was not started",
    "setup_overdue": "the agent was not started",
    "no_capacity": "the agent was not started",
    "image_pull_failed": "the agent was not started",
    "node_refused": "the agent was not started",
    # Told by the cluster about a node or by a component other than the pod.
    "evicted": "the cluster says so of its node",
    "node_drained": "the cluster says so of its node",
    "preempted": "the scheduler says so",
    "node_lost": "the cluster says so of its node",
    "stopped_from_outside": "the kernel named a sender outside the pod",
    "evaluator_evicted": "the cluster says so of its node",
    "evaluator_node_drained": "the cluster says so of its node",
    "evaluator_preempted": "the scheduler says so",
    "evaluator_node_lost": "the cluster says so of its node",
    "evaluator_no_capacity": "the submission was not touched",
    "evaluator_image_pull_failed": "the submission was not touched",
    "evaluator_image_invalid": "the submission was not touched",
    "evaluator_container_not_created": "the submission was not touched",
    "evaluator_node_refused": "the submission was not touched",
    # Told by the gateway or the evaluator about what is theirs.
    "provider_outage": "the gateway saw the provider fail before any usable answer",
    "model_unavailable": "the gateway could serve none of the run's calls, and no agent can make it so",
    "model_calls_lost": "the gateway lost the end of a call",
    "agent_report_foreign": "an agent can't write reports",
    "negative_control_failed": "the evaluator failed on the untouched fixture",
}
# Those that an agent, its submission or a person who watches could bring about.
INSIDE: dict[str, str] = {
    "start_failed": "the candidate's own program could not be started",
    "image_invalid": "the candidate names its image",
    "container_not_created": "the candidate says what its container runs",
    "pod_deleted": "somebody who watched could have done it",
    "evaluator_pod_deleted": "somebody who watched could have done it",
    "snapshot_overdue": "a large or busy workspace can do it",
    "overdue": "an agent that hangs can do it",
    "recorder_disk_full": "an agent that prints too much can do it",
    "agent_report_missing": "nothing shows who lost it",
    "recorder_error": "odd files in the workspace can do it",
    "snapshot_missing": "odd files in the workspace can do it",
    "evaluator_setup_overdue": "a large submission can do it",
    "evaluator_snapshot_overdue": "a submission that prints too much can do it",
    "evaluator_overdue": "a submission that hangs can do it",
    "evaluator_recorder_disk_full": "a submission that prints too much can do it",
    "evaluator_out_of_resources": "a submission that uses too much can do it",
    "evaluation_missing": "a submission that kills can do it",
    "evaluation_foreign": "nothing shows who did it",
    "evaluation_inconsistent": "nothing shows who did it",
    "evaluation_error": "a submission that breaks the checks can do it",
    "unknown": "nobody understands it",
}
# Another model answered: the provider's doing. Only others were asked for: the candidate's.
WRONG_MODEL = "wrong_model"

Code = Literal["allowed", "not_invalid", "not_preregistered", "not_outside", "cell_used_up"]


@dataclass(frozen=True)
class Evidence:
    """All that a decision may look at. No field says what the run's work was worth."""

    outcome: Outcome
    invalidity: Invalidity | None
    reason: str
    answered: bool = False  # whether a model's answer reached the agent

    @classmethod
    def of_record(cls, record: Record) -> "Evidence":
        """From a run's record."""
        found = record.classification
        return cls(found.outcome, found.invalidity, found.reason, bool(record.usage.answered_calls.value))

    @classmethod
    def of_status(cls, status: BenchmarkRunStatus) -> "Evidence":
        """From a recorded run's status, which does not say whether a model answered."""
        assert status.outcome is not None
        return cls(status.outcome, status.invalidity, status.reason or "unknown")


@dataclass(frozen=True)
class Decision:
    """Whether, and why, as a code and as a sentence for the ledger."""

    allowed: bool
    code: Code
    why: str


def decide(policy: Replacement, evidence: Evidence, used: int) -> Decision:
    """Whether a run may be replaced, where its task and candidate had `used` replacements before."""
    if evidence.outcome != "invalid" or evidence.invalidity is None:
        return Decision(False, "not_invalid", f"The run is {evidence.outcome}; only invalid ones are replaced.")
    if evidence.invalidity not in policy.reasons:
        return Decision(
            False, "not_preregistered", f"{evidence.invalidity} is not among the preregistered reasons of replacement."
        )
    outside, why = is_outside(evidence)
    if not outside:
        return Decision(False, "not_outside", f"{evidence.reason} is never a reason of replacement: {why}.")
    if used >= policy.max_per_cell:
        return Decision(
            False, "cell_used_up", f"Its task and candidate have had {used} of {policy.max_per_cell} replacements."
        )
    return Decision(True, "allowed", f"{evidence.invalidity} by {evidence.reason}: {why}.")


def is_outside(evidence: Evidence) -> tuple[bool, str]:
    """Whether nothing inside the run can have made it invalid, and why."""
    if evidence.reason == WRONG_MODEL:
        if evidence.answered:
            return True, "another model answered than the one that was asked for"
        return False, "the candidate asked for other models only"
    if evidence.reason in OUTSIDE:
        return True, OUTSIDE[evidence.reason]
    return False, INSIDE.get(evidence.reason, "nobody has shown that no agent can bring it about")


def used_in_cells(cells: Iterable[tuple[str, str]]) -> Counter[tuple[str, str]]:
    """How many replacements each task and candidate has had, from the cells of all replacement runs."""
    return Counter(cells)
