"""`fairtrial correct`: a correction, void or deviation of a complete cohort, as the next document of its chain.

Nothing is changed: the record stays, and the correction names it by its SHA-256. Everything that a reader will check is
checked here first, so that no document is stored that would make the cohort's evidence refuse itself.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import reduce
from pathlib import Path
from typing import Any, Literal, cast

from fairtrial import documents, names
from fairtrial.cli.book import Book, book_of
from fairtrial.cohort.ledger import Ledger
from fairtrial.errors import Conflict, InvalidInput
from fairtrial.evidence.correction import REASONS, Change, Correction, Reason, Shown, Superseded, apply, check_chain

_ROLE: Literal["studyOwner"] = "studyOwner"


@dataclass(frozen=True)
class Wanted:
    """What somebody wants to correct. `sets` are `field=JSON`; without a run, a deviation of the whole cohort."""

    kind: Literal["correction", "void", "deviation"]
    reason: Reason
    says: str
    run: str = ""
    sets: Sequence[str] = ()
    evidence: Sequence[Path] = ()


def wanted_of(reason: str, says: str, run: str, sets: Sequence[str], evidence: Sequence[Path], *, void: bool) -> Wanted:
    """What the options mean; InvalidInput where they contradict each other."""
    if reason not in REASONS:
        raise InvalidInput(f"--reason {reason!r}: must be one of {', '.join(REASONS)}.")
    if not says.strip():
        raise InvalidInput("--says: is empty.", next_move="Say why in a sentence: it stands in the report.")
    if void and sets:
        raise InvalidInput("--void and --set: a run that does not count has nothing to correct.")
    if (void or sets) and not run:
        raise InvalidInput("--run: is missing.", next_move="Name the run whose record is meant.")
    kind: Literal["correction", "void", "deviation"] = "correction" if sets else "void" if void else "deviation"
    return Wanted(kind, cast("Reason", reason), says, run, sets, evidence)


def run(name: str, wanted: Wanted, namespace: str, context: str | None, *, dry_run: bool) -> Iterator[str]:
    """Make the correction of a cohort on a cluster; tells what it is and what follows."""
    book = book_of(name, namespace, context)
    made = correction(book, wanted, datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
    yield json.dumps(documents.to_json(made), indent=2, ensure_ascii=False)
    if dry_run:
        return
    key = keep(book, made)
    yield f"{key} sha256:{made.sha256}"
    again = f"{names.ANALYSE_ANNOTATION}=$(date +%s)"
    yield f"Analyse again: kubectl annotate --overwrite bcohort {name} -n {namespace} {again}"


def correction(book: Book, wanted: Wanted, at: str) -> Correction:
    """The next correction of the chain, checked as a reader will; InvalidInput with what does not fit."""
    ledger, given = book.ledger(), book.corrections()
    if ledger.complete is None:
        raise InvalidInput(
            f"cohort {book.cohort}: is not complete; corrections come after the last run.",
            next_move="Wait for its condition Complete.",
        )
    records = {run: Superseded(run, one.uid, one.sha256, one.index) for run, one in ledger.records.items()}
    earlier, faults = _checked(book, given, records)
    if faults:
        raise InvalidInput(f"cohort {book.cohort}: its corrections can't be used as they are: {faults[0]}")
    made = Correction(
        number=len(given) + 1,
        kind=wanted.kind,
        namespace=book.namespace,
        cohort=book.cohort,
        uid=book.uid,
        preregistration_sha256=book.preregistration_sha256,
        previous_sha256=hashlib.sha256(given[-1]).hexdigest() if given else "",
        reason=wanted.reason,
        says=wanted.says,
        role=_ROLE,
        at=at,
        supersedes=_superseded(ledger, wanted.run, earlier) if wanted.run else None,
        changes=_changes(book, ledger, wanted, earlier),
        evidence=[_shown(path) for path in wanted.evidence],
    )
    _, faults = _checked(book, [*given, made.to_bytes()], records)
    if faults:
        raise InvalidInput(f"this correction would not be accepted: {faults[0]}")
    return made


def keep(book: Book, made: Correction) -> str:
    """Store it under its number, which only one can have; where it lies."""
    key = book.keys.correction(made.number)
    try:
        book.store.put(key, made.to_bytes(), media_type="application/json")
    except Conflict as error:
        raise InvalidInput(
            f"{key}: somebody else made correction {made.number} meanwhile.", next_move="Look at theirs, and try again."
        ) from error
    return key


def _checked(book: Book, given: Sequence[bytes], records: dict[str, Superseded]) -> tuple[list[Correction], list[str]]:
    cohort = (book.namespace, book.cohort, book.uid)
    found, faults = check_chain(given, cohort, book.preregistration_sha256, records)
    return found, [f"{fault.code}: correction {fault.number} {fault.says}" for fault in faults]


def _superseded(ledger: Ledger, run: str, earlier: Sequence[Correction]) -> Superseded:
    entry = ledger.records.get(run)
    if entry is None:
        raise InvalidInput(
            f"--run {run}: the ledger has no record of it.", next_move="Name a run as the schedule does."
        )
    stands = [one for one in earlier if one.supersedes is not None and one.supersedes.run == run]
    return Superseded(run, entry.uid, entry.sha256, entry.index, stands[-1].sha256 if stands else "")


def _changes(book: Book, ledger: Ledger, wanted: Wanted, earlier: Sequence[Correction]) -> list[Change]:
    if not wanted.sets:
        return []
    before = [one.changes for one in earlier if one.supersedes is not None and one.supersedes.run == wanted.run]
    record = reduce(apply, before, book.record(wanted.run, ledger.records[wanted.run].uid))
    made = []
    for text in wanted.sets:
        field, equals, value = text.partition("=")
        if not equals or not field:
            raise InvalidInput(f"--set {text!r}: must be FIELD=JSON, such as usage.totalTokens.value=1200.")
        try:
            after = documents.load(dict[str, Any], f'{{"value":{value}}}', name=f"--set {field}")["value"]
        except InvalidInput as error:
            raise InvalidInput(f"--set {field}: {value!r} is not JSON.", next_move="Put text in quotes.") from error
        made.append(Change(field, _value(record, field), after))
    return made


def _value(record: dict[str, Any], field: str) -> Any:
    found: Any = record
    for key in field.split("."):
        if not isinstance(found, dict) or key not in found:
            raise InvalidInput(f"--set {field}: the record has no such field.", next_move="See: fairtrial record RUN")
        found = found[key]
    return found


def _shown(path: Path) -> Shown:
    try:
        return Shown(f"file:{path.name}", hashlib.sha256(path.read_bytes()).hexdigest())
    except OSError as error:
        raise InvalidInput(f"--evidence {path}: can't be read: {error}.") from error
