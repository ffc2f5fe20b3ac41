"""Ways to tamper with a package, each as a function from nothing to its files. Numbers are those of docs/audit.md."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from fairtrial.attest import merkle, note, statement
from fairtrial.attest.note import Checkpoint
from fairtrial.attest.statement import Statement
from fairtrial.audit.documents import jcs
from fairtrial.documents import dump
from fairtrial.evidence import statements
from fairtrial.evidence.record import load_record
from fairtrial.signing import sign
from tests.unit.audit.world import (
    AT,
    INVALID,
    KEYS,
    TASKS,
    World,
    base,
    evaluation_of,
    good,
    key_of,
    packaged,
    relisted,
    sha,
    signed,
)

Files = dict[str, bytes]
JsonObject = dict[str, Any]
CASES: dict[str, tuple[Callable[[], Files], set[str]]] = {}
RUN = "cohort-1-00003"
REPLACED = f"cohort-1-{INVALID:05d}"
REPLACEMENT = f"{REPLACED}-r1"
DIFF = f"data/runs/{RUN}/artifacts/agent/diff.patch"
RECORD = f"data/runs/{RUN}/record.json"
REPORT, REQUEST = "data/analysis/report.json", "data/analysis/request.json"
MANIFEST, BUNDLE = "manifest-sha256.txt", "manifest-sha256.txt.sigstore.json"
PREREGISTRATION = "data/preregistration.json"


def case(name: str, *codes: str) -> Callable[[Callable[[], Files]], Callable[[], Files]]:
    """A way to tamper, and exactly the codes that it must give."""

    def keep(make: Callable[[], Files]) -> Callable[[], Files]:
        assert name not in CASES, name
        CASES[name] = (make, set(codes))
        return make

    return keep


def flipped(data: bytes, at: int = 0) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def relined(files: Files, path: str) -> Files:
    """The lists with the new digest of one file; signatures stay as they are."""
    old = {line.split("  ")[1]: line.split("  ")[0] for line in files[MANIFEST].decode().splitlines()}
    manifest = files[MANIFEST].replace(old[path].encode(), sha(files[path]).encode())
    tags = files["tagmanifest-sha256.txt"].replace(sha(files[MANIFEST]).encode(), sha(manifest).encode())
    return files | {MANIFEST: manifest, "tagmanifest-sha256.txt": tags}


def with_json(files: Files, path: str, change: Callable[[JsonObject], Any]) -> Files:
    value = json.loads(files[path])
    change(value)
    return files | {path: dump(value)}


# --- 1 to 4: files and keys -------------------------------------------------------------------------------------------
@case("1 a byte of an artifact flipped", "HASH_MISMATCH")
def _() -> Files:
    return good() | {DIFF: flipped(good()[DIFF])}


@case("2 and the manifest made to fit", "HASH_MISMATCH", "SUBJECT_MISMATCH")
def _() -> Files:
    return relined(good() | {DIFF: flipped(good()[DIFF])}, DIFF)


@case("3 and signed again by the operator", "HASH_MISMATCH", "SIG_WRONG_ROLE")
def _() -> Files:
    return relisted(good() | {DIFF: flipped(good()[DIFF])}, role="operator")


@case("4 signed by a new key that the package itself trusts", "SIG_UNTRUSTED_KEY", "TRUST_MISMATCH")
def _() -> Files:
    world = base()
    world.keys["analysis"] = key_of("stranger")
    trust = good()["data/trust.json"].replace(KEYS["analysis"].key_id.encode(), world.keys["analysis"].key_id.encode())
    return relisted(good() | {"data/trust.json": trust}, world)


# --- 5 to 13: runs, attempts, replacements ----------------------------------------------------------------------------
def without_run(files: Files, run: str) -> Files:
    return {path: data for path, data in files.items() if not path.startswith(f"data/runs/{run}/")}


@case("5 a run deleted, and the package made again from what is left", "LEDGER_SUBJECT_MISSING")
def _() -> Files:
    world = base()
    world.changed = {
        path.removeprefix("data/"): lambda _: None for path in good() if path.startswith(f"data/runs/{RUN}/")
    }
    return packaged(world)


@case(
    "6 an invalid run deleted together with its trace in the ledger",
    "ACCOUNTING_MISMATCH",
    "SLOT_UNACCOUNTED",
    "SLOT_UNPLANNED",
)
def _() -> Files:
    world = base()
    del world.records[REPLACED]
    world.blobs = {path: data for path, data in world.blobs.items() if not path.startswith(f"runs/{REPLACED}/")}
    for _, page in world.pages:
        page[:] = [one for one in page if one.get("run") != REPLACED or one["kind"] == "ticket"]
    return packaged(world)


@case("7 a valid run tried again", "DUP_VALID", "LEDGER_ORDER", "REPLACEMENT_NOT_ALLOWED")
def _() -> Files:
    return packaged(tried_again(base(), RUN))


def tried_again(world: World, run: str, code: str = "allowed") -> World:
    """A second attempt of a run, with a decision, a ticket and a record like the first one's."""
    first = world.records[run]
    again, uid = f"{run}-r1", "uid-again"
    record = json.loads(json.dumps(first).replace(run, again))
    record["identity"] |= {"run": again, "uid": uid}
    record["lineage"] |= {"replaces": {"name": run, "uid": first["identity"]["uid"]}}
    record["timings"]["timestamps"] = {
        name: text.replace("T13", "T22").replace("T14", "T22").replace("T15", "T23")
        for name, text in record["timings"]["timestamps"].items()
    }
    world.records[again] = record
    for path, data in list(world.blobs.items()):
        if path.startswith(f"runs/{run}/"):
            world.blobs[path.replace(run, again)] = data
    entry = world.entry("record", run)
    named = {key: entry[key] for key in ("run", "uid", "index")}
    decided = [
        {"kind": "replacement", **named, "by": again, "code": code, "why": "Because."},
        {"kind": "ticket", "run": again, "index": entry["index"]},
    ]
    last = world.pages.pop()
    world.pages.append((AT.format(21, 0), decided))
    world.pages.append((AT.format(23, 30), [{**entry, "run": again, "uid": uid}]))
    last[1][0]["counts"]["replacements"] += 1
    last[1][0]["counts"][entry["outcome"]] += 1
    world.pages.append(last)
    return world


@case("8 the first attempt deleted, the second kept", "ATTEMPT_GAP", "LEDGER_SUBJECT_MISSING")
def _() -> Files:
    world = base()
    world.changed = {
        path.removeprefix("data/"): lambda _: None for path in good() if path.startswith(f"data/runs/{REPLACED}/")
    }
    return packaged(world)


@case("9 a run without a ticket", "LEDGER_ORDER", "RUN_NO_TICKET", "VERDICT_MISMATCH")
def _() -> Files:
    world = base()
    for _, page in world.pages:
        page[:] = [one for one in page if (one["kind"], one.get("run")) != ("ticket", RUN)]
    world.pages = [page for page in world.pages if page[1]]
    return packaged(world)


@case("10 a run that was never planned", "SLOT_UNPLANNED")
def _() -> Files:
    world = base()
    extra = "cohort-1-00021"
    world.records[extra] = json.loads(json.dumps(world.records[RUN]).replace(RUN, extra))
    world.records[extra]["identity"]["uid"] = "uid-extra"
    for path, data in list(world.blobs.items()):
        if path.startswith(f"runs/{RUN}/"):
            world.blobs[path.replace(RUN, extra)] = data
    entry, last = world.entry("record", RUN), world.pages.pop()
    world.pages.append((AT.format(12, 30), [{"kind": "ticket", "run": extra, "index": 21}]))
    world.pages.append((AT.format(16, 59), [{**entry, "run": extra, "uid": "uid-extra", "index": 21}]))
    world.pages.sort(key=lambda page: page[0])
    world.pages.append(last)
    return packaged(world)


@case(
    "11 a failed run called void afterwards",
    "FLOW_MISMATCH",
    "HASH_MISMATCH",
    "RECORD_DISAGREES",
    "REPORT_NOT_RECOMPUTABLE",
    "SUBJECT_MISMATCH",
    "TABLE_MISMATCH",
    "VERDICT_MISMATCH",
)
def _() -> Files:
    world = base()
    failed = "cohort-1-00001"
    data = with_json(
        good(), f"data/runs/{failed}/record.json", lambda one: one["classification"].update(outcome="void")
    )
    return relisted(data, world)


@case("12 more replacements than were preregistered", "REPLACEMENT_CAP")
def _() -> Files:
    world = base()
    world.preregistration["spec"]["replacement"]["maxPerCell"] = 0
    return packaged(resealed(world))


def resealed(world: World) -> World:
    """All that names the preregistration names the changed one: it was so from the beginning."""
    digest = sha(dump(world.preregistration))
    for record in world.records.values():
        record["lineage"]["preregistrationSha256"] = digest
    world.entries("sealed")[0]["sha256"] = digest
    return world


@case("13 an invalid run for a reason that no list has", "FIELD_INVALID")
def _() -> Files:
    world = base()
    world.records[REPLACED]["classification"]["invalidity"] = "bad_luck"
    world.entry("record", REPLACED)["invalidity"] = "bad_luck"
    return packaged(world)


# --- 14, 15: what belongs to whom -------------------------------------------------------------------------------------
@case("14 the arms of two runs swapped", "ARM_MISMATCH")
def _() -> Files:
    world = base()
    one, other = (world.records[run] for run in pair_of(world))
    for key in ("identity", "configuration"):
        names = ("candidate",) if key == "identity" else tuple(one[key])
        for name in names:
            one[key][name], other[key][name] = other[key][name], one[key][name]
    return packaged(world)


def pair_of(world: World) -> tuple[str, str]:
    """Both runs of the first block that has no invalid one."""
    block = world.records[RUN]["identity"]["block"]
    one, other = (run for run, record in world.records.items() if record["identity"]["block"] == block)
    return one, other


@case("15 the evaluations of two runs swapped", "EVAL_SUBJECT_MISMATCH")
def _() -> Files:
    world = base()
    one, other = pair_of(world)
    paths = [f"data/runs/{run}/evaluation.sigstore.json" for run in (one, other)]
    files = packaged(world)
    return relisted(files | {paths[0]: files[paths[1]], paths[1]: files[paths[0]]})


# --- 16 to 20: the preregistration and time ---------------------------------------------------------------------------
@case("16 the seed changed after the fact", "SCHEDULE_NOT_FROM_SEED")
def _() -> Files:
    world = base()
    world.preregistration["spec"]["schedule"]["seed"] += 1
    return packaged(resealed(world))


@case("16b another preregistration, without touching the runs", "PREREG_CHANGED", "PREREG_INVALID")
def _() -> Files:
    world = base()
    world.preregistration["spec"]["constitution"]["question"] = "Another question?"
    return packaged(world)


# --- 21 to 25: corrections --------------------------------------------------------------------------------------------
def correction(world: World, number: int, previous: str = "", **changes: Any) -> JsonObject:
    """The first correction of a run: what it took was measured wrongly."""
    who, record = world.preregistration["cohort"], world.records[RUN]
    before = record["interaction"]["wallMs"]
    made = {
        "schemaVersion": 1,
        "number": number,
        "kind": "correction",
        "namespace": who["namespace"],
        "cohort": who["name"],
        "uid": who["uid"],
        "preregistrationSha256": sha(dump(world.preregistration)),
        "previousSha256": previous,
        "reason": "wrong_measurement",
        "says": "The clock was wrong.",
        "role": "operator",
        "at": AT.format(23, 59),
        "supersedes": {
            "run": RUN,
            "uid": record["identity"]["uid"],
            "recordSha256": sha(dump(record)),
            "index": 3,
            "correctionSha256": "",
        },
        "changes": [{"field": "interaction.wallMs", "before": before, "after": {"state": "measured", "value": 5}}],
        "evidence": [],
    }
    return made | changes


def with_corrections(*made: JsonObject, world: World | None = None) -> Files:
    world = world or base()
    world.corrections = list(made)
    for one in made:
        over = one.get("supersedes") or {}
        named = {key: over[key] for key in ("run", "uid", "index") if key in over}
        entry = {"kind": "correction", "sha256": sha(dump(one)), "reason": one["reason"], **named}
        world.pages.append((AT.format(23, 59), [entry]))
    return packaged(world)


@case("20b a correction and a void as they should be")
def _() -> Files:
    world = base()
    first = correction(world, 1)
    void = correction(world, 2, sha(dump(first)), kind="void", reason="task_defect", changes=[])
    void["supersedes"] = void["supersedes"] | {"correctionSha256": sha(dump(first))}
    told = correction(world, 3, sha(dump(void)), kind="deviation", reason="other", changes=[], supersedes=None)
    return with_corrections(first, void, told)


@case("21 a correction that changes which run it was", "CORRECTION_CHANGES")
def _() -> Files:
    change = {"field": "classification.outcome", "before": "passed", "after": "failed"}
    return with_corrections(correction(base(), 1, changes=[change]))


@case("21b a correction of all that was judged, how it ended included", "CORRECTION_CHANGES")
def _() -> Files:
    world = base()
    before = world.records[RUN]["classification"]
    change = {"field": "classification", "before": before, "after": before | {"outcome": "failed"}}
    return with_corrections(correction(world, 1, changes=[change]))


@case("22 a correction that takes the place of a later one", "CORRECTION_CHAIN", "CORRECTION_CYCLE")
def _() -> Files:
    world = base()
    record = world.records[REPLACEMENT]
    later = correction(world, 2, changes=[], kind="void")
    later["supersedes"] = {
        "run": REPLACEMENT,
        "uid": record["identity"]["uid"],
        "recordSha256": sha(dump(record)),
        "index": INVALID,
    }
    first = correction(world, 1)
    first["supersedes"] = first["supersedes"] | {"correctionSha256": sha(dump(later))}
    return with_corrections(first, later)


@case("23 a correction that names nothing that it supersedes", "CORRECTION_UNREADABLE")
def _() -> Files:
    return with_corrections(correction(base(), 1, supersedes=None))


@case("24 a record corrected in its place", "HASH_MISMATCH", "LINEAGE_MISMATCH", "SUBJECT_MISMATCH")
def _() -> Files:
    return stored(lambda data: data.replace(b'"repetition":1', b'"repetition":2', 1))


@case("25 two corrections of one record", "CORRECTION_FORK")
def _() -> Files:
    first = correction(base(), 1)
    return with_corrections(first, correction(base(), 2, sha(dump(first)), says="No, otherwise."))


@case("25b a gap in the corrections", "CORRECTION_GAP")
def _() -> Files:
    return with_corrections(correction(base(), 2))


@case("25c a correction that the ledger does not know", "CORRECTION_NOT_IN_LEDGER", "VERDICT_MISMATCH")
def _() -> Files:
    world = base()
    world.corrections = [correction(world, 1)]
    return packaged(world)


@case("25d a correction of what the record never said", "CORRECTION_CHANGES")
def _() -> Files:
    change = {"field": "interaction.wallMs", "before": {"state": "measured", "value": 1}, "after": None}
    return with_corrections(correction(base(), 1, changes=[change]))


@case(
    "25e a correction that was removed",
    "LEDGER_SUBJECT_MISSING",
    "REPORT_NOT_RECOMPUTABLE",
    "TABLE_MISMATCH",
    "VERDICT_MISMATCH",
)
def _() -> Files:
    files = with_corrections(correction(base(), 1))
    return relisted({path: data for path, data in files.items() if not path.startswith("data/corrections/")})


# --- 26 to 31: the ledger ---------------------------------------------------------------------------------------------
PAGE = "data/ledger/00000017.json"


@case(
    "26 a page of the ledger removed",
    "CHECKPOINT_MISSING",
    "LEDGER_CHAIN",
    "LEDGER_GAP",
    "LEDGER_ORDER",
    "LEDGER_TRUNCATED",
    "REPORT_NOT_RECOMPUTABLE",
    "REQUEST_MISMATCH",
    "RUN_NO_TICKET",
    "VERDICT_MISMATCH",
)
def _() -> Files:
    return relisted({path: data for path, data in good().items() if path != PAGE})


@case("27 an entry changed and all pages after it hashed again", "LEDGER_ROOT_MISMATCH")
def _() -> Files:
    world, honest = base(), good()
    world.entry("record", REPLACED)["reason"] = "node_lost"
    world.records[REPLACED]["classification"]["reason"] = "node_lost"
    files = packaged(world)
    return relisted(
        files | {path: data for path, data in honest.items() if path.startswith("data/checkpoints/")}, world
    )


@case("30 two entries swapped", "LEDGER_ORDER", "VERDICT_MISMATCH")
def _() -> Files:
    world = base()
    world.pages[3], world.pages[4] = (world.pages[3][0], world.pages[4][1]), (world.pages[4][0], world.pages[3][1])
    return packaged(world)


NOTE = "data/checkpoints/00000045.note"


@case("31 the size in a checkpoint changed", "CHECKPOINT_MISSING", "SIG_INVALID")
def _() -> Files:
    return relisted(good() | {NOTE: good()[NOTE].replace(b"\n45\n", b"\n44\n")})


@case("31b a checkpoint removed", "CHECKPOINT_MISSING")
def _() -> Files:
    return relisted({path: data for path, data in good().items() if path != NOTE})


@case("31c a checkpoint of another ledger", "CHECKPOINT_FOREIGN", "CHECKPOINT_MISSING")
def _() -> Files:
    said = Checkpoint(note.origin("trials", "cohort-1", "another-uid"), 45, merkle.root([b"x"]))
    return relisted(good() | {NOTE: sign.checkpoint(said, KEYS["operator"])})


# --- 32 to 37: what ran, what was found, what was made of it ----------------------------------------------------------
@case("32 another image than was preregistered", "IMAGE_MISMATCH")
def _() -> Files:
    world = base()
    world.records[RUN]["environment"]["candidateImage"] = f"registry.example/other@sha256:{'1' * 64}"
    return packaged(world)


@case("33 a hidden archive that is not the one committed to", "COMMITMENT_MISMATCH", "RELEASE_NOT_IN_LEDGER")
def _() -> Files:
    return relisted(good() | {f"data/sealed/sha256/{sha(b'task-1')}": b"task-1 made easier"})


@case("33b a hidden archive without a release", "RELEASE_NOT_IN_LEDGER")
def _() -> Files:
    return relisted(good() | {f"data/sealed/sha256/{sha(b'task-1')}": b"task-1"})


def released(
    change: Callable[[Statement], Statement] = lambda said: said, role: str = "studyOwner", **entry: Any
) -> World:
    """A world whose study owner published the hidden archives after its end, once the ledger had been told."""
    world = base()
    said = statements.release(dump(world.preregistration), world.preregistration)
    data = sign.statement(change(said), world.keys[role])
    world.pages.append((AT.format(23, 59), [{"kind": "release", "sha256": sha(data)} | entry]))
    world.blobs |= {"release.sigstore.json": data}
    world.blobs |= {f"sealed/sha256/{sha(name.encode())}": name.encode() for name in TASKS}
    return world


def saying(**predicate: Any) -> Callable[[Statement], Statement]:
    return lambda said: replace(said, predicate=said.predicate | predicate)


@case("33c hidden archives released as committed, by the study owner")
def _() -> Files:
    return packaged(released())


@case("33d a released archive made easier", "COMMITMENT_MISMATCH", "HASH_MISMATCH")
def _() -> Files:
    return packaged(released()) | {f"data/sealed/sha256/{sha(b'task-1')}": b"task-1 made easier"}


@case("33e and the lists made to fit", "COMMITMENT_MISMATCH")
def _() -> Files:
    return relisted(packaged(released()) | {f"data/sealed/sha256/{sha(b'task-1')}": b"task-1 made easier"}, released())


@case("33f a release of one task alone", "COMMITMENT_MISMATCH", "FILE_MISSING")
def _() -> Files:
    world = released(lambda said: replace(said, subjects=said.subjects[:1]))
    del world.blobs[f"sealed/sha256/{max(sha(name.encode()) for name in TASKS)}"]
    return packaged(world)


@case("33g a release that swaps the archives of two tasks", "COMMITMENT_MISMATCH")
def _() -> Files:
    pairs = zip(TASKS, reversed(TASKS), strict=True)
    return packaged(released(saying(sealedArchives=[{"task": a, "sealedSha256": sha(b.encode())} for a, b in pairs])))


@case("33h a release by the operator", "SIG_WRONG_ROLE")
def _() -> Files:
    return packaged(released(role="operator"))


@case("33i a release of another preregistration", "COHORT_MISMATCH")
def _() -> Files:
    return packaged(released(saying(preregistrationSha256="0" * 64)))


@case("33j another release than the ledger names", "RELEASE_NOT_IN_LEDGER")
def _() -> Files:
    return packaged(released(sha256="0" * 64))


@case("33k a release taken back", "LEDGER_SUBJECT_MISSING")
def _() -> Files:
    world = released()
    del world.blobs["release.sigstore.json"]
    return packaged(world)


@case("33l a release before the end", "LEDGER_ORDER", "REPORT_NOT_RECOMPUTABLE", "REQUEST_MISMATCH")
def _() -> Files:
    world = released()
    world.pages[-2:] = reversed(world.pages[-2:])
    return packaged(world)


@case("33m a second release", "LEDGER_INVALID", "REPORT_NOT_RECOMPUTABLE", "REQUEST_MISMATCH")
def _() -> Files:
    world = released()
    world.pages.append(world.pages[-1])
    return packaged(world)


@case("34 a check left out of one evaluation", "TEST_SET_MISMATCH")
def _() -> Files:
    world = base()
    del world.records[RUN]["evaluation"]["checks"][1]
    return packaged(world)


@case("35 a number of the report raised by one", "REPORT_NOT_RECOMPUTABLE")
def _() -> Files:
    return report_with(lambda one: one["amounts"][0]["arms"][0]["total"].update(value=1))


def report_with(change: Callable[[JsonObject], Any]) -> Files:
    value = json.loads(good()[REPORT])
    change(value)
    return relisted(good() | {REPORT: jcs(value).encode()})


@case("36 a count of the flow changed", "FLOW_MISMATCH")
def _() -> Files:
    return report_with(lambda one: one["flow"][0].update(invalid=0))


@case("36b the verdict changed", "VERDICT_MISMATCH")
def _() -> Files:
    return report_with(lambda one: one["executive"].update(verdict="SUPPORTED"))


@case("36c a cell of runs.csv changed", "TABLE_MISMATCH")
def _() -> Files:
    path = "data/analysis/runs.csv"
    return relisted(good() | {path: good()[path].replace(b',"passed",', b',"failed",', 1)})


@case("37 another analysis than was preregistered", "ANALYSIS_NOT_PREREGISTERED")
def _() -> Files:
    def change(one: JsonObject) -> None:
        one["analysis"]["version"] = "9.9.9"

    files = with_json(good(), REQUEST, change)
    value = json.loads(files[REPORT])
    value["provenance"]["analysisVersion"] = "9.9.9"
    return relisted(files | {REPORT: jcs(value).encode()})


@case("37b another rule than was sealed", "ANALYSIS_NOT_PREREGISTERED")
def _() -> Files:
    def change(one: JsonObject) -> None:
        one["rule"]["document"] = one["rule"]["document"].replace("-0.90", "-0.99")
        one["rule"]["sha256"] = sha(one["rule"]["document"].encode())

    return report_with(change)


# --- 55: the study owner's signature ----------------------------------------------------------------------------------
OWNERS = "preregistration.study.sigstore.json"


def endorsed(
    role: str = "studyOwner", page: int = 1, change: Callable[[Statement], Statement] = lambda said: said
) -> World:
    """A world whose preregistration somebody signed, told by a page of its own: the first after the seal, or later."""
    world = base()
    said = statements.preregistration(dump(world.preregistration), world.preregistration)
    data = world.blobs[OWNERS] = sign.statement(change(said), world.keys.get(role) or key_of(role))
    world.pages.insert(page, (world.pages[page - 1][0], [{"kind": "endorsement", "sha256": sha(data)}]))
    return world


@case("55 signed by the study owner before the first run was admitted")
def _() -> Files:
    return packaged(endorsed())


@case("55b signed after a run was admitted", "ENDORSEMENT_LATE")
def _() -> Files:
    return packaged(endorsed(page=2))


@case("55c signed when all was over", "ENDORSEMENT_LATE")
def _() -> Files:
    return packaged(endorsed(page=len(base().pages)))


@case("55d a signature that is added to a package", "ENDORSEMENT_NOT_IN_LEDGER")
def _() -> Files:
    return relisted(good() | {f"data/{OWNERS}": endorsed().blobs[OWNERS]})


@case("55e signed by the operator as the study owner", "SIG_WRONG_ROLE")
def _() -> Files:
    return packaged(endorsed("operator"))


@case("55f signed by somebody whom nobody knows", "SIG_UNTRUSTED_KEY")
def _() -> Files:
    return packaged(endorsed("stranger"))


@case("55g a signature on another preregistration", "SUBJECT_MISMATCH")
def _() -> Files:
    other = Statement.of([("preregistration.json", sha(b"another"))], "", {}).subjects
    return packaged(endorsed(change=lambda said: replace(said, subjects=other)))


@case("55h a late signature in the place of the one that was told in time", "ENDORSEMENT_NOT_IN_LEDGER")
def _() -> Files:
    later = endorsed(change=lambda said: replace(said, predicate=said.predicate | {"runs": 21})).blobs[OWNERS]
    return relisted(packaged(endorsed()) | {f"data/{OWNERS}": later})


@case("55i the signature removed that the ledger tells of", "LEDGER_SUBJECT_MISSING")
def _() -> Files:
    world = endorsed()
    del world.blobs[OWNERS]
    return packaged(world)


# --- 38 to 42: files and names ----------------------------------------------------------------------------------------
@case("38 a file added to data", "FILE_UNLISTED")
def _() -> Files:
    return good() | {"data/extra.txt": b"x"}


@case("38b a listed file of a kind that no package has", "FILE_UNKNOWN")
def _() -> Files:
    return relisted(good() | {"data/extra.txt": b"x"})


@case("38c an artifact that no record lists", "FILE_UNLISTED")
def _() -> Files:
    return relisted(good() | {f"data/runs/{RUN}/artifacts/agent/extra.txt": b"x"})


@case("39 a tag file added", "FILE_UNLISTED")
def _() -> Files:
    return good() | {"notes.txt": b"x"}


@case("40 the list of the tag files deleted", "TAGMANIFEST_MISSING")
def _() -> Files:
    return {path: data for path, data in good().items() if path != "tagmanifest-sha256.txt"}


@case("41 a line of the manifest that leaves the package", "HASH_MISMATCH", "PATH_UNSAFE", "SUBJECT_MISMATCH")
def _() -> Files:
    line = f"{sha(b'x')}  data/../../x\n".encode()
    return good() | {MANIFEST: good()[MANIFEST] + line}


@case("42 a name that is not ASCII", "FILE_MISSING", "FILE_UNLISTED", "NAME_UNSAFE")
def _() -> Files:
    files = {path: data for path, data in good().items() if path != DIFF}
    return files | {DIFF.replace("diff", "d\u0131ff"): good()[DIFF]}


@case("42b a name that differs in case alone", "FILE_UNLISTED", "KEY_COLLISION", "NAME_UNSAFE")
def _() -> Files:
    return good() | {DIFF.replace("diff", "Diff"): good()[DIFF]}


# --- 43 to 47: documents and signatures -------------------------------------------------------------------------------
def stored(change: Callable[[bytes], bytes]) -> Files:
    """A record that was other bytes already when the analysis read it."""
    world = base()
    world.changed = {RECORD.removeprefix("data/"): change}
    return packaged(world)


@case("43 one key twice", "HASH_MISMATCH", "JSON_DUPLICATE_KEY")
def _() -> Files:
    return stored(lambda data: data.replace(b'{"artifacts"', b'{"artifacts":[],"artifacts"', 1))


@case("44 the same record, printed prettily", "HASH_MISMATCH", "JSON_NOT_CANONICAL", "SUBJECT_MISMATCH")
def _() -> Files:
    return stored(lambda data: json.dumps(json.loads(data), indent=1).encode())


@case("44b a huge number", "HASH_MISMATCH", "JSON_NUMBER")
def _() -> Files:
    return stored(lambda data: data.replace(b'"repetition":1', b'"repetition":' + b"9" * 400, 1))


@case("44c nesting without an end", "HASH_MISMATCH", "JSON_TOO_DEEP")
def _() -> Files:
    return stored(lambda _: b"[" * 100_000 + b"]" * 100_000)


@case("44d a truncated record", "HASH_MISMATCH", "JSON_INVALID")
def _() -> Files:
    return stored(lambda data: data[:1000])


STATEMENT = f"data/runs/{RUN}/record.sigstore.json"


@case("45 the payload type of an envelope changed", "SIG_INVALID")
def _() -> Files:
    return relisted(good() | {STATEMENT: good()[STATEMENT].replace(b"vnd.in-toto+json", b"vnd.in-toto+jsox")})


@case("45b the predicate of a statement changed", "VERSION_UNKNOWN")
def _() -> Files:
    data = signed(base(), "operator", [("record.json", good()[RECORD])], "https://example.org/other", {})
    return relisted(good() | {STATEMENT: data})


@case("46 two signatures in one envelope", "BUNDLE_INVALID")
def _() -> Files:
    def change(one: JsonObject) -> None:
        one["dsseEnvelope"]["signatures"] *= 2

    return relisted(with_json(good(), STATEMENT, change))


@case("47 the statement of another run replayed", "SUBJECT_MISMATCH")
def _() -> Files:
    return relisted(good() | {STATEMENT: good()[STATEMENT.replace("00003", "00004")]})


@case("47b the evaluator's word signed by the operator", "SIG_WRONG_ROLE")
def _() -> Files:
    path, world = f"data/runs/{RUN}/evaluation.sigstore.json", base()
    said = statements.evaluation(evaluation_of(world.records[RUN]), b"report")
    return relisted(good() | {path: sign.statement(said, KEYS["operator"])})


@case("47c the evaluator's word removed", "EVAL_MISSING")
def _() -> Files:
    return relisted(
        {path: data for path, data in good().items() if path != f"data/runs/{RUN}/evaluation.sigstore.json"}
    )


@case("47d the evaluator said otherwise", "EVAL_RESULT_MISMATCH")
def _() -> Files:
    path, world = f"data/runs/{RUN}/evaluation.sigstore.json", base()
    said = statements.evaluation(evaluation_of(world.records[RUN], verdict="failed"), b"report")
    return relisted(good() | {path: sign.statement(said, KEYS["evaluator"])})


@case("47f the evaluator judged by other hidden tests", "STATEMENT_MISMATCH")
def _() -> Files:
    path, world = f"data/runs/{RUN}/evaluation.sigstore.json", base()
    said = statements.evaluation(evaluation_of(world.records[RUN], sealedSha256="0" * 64), b"report")
    return relisted(good() | {path: sign.statement(said, KEYS["evaluator"])})


@case("47g the operator's statement of another run's record in its words", "STATEMENT_MISMATCH")
def _() -> Files:
    world = base()
    other = statements.provenance(load_record(dump(world.records["cohort-1-00004"])), b"")
    said = Statement.of([("record.json", sha(good()[RECORD]))], statement.PROVENANCE, other.predicate)
    return relisted(good() | {STATEMENT: sign.statement(said, KEYS["operator"])})


@case("47e nothing is signed", "CHECKPOINT_MISSING", "EVAL_MISSING", "SIG_MISSING")
def _() -> Files:
    unsigned = {path: data for path, data in good().items() if not path.endswith((".sigstore.json", ".note"))}
    files = relisted(unsigned)
    return {path: data for path, data in files.items() if path != BUNDLE}


# --- 52 to 54: time, and what is only half there ----------------------------------------------------------------------
@case("52 a record that was written before its ticket", "TIME_ORDER")
def _() -> Files:
    world = base()
    world.records[RUN]["timings"]["timestamps"]["accepted"] = "2025-12-31T12:00:00Z"
    return packaged(world)


@case("54 a half-written package", "FILE_MISSING", "PACKAGE_INCOMPLETE", "SUBJECT_MISMATCH")
def _() -> Files:
    return {path: data for path, data in good().items() if path != "bag-info.txt"}


@case("54b no report", "PACKAGE_INCOMPLETE", "VERDICT_MISMATCH")
def _() -> Files:
    return relisted({path: data for path, data in good().items() if not path.startswith("data/analysis/")})


@case(
    "54c a truncated manifest",
    "FILE_MISSING",
    "FILE_UNKNOWN",
    "FILE_UNLISTED",
    "HASH_MISMATCH",
    "LIST_MALFORMED",
    "SUBJECT_MISMATCH",
)
def _() -> Files:
    return good() | {MANIFEST: good()[MANIFEST][:-10]}


@case(
    "54d a foreign preregistration",
    "CHECKPOINT_FOREIGN",
    "CHECKPOINT_MISSING",
    "COHORT_MISMATCH",
    "FLOW_MISMATCH",
    "PREREG_CHANGED",
    "REPORT_NOT_RECOMPUTABLE",
    "REQUEST_MISMATCH",
    "SUBJECT_MISMATCH",
    "TABLE_MISMATCH",
    "VERDICT_MISMATCH",
)
def _() -> Files:
    world = base()
    world.preregistration["cohort"]["uid"] = "another-uid"
    return relisted(good() | {PREREGISTRATION: dump(world.preregistration)})
