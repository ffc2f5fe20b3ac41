"""Where every run of a sealed cohort is, from its ledger and from the runs themselves. Pure."""

import itertools
from collections import Counter
from collections.abc import Mapping
from datetime import datetime

from fairtrial.api import BenchmarkCohort, CohortCounts, Reason
from fairtrial.api.conditions import CAPACITY_AVAILABLE, COMPLETE
from fairtrial.api.run import Replaced
from fairtrial.cohort.accounting import Accounting, RunState, account
from fairtrial.cohort.ledger import Ledger, LedgerEntry
from fairtrial.cohort.schedule import Schedule
from fairtrial_operator.cohorts.draft import CohortDraft
from fairtrial_operator.cohorts.members import Member
from fairtrial_operator.cohorts.owed import braked, more_to_create, stopping
from fairtrial_operator.cohorts.seen import CohortSeen

WORKING = frozenset({"", Reason.PENDING})


def drafted(
    cohort: BenchmarkCohort, seen: CohortSeen, schedule: Schedule, ledger: Ledger, now: datetime
) -> tuple[CohortDraft, str]:
    """The status with where all runs are, and what does not fit, which is empty where all does."""
    sha256 = cohort.status.preregistration_sha256 or ""
    found = account(
        schedule,
        states(schedule, ledger, seen.members, sha256),
        closed=stopping(cohort),
        preregistration_sha256=sha256,
    )
    counts = _without_lost(found, ledger)
    draft = CohortDraft(cohort, now).set(counts=counts, ledger_entries=ledger.size or None)
    draft.set(next_index=ledger.scheduled + 1 if ledger.scheduled < len(schedule.entries) else None)
    if ledger.tickets:
        draft.once(started_at=draft.now)
    if more_to_create(schedule, ledger) and not stopping(cohort) and braked(cohort, ledger):
        _say_braked(draft, ledger)
    else:
        _say_capacity(draft, seen, ledger)
    draft.set(message=_message(cohort, seen, ledger))
    wrong = " ".join(found.errors[:3]) or ("" if counts.adds_up else "The counts do not add up.")
    if ledger.tickets or wrong:
        draft.say(COMPLETE, "False", Reason.DOES_NOT_ADD_UP if wrong else Reason.RUNNING, wrong)
    return draft, wrong


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


def _say_braked(draft: CohortDraft, ledger: Ledger) -> None:
    row = list(itertools.takewhile(lambda one: one.outcome == "invalid", reversed(ledger.records.values())))
    told = ", ".join(f"{reason} {count}" for reason, count in Counter(one.reason for one in row).most_common(4))
    message = (
        f"The last {len(row)} runs all ended as invalid ({told}), so one run is tried each minute until one is judged. "
        f"See: kubectl describe brun {row[0].run}"
    )
    draft.say(CAPACITY_AVAILABLE, "False", Reason.INVALID_IN_A_ROW, message)


def _say_capacity(draft: CohortDraft, seen: CohortSeen, ledger: Ledger) -> None:
    refused = seen.refused or seen.refused_last
    if refused is not None:
        draft.say(CAPACITY_AVAILABLE, "False", refused.reason, refused.message)
        return
    created = [seen.members[name] for name in ledger.open if name in seen.members]
    held = Counter(member.held for member in created if member.held not in WORKING)
    if not held:
        draft.say(CAPACITY_AVAILABLE, "True", Reason.AVAILABLE)
        return
    told = ", ".join(f"{reason} {count}" for reason, count in sorted(held.items()))
    example = next(member.state.name for member in created if member.held not in WORKING)
    message = f"{held.total()} of {len(created)} runs under way wait: {told}. See: kubectl describe brun {example}"
    draft.say(CAPACITY_AVAILABLE, "False", held.most_common(1)[0][0], message)


def _message(cohort: BenchmarkCohort, seen: CohortSeen, ledger: Ledger) -> str | None:
    under_way = sum(name in seen.members for name in ledger.open)
    if cohort.spec.cancel is not None:
        return f"Stopping ({cohort.spec.cancel.reason}): {under_way} runs are still to end." if under_way else None
    if cohort.spec.suspend:
        return f"Suspended: {under_way} runs go on, no further one is created. Set spec.suspend to false to go on."
    return "A cohort of a higher priority creates its runs first." if seen.outranked else None
