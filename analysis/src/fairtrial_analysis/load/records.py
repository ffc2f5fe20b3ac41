"""One record against what ledger and schedule say of it, with its corrections: a row, and what is wrong. Pure."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from fairtrial import documents
from fairtrial.cohort.ledger import LedgerEntry
from fairtrial.cohort.schedule import Entry
from fairtrial.errors import InvalidInput
from fairtrial.evidence.correction import Correction, apply
from fairtrial.evidence.record_model import Record, load_record
from fairtrial_analysis.load.inputs import Plan, Wrong
from fairtrial_analysis.load.rows import Row, row_of, unrun


@dataclass(frozen=True)
class Expected:
    """What a record must be: what the ledger says, its entry of the schedule, and whose place it takes, if any's."""

    plan: Plan
    said: LedgerEntry
    entry: Entry
    grant: LedgerEntry | None

    @property
    def place(self) -> int:
        """In its block."""
        return self.plan.places[self.entry.index]


@dataclass(frozen=True)
class Read:
    """The row, the row without corrections where there are any, and what is wrong."""

    row: Row
    wrong: list[Wrong]
    uncorrected: Row | None = None


def read_record(data: bytes | None, expected: Expected, corrections: Sequence[Correction]) -> Read:
    """The row of a record; a void one, with the error, where it can't be trusted."""
    said, plan = expected.said, expected.plan
    if data is None:
        return refused(expected, "RECORD_NOT_STORED", "the ledger names it, and it is not there.")
    sha256 = hashlib.sha256(data).hexdigest()
    if sha256 != said.sha256:
        return refused(expected, "RECORD_DIGEST", f"has SHA-256 {sha256}, but the ledger says {said.sha256}.")
    try:
        record = load_record(data, name=said.run)
    except InvalidInput as error:
        return refused(expected, "RECORD_UNREADABLE", str(error))
    wrong = [Wrong(code, said.run, says) for code, says in _misfits(record, data, expected)]
    accounted = plan.rule.accounted_tokens if plan.rule else "all_tokens"
    row = row_of(record, sha256, expected.entry, expected.place, accounted)
    if wrong:
        return Read(replace(row, outcome="void", observed=None, reason=wrong[0].code.lower(), integrity=True), wrong)
    if not corrections:
        return Read(row, [])
    try:
        return Read(_corrected(data, row, expected, corrections, accounted), [], row)
    except InvalidInput as error:
        return Read(row, [Wrong("CORRECTION_UNFIT", said.run, str(error))])


def _corrected(data: bytes, row: Row, expected: Expected, corrections: Sequence[Correction], accounted: str) -> Row:
    """The row of the record as corrected; a void takes it out of the valid ones and keeps what it was."""
    raw = documents.load(dict, data, name=expected.said.run)
    for one in corrections:
        raw = apply(raw, one.changes, name=f"correction {one.number}")
    record = load_record(documents.dump(raw), name=f"{expected.said.run} as corrected")
    made = row_of(record, row.record_sha256, expected.entry, expected.place, accounted)
    void = next((one for one in reversed(corrections) if one.kind == "void"), None)
    numbers = tuple(one.number for one in corrections)
    if void is None:
        return replace(made, corrected=numbers)
    return replace(made, corrected=numbers, outcome="void", observed=None, reason=void.reason, message=void.says)


def refused(expected: Expected, code: str, says: str) -> Read:
    """The void row of a record that can't be trusted, and the error."""
    row = unrun(expected.entry, expected.place, code.lower())
    void = replace(
        row,
        run=expected.said.run,
        uid=expected.said.uid,
        outcome="void",
        replaces=expected.grant.run if expected.grant else None,
        record_sha256=expected.said.sha256,
        integrity=True,
    )
    return Read(void, [Wrong(code, expected.said.run, says)])


def _misfits(record: Record, data: bytes, expected: Expected) -> Iterator[tuple[str, str]]:
    """Everything in which a record is not what the ledger, the schedule or the preregistration says."""
    plan, said, entry = expected.plan, expected.said, expected.entry
    identity, lineage = record.identity, record.lineage
    if record.to_bytes() != data:
        yield "RECORD_NOT_CANONICAL", "is not in its canonical form."
    namespace, cohort, _ = plan.cohort
    if (identity.run, identity.uid) != (said.run, said.uid):
        yield "RECORD_FOREIGN", f"is the record of {identity.run} ({identity.uid})."
    if (identity.namespace, lineage.cohort) != (namespace, cohort):
        yield "RECORD_FOREIGN", f"is of {identity.namespace}/{lineage.cohort}."
    if lineage.preregistration_sha256 != plan.sha256:
        yield "RECORD_FOREIGN", f"follows preregistration {lineage.preregistration_sha256}, not {plan.sha256}."
    place = (identity.candidate, identity.repetition, identity.block, lineage.schedule_index)
    if place != (entry.candidate, entry.repetition, entry.block, entry.index):
        yield "RECORD_MISPLACED", f"is not the run that the schedule has at {entry.index}."
    yield from _of_task(record, expected)
    replaced = (lineage.replaces.name, lineage.replaces.uid) if lineage.replaces else None
    granted = (expected.grant.run, expected.grant.uid) if expected.grant else None
    if replaced != granted:
        yield "RECORD_LINEAGE", f"replaces {replaced}, where the ledger has {granted}."
    found = record.classification
    told = (found.outcome, found.invalidity or "", found.reason)
    if told != (said.outcome, said.invalidity, said.reason):
        yield "RECORD_DISAGREES", f"says {told}, the ledger {(said.outcome, said.invalidity, said.reason)}."


def _of_task(record: Record, expected: Expected) -> Iterator[tuple[str, str]]:
    plan, entry, task = expected.plan, expected.entry, record.identity.task
    name, public, sealed = plan.fixtures[entry.task, entry.candidate]
    if task.name != name:
        yield "RECORD_MISPLACED", f"is of task {task.name}, not {name}."
    for told, wanted in ((task.public_sha256, public), (task.sealed_sha256, sealed)):
        if told.value is not None and told.value != wanted:
            yield "RECORD_CONFIGURATION", f"used archive {told.value}, not {wanted}."
    if record.configuration.configuration_sha256 != plan.configurations.get(entry.candidate):
        yield "RECORD_CONFIGURATION", f"ran configuration {record.configuration.configuration_sha256}."
