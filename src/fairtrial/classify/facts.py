"""The facts that decide an outcome, and how they follow from what was observed. Pure.

Only what the run's status and the two reports hold is read, never what is asked for now: the same run gives the same
facts whenever it is asked about.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from fairtrial import failure, names
from fairtrial.api.run import BenchmarkRun, Category, PodFacts
from fairtrial.classify.pods import OwnLimit, Trouble, own_limit, started, trouble
from fairtrial.documents import AgentReport, EvaluationReport
from fairtrial.errors import GatewayUnavailable
from fairtrial.secrets.stored import ArtifactScan, found_in
from fairtrial.usage.calls import ModelCalls

Ending = Literal[
    "finished",
    "deadline",
    "stopped_from_outside",
    "isolation_not_enforced",
    "preflight_failed",
    "leak_found",
    "start_failed",
    "launch_lost",
    "recorder_error",
]
Setup = Literal["done", "unavailable", "refused"]
AgentAccount = Literal["missing", "foreign", "present"]
Snapshot = Literal["taken", "missing"]
Verdict = Literal["missing", "foreign", "inconsistent", "error", "passed", "failed"]

FORGED_RESULTS = "forged_results"
LEAKED = "credential_leaked"  # a tag
# Tools make these by themselves when somebody runs a test; removing them is enough.
_BYPRODUCTS = ("__pycache__", "node_modules")
CATEGORIES: tuple[str, ...] = get_args(Category)


@dataclass(frozen=True)
class Facts:
    """Everything that the table may look at."""

    cancelled: bool = False  # a person stopped the run before its last pod had ended
    agent_trouble: Trouble | None = None
    agent_own_limit: OwnLimit | None = None
    setup: Setup = "done"
    agent_report: AgentAccount = "missing"
    ending: Ending | None = None
    program_started: bool = False  # the candidate's program ran, if only for its first step
    snapshot: Snapshot = "missing"
    evaluator_trouble: Trouble | None = None
    evaluator_own_limit: OwnLimit | None = None
    evaluation: Verdict = "missing"
    negative_control_failed: bool = False
    tampering: bool = False
    category: Category | None = None  # of the first failed check
    wrong_model: bool = False  # another model answered, or none was asked for but others
    outage_at_once: bool = False  # the provider failed the last call, and no call before it had a usable answer
    calls_never_served: bool = False  # the gateway could not: no credential, say
    calls_lost: bool = False  # of a call that began nobody recorded the end
    model_budget_used_up: bool = False  # a call was refused for that
    used_up: str = ""  # which budget, and in which step; told in the message, and no row looks at it
    tags: tuple[str, ...] = ()  # kept in the record; no row looks at them

    @property
    def handed_over(self) -> bool:
        """Whether the agent's part came to its own end, and its result is there."""
        return self.ending in ("finished", "deadline") and self.snapshot == "taken"

    @property
    def judged(self) -> bool:
        """Whether the evaluator judged this run's own snapshot, and its judgement can be relied on."""
        return self.evaluation in ("passed", "failed") and not self.negative_control_failed


def facts_of(
    run: BenchmarkRun,
    agent: AgentReport | None,
    evaluation: EvaluationReport | None,
    calls: ModelCalls | None = None,
    scans: Sequence[ArtifactScan] = (),
) -> Facts:
    """The facts of a run whose last pod has ended, from its status, the two reports, its model calls, and the scans of
    what its pods stored.
    """
    status = run.status
    pod = (status.agent_pod and status.agent_pod.facts) or PodFacts(phase="Gone")
    evaluator = status.evaluator_pod and status.evaluator_pod.facts
    account = _account(run, agent)
    ours = agent if account == "present" else None
    limit = own_limit(pod, names.CONTAINER_AGENT)
    program_started = ours is not None and any(step.end != "not_started" for step in ours.steps)
    if not _agent_had_begun(run, pod, ours, program_started):
        limit = None  # it was the set-up's
    verdict = _verdict(run, ours, evaluation)
    judgement = evaluation if verdict in ("passed", "failed", "error") else None
    return Facts(
        cancelled=status.timestamps.cancelled is not None,
        agent_trouble=trouble(pod),
        agent_own_limit=limit,
        setup=_setup(pod),
        agent_report=account,
        ending=ours.ending if ours else None,
        program_started=program_started,
        snapshot="taken" if ours and _snapshot(ours) else "missing",
        evaluator_trouble=trouble(evaluator) if evaluator else None,
        evaluator_own_limit=own_limit(evaluator, names.CONTAINER_CHECKS) if evaluator else None,
        evaluation=verdict,
        negative_control_failed=judgement is not None and judgement.negative_control == "failed",
        tampering=judgement is not None and _tampering(judgement),
        category=_category(judgement),
        wrong_model=calls is not None and calls.wrong_model,
        outage_at_once=calls is not None and calls.outage == "before_first_usable",
        calls_never_served=calls is not None and calls.never_served,
        calls_lost=calls is not None and bool(calls.unfinished),
        model_budget_used_up=calls is not None and bool(calls.budget),
        used_up=_used_up(ours, calls),
        tags=tuple(sorted({*_tags(ours, judgement, limit), *_call_tags(calls), *_leak_tags(calls, scans)})),
    )


def _used_up(agent: AgentReport | None, calls: ModelCalls | None) -> str:
    """The time of the step that ran out, or else the budgets that model calls met."""
    if agent is not None and agent.ending == "deadline":
        late = [f"{step.deadline_seconds} s of step {step.name}" for step in agent.steps if step.timed_out]
        return ", ".join(late)
    met = calls.used_up if calls is not None else []
    return ", ".join(f"{each.budget} in step {each.step}" if each.step else each.budget for each in met)


def setup_reason(pod: PodFacts) -> str:
    """The word that the recorder gave for a failure of the setup in its termination message; empty if it gave none."""
    record = pod.containers.get(names.CONTAINER_RECORD)
    try:
        told = json.loads(record.message) if record else {}
    except ValueError:
        return ""
    if not isinstance(told, dict) or told.get("during") != failure.SETUP:
        return ""
    reason = told.get("reason")
    return reason if isinstance(reason, str) else ""


def _agent_had_begun(run: BenchmarkRun, pod: PodFacts, agent: AgentReport | None, program_started: bool) -> bool:
    """Whether the agent may have had a part in what happened. Without a report the agent container's start must do."""
    if agent is not None:
        return program_started
    return run.status.timestamps.agent_started is not None or started(pod, names.CONTAINER_AGENT)


def _setup(pod: PodFacts) -> Setup:
    reason = setup_reason(pod)
    if not reason:
        return "done"
    return "unavailable" if reason == GatewayUnavailable.reason else "refused"


def _account(run: BenchmarkRun, agent: AgentReport | None) -> AgentAccount:
    if agent is None:
        return "missing"
    uid = run.status.agent_pod.uid if run.status.agent_pod else ""
    return "present" if (agent.run.uid, agent.pod_uid) == (run.metadata.uid, uid) else "foreign"


def _snapshot(agent: AgentReport) -> str | None:
    """SHA-256 of the snapshot, if there is one."""
    return agent.snapshot.artifact.sha256 if agent.snapshot.state == "measured" and agent.snapshot.artifact else None


def _verdict(run: BenchmarkRun, agent: AgentReport | None, evaluation: EvaluationReport | None) -> Verdict:
    if evaluation is None:
        return "missing"
    uid = run.status.evaluator_pod.uid if run.status.evaluator_pod else ""
    snapshot = _snapshot(agent) if agent else None
    if (evaluation.run.uid, evaluation.pod_uid) != (run.metadata.uid, uid):
        return "foreign"
    if evaluation.verdict != "error" and evaluation.snapshot_sha256 != snapshot:
        return "foreign"
    states = {check.state for check in evaluation.checks}
    agrees = {"passed": states == {"passed"}, "failed": "failed" in states and "error" not in states, "error": True}
    return evaluation.verdict if agrees[evaluation.verdict] else "inconsistent"


def _tampering(evaluation: EvaluationReport) -> bool:
    """Whether protected files were touched or results forged. What tools leave behind when they run is neither."""
    touched = [path for path in evaluation.protected_touched if not _byproduct(path)]
    return bool(touched) or any(_word(check.reason) == FORGED_RESULTS for check in evaluation.checks)


def _word(reason: str) -> str:
    """The stable word that a reason starts with, before what it says of the case."""
    return reason.partition(":")[0]


def _byproduct(path: str) -> bool:
    return path.endswith(".pyc") or any(part in _BYPRODUCTS for part in path.split("/"))


def _category(evaluation: EvaluationReport | None) -> Category | None:
    failed = next((check for check in evaluation.checks if check.state == "failed"), None) if evaluation else None
    if failed is None:
        return None
    known: dict[str, Category] = {word: word for word in get_args(Category)}
    return known.get(failed.category, "acceptance_failure")


def _call_tags(calls: ModelCalls | None) -> tuple[str, ...]:
    """Secondary facts about model calls."""
    if calls is None:
        return ()
    found = {
        f"model_{calls.budget}_used_up": bool(calls.budget),
        "no_model_call": not calls.calls,
        "wrong_model_refused": calls.refused.get("wrong_model", 0) > 0,
        "wrong_parameter_refused": calls.refused.get("wrong_parameter", 0) > 0,
        "provider_outage_at_the_end": calls.outage == "after_first_usable",
    }
    return tuple(tag for tag, holds in found.items() if holds)


def _leak_tags(calls: ModelCalls | None, scans: Sequence[ArtifactScan]) -> tuple[str, ...]:
    """Whether a credential or a canary was found in anything that was stored."""
    return (LEAKED,) if found_in(scans) or (calls is not None and calls.leaks) else ()


def _tags(agent: AgentReport | None, evaluation: EvaluationReport | None, limit: OwnLimit | None) -> tuple[str, ...]:
    """Secondary facts, in alphabetical order: what a reader should know beside the outcome."""
    steps = agent.steps if agent else []
    checks = evaluation.checks if evaluation else []
    failed = [check for check in checks if check.state == "failed"]
    found = {
        "exit_nonzero": any(step.exit_code not in (None, 0) for step in steps),
        "killed_by_signal": any(step.end == "signaled" for step in steps),
        "oom_killed": limit == "memory",
        "no_output": bool(steps) and agent is not None and not any(stream.bytes_seen for stream in agent.streams),
        "empty_diff": agent is not None and agent.diff.state == "measured" and not agent.diff.paths,
        "output_truncated": agent is not None and any(stream.truncated for stream in agent.streams),
        "snapshot_incomplete": agent is not None and bool(agent.snapshot.skipped),
        "processes_left": agent is not None and agent.leftovers is not None and agent.leftovers.processes_swept > 0,
        "report_incomplete": agent is not None and not agent.complete,
        "check_timed_out": any(check.timed_out for check in checks),
        "category_ambiguous": bool(failed) and failed[0].category not in CATEGORIES,
        "protected_paths_touched": evaluation is not None and bool(evaluation.protected_touched),
    }
    also = {f"also_{check.category}" for check in failed[1:] if check.category in CATEGORIES}
    return tuple(sorted({tag for tag, holds in found.items() if holds} | also))
