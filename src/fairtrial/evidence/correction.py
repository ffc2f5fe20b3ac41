"""Corrections: documents that name a record by its SHA-256 and say what about it is wrong, or that it may not count.

A record is never changed. Corrections of a cohort are numbered from 1 and chained by SHA-256, and each names what it
supersedes: the record, or the correction of it that came before. A gap, a fork, a cycle or a digest that does not agree
is refused as a whole. What a run was, where it belongs and whether it succeeded can't be corrected: a run that was
judged wrongly is voided, which leaves its place in the schedule empty. Standard library only: verifiers read it too.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from fairtrial import documents
from fairtrial.errors import InvalidInput

Role = Literal["studyOwner", "operator", "evaluator", "analysis", "auditor"]
Reason = Literal[
    "wrong_classification",  # category, tags or cause, never whether it passed
    "wrong_measurement",
    "wrong_telemetry",
    "wrong_environment",
    "solution_accessed",
    "wrong_configuration",
    "evaluator_defect",
    "task_defect",
    "provider_defect",
    "protocol_deviation",
    "other",
]
REASONS: tuple[str, ...] = get_args(Reason)
_FIXED = ("schemaVersion", "identity", "lineage", "artifacts", "classification.outcome", "classification.invalidity")


@dataclass(frozen=True)
class Superseded:
    """The record that is meant, and the correction of it that this one takes the place of, if there is one."""

    run: str
    uid: str
    record_sha256: str
    index: int  # place in the schedule, which stays
    correction_sha256: str = ""


@dataclass(frozen=True)
class Change:
    """One field of the record, as `usage.totalTokens`, with the whole value before and after."""

    field: str
    before: Any
    after: Any


@dataclass(frozen=True)
class Shown:
    """A document that shows that the correction is right."""

    uri: str
    sha256: str
    says: str = ""


@dataclass(frozen=True)
class Correction:
    """One correction, void or deviation. A deviation changes nothing; it tells what went otherwise than planned."""

    number: int
    kind: Literal["correction", "void", "deviation"]
    namespace: str
    cohort: str
    uid: str
    preregistration_sha256: str
    previous_sha256: str  # of correction number - 1; empty in the first
    reason: Reason
    says: str
    role: Role
    at: str
    supersedes: Superseded | None = None  # a deviation may concern the cohort as a whole
    changes: list[Change] = field(default_factory=list)
    evidence: list[Shown] = field(default_factory=list)
    schema_version: Literal[1] = 1

    def to_bytes(self) -> bytes:
        """The canonical bytes; their SHA-256 is what the ledger and later corrections name."""
        return documents.dump(self)

    @property
    def sha256(self) -> str:
        """SHA-256 of the canonical bytes."""
        return hashlib.sha256(self.to_bytes()).hexdigest()


@dataclass(frozen=True)
class Fault:
    """Why the corrections can't be used, as a stable code, and which of them is meant."""

    code: str
    number: int
    says: str


def load_correction(data: bytes, *, name: str = "correction") -> Correction:
    """Read a correction strictly; InvalidInput with the field that does not fit."""
    made: Correction = documents.load(Correction, data, name=name)
    if made.kind == "deviation" and made.changes:
        raise InvalidInput(f"{name}: changes: a deviation changes nothing; make a correction of it.")
    if made.kind != "deviation" and made.supersedes is None:
        raise InvalidInput(f"{name}: supersedes: a {made.kind} names the record that it is about.")
    if (made.kind == "correction") != bool(made.changes):
        raise InvalidInput(f"{name}: changes: a correction has at least one, a {made.kind} none.")
    for change in made.changes:
        if _fixed(change.field):
            raise InvalidInput(
                f"{name}: changes: {change.field} can't be corrected.",
                next_move="Void the run if what it is or how it ended was recorded wrongly.",
            )
    return made


def _fixed(path: str) -> bool:
    """Whether a field can't be corrected, lies inside one that can't, or holds one."""
    return any(f"{path}.".startswith(f"{fixed}.") or fixed.startswith(f"{path}.") for fixed in _FIXED)


def run_of(data: bytes) -> str:
    """The run that a correction is about; empty where it is about none, or can't be read."""
    try:
        named = load_correction(data).supersedes
    except InvalidInput:
        return ""
    return named.run if named is not None else ""


def check_chain(
    given: Sequence[bytes], cohort: tuple[str, str, str], preregistration_sha256: str, records: Mapping[str, Superseded]
) -> tuple[list[Correction], list[Fault]]:
    """All corrections in their order, and what is wrong with the chain. `records` is what names each run's record.

    `cohort` is namespace, name and UID. With any fault none of the corrections may be used.
    """
    found: list[Correction] = []
    faults: list[Fault] = []
    digests = [hashlib.sha256(data).hexdigest() for data in given]
    latest: dict[str, str] = {}  # by run: the correction that stands
    for number, data in enumerate(given, start=1):
        try:
            one = load_correction(data, name=f"correction {number}")
        except InvalidInput as error:
            faults.append(Fault("CORRECTION_UNREADABLE", number, str(error)))
            continue
        found.append(one)
        if one.to_bytes() != data:
            faults.append(Fault("CORRECTION_NOT_CANONICAL", number, "is not in its canonical form."))
        faults += _place(one, number, digests[number - 2] if number > 1 else "")
        if (one.namespace, one.cohort, one.uid) != cohort or one.preregistration_sha256 != preregistration_sha256:
            faults.append(Fault("CORRECTION_FOREIGN", number, "is of another cohort or preregistration."))
        if one.supersedes is not None:
            faults += _superseded(one.supersedes, number, digests, latest, records)
            latest[one.supersedes.run] = digests[number - 1]
    return found, faults


def apply(record: dict[str, Any], changes: Sequence[Change], *, name: str = "correction") -> dict[str, Any]:
    """The record as JSON with these fields changed; InvalidInput where it does not hold what they say was before."""
    made = record
    for change in changes:
        made = _changed(made, change.field.split("."), change, name)
    return made


def _place(one: Correction, number: int, previous: str) -> list[Fault]:
    faults = []
    if one.number != number:
        faults.append(Fault("CORRECTION_GAP", number, f"calls itself number {one.number}."))
    if one.previous_sha256 != previous:
        says = f"follows {one.previous_sha256 or 'nothing'}, not {previous or 'nothing'}."
        faults.append(Fault("CORRECTION_CHAIN", number, says))
    return faults


def _superseded(
    named: Superseded, number: int, digests: Sequence[str], latest: Mapping[str, str], records: Mapping[str, Superseded]
) -> list[Fault]:
    faults = []
    if named.run not in records:
        return [Fault("CORRECTION_OF_NOTHING", number, f"supersedes {named.run}, of which there is no record.")]
    there = records[named.run]
    if replace(named, correction_sha256="") != there:
        said, has = (f"{one.record_sha256} ({one.uid}, place {one.index})" for one in (named, there))
        faults.append(Fault("CORRECTION_DIGEST", number, f"supersedes record {said}, but {named.run} has {has}."))
    stands = latest.get(named.run, "")
    if named.correction_sha256 != stands:
        before, later = digests[: number - 1], digests[number - 1 :]
        code = "CORRECTION_CYCLE" if named.correction_sha256 in later else "CORRECTION_MISSING"
        if named.correction_sha256 in before or not named.correction_sha256:
            code = "CORRECTION_FORK"
        says = f"takes the place of {named.correction_sha256 or 'the record'}, where {stands or 'the record'} stands."
        faults.append(Fault(code, number, says))
    return faults


def _changed(value: Any, path: list[str], change: Change, name: str) -> Any:
    if not path:
        if value != change.before:
            raise InvalidInput(f"{name}: changes: {change.field}: before is not what the record has.")
        return change.after
    if not isinstance(value, dict) or path[0] not in value:
        raise InvalidInput(f"{name}: changes: {change.field}: the record has no such field.")
    return value | {path[0]: _changed(value[path[0]], path[1:], change, name)}
