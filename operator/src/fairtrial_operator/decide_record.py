"""The last stage: assemble the record from the status and the reports, store it once, say where it lies. Pure."""

from datetime import datetime

from fairtrial.api import BenchmarkRun, Reason, RecordReference
from fairtrial.api.conditions import RECORDED
from fairtrial.classify.facts import LEAKED
from fairtrial.evidence import statements
from fairtrial.evidence.record import Record, assemble
from fairtrial_operator.draft import Draft
from fairtrial_operator.seen import CollectCalls, Decision, Event, Report, Seen, Stored, StoreRecord, WriteStatus
from fairtrial_operator.stages import (
    has_agent_report,
    has_evaluation_report,
    retry_or_release,
    seconds_since,
    write_or,
)

# Until every call that began must have its page. A call may have waited a minute for its turn, the gateway reads an
# answer on for a minute when its agent is gone, and then the page is stored. Whoever waits less lets an agent lose one.
CALLS_PATIENCE_SECONDS = 180.0
CALLS_AGAIN_SECONDS = 2.0


def decide_record(run: BenchmarkRun, seen: Seen, now: datetime) -> Decision:
    """Choose the next step once the last pod's end is written down."""
    agent, evaluation = wanted(run, seen)
    for report in (agent, evaluation):
        if report is not None and report.state != "present":
            # It was there when it was first read, and nothing in the store is ever deleted: it is out of reach.
            return _wait(run, seen, now, Stored(problem="unavailable", message=report.message))
    calls = seen.model_calls
    if calls.state not in {"unread", "present"}:
        return _decide_calls(run, seen, calls, now)
    scans = (seen.agent_scan, seen.evaluation_scan)
    for scan in scans:
        if scan.state in {"unavailable", "malformed"}:
            return _wait(run, seen, now, Stored(problem="unavailable", message=scan.message))
    record = record_of(run, agent, evaluation, calls, scans)
    if seen.stored is None:
        data = record.to_bytes()
        return Decision(StoreRecord(data, statements.provenance(record, data)))
    if seen.stored.problem:
        return _wait(run, seen, now, seen.stored)
    draft, found = Draft(run, now), record.classification
    draft.say(RECORDED, "True", Reason.STORED, found.message).stamp(recorded=draft.now)
    draft.set(record=RecordReference(uri=seen.stored.uri, sha256=seen.stored.sha256))
    draft.set(
        outcome=found.outcome,
        cause=found.cause,
        reason=found.reason,
        invalidity=found.invalidity,
        category=found.category,
        message=found.message,
    )
    return Decision(WriteStatus(draft.done()), event=_leaked(record))


def _leaked(record: Record) -> Event | None:
    """The record is published whatever is in it; whoever owns the secret should hear of it before a package is asked
    for.
    """
    if LEAKED not in record.classification.tags:
        return None
    places = record.usage.leaks.value
    where = f"in {places} places" if places is not None else "in a part of what was searched"
    message = (
        f"A credential or canary was found {where} of what this run stored; artifacts/model/calls.json and "
        "artifacts/scan say which and where. Renew it: no package is published with it in."
    )
    return Event("SecretFound", message)


def wanted(run: BenchmarkRun, seen: Seen) -> tuple[Report | None, Report | None]:
    """The reports that there were when each stage ended. One that appeared later is no part of the run."""
    agent = seen.agent_report if has_agent_report(run.status) else None
    return agent, seen.evaluation_report if has_evaluation_report(run.status) else None


def _decide_calls(run: BenchmarkRun, seen: Seen, calls: Report, now: datetime) -> Decision:
    """Make the list of model calls; the gateway may still be reading answers whose agent is gone."""
    since = run.status.timestamps.evaluated or run.status.timestamps.agent_finished
    left = CALLS_PATIENCE_SECONDS - seconds_since(since, now) if since else 0.0
    if calls.state in {"unavailable", "malformed"}:
        return _wait(run, seen, now, Stored(problem="unavailable", message=calls.message))
    if calls.state == "incomplete" and left > 0:
        return Decision(again_after=min(left, CALLS_AGAIN_SECONDS))
    return Decision(CollectCalls(final=left <= 0))


def record_of(
    run: BenchmarkRun,
    agent: Report | None,
    evaluation: Report | None,
    calls: Report | None = None,
    scans: tuple[Report, ...] = (),
) -> Record:
    """The record: from the status and the reports alone, so that assembling it again gives the same bytes."""
    found = [report for report in (agent, evaluation, calls, *scans) if report is not None]
    return assemble(
        run,
        agent.agent if agent else None,
        evaluation.evaluation if evaluation else None,
        tuple(report.artifact for report in found if report.artifact is not None),
        calls.calls if calls else None,
        tuple(report.scan for report in scans if report.scan is not None),
    )


def _wait(run: BenchmarkRun, seen: Seen, now: datetime, stored: Stored) -> Decision:
    """Nothing is lost: what the record is made of lies in the status and in the store."""
    waiting = retry_or_release(run, now, seen.release_after_seconds)
    if not waiting.retry:
        return waiting
    reason = {"conflict": Reason.RECORD_CONFLICT, "signing": Reason.SIGNING_FAILED}.get(
        stored.problem, Reason.STORE_UNAVAILABLE
    )
    draft = Draft(run, now).say(RECORDED, "False", reason, stored.message)
    event = Event(reason, stored.message) if reason != Reason.STORE_UNAVAILABLE else None
    return write_or(run, draft, waiting, event)
