"""The next step for a run. Pure: the same run, the same observations and the same time give the same answer.

One step at a time, so that the operator may die between any two: whatever was done is seen again, and nothing is done
twice. What is in the status stands, whatever a pod or an object says later. The order of a run's life:

    hold (finalizer) → agent pod → status: accepted → status: started → evaluator pod → status: agent finished
    → agent pod released → status: evaluated → record stored → status: recorded → released
"""

from datetime import datetime

from fairtrial import names
from fairtrial.api import BenchmarkRun, Reason, ResolvedProvider, ResolvedResourceClass, ResolvedTask, is_true
from fairtrial.api.conditions import ACCEPTED, AGENT_STARTED
from fairtrial_operator import accept, build, pods
from fairtrial_operator.decide_agent import decide_agent, with_agent_pod
from fairtrial_operator.decide_evaluator import decide_evaluator
from fairtrial_operator.decide_record import decide_record
from fairtrial_operator.draft import Draft
from fairtrial_operator.seen import CreatePod, Decision, DeletePod, Hold, Release, ReleasePod, Seen, WriteStatus
from fairtrial_operator.stages import agent_over, evaluation_over, retry_or_release, wait_for_creation, write_or

LOOK_AGAIN_SECONDS = 60.0
SOON_SECONDS = 1.0
UNREADY_SECONDS = 5.0


def decide(run: BenchmarkRun, seen: Seen, now: datetime) -> Decision:
    """Choose the next step for a run. Same input, same answer; safe to ask twice."""
    if run.recorded:
        return _let_go(seen)
    if not is_true(run.status.conditions, ACCEPTED):
        return _decide_acceptance(run, seen, now)
    if not agent_over(run.status):
        return decide_agent(run, seen, now)
    leftover = _leftover(run, seen)
    if leftover is not None:
        return leftover
    if not evaluation_over(run.status):
        return decide_evaluator(run, seen, now)
    return decide_record(run, seen, now)


def _decide_acceptance(run: BenchmarkRun, seen: Seen, now: datetime) -> Decision:
    deleted = run.metadata.deletion_timestamp is not None
    refusal = accept.refusal(run, seen.references, seen.settings)
    if deleted and refusal is not None and refusal.passing and seen.agent is not None:
        return retry_or_release(run, now, seen.release_after_seconds)  # its pod runs: it will have a record
    if deleted and (refusal is not None or seen.agent is None):
        return _let_go(seen)  # nothing of it ever ran, so there is nothing to record
    if refusal is not None:
        return _refuse(run, seen, refusal, now)
    cancelled = run.spec.cancel is not None
    if run.spec.suspend and seen.agent is None and not cancelled:
        draft = Draft(run, now).say(ACCEPTED, "Unknown", Reason.SUSPENDED, "spec.suspend is true: no pod is created.")
        return write_or(run, draft, Decision())
    if seen.settings.unready and seen.agent is None and not cancelled:
        draft = Draft(run, now).say(ACCEPTED, "Unknown", Reason.CANARY_MISSING, seen.settings.unready)
        return write_or(run, draft, Decision(again_after=UNREADY_SECONDS))
    if names.RUN_FINALIZER not in seen.finalizers and not deleted:
        return Decision(Hold())
    refused = seen.refused.get("agent")
    task, resource_class = seen.references.task, seen.references.resource_class
    provider = seen.references.provider
    assert task is not None
    assert resource_class is not None
    if seen.agent is None and refused is None and not cancelled:
        model = provider.spec.model if provider else None
        return Decision(CreatePod("agent", build.agent_pod(run, task, resource_class, seen.settings, model)))
    draft = Draft(run, now).say(ACCEPTED, "True", Reason.RESOLVED)
    if provider is not None:
        draft.set(provider=ResolvedProvider.of(provider))
    draft.set(task=ResolvedTask.of(task), resource_class=ResolvedResourceClass.of(resource_class))
    draft.stamp(accepted=draft.now)
    if seen.agent is not None:
        with_agent_pod(draft, seen.agent)
    elif refused is not None:
        return wait_for_creation(run, draft, AGENT_STARTED, refused)
    return Decision(WriteStatus(draft.done()))


def _refuse(run: BenchmarkRun, seen: Seen, refusal: accept.Refusal, now: datetime) -> Decision:
    """Say why, and what to do. Whoever does it is noticed by the watches; the timer is insurance."""
    if refusal.passing and run.spec.cancel is None:
        # Nothing is wrong with a pod that a predecessor made: what it rests on is only not known again yet.
        return Decision(again_after=SOON_SECONDS)
    if seen.agent is not None and pods.held_back(seen.agent):
        # It was created just before the operator died, and what it was built from is gone.
        return Decision(ReleasePod(seen.agent))
    if seen.agent is not None and not pods.deleting(seen.agent):
        return Decision(DeletePod(seen.agent))
    draft = Draft(run, now)
    if run.spec.cancel is not None:
        message = f"Cancelled before it was accepted: {run.spec.cancel.reason}"
        draft.say(ACCEPTED, "False", Reason.CANCELLED, message)
        draft.set(outcome="cancelled", cause="human_abort", reason="cancelled", message=message)
        return write_or(run, draft, _let_go(seen))
    draft.say(ACCEPTED, "False", refusal.reason, refusal.message)
    return write_or(run, draft, Decision(again_after=LOOK_AGAIN_SECONDS))


def _leftover(run: BenchmarkRun, seen: Seen) -> Decision | None:
    """What is still to be done about pods whose end is written down."""
    agent, pinned = seen.agent, run.status.agent_pod
    if agent is not None and pinned is not None and pinned.facts is not None:
        lost = pinned.facts.node_lost
        if not pods.ended(agent) and not lost and not pods.deleting(agent):
            return Decision(DeletePod(agent))
        if pods.held_back(agent):
            return Decision(ReleasePod(agent))
        if not pods.ended(agent) and lost:
            return Decision(DeletePod(agent, force=True))
    evaluator, owed = seen.evaluator, run.status.evaluator_pod
    if evaluator is None or pods.ended(evaluator) or not evaluation_over(run.status):
        return None
    if owed is not None and owed.facts is not None and owed.facts.node_lost:
        return Decision(DeletePod(evaluator, force=True))
    return None if pods.deleting(evaluator) else Decision(DeletePod(evaluator))


def _let_go(seen: Seen) -> Decision:
    """Everything is done: no finalizer of ours stays behind."""
    if seen.agent is not None and pods.held_back(seen.agent):
        return Decision(ReleasePod(seen.agent))
    return Decision(Release()) if names.RUN_FINALIZER in seen.finalizers else Decision()
