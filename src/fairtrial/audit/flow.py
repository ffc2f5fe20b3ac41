"""Everything planned is accounted for: from the schedule to the ledger to the records, never from a listing of files.

Each entry of the schedule leads to one run; an invalid one may lead to a replacement, if the sealed policy allows it
and the decision stands in the ledger before the replacement was admitted. Whatever is left over was not planned.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fairtrial.audit import replacing, schedule
from fairtrial.audit.documents import reading
from fairtrial.audit.findings import Findings
from fairtrial.audit.folder import Folder
from fairtrial.audit.ledger import Entry, Ledger
from fairtrial.audit.preregistration import Plan, Slot

RUNS = "data/runs/"
VALID = ("passed", "failed")
Records = Mapping[str, dict[str, Any]]  # by run


@dataclass(frozen=True)
class Placed:
    """A run and the entry of the schedule that it stands for."""

    run: str
    slot: Slot
    number: int  # 0: the scheduled run itself; else which replacement of it
    replaces: str  # the run whose place it takes


@dataclass(frozen=True)
class Usable:
    """Whether a verdict may rest on plan, ledger, records and corrections; and which runs' records may not count."""

    whole: bool
    void: frozenset[str]  # the record is another one than the run's
    unread: frozenset[str]  # it is not the one that the ledger names, so nothing of it is used


def usable(findings: Findings, runs: Iterable[str]) -> Usable:
    """What may be used, by what was found so far."""
    wrong = {(one.path, one.code) for one in findings if _PAPERS.fullmatch(one.path)}
    void = {path for path, code in wrong if code in _SPOILS or code.startswith("JSON_")}
    unread = {path for path, code in wrong if code == "HASH_MISMATCH"}
    return Usable(
        all(code in _STILL_COUNTS for _, code in wrong),
        frozenset(run for run in runs if path_of(run) in void),
        frozenset(run for run in runs if path_of(run) in unread),
    )


_PAPERS = re.compile(r"data/(preregistration\.json|(ledger|corrections)/.*|runs/[^/]+/record\.json)")
# What makes a record another one than the run's: the run counts as void.
_SPOILS = frozenset({
    "HASH_MISMATCH", "VERSION_UNKNOWN", "FIELD_INVALID", "IDENTITY_MISMATCH", "COHORT_MISMATCH", "PREREG_CHANGED",
    "LINEAGE_MISMATCH", "ARM_MISMATCH", "TASK_MISMATCH", "LEDGER_SUBJECT_MISSING", "RECORD_DISAGREES",
})  # fmt: skip
# What is wrong with a record and does not make its run another one: it is told, and a verdict may rest on it.
_STILL_COUNTS = frozenset({
    "TIME_ORDER", "TEST_SET_MISMATCH", "IMAGE_MISMATCH", "EVAL_SUBJECT_MISMATCH", "OUTCOME_MISMATCH", "REASON_UNKNOWN",
})  # fmt: skip


def path_of(run: str) -> str:
    """Where a run's record lies."""
    return f"{RUNS}{run}/record.json"


def placed(plan: Plan, ledger: Ledger) -> dict[str, Placed]:
    """Every run that schedule and ledger lead to, by name."""
    made: dict[str, Placed] = {}
    for slot in plan.slots:
        run, number, replaces = slot.run, 0, ""
        while run and run not in made:
            made[run] = Placed(run, slot, number, replaces)
            decided = ledger.decisions.get(run)
            replaces, run, number = run, str(decided["by"]) if decided else "", number + 1
    return made


def check(folder: Folder, plan: Plan, ledger: Ledger, places: Mapping[str, Placed], records: Records) -> None:
    """All that is missing, left over, or was tried again without leave."""
    findings = folder.findings
    for run, place in places.items():
        for code, says in _accounted(place, ledger):
            findings.add(code, path_of(run), says)
        if place.number and path_of(run) in folder and path_of(place.replaces) not in folder:
            findings.add(
                "ATTEMPT_GAP", path_of(run), f"Takes the place of {place.replaces}, of which there is nothing."
            )
    there = {path.split("/")[2] for path in folder.below(RUNS)}
    for run in sorted(there | set(ledger.tickets) | set(ledger.records) | set(ledger.lost)):
        if run not in places:
            findings.add("SLOT_UNPLANNED", path_of(run), "No entry of the schedule and no decision leads to it.")
    for run in sorted(there - set(ledger.records)):
        findings.add("RUN_NOT_IN_LEDGER", path_of(run), "The ledger does not name it.")
    _replacements(plan, ledger, places, records, findings)
    _one_valid_each(places, records, findings)
    _counts(plan, ledger, places, findings)


def _accounted(place: Placed, ledger: Ledger) -> Iterator[tuple[str, str]]:
    run, stopped = place.run, "cancelled" in ledger.once
    ended = run in ledger.records or run in ledger.lost
    if run not in ledger.tickets and ended:
        yield "RUN_NO_TICKET", "The ledger has its end, and never admitted it."
    elif run not in ledger.tickets and not stopped:
        yield "SLOT_UNACCOUNTED", "It was to be run, and nothing says what became of it."
    elif run in ledger.tickets and not ended:
        yield "SLOT_UNACCOUNTED", "It was admitted, and nothing says what became of it."


def _replacements(
    plan: Plan, ledger: Ledger, places: Mapping[str, Placed], records: Records, findings: Findings
) -> None:
    """Each decision, in the order of the ledger, against what the policy makes of the record."""
    used: Counter[tuple[str, str]] = Counter()
    for run, entry in ledger.decisions.items():
        place, record, by = places.get(run), records.get(run), str(entry["by"])
        if place is None or record is None:
            continue
        cell = (place.slot.task, place.slot.candidate)
        with reading(findings, path_of(run)):
            code = replacing.decision(record, plan.reasons, used[cell], plan.max_per_cell)
            for found, says in _decision(code, str(entry["code"]), by, place, _stopped(ledger, entry)):
                findings.add(found, path_of(by or run), says)
        used[cell] += bool(by)
    for run, entry in ledger.records.items():
        if entry["outcome"] == "invalid" and run not in ledger.decisions and run in places:
            findings.add("DECISION_MISMATCH", path_of(run), "It was invalid, and nobody decided whether to replace it.")


def _decision(code: str, said: str, by: str, place: Placed, stopped: bool) -> Iterator[tuple[str, str]]:
    if by and code == "cell_used_up":
        yield "REPLACEMENT_CAP", f"It takes the place of {place.run}, whose cell had no replacement left."
    elif by and code != "allowed":
        yield "REPLACEMENT_NOT_ALLOWED", f"It takes the place of {place.run}, which may not be replaced: {code}."
    elif bool(by) != (said == "allowed") or (said != code and not (stopped and code == "allowed")):
        yield "DECISION_MISMATCH", f"The ledger decides {said}; the policy gives {code}."
    if by and by != schedule.replacement(place.slot.run, place.number + 1):
        yield "LINEAGE_MISMATCH", f"A replacement of {place.run} is not called that."


def _stopped(ledger: Ledger, entry: Entry) -> bool:
    """Whether the cohort was cancelled before this entry: nothing is granted from then on."""
    return "cancelled" in ledger.once and ledger.once["cancelled"].number < entry.number


def _one_valid_each(places: Mapping[str, Placed], records: Records, findings: Findings) -> None:
    valid = Counter(
        place.slot.index for run, place in places.items() if run in records and outcome(records[run]) in VALID
    )
    for run, place in places.items():
        if valid[place.slot.index] > 1 and place.number and outcome(records.get(run, {})) in VALID:
            findings.add("DUP_VALID", path_of(run), f"Entry {place.slot.index} has another valid run.")


def outcome(record: dict[str, Any]) -> str:
    """A record's outcome, of whatever shape it is."""
    found = record.get("classification")
    return str(found.get("outcome")) if isinstance(found, dict) else ""


def counted(plan: Plan, ledger: Ledger, places: Mapping[str, Placed]) -> dict[str, int]:
    """Where every run ended, as a cohort's status counts them."""
    made = Counter(str(ledger.records[run]["outcome"]) for run in places if run in ledger.records)
    # What left no record never counts as anything else: it is not run, and a replacement that was lost is one, too.
    left = [place for run, place in places.items() if run not in ledger.records]
    made["notRun"] = sum(not place.number or place.run in ledger.lost for place in left)
    begun = sum(place.number > 0 and (run in ledger.records or run in ledger.lost) for run, place in places.items())
    return {"scheduled": len(plan.slots), "replacements": begun} | dict(made)


def _counts(plan: Plan, ledger: Ledger, places: Mapping[str, Placed], findings: Findings) -> None:
    last = ledger.once.get("complete")
    if last is None:
        return
    said, made = last["counts"], counted(plan, ledger, places)
    if isinstance(said, dict) and {k: v for k, v in said.items() if v} != {k: v for k, v in made.items() if v}:
        findings.add("ACCOUNTING_MISMATCH", last.path, f"Entry {last.number} counts {said}; the entries give {made}.")
