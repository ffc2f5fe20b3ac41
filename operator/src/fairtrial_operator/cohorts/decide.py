"""The next step for a cohort. Pure: the same cohort, the same observations and the same time give the same answer.

One step at a time, so that the operator may die between any two: whatever was done is seen again, in the store or on
the API server, and nothing is done twice. The order of a cohort's life:

    accepted → preregistration stored, signed → status: sealed → ledger: sealed, tickets → its root signed → runs
    created → ledger: records, replacements, further tickets → … → ledger: complete → its root signed → status: complete
    → analysis → objects of runs deleted
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from fairtrial import names
from fairtrial.api import BenchmarkCohort, CohortCounts, Reason, is_true
from fairtrial.api.conditions import ACCEPTED, CAPACITY_AVAILABLE, COMPLETE, SEALED
from fairtrial.cohort import acceptance, preregistration, resolution
from fairtrial.cohort.acceptance import Problem
from fairtrial.cohort.schedule import schedule_of
from fairtrial_operator.accept import PSS_LABEL
from fairtrial_operator.cohorts.decide_analysis import decide_analysis, image_refused, version_refused
from fairtrial_operator.cohorts.decide_runs import decide_runs
from fairtrial_operator.cohorts.draft import CohortDraft
from fairtrial_operator.cohorts.seen import (
    CohortDecision,
    CohortSeen,
    DeleteRuns,
    PutPreregistration,
    SignLedger,
    WriteCohort,
)
from fairtrial_operator.seen import Event

LOOK_AGAIN_SECONDS = 60.0
SHOWN_PROBLEMS = 4
_REASONS = {
    "name": Reason.TASK_NOT_FOUND,
    "publicSha256": Reason.DIGEST_MISMATCH,
    "sealedSha256": Reason.DIGEST_MISMATCH,
    "preregistrationSha256": Reason.DIGEST_MISMATCH,
    "resourceClassName": Reason.RESOURCE_CLASS_NOT_FOUND,
    "modelProviderRef": Reason.MODEL_PROVIDER_NOT_FOUND,
}


def decide(cohort: BenchmarkCohort, seen: CohortSeen, now: datetime) -> CohortDecision:
    """Choose the next step for a cohort. Same input, same answer; safe to ask twice."""
    if is_true(cohort.status.conditions, COMPLETE):
        return _after(cohort, seen, now)
    if cohort.status.preregistration_sha256 is not None:
        return decide_runs(cohort, seen, now)
    if cohort.metadata.deletion_timestamp is not None:
        return CohortDecision()
    if cohort.spec.cancel is not None:
        return _never_began(cohort, now)
    return _before(cohort, seen, now)


# --- before the seal --------------------------------------------------------------------------------------------------
def _before(cohort: BenchmarkCohort, seen: CohortSeen, now: datetime) -> CohortDecision:
    draft = CohortDraft(cohort, now)
    why = _namespace(cohort, seen) or _problems(cohort, seen)
    if why is not None:
        reason, message = why
        draft.say(ACCEPTED, "False", reason, message).set(message=message)
        event = Event("Refused", message) if cohort.spec.seal else None
        return _write_or(cohort, draft, CohortDecision(again_after=LOOK_AGAIN_SECONDS), event)
    draft.say(ACCEPTED, "True", Reason.RESOLVED).set(message=None)
    schedule = schedule_of(cohort)
    runs = len(schedule.entries)
    draft.set(schedule_sha256=schedule.sha256, counts=CohortCounts(scheduled=runs, pending=runs))
    if not cohort.spec.seal:
        draft.say(SEALED, "False", Reason.NOT_ASKED, "Set spec.seal to true to freeze the cohort and start its runs.")
        return _write_or(cohort, draft, CohortDecision())
    if seen.sealed is None:
        assert seen.found is not None
        return CohortDecision(
            PutPreregistration(preregistration.to_bytes(preregistration.document(cohort, seen.found)))
        )
    if seen.sealed.problem:
        reason = {"conflict": Reason.SEAL_CONFLICT, "signing": Reason.SIGNING_FAILED}.get(
            seen.sealed.problem, Reason.STORE_UNAVAILABLE
        )
        draft.say(SEALED, "False", reason, seen.sealed.message)
        event = Event("Refused", seen.sealed.message) if reason != Reason.STORE_UNAVAILABLE else None
        return _write_or(cohort, draft, CohortDecision(retry=True), event)
    message = f"The preregistration of {runs} runs lies in the store, {seen.sealed.signed}."
    draft.say(SEALED, "True", Reason.STORED, message).say(CAPACITY_AVAILABLE, "True", Reason.AVAILABLE)
    draft.set(preregistration_uri=seen.sealed.uri, preregistration_sha256=seen.sealed.sha256, next_index=1)
    draft.once(sealed_at=draft.now)
    event = Event("Sealed", f"{message} SHA-256 {seen.sealed.sha256}")
    return CohortDecision(WriteCohort(draft.done()), event=event, warning=False)


def _namespace(cohort: BenchmarkCohort, seen: CohortSeen) -> tuple[str, str] | None:
    name, namespace = cohort.metadata.namespace, seen.namespace
    if namespace is None or not namespace.selected or namespace.terminating:
        return (
            Reason.NAMESPACE_NOT_ENABLED,
            f"Namespace {name} does not take part. Run: kubectl label namespace {name} {names.NAMESPACE_LABEL}=true",
        )
    if namespace.labels.get(PSS_LABEL) != "restricted":
        return (
            Reason.POD_SECURITY_NOT_ENFORCED,
            f"Namespace {name} does not enforce Pod Security 'restricted'. "
            f"Run: kubectl label --overwrite namespace {name} {PSS_LABEL}=restricted",
        )
    return None


def _problems(cohort: BenchmarkCohort, seen: CohortSeen) -> tuple[str, str] | None:
    own = acceptance.problems(cohort)
    if own:
        return Reason.NOT_ACCEPTABLE, _listed(own)
    assert seen.found is not None
    missing = resolution.problems_of(cohort, seen.found)
    if not missing:
        # Sealed, neither could be changed any more.
        return image_refused(cohort, seen) or version_refused(cohort, seen)
    return _REASONS.get(missing[0].field.rpartition(".")[2], Reason.NOT_ACCEPTABLE), _listed(missing)


def _listed(problems: Sequence[Problem]) -> str:
    told = " ".join(str(problem) for problem in problems[:SHOWN_PROBLEMS])
    # First, because what does not fit is cut off at the end.
    return f"{len(problems)} problems, all shown by `fairtrial plan`: {told}" if len(problems) > 1 else told


def _never_began(cohort: BenchmarkCohort, now: datetime) -> CohortDecision:
    assert cohort.spec.cancel is not None
    runs = cohort.spec.run_count
    message = f"Cancelled before it was sealed: {cohort.spec.cancel.reason}"
    draft = CohortDraft(cohort, now).say(ACCEPTED, "False", Reason.CANCELLED, message)
    draft.say(SEALED, "False", Reason.CANCELLED).say(COMPLETE, "True", Reason.CANCELLED, message)
    draft.set(counts=CohortCounts(scheduled=runs, not_run=runs), message=message).once(finished_at=draft.now)
    return CohortDecision(WriteCohort(draft.done()))


# --- after the last run -----------------------------------------------------------------------------------------------
def _after(cohort: BenchmarkCohort, seen: CohortSeen, now: datetime) -> CohortDecision:
    """Complete is for ever; what is left is its analysis, and the objects of its runs, which still take room."""
    if seen.to_sign:
        return CohortDecision(SignLedger(seen.to_sign[: seen.batch]))
    analysis = decide_analysis(cohort, seen, now)
    if analysis.action is not None:
        return analysis
    over = sorted(name for name, member in seen.members.items() if member.finished)
    if not over or cohort.status.finished_at is None:
        return analysis
    ttl = timedelta(seconds=cohort.spec.execution.ttl_seconds_after_finished)
    left = (datetime.fromisoformat(cohort.status.finished_at) + ttl - now).total_seconds()
    if left <= 0:
        return CohortDecision(DeleteRuns(over[: seen.batch]))
    soon = left if analysis.again_after is None else min(left, analysis.again_after)
    return replace(analysis, again_after=soon)


def _write_or(
    cohort: BenchmarkCohort, draft: CohortDraft, otherwise: CohortDecision, event: Event | None = None
) -> CohortDecision:
    status = draft.done()
    return otherwise if status == cohort.status else CohortDecision(WriteCohort(status), event=event)
