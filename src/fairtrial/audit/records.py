"""Each run's record: the one that the ledger names, of the run that was planned there, and with the files it lists."""

import hashlib
import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from fairtrial.audit import schema
from fairtrial.audit.documents import reading, value_of
from fairtrial.audit.files import Listed
from fairtrial.audit.findings import Findings
from fairtrial.audit.flow import RUNS, Placed, path_of
from fairtrial.audit.folder import Folder
from fairtrial.audit.ledger import Entry, Ledger
from fairtrial.audit.preregistration import Plan
from fairtrial.audit.replacing import REASON_CODES

JsonObject = dict[str, Any]
# Operator, API server and nodes have clocks of their own, and some tell whole seconds.
CLOCKS = timedelta(seconds=5)
_SCANS = ("scan/agent.json", "scan/evaluation.json")  # what was found in the artifacts of the two pods
_TIMES = ("accepted", "agentCreated", "agentScheduled", "agentStarted", "agentFinished")


def read(folder: Folder, ledger: Ledger) -> dict[str, JsonObject]:
    """The records that the ledger names, by run; those that can't be read are findings and are left out."""
    made = {}
    for run, entry in ledger.records.items():
        path = path_of(run)
        data = folder.read(path)
        if data is None:
            folder.findings.add("LEDGER_SUBJECT_MISSING", path, f"Entry {entry.number} of the ledger names it.")
            continue
        if (actual := hashlib.sha256(data).hexdigest()) != entry["sha256"]:
            folder.findings.add("HASH_MISMATCH", path, f"Has SHA-256 {actual}; the ledger says {entry['sha256']}.")
        value = value_of(data, path, folder.findings)
        if not isinstance(value, dict) or value.get("schemaVersion") != 1:
            if value is not None:
                folder.findings.add("VERSION_UNKNOWN", path, "Is no record of schema version 1.")
            continue
        wrong = list(schema.problems(value, schema.record_schema()))
        for says in wrong:
            folder.findings.add("FIELD_INVALID", path, f"{says}.")
        if not wrong:
            made[run] = value
    return made


def check(
    plan: Plan, ledger: Ledger, places: Mapping[str, Placed], records: Mapping[str, JsonObject], findings: Findings
) -> None:
    """Each record against the plan, the ledger and itself; then runs of one task against each other."""
    for run, record in records.items():
        entry, place = ledger.records[run], places.get(run)
        with reading(findings, path_of(run)):
            for code, says in (
                *_identity(run, record, entry, plan),
                *(_planned(record, entry, place, ledger) if place else ()),
                *_ended(record, entry),
                *_times(record, entry, ledger.tickets.get(run)),
            ):
                findings.add(code, path_of(run), says)
    _same_checks(records, findings)


def _identity(run: str, record: JsonObject, entry: Entry, plan: Plan) -> Iterator[tuple[str, str]]:
    identity, lineage = record["identity"], record["lineage"]
    if (identity["namespace"], identity["run"], identity["uid"]) != (plan.namespace, run, entry["uid"]):
        yield "IDENTITY_MISMATCH", f"Is the record of {identity['namespace']}/{identity['run']} ({identity['uid']})."
    if lineage.get("cohort") != plan.cohort:
        yield "COHORT_MISMATCH", f"Belongs to cohort {lineage.get('cohort')}."
    if lineage.get("preregistrationSha256") != plan.sha256:
        yield "PREREG_CHANGED", f"Follows preregistration {lineage.get('preregistrationSha256')}."


def _planned(record: JsonObject, entry: Entry, place: Placed, ledger: Ledger) -> Iterator[tuple[str, str]]:
    slot, identity, lineage = place.slot, record["identity"], record["lineage"]
    configuration, environment, task = record["configuration"], record["environment"], identity["task"]
    if entry["index"] != slot.index or lineage.get("scheduleIndex") != slot.index:
        yield "LINEAGE_MISMATCH", f"Calls itself entry {lineage.get('scheduleIndex')}; its place is {slot.index}."
    replaced = ledger.records.get(place.replaces)
    expected = {"name": place.replaces, "uid": replaced["uid"] if replaced else ""} if place.number else None
    if lineage.get("replaces") != expected:
        yield "LINEAGE_MISMATCH", f"Replaces {lineage.get('replaces')}, not {expected}."
    arm = (identity["candidate"], configuration["name"], configuration["configurationSha256"])
    if arm != (slot.candidate, slot.candidate, slot.configuration_sha256):
        yield "ARM_MISMATCH", f"Is of candidate {arm[0]} as {arm[2]}; the schedule has {slot.candidate} there."
    if (identity["repetition"], identity.get("block")) != (slot.repetition, slot.block):
        yield "LINEAGE_MISMATCH", f"Is repetition {identity['repetition']} of block {identity.get('block')}."
    if task["name"] != slot.fixture:
        yield "TASK_MISMATCH", f"Is of task {task['name']}; the schedule has {slot.fixture} there."
    for key, wanted in (("publicSha256", slot.public_sha256), ("sealedSha256", slot.sealed_sha256)):
        if task[key].get("value", wanted) != wanted:
            yield "TASK_MISMATCH", f"Its task's {key} is {task[key]['value']}, not what was preregistered."
    images = (environment["candidateImage"], slot.image), (configuration["image"], slot.image)
    evaluator = environment["evaluatorImage"].get("value", slot.evaluator_image)
    for image, wanted in (*images, (evaluator, slot.evaluator_image)):
        if image != wanted:
            yield "IMAGE_MISMATCH", f"Ran {image}; {wanted} was preregistered."


def _ended(record: JsonObject, entry: Entry) -> Iterator[tuple[str, str]]:
    """The outcome: as in the ledger, and as the parts of the record say."""
    found, evaluation = record["classification"], record["evaluation"]
    told = (found["outcome"], found.get("invalidity") or "", found["reason"])
    if told != (entry["outcome"], entry["invalidity"], entry["reason"]):
        yield "RECORD_DISAGREES", f"Ended as {told}; the ledger says {entry['outcome']}, {entry['reason']}."
    verdict = evaluation["verdict"].get("value")
    states = {check["state"] for check in evaluation["checks"]}
    if found["outcome"] == "passed" and verdict != "passed":
        yield "OUTCOME_MISMATCH", f"Passed, where the evaluator found {verdict or 'nothing'}."
    if verdict is not None and (verdict == "passed") != (states == {"passed"}):
        yield "OUTCOME_MISMATCH", f"The evaluator says {verdict}, and its checks {sorted(states)}."
    if found["outcome"] == "invalid" and found.get("invalidity") not in REASON_CODES:
        yield "REASON_UNKNOWN", f"Invalid for {found.get('invalidity')}."
    artifact = (record["patch"].get("snapshot") or {}).get("artifact")
    judged = evaluation["snapshotSha256"].get("value")
    if judged is not None and (artifact is None or artifact["sha256"] != judged):
        yield "EVAL_SUBJECT_MISMATCH", f"Snapshot {judged} was judged, which is not the run's."


def _times(record: JsonObject, entry: Entry, ticket: Entry | None) -> Iterator[tuple[str, str]]:
    at = record["timings"]["timestamps"]
    known = [(name, at[name]) for name in _TIMES if name in at]
    known = [*([("ticket", ticket.at)] if ticket else ()), *known, ("recorded", entry.at)]
    for (before, earlier), (after, later) in itertools.pairwise(known):
        if datetime.fromisoformat(later) < datetime.fromisoformat(earlier) - CLOCKS:
            yield "TIME_ORDER", f"{after} ({later}) comes before {before} ({earlier})."


def _same_checks(records: Mapping[str, JsonObject], findings: Findings) -> None:
    """All judged runs of one sealed archive had the same checks, by name; the usual set is what most of them had."""
    sets: dict[str, dict[str, tuple[str, ...]]] = defaultdict(dict)
    for run, record in records.items():
        with reading(findings, path_of(run)):
            if record["evaluation"]["verdict"]["state"] == "measured":
                names = tuple(sorted(check["name"] for check in record["evaluation"]["checks"]))
                sets[str(record["identity"]["task"]["sealedSha256"].get("value"))][run] = names
    for of_task in sets.values():
        usual = Counter(of_task.values()).most_common(1)[0][0]
        for run, names in of_task.items():
            if names != usual:
                says = f"Its checks are {list(names)}; those of the task's other runs are {list(usual)}."
                findings.add("TEST_SET_MISMATCH", path_of(run), says)


# --- the files of a run -----------------------------------------------------------------------------------------------
def files(folder: Folder, listed: Listed, withheld: Mapping[str, str], records: Mapping[str, JsonObject]) -> None:
    """Each file that a record lists is there with its hash, and no other file of the run is."""
    for run, record in records.items():
        with reading(folder.findings, path_of(run)):
            _files_of(folder, listed, withheld, run, record)


def _files_of(folder: Folder, listed: Listed, withheld: Mapping[str, str], run: str, record: JsonObject) -> None:
    base = f"{RUNS}{run}/"
    named = {f"{base}artifacts/{one['name']}": one["sha256"] for one in record["artifacts"]}
    named |= _exchanges(folder, base)
    for path, digest in named.items():
        has = listed.payload.get(path)
        if path in withheld:
            if has is not None or withheld[path] != digest:
                folder.findings.add("WITHHELD_INVALID", path, "Is called withheld, and is there or has another hash.")
        elif has is None and path not in listed.manifest:
            folder.findings.add("FILE_MISSING", path, f"The record of {run} lists it.")
        elif has is not None and has != digest:
            folder.findings.add("HASH_MISMATCH", path, f"The record of {run} says {digest}.")
    own = {f"{base}record.json", f"{base}record.sigstore.json", f"{base}evaluation.sigstore.json"}
    there = [path for path in folder.below(base) if path not in own]
    for path in there:
        if path not in named:
            folder.findings.add("FILE_UNLISTED", path, f"The record of {run} does not list it.")
    leaks = record["usage"]["leaks"]
    if leaks.get("value") or leaks.get("reason") in ("not_scanned", "not_collected"):
        _leaks(folder, base, run)


def _exchanges(folder: Folder, base: str) -> dict[str, str]:
    """The files of a run's model and tool calls, by the list of calls that its record names."""
    data = folder.read(f"{base}artifacts/model/calls.json")
    calls = None if data is None else value_of(data, f"{base}artifacts/model/calls.json", folder.findings)
    made = {}
    for call in calls["calls"] if calls else ():
        inside = f"{base}{'tool' if call['kind'] == 'tool' else 'model'}/{call['exchange']}"
        made[f"{inside}/exchange.json"] = call["pageSha256"]
        if call.get("journalSha256") is not None:
            made[f"{inside}/exchange.ftj"] = call["journalSha256"]
    return made


def _leaks(folder: Folder, base: str, run: str) -> None:
    """Where secrets were found, or nobody looked, nothing may be there: no such call, and no artifact at all where one
    lies in them.
    """
    calls = _document(folder, f"{base}artifacts/model/calls.json") or {}
    scans = [found for name in _SCANS if (found := _document(folder, f"{base}artifacts/{name}"))]
    written = any(one.get("leaks") or one["state"] != "done" for one in scans)
    named = {one["exchange"] for one in calls.get("leaks", ())}
    every = not named and (bool(calls.get("unscanned")) or not written)
    for path in folder.below(base):
        parts = path.removeprefix(base).split("/")
        call = parts[0] in ("model", "tool") and (every or parts[1] in named)
        artifact = written and parts[0] == "artifacts" and "/".join(parts[1:]) not in (*_SCANS, "model/calls.json")
        if call or artifact:
            folder.findings.add("LEAK_PUBLISHED", path, f"A secret was found in it, or nobody looked ({run}).")


def _document(folder: Folder, path: str) -> JsonObject | None:
    data = folder.read(path)
    found: JsonObject | None = None if data is None else value_of(data, path, folder.findings)
    return found
