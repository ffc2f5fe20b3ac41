"""What the agent's and the evaluator's stage have in common. Pure."""

from datetime import datetime

from fairtrial.api import BenchmarkRun, BenchmarkRunStatus, Deadlines, PodFacts, PodStatus, Reason, find_condition
from fairtrial.api.conditions import AGENT_FINISHED, EVALUATED, ISOLATION_PROVEN
from fairtrial_operator import pods
from fairtrial_operator.draft import Draft
from fairtrial_operator.seen import Decision, Event, Object, Refused, Release, Report, Seen, WriteStatus

REPORT_PATIENCE_SECONDS = 10.0  # after a recorder's end: its last upload may still be under way in the gateway
RETRY_CREATE_SECONDS = 10.0
SOON_SECONDS = 1.0
NEVER_CREATED = "never-created"  # stands for the UID of a pod that the API server did not let us create

_REFUSALS = {
    "quota": Reason.QUOTA_EXCEEDED,
    "taken": Reason.POD_REFUSED,
    "forbidden": Reason.POD_REFUSED,
    "invalid": Reason.POD_REFUSED,
}


def agent_over(status: BenchmarkRunStatus) -> bool:
    """Whether the agent's part has ended, one way or another, and what it ended with is written down."""
    return _decided(status, AGENT_FINISHED)


def evaluation_over(status: BenchmarkRunStatus) -> bool:
    """Whether the evaluation has ended, or it is written down that there is none."""
    return _decided(status, EVALUATED)


def has_agent_report(status: BenchmarkRunStatus) -> bool:
    """Whether there was a report when the agent's part ended: it is unknown what isolation was without one."""
    return _decided(status, ISOLATION_PROVEN)


def has_evaluation_report(status: BenchmarkRunStatus) -> bool:
    """Whether there was a report when the evaluation ended."""
    found = find_condition(status.conditions, EVALUATED)
    return found is not None and found.reason in {Reason.JUDGED, Reason.EVALUATOR_FAILED}


def should_stop(run: BenchmarkRun, seen: Seen) -> bool:
    """Whether somebody asked for the run's end, by cancelling it, or by deleting it or its namespace, and we have not
    yet said that we know. A namespace deletes its pods first, and its runs only when the pods are gone.
    """
    namespace = seen.references.namespace
    leaving = namespace is not None and namespace.terminating
    return (run.stop_requested or leaving) and not is_cancelled(run)


def is_cancelled(run: BenchmarkRun) -> bool:
    """Whether the operator has acted on a request to stop; what is asked for later changes nothing."""
    return run.status.timestamps.cancelled is not None


def deadlines_of(seen: Seen) -> Deadlines:
    """The class's deadlines; the defaults if it was deleted meanwhile."""
    found = seen.references.resource_class
    return found.spec.deadlines if found else Deadlines()


def write_or(run: BenchmarkRun, draft: Draft, otherwise: Decision, event: Event | None = None) -> Decision:
    """Write the draft if it says anything new; otherwise do the other thing."""
    status = draft.done()
    return otherwise if status == run.status else Decision(WriteStatus(status), event=event)


def acknowledge_stop(run: BenchmarkRun, now: datetime) -> Decision:
    """Write down that the run is being stopped, before anything is done about it."""
    draft = Draft(run, now)
    return Decision(WriteStatus(draft.stamp(cancelled=draft.now).done()))


def wait_for_creation(run: BenchmarkRun, draft: Draft, kind: str, refused: Refused) -> Decision:
    """Say why the API server does not let us create a pod, and try again."""
    event = None if refused.why == "quota" else Event("PodRefused", refused.message)
    draft.say(kind, "Unknown", _REFUSALS[refused.why], refused.message)
    return write_or(run, draft, Decision(again_after=RETRY_CREATE_SECONDS), event)


def never_created(name: str, refused: Refused) -> PodStatus:
    """The pod that could not be created before its deadline, in the words of the API server."""
    facts = PodFacts(phase="Pending", reason=refused.why, message=refused.message[:1024], overdue="scheduling")
    return PodStatus(name=name, uid=NEVER_CREATED, facts=facts)


def wait_for_report(
    run: BenchmarkRun, report: Report, kind: str, pod: Object | None, now: datetime, release_after: int
) -> Decision | None:
    """What to do while a report may still come or can't be read; None if it is known whether there is one."""
    if report.state == "unavailable":
        draft = Draft(run, now).say(kind, "Unknown", Reason.STORE_UNAVAILABLE, report.message)
        return write_or(run, draft, retry_or_release(run, now, release_after))
    end = pods.ended_at(pod) if pod else None
    if report.state == "absent" and end is not None:
        left = REPORT_PATIENCE_SECONDS - seconds_since(end, now)
        return Decision(again_after=max(left, SOON_SECONDS)) if left > 0 else None
    return None


def retry_or_release(run: BenchmarkRun, now: datetime, release_after: int) -> Decision:
    """Try again; but a deleted run, and the namespace it may hold up, waits for the store only so long."""
    deleted = run.metadata.deletion_timestamp
    if deleted is None or seconds_since(deleted, now) < release_after:
        return Decision(retry=True)
    message = f"The run was deleted and could not be recorded for {release_after} s: it is let go without a record."
    return Decision(Release(recorded=False), event=Event("ReleasedUnrecorded", message))


def seconds_since(text: str, now: datetime) -> float:
    """Seconds from a written time until now."""
    return (now - pods.when(text)).total_seconds()


def _decided(status: BenchmarkRunStatus, kind: str) -> bool:
    found = find_condition(status.conditions, kind)
    return found is not None and found.status != "Unknown"
