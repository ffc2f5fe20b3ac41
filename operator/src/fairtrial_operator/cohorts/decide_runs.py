"""The sealed cohort's life: ledger, runs, and the account of them. Pure."""

from dataclasses import replace
from datetime import datetime

from fairtrial.api import BenchmarkCohort, Reason, find_condition
from fairtrial.api.conditions import CAPACITY_AVAILABLE, COMPARABLE, COMPLETE
from fairtrial.api.run import Replaced
from fairtrial.cohort.ledger import Ledger, LedgerEntry
from fairtrial.cohort.runs import replacement_manifest, run_manifest
from fairtrial.cohort.schedule import Schedule
from fairtrial_operator.cohorts.counts import drafted
from fairtrial_operator.cohorts.draft import CohortDraft
from fairtrial_operator.cohorts.owed import braked, more_to_create, next_on_ramp, owed, rest_left, room, stopping
from fairtrial_operator.cohorts.seen import (
    Append,
    CancelRuns,
    CohortDecision,
    CohortSeen,
    CompareBlocks,
    CreateRuns,
    Object,
    SignLedger,
    Trouble,
    WriteCohort,
)
from fairtrial_operator.seen import Event

TRY_AGAIN_SECONDS = 10.0
STORE_AGAIN_SECONDS = 1.0
REASON_MAX = 256


def decide_runs(cohort: BenchmarkCohort, seen: CohortSeen, now: datetime) -> CohortDecision:
    """Choose the next step between the seal and the last record."""
    ledger, schedule = seen.ledger, seen.schedule
    if ledger is None or schedule is None:
        return _no_ledger(cohort, seen, now)
    if ledger.sealed is None and seen.capabilities is None:
        return CohortDecision(again_after=STORE_AGAIN_SECONDS)  # its first page says what the store does
    demand = _demand(cohort, seen, schedule, ledger, now)
    if seen.status_due:
        # Before anything else, so that a cohort that is never idle tells where it is, too.
        told = _account(cohort, seen, schedule, ledger, now)
        if told.action is not None:
            return replace(told, demand=demand)
    if seen.to_sign:
        # Before what the ledger announces is done, and before more is added to it.
        return CohortDecision(SignLedger(seen.to_sign[: seen.batch]), demand=demand)
    entries = owed(cohort, seen, now)
    if entries:
        return CohortDecision(Append(entries), demand=demand)
    bodies = _to_create(cohort, seen, schedule, ledger)
    if bodies:
        return CohortDecision(CreateRuns(bodies), demand=True)
    to_stop = _to_stop(cohort, seen, ledger)
    if to_stop is not None:
        return CohortDecision(to_stop)
    if not ledger.open and (stopping(cohort) or not more_to_create(schedule, ledger)):
        return _finish(cohort, seen, schedule, ledger, now)
    waits = (_again(cohort, seen, ledger, now), None if seen.status_due else seen.status_due_after)
    again = [one for one in waits if one is not None]
    return CohortDecision(again_after=min(again, default=None), demand=demand)


# --- what is to be done about runs ------------------------------------------------------------------------------------
def _to_create(cohort: BenchmarkCohort, seen: CohortSeen, schedule: Schedule, ledger: Ledger) -> list[Object]:
    if cohort.spec.suspend or stopping(cohort) or seen.refused is not None:
        return []
    wanted = [name for name in ledger.open if name in seen.absent and name not in seen.members]
    return [body_of(cohort, schedule, ledger, name) for name in wanted[: seen.batch]]


def body_of(cohort: BenchmarkCohort, schedule: Schedule, ledger: Ledger, name: str) -> Object:
    """The run that a ticket is for."""
    entry = schedule.entries[ledger.tickets[name].index - 1]
    grant, sha256 = ledger.replaces.get(name), cohort.status.preregistration_sha256 or ""
    if grant is None:
        return run_manifest(cohort, entry, preregistration_sha256=sha256)
    replaced, number = Replaced(name=grant.run, uid=grant.uid), int(name.rpartition("-r")[2])
    return replacement_manifest(cohort, entry, replaced, number, preregistration_sha256=sha256)


def _to_stop(cohort: BenchmarkCohort, seen: CohortSeen, ledger: Ledger) -> CancelRuns | None:
    if cohort.spec.cancel is None or seen.refused is not None:
        return None
    running = [name for name in ledger.open if name in seen.members and not seen.members[name].stopping]
    reason = f"Cohort {cohort.metadata.name}: {cohort.spec.cancel.reason}"[:REASON_MAX]
    return CancelRuns(running[: seen.batch], reason) if running else None


def _demand(cohort: BenchmarkCohort, seen: CohortSeen, schedule: Schedule, ledger: Ledger, now: datetime) -> bool:
    """Whether runs would be created now if nobody were in the way."""
    idle = cohort.spec.suspend or stopping(cohort) or seen.refused is not None
    return not idle and more_to_create(schedule, ledger) and room(cohort, ledger, (), now) > 0


# --- the account ------------------------------------------------------------------------------------------------------
def _account(
    cohort: BenchmarkCohort, seen: CohortSeen, schedule: Schedule, ledger: Ledger, now: datetime
) -> CohortDecision:
    draft, wrong = drafted(cohort, seen, schedule, ledger, now)
    event = Event(Reason.DOES_NOT_ADD_UP, wrong) if wrong else _news_of_brake(cohort, draft)
    return _write_or(cohort, draft, CohortDecision(), event)


def _news_of_brake(cohort: BenchmarkCohort, draft: CohortDraft) -> Event | None:
    old, new = (find_condition(one.conditions, CAPACITY_AVAILABLE) for one in (cohort.status, draft.status))
    if new is None or new.reason != Reason.INVALID_IN_A_ROW or (old is not None and old.reason == new.reason):
        return None
    return Event(new.reason, new.message)


def _finish(
    cohort: BenchmarkCohort, seen: CohortSeen, schedule: Schedule, ledger: Ledger, now: datetime
) -> CohortDecision:
    """All runs have ended: compare them, write down the sum, and be complete."""
    if cohort.metadata.deletion_timestamp is not None and cohort.spec.cancel is None:
        return CohortDecision()  # it goes with its runs; what the ledger holds is what there was
    draft, wrong = drafted(cohort, seen, schedule, ledger, now)
    if wrong:
        return _write_or(cohort, draft, CohortDecision(), Event(Reason.DOES_NOT_ADD_UP, wrong))
    if seen.blocks is None:
        return CohortDecision(CompareBlocks())
    if seen.blocks.different:
        draft.say(COMPARABLE, "False", Reason.BLOCKS_DIFFER, seen.blocks.message)
    else:
        draft.say(COMPARABLE, "True", Reason.BLOCKS_EQUAL)
    draft.set(blocks_not_comparable=seen.blocks.different)
    if ledger.complete is None:
        return CohortDecision(Append([LedgerEntry("complete", counts=draft.status.counts.as_json())]))
    return _complete(cohort, draft, ledger)


def _complete(cohort: BenchmarkCohort, draft: CohortDraft, ledger: Ledger) -> CohortDecision:
    counts = draft.status.counts
    reason = Reason.CANCELLED if cohort.spec.cancel is not None else Reason.ALL_ACCOUNTED_FOR
    message = (
        f"{counts.scheduled} scheduled + {counts.replacements} replacements = {counts.valid} valid + {counts.invalid} "
        f"invalid + {counts.void} void + {counts.cancelled} cancelled + {counts.not_run} not run."
    )
    draft.say(COMPLETE, "True", reason, message).say(CAPACITY_AVAILABLE, "True", Reason.AVAILABLE)
    draft.set(ledger_entries=ledger.size).once(finished_at=draft.now)
    return CohortDecision(WriteCohort(draft.done()), event=Event("Complete", message), warning=False)


def _again(cohort: BenchmarkCohort, seen: CohortSeen, ledger: Ledger, now: datetime) -> float | None:
    """When time alone changes something: the ramp, another cohort's turn, or a refusal that may have passed."""
    if stopping(cohort) or cohort.spec.suspend:
        return None
    if seen.refused is not None:
        return TRY_AGAIN_SECONDS
    if seen.outranked:
        return 1.0
    if braked(cohort, ledger):
        return rest_left(ledger, now) or None
    return next_on_ramp(cohort, len(ledger.tickets), now)


def _no_ledger(cohort: BenchmarkCohort, seen: CohortSeen, now: datetime) -> CohortDecision:
    trouble = seen.ledger_trouble or Trouble(Reason.STORE_UNAVAILABLE, "The ledger was not read.")
    draft = CohortDraft(cohort, now).say(COMPLETE, "False", trouble.reason, trouble.message)
    event = None if trouble.again else Event(trouble.reason, trouble.message)
    return _write_or(cohort, draft, CohortDecision(retry=True), event)


def _write_or(
    cohort: BenchmarkCohort, draft: CohortDraft, otherwise: CohortDecision, event: Event | None = None
) -> CohortDecision:
    status = draft.done()
    if status == cohort.status:
        return otherwise
    return replace(otherwise, action=WriteCohort(status), again_after=None, retry=False, event=event)
