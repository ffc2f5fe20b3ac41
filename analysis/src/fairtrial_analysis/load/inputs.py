"""Preregistration, ledger and corrections: read, checked, and what is wrong with them. Pure, given their bytes."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fairtrial import documents
from fairtrial.cohort.ledger import Ledger, LedgerPage
from fairtrial.cohort.preregistration import schedule_in, spec_in, verify
from fairtrial.cohort.schedule import Entry, Schedule
from fairtrial.errors import DigestMismatch, InvalidInput
from fairtrial.evidence.correction import Correction, Superseded, check_chain
from fairtrial_analysis.rule.model import DecisionRule, rule_of_spec

JsonObject = dict[str, Any]
Fixture = tuple[str, str, str]  # name, public and sealed digest of a task as a candidate gets it


@dataclass(frozen=True)
class Wrong:
    """One integrity error: a stable code, where, and what. Reported, never dropped."""

    code: str
    where: str
    says: str

    def __str__(self) -> str:
        return f"{self.code} {self.where}: {self.says}"


@dataclass(frozen=True)
class Plan:
    """What was fixed before the first run."""

    document: JsonObject
    sha256: str
    schedule: Schedule
    rule: DecisionRule | None
    treatment: str | None
    control: str | None
    configurations: Mapping[str, str]  # candidate → SHA-256 of its configuration
    places: Mapping[int, int]  # index in the schedule → place in its block, from 1
    schedule_by_run: Mapping[str, Entry]
    fixtures: Mapping[tuple[str, str], Fixture]  # by task and candidate

    @property
    def cohort(self) -> tuple[str, str, str]:
        """Namespace, name and UID."""
        named = self.document["cohort"]
        return named["namespace"], named["name"], named["uid"]

    @property
    def spec(self) -> JsonObject:
        """The frozen spec, as JSON."""
        found: JsonObject = self.document["spec"]
        return found

    @property
    def arms(self) -> tuple[str, ...]:
        """Treatment, control, then all others in the order of their names."""
        first = [each for each in (self.treatment, self.control) if each]
        return (*first, *(each for each in self.schedule.candidates if each not in first))


def plan_of(data: bytes) -> tuple[Plan, list[Wrong]]:
    """The preregistration; InvalidInput if nothing can be made of it, errors if it contradicts itself."""
    wrong = [Wrong("PREREGISTRATION_CONTRADICTORY", each.field, each.message) for each in verify(data)]
    try:
        held: JsonObject = documents.load(JsonObject, data, name="preregistration")
        schedule = schedule_in(held)
        spec_in(held)  # all that follows, and the report, rely on its shape
        roles = {one["name"]: one.get("role") for one in held["candidates"]}
        treatments, controls = ([name for name, role in sorted(roles.items()) if role == wanted] for wanted in
                                ("treatment", "control"))  # fmt: skip
        pair = (treatments[0], controls[0]) if treatments and controls else (None, None)
        spec = held["spec"]
        raw = spec.get("decisionRule")
        rule = rule_of_spec(raw, *pair) if raw and pair[0] and pair[1] else None
        places = {entry.index: place for block in schedule.blocks for place, entry in enumerate(block, start=1)}
        configurations = {one["name"]: one["configurationSha256"] for one in held["candidates"]}
        fixtures = _fixtures(held, schedule)
        if not all(isinstance(held["cohort"][key], str) for key in ("namespace", "name", "uid")):
            raise InvalidInput("cohort: namespace, name and uid are text.")
    except (InvalidInput, KeyError, TypeError, IndexError) as error:
        raise InvalidInput(
            f"preregistration: can't be read: {error!s}.",
            next_move="Fetch it again; without it nothing says which records there must be.",
        ) from error
    plan = Plan(
        held,
        hashlib.sha256(data).hexdigest(),
        schedule,
        rule,
        pair[0],
        pair[1],
        configurations,
        places,
        schedule.by_run,
        fixtures,
    )
    return plan, wrong


def _fixtures(held: JsonObject, schedule: Schedule) -> dict[tuple[str, str], Fixture]:
    """What each candidate gets of each task; KeyError where the schedule names a task that there is not."""
    tasks = {one["name"]: one for one in held["tasks"]}
    found = {}
    for task, candidate in {(entry.task, entry.candidate) for entry in schedule.entries}:
        own = {one["candidate"]: one for one in tasks[task].get("variants", ())}
        mine = own.get(candidate, tasks[task])
        found[task, candidate] = (mine["name"], mine["publicSha256"], mine["sealedSha256"])
    return found


@dataclass
class Book:
    """The ledger as far as it can be read, and when its last page was written."""

    ledger: Ledger
    at: str = ""
    wrong: list[Wrong] = field(default_factory=list)


def book_of(plan: Plan, pages: Iterable[bytes], size: int | None = None) -> Book:
    """The ledger of the cohort. What follows a page that does not fit can't be trusted and is not read."""
    _, name, uid = plan.cohort
    book, given = Book(Ledger(name, uid)), iter(pages)
    while True:
        try:
            data = next(given, None)
            if data is None:
                break
            page: LedgerPage = documents.load(LedgerPage, data, name=f"ledger page {book.ledger.size + 1}")
            if page.to_bytes() != data:
                book.wrong.append(Wrong("LEDGER_NOT_CANONICAL", str(book.ledger.size + 1), "is not in canonical form."))
            book.ledger.take(data)
        except (InvalidInput, DigestMismatch) as error:
            book.wrong.append(Wrong("LEDGER_BROKEN", str(book.ledger.size + 1), str(error)))
            break
        book.at = page.at
    book.wrong += _ledger_problems(plan, book.ledger, size)
    return book


def _ledger_problems(plan: Plan, ledger: Ledger, size: int | None) -> list[Wrong]:
    wrong = []
    if ledger.sealed is None:
        wrong.append(Wrong("LEDGER_UNSEALED", "1", "no entry says that the cohort was sealed."))
    elif ledger.sealed.sha256 != plan.sha256:
        says = f"sealed {ledger.sealed.sha256}, but the preregistration has {plan.sha256}."
        wrong.append(Wrong("PREREGISTRATION_DIGEST", "preregistration", says))
    if size is not None and ledger.size != size:
        says = f"has {ledger.size} entries where {size} were to be analysed."
        wrong.append(Wrong("LEDGER_SIZE", str(ledger.size), says))
    if ledger.complete is None:
        says = "the ledger does not say that the cohort is complete."
        wrong.append(Wrong("COHORT_INCOMPLETE", "ledger", says))
    return wrong


def entry_of(plan: Plan, ledger: Ledger, run: str) -> Entry | None:
    """The entry of the schedule that a run carries out; a replacement's is that of the run it stands in for."""
    entries, seen = plan.schedule_by_run, set[str]()
    while run not in entries:
        granted = ledger.replaces.get(run)
        if granted is None or run in seen:
            return None
        seen.add(run)
        run = granted.run
    return entries[run]


def corrections_of(plan: Plan, ledger: Ledger, given: Sequence[bytes]) -> tuple[list[Correction], list[Wrong]]:
    """The corrections that the ledger names, in their order; none of them if anything is wrong with any.

    One that the ledger does not name yet was made while this analysis was under way: the next one reads it.
    """
    named = [entry.sha256 for entry in ledger.corrections]
    known = list(given[: len(named)])
    wrong = []
    for number, sha256 in enumerate(named, start=1):
        if number > len(known):
            wrong.append(Wrong("CORRECTION_NOT_STORED", str(number), "the ledger names it, and it is not there."))
        elif hashlib.sha256(known[number - 1]).hexdigest() != sha256:
            wrong.append(Wrong("CORRECTION_DIGEST", str(number), "is not the one that the ledger names."))
    records = {run: Superseded(run, one.uid, one.sha256, one.index) for run, one in ledger.records.items()}
    found, faults = check_chain(known, plan.cohort, plan.sha256, records)
    wrong += [Wrong(fault.code, str(fault.number), fault.says) for fault in faults]
    return ([], wrong) if wrong else (found, [])
