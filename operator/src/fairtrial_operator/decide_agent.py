"""The agent's stage: from acceptance until it is written down what the agent pod ended with. Pure."""

from datetime import datetime

from fairtrial import names
from fairtrial.api import BenchmarkRun, PodFacts, PodStatus, Reason
from fairtrial.api.conditions import AGENT_FINISHED, AGENT_STARTED, EVALUATED, ISOLATION_PROVEN, ConditionStatus
from fairtrial.classify import facts_of
from fairtrial.documents import AgentReport
from fairtrial_operator import build, pods
from fairtrial_operator.draft import Draft
from fairtrial_operator.progress import Progress, progress
from fairtrial_operator.seen import CreatePod, Decision, DeletePod, Object, Seen, WriteStatus
from fairtrial_operator.stages import (
    RETRY_CREATE_SECONDS,
    acknowledge_stop,
    deadlines_of,
    is_cancelled,
    never_created,
    seconds_since,
    should_stop,
    wait_for_creation,
    wait_for_report,
    write_or,
)

_ENDINGS = {"finished": Reason.FINISHED, "deadline": Reason.DEADLINE}
_ISOLATION: dict[str, tuple[ConditionStatus, str]] = {
    "proven": ("True", Reason.PROVEN),
    "failed": ("False", Reason.NOT_ENFORCED),
    "not_reached": ("False", Reason.NOT_REACHED),
    "not_applicable": ("False", Reason.NOT_REACHED),
}
# Endings after which the workspace is the agent's own doing, so that judging it says something.
_WORTH_JUDGING = frozenset({"finished", "deadline", "launch_lost", "start_failed"})


def decide_agent(run: BenchmarkRun, seen: Seen, now: datetime) -> Decision:
    """Choose the next step until the agent's part is over."""
    if should_stop(run, seen):
        return acknowledge_stop(run, now)
    pod = seen.agent
    if pod is None:
        return _without_pod(run, seen, now)
    if run.status.agent_pod is None:
        return Decision(WriteStatus(with_agent_pod(Draft(run, now), pod).done()))
    step = progress(pod, names.CONTAINER_AGENT, deadlines_of(seen), now, node_lost=seen.agent_node_lost)
    if step.state in {"ended", "node_lost"}:
        facts = pods.facts(pod, ours=is_cancelled(run), node_lost=step.state == "node_lost")
        return _over(run, seen, now, facts)
    if is_cancelled(run):
        return Decision(again_after=step.again_after) if pods.deleting(pod) else Decision(DeletePod(pod))
    if step.state == "given_up":
        facts = pods.facts(pod, ours=False, overdue=step.overdue)
        draft = _observed(Draft(run, now).say(AGENT_STARTED, "False", step.reason, step.message), run, pod)
        draft = _not_evaluated(_finished(run, draft, facts, None, step.message), Reason.NOT_EVALUATED)
        return Decision(WriteStatus(draft.done()))
    return write_or(run, _under_way(run, now, pod, step), Decision(again_after=step.again_after))


def with_agent_pod(draft: Draft, pod: Object) -> Draft:
    """The draft with the agent pod pinned by its UID: the gateway serves no other."""
    status = PodStatus(name=pod["metadata"]["name"], uid=pods.uid(pod), node=pods.node(pod))
    return draft.set(agent_pod=status).stamp(agent_created=pod["metadata"]["creationTimestamp"])


def worth_judging(run: BenchmarkRun, facts: PodFacts, report: AgentReport | None) -> bool:
    """Whether the snapshot is this agent's own work, so that evaluating it can say something about the agent."""
    agent = run.status.agent_pod
    if report is None or agent is None:
        return False
    pinned = run.status.model_copy(update={"agent_pod": agent.model_copy(update={"facts": facts})})
    known = facts_of(run.model_copy(update={"status": pinned}), report, None)
    stands = known.handed_over or known.agent_trouble in {None, "overdue"}
    return (
        known.agent_report == "present"
        and known.ending in _WORTH_JUDGING
        and known.program_started
        and known.snapshot == "taken"
        and stands
    )


def _without_pod(run: BenchmarkRun, seen: Seen, now: datetime) -> Decision:
    agent, draft = run.status.agent_pod, Draft(run, now)
    if agent is not None:
        return _over(run, seen, now, pods.gone(ours=is_cancelled(run)))
    if is_cancelled(run):
        draft.say(AGENT_FINISHED, "False", Reason.CANCELLED, "The run was stopped before it had a pod.")
        return Decision(WriteStatus(_not_evaluated(_never_started(draft), Reason.CANCELLED).done()))
    if run.spec.suspend:
        return write_or(run, draft, Decision())
    refused = seen.refused.get("agent")
    if refused is not None:
        since = run.status.timestamps.accepted
        if since and seconds_since(since, now) > deadlines_of(seen).scheduling_seconds:
            draft.set(agent_pod=never_created(names.agent_pod(run.metadata.name), refused))
            draft.say(AGENT_FINISHED, "False", Reason.NEVER_STARTED, refused.message)
            return Decision(WriteStatus(_not_evaluated(_never_started(draft), Reason.NOT_EVALUATED).done()))
        return wait_for_creation(run, draft, AGENT_STARTED, refused)
    task, resource_class = seen.references.task, seen.references.resource_class
    if task is None or resource_class is None:
        # Accepted while its pod was refused, and deleted since: waiting can help, until the deadline.
        return write_or(run, draft, Decision(again_after=deadlines_of(seen).scheduling_seconds))
    if seen.settings.unready:
        return write_or(run, draft, Decision(again_after=RETRY_CREATE_SECONDS))
    model = run.status.provider.model if run.status.provider else None
    return Decision(CreatePod("agent", build.agent_pod(run, task, resource_class, seen.settings, model)))


def _under_way(run: BenchmarkRun, now: datetime, pod: Object, step: Progress) -> Draft:
    draft = Draft(run, now)
    if step.state == "held":
        return draft.say(AGENT_STARTED, "Unknown", step.reason, step.message)
    started = pods.started_at(pod, names.CONTAINER_AGENT)
    if started is None:
        return draft  # seconds at most; that it waited before is still the last thing worth saying
    _observed(draft, run, pod)
    draft.say(AGENT_STARTED, "True", Reason.STARTED)
    return draft.say(AGENT_FINISHED, "Unknown", Reason.RUNNING)


def _observed(draft: Draft, run: BenchmarkRun, pod: Object) -> Draft:
    """Node and times, as the pod tells them."""
    agent = run.status.agent_pod
    assert agent is not None
    draft.set(agent_pod=agent.model_copy(update={"node": pods.node(pod)}))
    return draft.stamp(
        agent_scheduled=pods.scheduled_at(pod), agent_started=pods.started_at(pod, names.CONTAINER_AGENT)
    )


def _over(run: BenchmarkRun, seen: Seen, now: datetime, facts: PodFacts) -> Decision:
    """The agent pod is over: its report, its evaluator, and then one status that holds all of it for ever."""
    wait = wait_for_report(run, seen.agent_report, AGENT_FINISHED, seen.agent, now, seen.release_after_seconds)
    if wait is not None:
        return wait
    report, draft = seen.agent_report.agent, Draft(run, now)
    if seen.agent is not None:
        _observed(draft, run, seen.agent)
    message = report.message if report else seen.agent_report.message or "The recorder left no report."
    _finished(run, draft, facts, report, message)
    if report is None or is_cancelled(run) or not worth_judging(run, facts, report):
        reason = Reason.CANCELLED if is_cancelled(run) else Reason.NOT_EVALUATED
        return Decision(WriteStatus(_not_evaluated(draft, reason).done()))
    resource_class = seen.references.resource_class
    if seen.evaluator is not None:
        return Decision(WriteStatus(with_evaluator_pod(draft, seen.evaluator).done()))
    if run.spec.suspend or "evaluator" in seen.refused or resource_class is None:
        return Decision(WriteStatus(draft.done()))  # the evaluation is owed
    body = build.evaluator_pod(run, report, seen.references.task, resource_class, seen.settings)
    return Decision(CreatePod("evaluator", body))


def with_evaluator_pod(draft: Draft, pod: Object) -> Draft:
    """The draft with the evaluator pod pinned by its UID."""
    status = PodStatus(name=pod["metadata"]["name"], uid=pods.uid(pod), node=pods.node(pod))
    draft.set(evaluator_pod=status).stamp(evaluator_created=pod["metadata"]["creationTimestamp"])
    return draft.say(EVALUATED, "Unknown", Reason.EVALUATING)


def _finished(run: BenchmarkRun, draft: Draft, facts: PodFacts, report: AgentReport | None, message: str) -> Draft:
    agent = run.status.agent_pod
    assert agent is not None
    known = draft.status.agent_pod or agent
    draft.set(agent_pod=known.model_copy(update={"facts": facts})).stamp(agent_finished=draft.now)
    if draft.status.timestamps.agent_started is not None:
        draft.say(AGENT_STARTED, "True", Reason.STARTED)
    elif not any(one.type == AGENT_STARTED and one.status == "False" for one in draft.status.conditions):
        _never_started(draft)
    if report is not None:
        status, reason = _ISOLATION[report.isolation]
        draft.say(ISOLATION_PROVEN, status, reason)
    if is_cancelled(run):
        return draft.say(AGENT_FINISHED, "True", Reason.CANCELLED, message)
    lost = Reason.NEVER_STARTED if facts.overdue else Reason.POD_LOST
    return draft.say(AGENT_FINISHED, "True", _ENDINGS.get(report.ending, Reason.FAILED) if report else lost, message)


def _never_started(draft: Draft) -> Draft:
    return draft.say(AGENT_STARTED, "False", Reason.NEVER_STARTED)


def _not_evaluated(draft: Draft, reason: str) -> Draft:
    return draft.say(EVALUATED, "False", reason)
