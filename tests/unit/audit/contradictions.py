"""More ways to tamper: parts of a package that contradict each other, each under lists and signatures that fit them."""

from collections.abc import Callable
from typing import Any

from fairtrial.attest import dsse, statement
from tests.unit.audit.tampering import (
    CASES,
    DIFF,
    MANIFEST,
    REPLACED,
    REPLACEMENT,
    RUN,
    Files,
    case,
    correction,
    with_corrections,
)
from tests.unit.audit.world import World, base, good, packaged, relisted, sha, signed

__all__ = ["CASES"]  # those of both modules
JsonObject = dict[str, Any]
TAGS = "tagmanifest-sha256.txt"


def retagged(path: str, data: bytes) -> Files:
    """The good package with another tag file, which the list of tag files names, and the statement does not."""
    tags = good()[TAGS].replace(sha(good()[path]).encode(), sha(data).encode())
    return good() | {path: data, TAGS: tags}


def recorded(run: str, change: Callable[[JsonObject], object]) -> Files:
    """The whole package made again from a record that was changed before it was written."""
    world = base()
    change(world.records[run])
    return packaged(world)


def decided(change: Callable[[World], object]) -> Files:
    """The whole package made again, with another decision about the run that was replaced."""
    world = base()
    change(world)
    return packaged(world)


# --- lists ------------------------------------------------------------------------------------------------------------
@case("38d a file listed twice", "LIST_DUPLICATE", "SUBJECT_MISMATCH")
def _() -> Files:
    first = good()[MANIFEST].splitlines(keepends=True)[0]
    return retagged(MANIFEST, good()[MANIFEST] + first)


@case(
    "38e a line of the manifest without a digest",
    "BAG_INFO_MISMATCH",
    "FETCH_MISMATCH",
    "FILE_UNLISTED",
    "LIST_MALFORMED",
    "SUBJECT_MISMATCH",
)
def _() -> Files:
    digest = sha(good()[DIFF]).encode()
    return retagged(MANIFEST, good()[MANIFEST].replace(digest + b"  " + DIFF.encode(), DIFF.encode()))


@case("39b another number of files in bag-info.txt", "BAG_INFO_MISMATCH", "SUBJECT_MISMATCH")
def _() -> Files:
    info = good()["bag-info.txt"]
    return retagged("bag-info.txt", info.replace(b"Payload-Oxum: ", b"Payload-Oxum: 1"))


@case("39c another form of bag", "BAG_INFO_MISMATCH", "SUBJECT_MISMATCH")
def _() -> Files:
    return retagged("bagit.txt", good()["bagit.txt"].replace(b"1.0", b"0.97"))


@case("39d another size in fetch.txt", "FETCH_MISMATCH", "SUBJECT_MISMATCH")
def _() -> Files:
    text = good()["fetch.txt"].decode()
    line = next(line for line in text.splitlines() if line.endswith(f" {DIFF}"))
    uri, size, path = line.split(" ")
    return retagged("fetch.txt", text.replace(line, f"{uri} {int(size) + 1} {path}").encode())


@case("39e a file in fetch.txt that nobody lists", "FETCH_MISMATCH", "SUBJECT_MISMATCH")
def _() -> Files:
    return retagged("fetch.txt", good()["fetch.txt"] + b"s3://evidence/elsewhere 1 data/runs/other/record.json\n")


# --- records ----------------------------------------------------------------------------------------------------------
@case("13b an invalid run for no reason at all", "REASON_UNKNOWN", "REPLACEMENT_NOT_ALLOWED")
def _() -> Files:
    world = base()
    del world.records[REPLACED]["classification"]["invalidity"]
    del world.entry("record", REPLACED)["invalidity"]
    return packaged(world)


@case(
    "14b a record of another run of its name",
    "FLOW_MISMATCH",
    "IDENTITY_MISMATCH",
    "REPORT_NOT_RECOMPUTABLE",
    "TABLE_MISMATCH",
)
def _() -> Files:
    return recorded(RUN, lambda one: one["identity"].update(uid="uid-other"))


@case("14c a run of another task", "TASK_MISMATCH")
def _() -> Files:
    return recorded(RUN, lambda one: one["identity"]["task"].update(name="task-3"))


@case("14d a run of another archive of its task", "TASK_MISMATCH")
def _() -> Files:
    return recorded(RUN, lambda one: one["identity"]["task"]["publicSha256"].update(value="0" * 64))


@case("34b a run that passed, though a check of it failed", "OUTCOME_MISMATCH")
def _() -> Files:
    return recorded(RUN, lambda one: one["evaluation"]["checks"][0].update(state="failed"))


@case("34c a run that passed, though the evaluator failed it", "OUTCOME_MISMATCH")
def _() -> Files:
    def change(one: JsonObject) -> None:
        one["evaluation"]["checks"][0]["state"] = "failed"
        one["evaluation"]["verdict"]["value"] = "failed"

    return recorded(RUN, change)


@case("10b a record that the ledger does not name", "ACCOUNTING_MISMATCH", "RUN_NOT_IN_LEDGER", "SLOT_UNACCOUNTED")
def _() -> Files:
    world = base()
    for _, page in world.pages:
        page[:] = [one for one in page if (one["kind"], one.get("run")) != ("record", RUN)]
    world.pages = [page for page in world.pages if page[1]]
    return packaged(world)


# --- decisions --------------------------------------------------------------------------------------------------------
@case("12b a replacement under another code than the policy gives", "DECISION_MISMATCH")
def _() -> Files:
    return decided(lambda world: world.entry("replacement", REPLACED).update(code="cell_used_up"))


@case("12c an invalid run about which nobody decided", "DECISION_MISMATCH")
def _() -> Files:
    def change(world: World) -> None:
        ended = world.records.pop(REPLACEMENT)["classification"]["outcome"]
        world.blobs = {path: data for path, data in world.blobs.items() if not path.startswith(f"runs/{REPLACEMENT}/")}
        for _, page in world.pages:
            page[:] = [
                one
                for one in page
                if one.get("run") != REPLACEMENT and (one["kind"], one.get("run")) != ("replacement", REPLACED)
            ]
        world.pages = [page for page in world.pages if page[1]]
        counts = world.entries("complete")[0]["counts"]
        counts["replacements"] -= 1
        counts[ended] -= 1

    return decided(change)


# --- corrections ------------------------------------------------------------------------------------------------------
@case("23b a correction of another cohort", "CORRECTION_FOREIGN")
def _() -> Files:
    return with_corrections(correction(base(), 1, uid="another-uid"))


def superseding(**named: Any) -> Files:
    one = correction(base(), 1)
    return with_corrections(one | {"supersedes": one["supersedes"] | named})


@case("23c a correction of a run that never was", "CORRECTION_OF_NOTHING")
def _() -> Files:
    return superseding(run="cohort-1-00099")


@case("23d a correction of another record than the run has", "CORRECTION_DIGEST")
def _() -> Files:
    return superseding(recordSha256="0" * 64)


@case("23e a correction of a correction that is not there", "CORRECTION_MISSING")
def _() -> Files:
    return superseding(correctionSha256="0" * 64)


# --- statements and checkpoints ---------------------------------------------------------------------------------------
@case("31d a checkpoint that is no signed note", "CHECKPOINT_MISSING", "NOTE_INVALID")
def _() -> Files:
    return relisted(good() | {"data/checkpoints/00000045.note": b"45 entries, and all of them true\n"})


@case("45c a signed statement about nothing", "STATEMENT_INVALID")
def _() -> Files:
    data = signed(base(), "operator", [], statement.PROVENANCE, {})
    return relisted(good() | {f"data/runs/{RUN}/record.sigstore.json": data})


@case("45d a bundle larger than any that is made", "JSON_TOO_LARGE")
def _() -> Files:
    path = f"data/runs/{RUN}/record.sigstore.json"
    return relisted(good() | {path: good()[path] + b" " * dsse.SIZE_MAX})
