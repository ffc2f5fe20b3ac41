"""Corrections: numbered and chained, each superseding a record or the correction of it that stood; none hides it."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from fairtrial.audit import schema
from fairtrial.audit.documents import reading, value_of
from fairtrial.audit.findings import Findings
from fairtrial.audit.folder import Folder
from fairtrial.audit.ledger import Ledger
from fairtrial.audit.preregistration import Plan

FOLDER = "data/corrections/"
JsonObject = dict[str, Any]
_FIELDS = {
    "number", "kind", "namespace", "cohort", "uid", "preregistrationSha256", "previousSha256", "reason", "says",
    "role", "at", "supersedes", "changes", "evidence", "schemaVersion",
}  # fmt: skip
_FIXED = ("schemaVersion", "identity", "lineage", "artifacts", "classification.outcome", "classification.invalidity")
KINDS = ("correction", "void", "deviation")


@dataclass
class Corrections:
    """All of them in their order; and by run those that stand, which may only be used where nothing is wrong."""

    documents: list[tuple[int, JsonObject]] = field(default_factory=list)
    usable: bool = True


@dataclass
class _Chain:
    """What was seen so far."""

    digests: list[str]
    latest: dict[str, str] = field(default_factory=dict)  # by run: the correction that stands


def read(folder: Folder, plan: Plan, ledger: Ledger) -> Corrections:
    """The corrections of a package, with findings for a gap, a fork, a cycle, or a digest that does not agree."""
    made, findings = Corrections(), folder.findings
    paths = list(folder.below(FOLDER))
    data = [folder.read(path) or b"" for path in paths]
    chain = _Chain([hashlib.sha256(one).hexdigest() for one in data])
    before = len(findings.found)
    named = {str(entry["sha256"]) for entry in ledger.corrections}
    for number, (path, one) in enumerate(zip(paths, data, strict=True), 1):
        with reading(findings, path):
            document = value_of(one, path, findings)
            if path != f"{FOLDER}{number:08d}.json":
                findings.add("CORRECTION_GAP", path, f"Correction {number} belongs here.")
            if chain.digests[number - 1] not in named:
                findings.add("CORRECTION_NOT_IN_LEDGER", path, "The ledger does not name it.")
            for code, says in _problems(document, number, chain, plan, ledger):
                findings.add(code, path, says)
            made.documents.append((number, document))
    _missing(named - set(chain.digests), ledger, findings)
    made.usable = len(findings.found) == before
    return made


def _missing(digests: set[str], ledger: Ledger, findings: Findings) -> None:
    for entry in ledger.corrections:
        if entry["sha256"] in digests:
            says = f"Entry {entry.number} of the ledger names correction {entry['sha256']}, which is not there."
            findings.add("LEDGER_SUBJECT_MISSING", FOLDER, says)


def _problems(one: Any, number: int, chain: _Chain, plan: Plan, ledger: Ledger) -> Iterator[tuple[str, str]]:
    if not isinstance(one, dict) or one.get("schemaVersion") != 1:
        yield "VERSION_UNKNOWN", "Is no correction of schema version 1."
        return
    if set(one) - _FIELDS or one["kind"] not in KINDS:
        yield "CORRECTION_UNREADABLE", f"Has unknown fields or kind: {sorted(set(one) - _FIELDS)}, {one['kind']}."
    if (one["kind"] == "correction") != bool(one.get("changes")):
        yield "CORRECTION_UNREADABLE", "A correction has changes, and nothing else does."
    if one["number"] != number:
        yield "CORRECTION_GAP", f"Calls itself number {one['number']}."
    if one["previousSha256"] != (chain.digests[number - 2] if number > 1 else ""):
        yield "CORRECTION_CHAIN", f"Follows {one['previousSha256'] or 'nothing'}."
    owner = (one["namespace"], one["cohort"], one["uid"], one["preregistrationSha256"])
    if owner != (plan.namespace, plan.cohort, plan.uid, plan.sha256):
        yield "CORRECTION_FOREIGN", f"Is of {owner[0]}/{owner[1]} ({owner[2]})."
    for change in one.get("changes") or ():
        path = f"{change['field']}."
        if any(path.startswith(f"{fixed}.") or f"{fixed}.".startswith(path) for fixed in _FIXED):
            yield "CORRECTION_CHANGES", f"{change['field']} can't be corrected: void the run."
    if one.get("supersedes") is not None:
        yield from _superseded(one["supersedes"], number, chain, ledger)
    elif one["kind"] != "deviation":
        yield "CORRECTION_UNREADABLE", "Does not name what it supersedes."


def _superseded(named: JsonObject, number: int, chain: _Chain, ledger: Ledger) -> Iterator[tuple[str, str]]:
    run, over, stands = named["run"], named.get("correctionSha256", ""), chain.latest.get(named["run"], "")
    entry = ledger.records.get(run)
    chain.latest[run] = chain.digests[number - 1]
    if entry is None:
        yield "CORRECTION_OF_NOTHING", f"Supersedes {run}, of which there is no record."
        return
    if (named["recordSha256"], named["uid"], named["index"]) != (entry["sha256"], entry["uid"], entry["index"]):
        yield "CORRECTION_DIGEST", f"Supersedes another record than {run} has."
    if over == stands:
        return
    if over in chain.digests[number - 1 :]:
        yield "CORRECTION_CYCLE", "Takes the place of a correction that comes after it."
    elif over in chain.digests or not over:
        yield "CORRECTION_FORK", "Takes the place of what another correction has taken it of."
    else:
        yield "CORRECTION_MISSING", f"Takes the place of {over}, which is not there."


@dataclass(frozen=True)
class Corrected:
    """The records as corrections have them, and which corrections each run has."""

    records: Mapping[str, JsonObject]
    numbers: Mapping[str, list[int]]


def corrected(records: Mapping[str, JsonObject], found: Corrections, findings: Findings) -> Corrected:
    """Every correction made, one after the other. A run that is void keeps what it was, and has the outcome `void`.

    Where one does not fit the record, that run's record stands as it was written.
    """
    by_run: dict[str, list[tuple[int, JsonObject]]] = {}
    for number, one in found.documents if found.usable else ():
        run = (one.get("supersedes") or {}).get("run", "")
        if run in records and one["kind"] != "deviation":
            by_run.setdefault(run, []).append((number, one))
    made, numbers = dict(records), dict[str, list[int]]()
    for run, ours in by_run.items():
        record = _applied(records[run], ours, findings)
        if record is not None:
            made[run], numbers[run] = record, [number for number, _ in ours]
    return Corrected(made, numbers)


def _applied(record: JsonObject, ours: list[tuple[int, JsonObject]], findings: Findings) -> JsonObject | None:
    for number, one in ours:
        path = f"{FOLDER}{number:08d}.json"
        for change in one.get("changes") or ():
            keys = change["field"].split(".")
            if _value(record, keys) != change["before"]:
                findings.add("CORRECTION_CHANGES", path, f"{change['field']} was never what it says it was.")
                return None
            record = _changed(record, keys, change["after"])
        if wrong := next(schema.problems(record, schema.record_schema()), ""):
            findings.add("CORRECTION_CHANGES", path, f"What it makes is no record: {wrong}.")
            return None
    return _void(record) if any(one["kind"] == "void" for _, one in ours) else record


def _void(record: JsonObject) -> JsonObject:
    return _changed(record, ["classification", "outcome"], "void")


def _value(value: Any, path: list[str]) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _changed(value: JsonObject, path: list[str], after: Any) -> JsonObject:
    made: JsonObject = value | {path[0]: after if len(path) == 1 else _changed(value[path[0]], path[1:], after)}
    return made
