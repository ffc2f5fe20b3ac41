"""From a source to results: every record that the ledger names, checked and reduced to a row. Reads each record once.

The schedule says what there must be, the ledger what there is; nothing is listed. A record that can't be trusted keeps
its place in the account as void, with an error that stops a confirmatory verdict. Memory holds one row per run, and a
few records at a time.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from fairtrial.cohort.comparability import EXPLAINED_BY, findings
from fairtrial.cohort.ledger import Ledger, LedgerEntry
from fairtrial.cohort.schedule import Entry
from fairtrial.errors import DigestMismatch, InvalidInput, StoreError, StoreUnavailable
from fairtrial.evidence.correction import Correction
from fairtrial_analysis.load.ahead import in_order
from fairtrial_analysis.load.decisions import undecided
from fairtrial_analysis.load.documents import Inputs, inputs_of
from fairtrial_analysis.load.inputs import Book, Plan, Wrong, book_of, corrections_of, entry_of, plan_of
from fairtrial_analysis.load.loaded import Loaded, results_of
from fairtrial_analysis.load.records import Expected, read_record, refused
from fairtrial_analysis.load.rows import Row, unrun
from fairtrial_analysis.load.source import EvidenceSource
from fairtrial_analysis.rule.results import problems


def load(source: EvidenceSource, ledger_size: int | None = None) -> Loaded:
    """Everything, checked. InvalidInput only if there is no preregistration that could be read."""
    plan, wrong = plan_of(source.preregistration())
    book = book_of(plan, source.ledger_pages(), ledger_size)
    corrections, more = corrections_of(plan, book.ledger, source.corrections())
    wrong += [*book.wrong, *more]
    inputs, more = inputs_of(plan, source.document)
    wrong += more
    rows, uncorrected, more = _rows(source, plan, book, corrections)
    wrong += [*more, *undecided(plan, book.ledger, {row.run: row for row in rows} | uncorrected)]
    return loaded(plan, book, rows, wrong, tuple(corrections), uncorrected, inputs)


def loaded(
    plan: Plan,
    book: Book,
    rows: Iterable[Row],
    wrong: Iterable[Wrong],
    corrections: tuple[Correction, ...] = (),
    uncorrected: Mapping[str, Row] | None = None,
    inputs: Inputs | None = None,
) -> Loaded:
    """Rows in their order, compared, and as a rule sees them; what is wrong with the set of them is found here."""
    ordered = tuple(sorted(rows, key=_order))
    told = sorted(set(wrong) | set(_duplicates(ordered)) | set(_counts(plan, book.ledger, ordered)), key=str)
    results = results_of(plan, ordered, told, inputs or Inputs())
    known = {str(each) for each in told}
    told += [Wrong("ACCOUNTING", "schedule", each) for each in problems(results) if each not in known]
    found = findings((row.observed for row in ordered if row.observed and row.valid), ignored=_declared(plan))
    return Loaded(
        plan, book.ledger, book.at, ordered, results, tuple(told), tuple(found), corrections, uncorrected or {},
        inputs or Inputs(),
    )  # fmt: skip


def _order(row: Row) -> tuple[int, int, str]:
    tail = row.run.rpartition("-r")[2] if row.replaces else ""
    return row.index, int(tail) if tail.isdecimal() and len(tail) < 9 else 0, row.run  # noqa: PLR2004


def _rows(
    source: EvidenceSource, plan: Plan, book: Book, corrections: list[Correction]
) -> tuple[list[Row], dict[str, Row], list[Wrong]]:
    ledger, rows, uncorrected, wrong = book.ledger, list[Row](), dict[str, Row](), list[Wrong]()
    by_run: dict[str, list[Correction]] = {}
    for one in corrections:
        if one.supersedes is not None and one.kind != "deviation":
            by_run.setdefault(one.supersedes.run, []).append(one)
    for said, data, unfit in _fetched(source, ledger):
        entry = entry_of(plan, ledger, said.run)
        if entry is None:
            wrong.append(Wrong("RECORD_NOT_SCHEDULED", said.run, "no entry of the schedule leads to it."))
            continue
        expected = Expected(plan, said, entry, ledger.replaces.get(said.run))
        made = refused(expected, *unfit) if unfit else read_record(data, expected, by_run.get(said.run, ()))
        rows.append(made.row)
        wrong += made.wrong
        if made.uncorrected is not None:
            uncorrected[said.run] = made.uncorrected
    more, never = _without_record(plan, ledger)
    return rows + more, uncorrected, wrong + never


_Fetched = tuple[bytes | None, tuple[str, str] | None]


def _fetched(
    source: EvidenceSource, ledger: Ledger
) -> Iterator[tuple[LedgerEntry, bytes | None, tuple[str, str] | None]]:
    """Each record that the ledger names, in its order, or why it can't be had; some are fetched ahead."""
    for said, future in in_order(lambda said: _fetch(source, said), ledger.records.values()):
        yield said, *future.result()


def _fetch(source: EvidenceSource, said: LedgerEntry) -> _Fetched:
    """What is damaged or unfit is told; a store that does not answer is no finding, and stops the analysis."""
    try:
        return source.record(said.run, said.uid), None
    except DigestMismatch as error:
        return None, ("RECORD_DIGEST", str(error))
    except StoreUnavailable:
        raise
    except (StoreError, InvalidInput) as error:
        return None, ("RECORD_UNREADABLE", str(error))


def _without_record(plan: Plan, ledger: Ledger) -> tuple[list[Row], list[Wrong]]:
    """Rows of what was never begun or was lost, and errors where nothing says which."""
    rows, wrong = list[Row](), list[Wrong]()
    names = {entry.run: entry for entry in plan.schedule.entries}
    replacing = {run: entry_of(plan, ledger, run) for run in ledger.tickets if run not in names}
    everything: dict[str, Entry | None] = {**names, **replacing}
    for run, entry in everything.items():
        if run in ledger.records:
            continue
        if entry is None:
            wrong.append(Wrong("TICKET_NOT_SCHEDULED", run, "a ticket was given to no entry of the schedule."))
            continue
        reason = _why_not(run, ledger)
        if reason == "unaccounted":
            wrong.append(Wrong("RUN_UNACCOUNTED", run, "was begun, and nothing says what became of it."))
        row = replace(unrun(entry, plan.places[entry.index], reason), run=run)
        granted = ledger.replaces.get(run)
        rows.append(replace(row, replaces=granted.run) if granted else row)
    return rows, wrong


def _why_not(run: str, ledger: Ledger) -> str:
    if run in ledger.lost:
        return "lost_without_a_record"
    if run in ledger.tickets:
        return "unaccounted"
    return "cohort_cancelled" if ledger.cancelled else "never_created"


def _duplicates(rows: Iterable[Row]) -> Iterator[Wrong]:
    seen: dict[tuple[str, str], str] = {}
    for row in rows:
        for what, value in (("uid", row.uid), ("record", row.record_sha256)):
            if not value:
                continue
            other = seen.setdefault((what, value), row.run)
            if other != row.run:
                yield Wrong("RECORD_DUPLICATE", row.run, f"has the {what} {value}, as {other} has.")


def _counts(plan: Plan, ledger: Ledger, rows: tuple[Row, ...]) -> Iterator[Wrong]:
    """The sum that the ledger wrote down at the end against the schedule and the ledger's own entries."""
    if ledger.complete is None or ledger.complete.counts is None:
        return
    outcomes: dict[str, int] = {}
    for entry in ledger.records.values():
        outcomes[entry.outcome] = outcomes.get(entry.outcome, 0) + 1
    ours = outcomes | {
        "scheduled": len(plan.schedule.entries),
        "replacements": sum(row.replaces is not None for row in rows),
        "notRun": sum(row.outcome == "not_run" for row in rows),
    }
    theirs = {key: value for key, value in ledger.complete.counts.items() if value}
    if {key: value for key, value in ours.items() if value} != theirs:
        yield Wrong("COUNTS_DISAGREE", "ledger", f"says {_sorted(theirs)} where there are {_sorted(ours)}.")


def _sorted(counts: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {counts[name]}" for name in sorted(counts) if counts[name])


def _declared(plan: Plan) -> set[str]:
    declared = {one["aspect"] for one in plan.spec["constitution"].get("confounders", ())}
    return {what for what, aspect in EXPLAINED_BY.items() if aspect in declared}
