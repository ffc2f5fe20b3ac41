"""What the ledger does not say yet: runs that ended, what follows from that, and runs that may be created. Pure.

An end, the decision about a replacement and the ticket of that replacement are owed at once, so that they are stored in
one page or not at all. A ticket comes before its run: no run exists that the ledger does not announce.
"""

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime

from fairtrial.api import BenchmarkCohort
from fairtrial.cohort.ledger import Ledger, LedgerEntry
from fairtrial.cohort.replacement import Decision, decide
from fairtrial.cohort.schedule import Schedule, replacement_name
from fairtrial_operator.cohorts.members import Member
from fairtrial_operator.cohorts.seen import CohortSeen

INVALID_LEAST = 10  # invalid runs in a row
BRAKED_SECONDS = 60.0  # between two tries
STOPPED = Decision(False, "not_preregistered", "The cohort was stopped: no further run is created.")


def stopping(cohort: BenchmarkCohort) -> bool:
    """Whether no further run may be created, for good."""
    return cohort.spec.cancel is not None or cohort.metadata.deletion_timestamp is not None


def owed(cohort: BenchmarkCohort, seen: CohortSeen, now: datetime) -> list[LedgerEntry]:
    """All entries that are to be added now, in order."""
    ledger = seen.ledger
    assert ledger is not None
    made: list[LedgerEntry] = []
    if ledger.sealed is None:
        made.append(LedgerEntry("sealed", sha256=cohort.status.preregistration_sha256 or ""))
        made += [seen.capabilities] if seen.capabilities is not None else []
    if cohort.spec.cancel is not None and ledger.cancelled is None:
        made.append(LedgerEntry("cancelled", reason=cohort.spec.cancel.reason))
    if seen.endorsed is not None and ledger.endorsement is None and not ledger.tickets:
        made.append(seen.endorsed)  # before the first ticket: a signature that comes later stands later
    ends = list(_ends(seen, ledger))
    decisions = list(_decisions(cohort, seen, ends))
    return [*made, *ends, *decisions, *_tickets(cohort, seen, ends, decisions, now)]


def waiting_replacements(ledger: Ledger) -> list[LedgerEntry]:
    """Replacements that were granted and have no ticket yet."""
    return [entry for name, entry in ledger.replaces.items() if name not in ledger.tickets]


def room(cohort: BenchmarkCohort, ledger: Ledger, ends: Sequence[LedgerEntry], now: datetime) -> int:
    """How many more runs may be under way now; `ends` are not in the ledger yet."""
    under_way = len(ledger.open) - len(ends)
    if braked(cohort, ledger, ends):
        return (0 if ends or rest_left(ledger, now) else 1) - under_way
    return window(cohort, len(ledger.tickets), now) - under_way


def braked(cohort: BenchmarkCohort, ledger: Ledger, ends: Sequence[LedgerEntry] = ()) -> bool:
    """Whether so many runs in a row were invalid that something must be wrong with what all of them need.

    More than can be under way at once, so that one accident that hits all of those is not enough.
    """
    latest = itertools.chain(reversed(ends), reversed(ledger.records.values()))
    limit = max(INVALID_LEAST, 2 * cohort.spec.execution.parallelism)
    last = list(itertools.islice((one for one in latest if one.kind == "record"), limit))
    return len(last) == limit and all(one.outcome == "invalid" for one in last)


def rest_left(ledger: Ledger, now: datetime) -> float:
    """Seconds until a braked cohort may try another run."""
    since = (now - datetime.fromisoformat(ledger.at)).total_seconds() if ledger.at else BRAKED_SECONDS
    return max(0.0, BRAKED_SECONDS - since)


def window(cohort: BenchmarkCohort, tickets: int, now: datetime) -> int:
    """How many runs may be under way at once. The first ones are spread over the ramp."""
    execution, started = cohort.spec.execution, cohort.status.started_at
    if not execution.ramp_seconds or tickets >= execution.parallelism:
        return execution.parallelism
    elapsed = (now - datetime.fromisoformat(started)).total_seconds() if started else 0.0
    return min(execution.parallelism, 1 + int(elapsed * execution.parallelism / execution.ramp_seconds))


def next_on_ramp(cohort: BenchmarkCohort, tickets: int, now: datetime) -> float | None:
    """Seconds until the ramp lets the next run begin; None where there is no ramp, or it is over."""
    execution, started = cohort.spec.execution, cohort.status.started_at
    if not execution.ramp_seconds or tickets >= execution.parallelism or started is None:
        return None
    elapsed = (now - datetime.fromisoformat(started)).total_seconds()
    step = execution.ramp_seconds / execution.parallelism
    return max(0.05, (int(elapsed / step) + 1) * step - elapsed)


def more_to_create(schedule: Schedule, ledger: Ledger) -> bool:
    """Whether tickets are still to be given."""
    return ledger.scheduled < len(schedule.entries) or bool(waiting_replacements(ledger))


# --- ends -------------------------------------------------------------------------------------------------------------
def _ends(seen: CohortSeen, ledger: Ledger) -> Iterator[LedgerEntry]:
    for name, ticket in ledger.open.items():
        member = seen.members.get(name)
        if member is not None and member.state.outcome is not None:
            if member.state.outcome != "invalid" or name in seen.evidence:
                yield _end(member, ticket)
        elif member is None and name in seen.records:
            yield seen.records[name]
        elif member is None and name in seen.lost and name in seen.absent:
            why = "It had a pod and is gone, and no record of it was stored."
            yield LedgerEntry("lost", run=name, uid=seen.lost[name], index=ticket.index, why=why)


def _end(member: Member, ticket: LedgerEntry) -> LedgerEntry:
    state = member.state
    return LedgerEntry(
        "record",
        run=state.name,
        uid=state.uid,
        index=ticket.index,
        sha256=member.record_sha256,
        outcome=state.outcome or "",
        invalidity=member.invalidity,
        reason=member.reason,
    )


# --- what follows -----------------------------------------------------------------------------------------------------
def _decisions(cohort: BenchmarkCohort, seen: CohortSeen, ends: list[LedgerEntry]) -> Iterator[LedgerEntry]:
    ledger, schedule = seen.ledger, seen.schedule
    assert ledger is not None
    assert schedule is not None
    invalid = [end for end in ends if end.outcome == "invalid"]
    if not invalid:
        return
    granted = Counter(entry.index for entry in ledger.replaces.values())
    used = Counter(schedule.entries[entry.index - 1].cell for entry in ledger.replaces.values())
    for end in invalid:
        entry = schedule.entries[end.index - 1]
        decided = decide(cohort.spec.replacement, seen.evidence[end.run], used[entry.cell])
        if decided.allowed and stopping(cohort):
            decided = STOPPED
        by = ""
        if decided.allowed:
            granted[end.index] += 1
            used[entry.cell] += 1
            by = replacement_name(entry.run, granted[end.index])
        yield LedgerEntry(
            "replacement", run=end.run, uid=end.uid, index=end.index, by=by, code=decided.code, why=decided.why
        )


def _tickets(
    cohort: BenchmarkCohort,
    seen: CohortSeen,
    ends: list[LedgerEntry],
    decisions: list[LedgerEntry],
    now: datetime,
) -> Iterator[LedgerEntry]:
    """Replacements first, near in time to the rest of their block; then the schedule, in its order."""
    ledger, schedule = seen.ledger, seen.schedule
    assert ledger is not None
    assert schedule is not None
    if cohort.spec.suspend or stopping(cohort) or seen.outranked or seen.refused is not None:
        return
    waiting = [name for name in ledger.open if name not in seen.members]
    left = min(room(cohort, ledger, ends, now), seen.batch - len(waiting))
    for entry in [*waiting_replacements(ledger), *(one for one in decisions if one.by)][: max(left, 0)]:
        left -= 1
        yield LedgerEntry("ticket", run=entry.by, index=entry.index)
    for scheduled in schedule.entries[ledger.scheduled : ledger.scheduled + max(left, 0)]:
        yield LedgerEntry("ticket", run=scheduled.run, index=scheduled.index)
