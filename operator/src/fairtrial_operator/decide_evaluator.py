"""The evaluator's stage: from the agent's end until it is written down how the snapshot was judged. Pure."""

from datetime import datetime

from fairtrial import names
from fairtrial.api import BenchmarkRun, PodFacts, Reason
from fairtrial.api.conditions import EVALUATED
from fairtrial_operator import build, pods
from fairtrial_operator.decide_agent import with_evaluator_pod
from fairtrial_operator.draft import WAITING, Draft
from fairtrial_operator.progress import progress
from fairtrial_operator.seen import CreatePod, Decision, DeletePod, Seen, WriteStatus
from fairtrial_operator.stages import (
    acknowledge_stop,
    deadlines_of,
    is_cancelled,
    never_created,
    retry_or_release,
    seconds_since,
    should_stop,
    wait_for_creation,
    wait_for_report,
    write_or,
)


def decide_evaluator(run: BenchmarkRun, seen: Seen, now: datetime) -> Decision:
    """Choose the next step until the evaluation is over."""
    if should_stop(run, seen):
        return acknowledge_stop(run, now)
    pod = seen.evaluator
    if pod is None:
        return _without_pod(run, seen, now)
    if run.status.evaluator_pod is None:
        return Decision(WriteStatus(with_evaluator_pod(Draft(run, now), pod).done()))
    step = progress(pod, names.CONTAINER_CHECKS, deadlines_of(seen), now, node_lost=seen.evaluator_node_lost)
    if step.state in {"ended", "node_lost"}:
        return _over(run, seen, now, pods.facts(pod, ours=is_cancelled(run), node_lost=step.state == "node_lost"))
    if is_cancelled(run):
        return Decision(again_after=step.again_after) if pods.deleting(pod) else Decision(DeletePod(pod))
    draft = Draft(run, now)
    taken_away = pods.facts(pod, ours=False)
    if taken_away.disruption and run.status.evaluator_pod.facts is None:
        # No finalizer holds this pod, so its object may be gone before its end is read. Who takes it away decides
        # whether the run is replaced, so that is kept at once.
        pinned = run.status.evaluator_pod.model_copy(update={"facts": taken_away, "node": pods.node(pod)})
        return Decision(WriteStatus(draft.set(evaluator_pod=pinned).done()))
    if step.state == "given_up":
        facts = pods.facts(pod, ours=False, overdue=step.overdue)
        draft = _with_facts(run, seen, draft, facts).say(EVALUATED, "False", Reason.NEVER_STARTED, step.message)
        return Decision(WriteStatus(draft.done()))
    if step.state == "held":
        draft.say(EVALUATED, "Unknown", step.reason, step.message)
    elif any(one.type == EVALUATED and one.reason in WAITING for one in run.status.conditions):
        draft.say(EVALUATED, "Unknown", Reason.EVALUATING)
    return write_or(run, draft, Decision(again_after=step.again_after))


def _without_pod(run: BenchmarkRun, seen: Seen, now: datetime) -> Decision:
    draft = Draft(run, now)
    if run.status.evaluator_pod is not None:
        last = run.status.evaluator_pod.facts
        return _over(run, seen, now, pods.gone(ours=is_cancelled(run), last=last))
    if is_cancelled(run):
        return Decision(WriteStatus(draft.say(EVALUATED, "False", Reason.CANCELLED).done()))
    if run.spec.suspend:
        return write_or(run, draft, Decision())
    since, left = run.status.timestamps.agent_finished, float(deadlines_of(seen).scheduling_seconds)
    left -= seconds_since(since, now) if since else 0
    refused, resource_class = seen.refused.get("evaluator"), seen.references.resource_class
    if refused is not None and left <= 0:
        draft.set(evaluator_pod=never_created(names.evaluator_pod(run.metadata.name), refused))
        draft.say(EVALUATED, "False", Reason.NEVER_STARTED, refused.message)
        return Decision(WriteStatus(draft.stamp(evaluated=draft.now).done()))
    if refused is not None:
        return wait_for_creation(run, draft, EVALUATED, refused)
    if resource_class is None and left <= 0:
        draft.say(EVALUATED, "False", Reason.RESOURCE_CLASS_NOT_FOUND)
        return Decision(WriteStatus(draft.stamp(evaluated=draft.now).done()))
    if resource_class is None:
        draft.say(EVALUATED, "Unknown", Reason.RESOURCE_CLASS_NOT_FOUND, "The run's resource class was deleted.")
        return write_or(run, draft, Decision(again_after=left))
    report = seen.agent_report.agent
    if report is None:
        return retry_or_release(run, now, seen.release_after_seconds)
    body = build.evaluator_pod(run, report, seen.references.task, resource_class, seen.settings)
    return Decision(CreatePod("evaluator", body))


def _over(run: BenchmarkRun, seen: Seen, now: datetime, facts: PodFacts) -> Decision:
    wait = wait_for_report(run, seen.evaluation_report, EVALUATED, seen.evaluator, now, seen.release_after_seconds)
    if wait is not None:
        return wait
    report, draft = seen.evaluation_report.evaluation, _with_facts(run, seen, Draft(run, now), facts)
    if report is None:
        reason = Reason.CANCELLED if is_cancelled(run) else Reason.POD_LOST
        message = seen.evaluation_report.message or "The evaluator left no report."
        return Decision(WriteStatus(draft.say(EVALUATED, "False", reason, message).done()))
    judged = report.verdict in {"passed", "failed"}
    draft.say(EVALUATED, "True" if judged else "False", Reason.JUDGED if judged else Reason.EVALUATOR_FAILED)
    return Decision(WriteStatus(draft.done()))


def _with_facts(run: BenchmarkRun, seen: Seen, draft: Draft, facts: PodFacts) -> Draft:
    pod = run.status.evaluator_pod
    assert pod is not None
    node = pods.node(seen.evaluator) if seen.evaluator else pod.node
    return draft.set(evaluator_pod=pod.model_copy(update={"facts": facts, "node": node})).stamp(evaluated=draft.now)
