"""More ways to tamper: documents of another version or shape, and files named where they do not belong."""

from collections.abc import Callable
from typing import Any

from fairtrial.documents import dump
from fairtrial.evidence import statements
from tests.unit.audit.contradictions import CASES, recorded, retagged
from tests.unit.audit.tampering import (
    DIFF,
    MANIFEST,
    REPLACEMENT,
    REQUEST,
    RUN,
    Files,
    case,
    correction,
    resealed,
    with_corrections,
    with_json,
)
from tests.unit.audit.world import base, evaluation_of, good, packaged, relisted, sha, signed

__all__ = ["CASES"]  # those of all three modules
JsonObject = dict[str, Any]
COMMITMENTS, WITHHELD = "data/commitments.json", "data/withheld.json"
EVALUATION = f"data/runs/{RUN}/evaluation.sigstore.json"


def changed(path: str, change: Callable[[JsonObject], object]) -> Files:
    """One document changed by somebody who has the analysis's key."""
    return relisted(with_json(good(), path, change))


# --- lists ------------------------------------------------------------------------------------------------------------
@case("38f a tag file in the list of the payload", "BAG_INFO_MISMATCH", "LIST_MALFORMED", "SUBJECT_MISMATCH")
def _() -> Files:
    return retagged(MANIFEST, good()[MANIFEST] + f"{sha(good()['bagit.txt'])}  bagit.txt\n".encode())


@case("38g a listed name that deceives", "NAME_UNSAFE", "SUBJECT_MISMATCH")
def _() -> Files:
    return retagged(MANIFEST, good()[MANIFEST] + f"{sha(b'x')}  data/Runs/x\n".encode())


@case("39f a line of fetch.txt that is no address", "LIST_MALFORMED", "SUBJECT_MISMATCH")
def _() -> Files:
    return retagged("fetch.txt", good()["fetch.txt"] + f"https://elsewhere.example 1 {DIFF}\n".encode())


# --- the preregistration ----------------------------------------------------------------------------------------------
@case("16c a field of the preregistration that nobody knows", "FIELD_INVALID", "VERDICT_MISMATCH")
def _() -> Files:
    world = base()
    world.preregistration["more"] = 1
    return packaged(resealed(world))


# --- records ----------------------------------------------------------------------------------------------------------
@case(
    "14e a replacement that names another run than it replaces",
    "FLOW_MISMATCH",
    "LINEAGE_MISMATCH",
    "REPORT_NOT_RECOMPUTABLE",
    "TABLE_MISMATCH",
)
def _() -> Files:
    return recorded(REPLACEMENT, lambda one: one["lineage"]["replaces"].update(name="cohort-1-00004"))


@case("15b a record of another snapshot than was judged", "EVAL_SUBJECT_MISMATCH")
def _() -> Files:
    return recorded(RUN, lambda one: one["evaluation"]["snapshotSha256"].update(value="0" * 64))


@case("1b an artifact removed, and the lists made to fit", "FILE_MISSING")
def _() -> Files:
    return relisted({path: data for path, data in good().items() if path != DIFF})


# --- what the analysis adds -------------------------------------------------------------------------------------------
@case("37c a request of another version", "REPORT_NOT_RECOMPUTABLE", "VERSION_UNKNOWN")
def _() -> Files:
    return changed(REQUEST, lambda one: one.update(schemaVersion=2))


@case("33n other commitments than were preregistered", "COMMITMENT_MISMATCH")
def _() -> Files:
    return changed(COMMITMENTS, lambda one: one["sealedArchives"][0].update(sealedSha256="0" * 64))


@case("33o a public archive that no task has", "COMMITMENT_MISMATCH")
def _() -> Files:
    return relisted(good() | {f"data/tasks/sha256/{sha(b'other')}": b"other"})


@case("33p a public archive removed", "FILE_MISSING")
def _() -> Files:
    gone = next(path for path in good() if path.startswith("data/tasks/"))
    return relisted({path: data for path, data in good().items() if path != gone})


@case("33q a list of another version of what is held back", "VERSION_UNKNOWN")
def _() -> Files:
    held = {"schemaVersion": 2, "kind": "Withheld", "because": "so", "files": []}
    return relisted(good() | {WITHHELD: dump(held)})


@case("47h the evaluator names other checks that passed", "EVAL_RESULT_MISMATCH")
def _() -> Files:
    world = base()
    record = world.records[RUN]
    checks = [one | {"name": f"another {one['name']}"} for one in record["evaluation"]["checks"]]
    said = statements.evaluation(evaluation_of(record, checks=checks), b"report")
    judged = [(statements.SNAPSHOT, f"snapshot of {RUN}".encode())]
    data = signed(world, "evaluator", judged, said.predicate_type, said.predicate)
    return relisted(good() | {EVALUATION: data})


# --- checkpoints and corrections --------------------------------------------------------------------------------------
@case("31e a checkpoint of fewer entries under the name of all", "CHECKPOINT_FOREIGN", "CHECKPOINT_MISSING")
def _() -> Files:
    notes = "data/checkpoints/{:08d}.note"
    return relisted(good() | {notes.format(45): good()[notes.format(1)]})


@case("23f a correction of another version", "VERSION_UNKNOWN")
def _() -> Files:
    return with_corrections(correction(base(), 1, schemaVersion=2))


@case("23g a correction of a kind that nobody knows", "CORRECTION_UNREADABLE")
def _() -> Files:
    return with_corrections(correction(base(), 1, kind="improvement"))


@case("23h a correction that changes nothing", "CORRECTION_UNREADABLE")
def _() -> Files:
    return with_corrections(correction(base(), 1, changes=[]))


@case("23i a correction that leaves no record", "CORRECTION_CHANGES")
def _() -> Files:
    one = correction(base(), 1)
    one["changes"][0]["after"] = "much"
    return with_corrections(one)
