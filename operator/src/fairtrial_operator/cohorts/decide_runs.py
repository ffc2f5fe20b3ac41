"""The sealed cohort's life: ledger, runs, and the account of them. Pure."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from fairtrial.api import BenchmarkCohort, CohortCounts, Reason
from fairtrial.api.conditions import CAPACITY_AVAILABLE, COMPARABLE, COMPLETE
from fairtrial.api.run import Replaced
from fairtrial.cohort.accounting import Accounting, RunState, account
from fairtrial.cohort.ledger import Ledger, LedgerEntry
from fairtrial.cohort.runs import replacement_manifest, run_manifest
from fairtrial.cohort.schedule import Schedule
from fairtrial_operator.cohorts.draft import CohortDraft
from fairtrial_operator.cohorts.members import Member
from fairtrial_operator.cohorts.owed import more_to_create, next_on_ramp, owed, room, stopping
from fairtrial_operator.cohorts.seen import (
    Append,
    CancelRuns,
    CohortDecision,
    CohortSeen,
    CompareBlocks,
    CreateRuns,
    Object,
    Trouble,
    WriteCohort,
)
from fairtrial_operator.seen import Event

TRY_AGAIN_SECONDS = 10.0
REASON_MAX = 256
_WORKING = frozenset({"", Reason.PENDING})


def decide_runs(cohort: BenchmarkCohort, seen: CohortSeen, now: datetime) -> CohortDecision:
    """Choose the next step between the seal and the last record."""
    ledger, schedule = seen.ledger, seen.schedule
    if ledger is None or schedule is None:
        return _no_ledger(cohort, seen, now)
    entries = owed(cohort, seen, now)
    if entries:
        return CohortDecision(Append(entries), demand=_demand(cohort, seen, schedule, ledger, now))
    bodies = _to_create(cohort, seen, schedule, ledger)
    if bodies:
        return CohortDecision(CreateRuns(bodies), demand=True)
    to_stop = _to_stop(cohort, seen, ledger)
    if to_stop is not None:
        return CohortDecision(to_stop)
    if seen.ledger_trouble is not None:
        return _no_ledger(cohort, seen, now)
    return _account(cohort, seen, schedule, ledger, now)


def states(schedule: Schedule, ledger: Ledger, members: Mapping[str, Member], preregistration: str) -> list[RunState]:
    """Every run that the ledger announced: as its record told, or as it is now."""
    ended = [
        _recorded(schedule, entry, ledger.replaces.get(entry.run), preregistration) for entry in ledger.records.values()
    ]
    return [*ended, *(members[name].state for name in ledger.open if name in members)]


def _recorded(schedule: Schedule, entry: LedgerEntry, grant: LedgerEntry | None, preregistration: str) -> RunState:
    place = schedule.entries[entry.index - 1]
    return RunState(
        name=entry.run,
        uid=entry.uid,
        candidate=place.candidate,
        repetition=place.repetition,
        block=place.block,
        outcome=entry.outcome,  # type: ignore[arg-type]  # from a record
        started=True,
        replaces=Replaced(name=grant.run, uid=grant.uid) if grant else None,
        index=entry.index,
        preregistration_sha256=preregistration,
    )


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
    return not idle and more_to_create(schedule, ledger) and room(cohort, ledger, 0, now) > 0


# --- the account ------------------------------------------------------------------------------------------------------
def _account(
    cohort: BenchmarkCohort, seen: CohortSeen, schedule: Schedule, ledger: Ledger, now: datetime
) -> CohortDecision:
    over = not ledger.open and (stopping(cohort) or not more_to_create(schedule, ledger))
    if over and cohort.metadata.deletion_timestamp is not None and cohort.spec.cancel is None:
        return CohortDecision()  # it goes with its runs; what the ledger holds is what there was
    draft = CohortDraft(cohort, now)
    rest = CohortDecision(
        again_after=_again(cohort, seen, ledger, now), demand=_demand(cohort, seen, schedule, ledger, now)
    )
    if not (over or seen.status_due or cohort.status.started_at is None):
        return replace(rest, again_after=min(seen.status_due_after, rest.again_after or seen.status_due_after))
    found = account(
        schedule,
        states(schedule, ledger, seen.members, cohort.status.preregistration_sha256 or ""),
        closed=stopping(cohort),
        preregistration_sha256=cohort.status.preregistration_sha256 or "",
    )
    counts = _without_lost(found, ledger)
    draft.set(counts=counts, ledger_entries=ledger.size)
    draft.set(next_index=ledger.scheduled + 1 if ledger.scheduled < len(schedule.entries) else None)
    if ledger.tickets:
        draft.once(started_at=draft.now)
    _say_capacity(draft, seen, ledger)
    draft.set(message=_message(cohort, seen, ledger))
    if found.errors or not counts.adds_up:
        message = " ".join(found.errors[:3]) or "The counts do not add up."
        draft.say(COMPLETE, "False", Reason.DOES_NOT_ADD_UP, message)
        return _write_or(cohort, draft, CohortDecision(), Event("DoesNotAddUp", message))
    if not over:
        draft.say(COMPLETE, "False", Reason.RUNNING)
        return _write_or(cohort, draft, rest)
    if seen.blocks is None:
        return CohortDecision(CompareBlocks())
    if seen.blocks.different:
        draft.say(COMPARABLE, "False", Reason.BLOCKS_DIFFER, seen.blocks.message)
    else:
        draft.say(COMPARABLE, "True", Reason.BLOCKS_EQUAL)
    draft.set(blocks_not_comparable=seen.blocks.different)
    if ledger.complete is None:
        return CohortDecision(Append([LedgerEntry("complete", counts=counts.as_json())]))
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


def _without_lost(found: Accounting, ledger: Ledger) -> CohortCounts:
    """A run that had a pod and left no record has no outcome: it counts as not run, and is never tried again."""
    counts = found.counts
    if not ledger.lost:
        return counts
    scheduled = sum(name not in ledger.replaces for name in ledger.lost)
    replacing = len(ledger.lost) - scheduled
    moved = scheduled if counts.pending else 0
    return counts.model_copy(
        update={
            "pending": counts.pending - moved,
            "not_run": counts.not_run + moved + replacing,
            "replacements": counts.replacements + replacing,
        }
    )


def _say_capacity(draft: CohortDraft, seen: CohortSeen, ledger: Ledger) -> None:
    if seen.refused is not None:
        draft.say(CAPACITY_AVAILABLE, "False", seen.refused.reason, seen.refused.message)
        return
    created = [seen.members[name] for name in ledger.open if name in seen.members]
    held = Counter(member.held for member in created if member.held not in _WORKING)
    if not held:
        draft.say(CAPACITY_AVAILABLE, "True", Reason.AVAILABLE)
        return
    told = ", ".join(f"{reason} {count}" for reason, count in sorted(held.items()))
    example = next(member.state.name for member in created if member.held not in _WORKING)
    message = f"{held.total()} of {len(created)} runs under way wait: {told}. See: kubectl describe brun {example}"
    draft.say(CAPACITY_AVAILABLE, "False", held.most_common(1)[0][0], message)


def _message(cohort: BenchmarkCohort, seen: CohortSeen, ledger: Ledger) -> str | None:
    under_way = sum(name in seen.members for name in ledger.open)
    if cohort.spec.cancel is not None:
        return f"Stopping ({cohort.spec.cancel.reason}): {under_way} runs are still to end." if under_way else None
    if cohort.spec.suspend:
        return f"Suspended: {under_way} runs go on, no further one is created. Set spec.suspend to false to go on."
    return "A cohort of a higher priority creates its runs first." if seen.outranked else None


def _again(cohort: BenchmarkCohort, seen: CohortSeen, ledger: Ledger, now: datetime) -> float | None:
    """When time alone changes something: the ramp, another cohort's turn, or a refusal that may have passed."""
    if stopping(cohort) or cohort.spec.suspend:
        return None
    if seen.refused is not None:
        return TRY_AGAIN_SECONDS
    if seen.outranked:
        return 1.0
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
