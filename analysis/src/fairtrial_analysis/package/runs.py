"""The files of one run, by its record and its list of calls: names, sizes and hashes as those give them. Pure.

What holds a provider's credential or a canary may not be published. Where a scan found one in a call, or nobody
scanned, the call's files are withheld; and where the agent was sent it, or wrote it, so is all that the agent left.
They stay in the store, and in the package by their hashes alone.
"""

from dataclasses import dataclass, field
from typing import Any

from fairtrial import documents
from fairtrial.documents import Artifact, RunIdentity
from fairtrial.errors import FairtrialError
from fairtrial.evidence.layout import check_artifact_name, check_digest, check_key, sha256
from fairtrial.evidence.package_paths import run_file
from fairtrial.journal.exchange import TOOL
from fairtrial.secrets.stored import BY_FOLDER, ArtifactScan, found_in, unscanned
from fairtrial.usage.calls import ARTIFACT as CALLS
from fairtrial.usage.calls import Call, ModelCalls
from fairtrial_analysis.package.listing import File

RECORD, RECORD_STATEMENT, EVALUATION_STATEMENT = "record.json", "record.sigstore.json", "evaluation.sigstore.json"
CALLS_FILE = f"artifacts/{CALLS}"
SCAN_FILES = tuple(f"artifacts/{name}" for name in BY_FOLDER.values())
PAGE, JOURNAL = "exchange.json", "exchange.ftj"
_SIZE_MAX = 2**53


@dataclass(frozen=True)
class RunFiles:
    """What a package holds of a run, and what it holds back."""

    files: tuple[File, ...]
    withheld: tuple[File, ...] = ()
    unscanned: bool = False  # held back because nobody looked for credentials, not because one was found


@dataclass(frozen=True)
class Recorded:
    """What a record lists, and whether there are credentials in what it lists."""

    files: tuple[File, ...]
    leaks: int = 0
    unscanned: bool = False


@dataclass(frozen=True)
class _Kept:
    files: list[File] = field(default_factory=list)
    withheld: list[File] = field(default_factory=list)


def recorded(run: str, record: bytes, expected_sha256: str) -> Recorded:
    """What a record lists. One that is not what the ledger names, or can't be read, is listed itself and no more.

    What is wrong with it is told by the report, and again by whoever verifies the package.
    """
    itself = File.of(run_file(run, RECORD), record)
    if itself.sha256 != expected_sha256:
        return Recorded((itself,))
    try:
        raw: dict[str, Any] = documents.load(dict[str, Any], record, name=run)
        artifacts: list[Artifact] = documents.from_json(list[Artifact], raw.get("artifacts"), f"{run}.artifacts")
        files = [_file(run, f"artifacts/{check_artifact_name(one.name)}", one.size, one.sha256) for one in artifacts]
    except FairtrialError:
        return Recorded((itself,))
    if len({one.path for one in files}) != len(files):
        return Recorded((itself,))  # of two artifacts under one name, nobody can say which it was
    leaks = raw.get("usage", {}).get("leaks", {})
    found = leaks.get("value") if leaks.get("state") == "measured" else 0
    return Recorded((itself, *files), found or 0, leaks.get("reason") == "not_scanned")


def files_of(run: str, listed: Recorded, documents_read: dict[str, bytes]) -> RunFiles:
    """All files of a run. `documents_read` holds its statements and its list of calls, where there are any."""
    statements = [
        File.of(run_file(run, name), documents_read[name])
        for name in (RECORD_STATEMENT, EVALUATION_STATEMENT)
        if name in documents_read
    ]
    calls, scans = _calls(run, listed, documents_read.get(CALLS_FILE)), _scans(run, listed, documents_read)
    kept = _Kept([*statements])
    written, unsearched = found_in(scans), unscanned(scans)
    tainted = _sent_to_the_agent(calls) or bool(written) or unsearched
    for file in listed.files:
        name = file.path.removeprefix(run_file(run, ""))
        held_back = tainted and name not in (RECORD, CALLS_FILE, *SCAN_FILES)
        (kept.withheld if held_back else kept.files).append(file)
    named = {leak.exchange for leak in calls.leaks} if calls else set()
    # A count without names, or calls that nobody scanned: it may be any of them.
    every = bool(calls and calls.unscanned) or (listed.leaks > 0 and not named and not written)
    for call in calls.calls if calls else ():
        (kept.withheld if every or call.exchange in named else kept.files).extend(_call_files(run, call))
    return RunFiles(
        tuple(sorted(kept.files)), tuple(sorted(kept.withheld)), (every or unsearched) and not named and not written
    )


def _calls(run: str, listed: Recorded, data: bytes | None) -> ModelCalls | None:
    """The run's list of calls, if it is the one that the record names."""
    named = next((one for one in listed.files if one.path == run_file(run, CALLS_FILE)), None)
    if named is None or data is None or sha256(data) != named.sha256:
        return None
    found: ModelCalls = documents.load(ModelCalls, data, name=run_file(run, CALLS_FILE))
    return found


def _scans(run: str, listed: Recorded, documents_read: dict[str, bytes]) -> list[ArtifactScan]:
    """The scans of what the run's pods stored, that the record names; one that is not there found nothing out."""
    named = {one.path: one.sha256 for one in listed.files}
    found = []
    for name in SCAN_FILES:
        digest, data = named.get(run_file(run, name)), documents_read.get(name)
        if digest is None:
            continue
        if data is None or sha256(data) != digest:
            found.append(ArtifactScan(RunIdentity("", run, ""), "failed", "not_readable"))
        else:
            found.append(documents.load(ArtifactScan, data, name=run_file(run, name)))
    return found


def _sent_to_the_agent(calls: ModelCalls | None) -> bool:
    return any(found.leak.where.startswith("response") for found in (calls.leaks if calls else ()))


def _call_files(run: str, call: Call) -> list[File]:
    folder = f"{'tool' if call.kind == TOOL else 'model'}/{call.exchange}"
    made = [_file(run, f"{folder}/{PAGE}", call.page_size, call.page_sha256)]
    if call.journal_sha256 is not None and call.journal_size is not None:
        made.append(_file(run, f"{folder}/{JOURNAL}", call.journal_size, call.journal_sha256))
    return made


def _file(run: str, name: str, size: int, digest: str) -> File:
    if not 0 <= size <= _SIZE_MAX:
        raise FairtrialError(f"{name}: has a size of {size} bytes.")
    return File(check_key(run_file(run, name)), size, check_digest(digest))
