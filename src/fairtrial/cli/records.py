"""`fairtrial record` and `fairtrial artifacts`: read what a run left in the store, checked against its hashes.

The chain is the run's status, which names the record's hash, then the record, which names every artifact's. What the
store says of itself counts for nothing here: whoever can replace an object can replace its metadata too.
"""

import hashlib
import json
import tempfile
from collections.abc import Iterable
from pathlib import Path

import typer

from fairtrial import documents
from fairtrial.api import RecordReference
from fairtrial.cli.kubectl import Kubectl
from fairtrial.errors import FairtrialError, InvalidInput
from fairtrial.evidence import layout
from fairtrial.evidence.record_model import load_record
from fairtrial.evidence.store import ObjectStore, S3Store
from fairtrial.journal.exchange import TOOL
from fairtrial.usage import calls


class NotAsRecorded(FairtrialError):
    """An object differs from the hash that the evidence names: stop, never repair."""

    reason = "NotAsRecorded"

    def __init__(self, key: str, expected: str, actual: str) -> None:
        self.key, self.expected, self.actual = key, expected, actual
        super().__init__(
            f"{key} has SHA-256 {actual}, but {expected} was recorded: it was replaced or damaged.",
            next_move="Keep everything as it is, and look at the object's versions in the bucket.",
        )


def record(run: str, namespace: str, context: str | None) -> None:
    """Print a run's record, after checking that its bytes have the SHA-256 that the run's status names."""
    named = _reference(run, namespace, context)
    typer.echo(json.dumps(json.loads(read_record(_store_of(named), named)), indent=2, ensure_ascii=False))


def artifacts(run: str, to: Path, namespace: str, context: str | None) -> None:
    """Download a run's record and every artifact that it names, each checked; all of it or nothing."""
    if to.exists():
        raise InvalidInput(f"{to}: exists already.", next_move="Name a new folder; nothing is overwritten.")
    named = _reference(run, namespace, context)
    count = download(_store_of(named), named, to)
    typer.echo(f"{to}: record.json and {count} files, every hash as recorded")


def read_record(store: ObjectStore, named: RecordReference) -> bytes:
    """The record's bytes, if they are those that the run's status names."""
    key = layout.key_of_uri(named.uri)
    data = store.get(key)
    if (actual := layout.sha256(data)) != named.sha256:
        raise NotAsRecorded(key, named.sha256, actual)
    return data


def download(store: ObjectStore, named: RecordReference, to: Path) -> int:
    """Make the folder `to` with record.json, byte for byte, artifacts/… and model/…; how many files those are."""
    data = read_record(store, named)
    found = load_record(data, name=named.uri)
    run = layout.RunLayout(layout.key_of_uri(named.uri).removesuffix("/record.json"))
    to.parent.mkdir(parents=True, exist_ok=True)
    # Beside its place until it is whole: a folder of that name is complete and checked.
    with tempfile.TemporaryDirectory(dir=to.parent, prefix=f".{to.name}.") as scratch:
        whole = Path(scratch, "whole")
        whole.mkdir()
        (whole / "record.json").write_bytes(data)
        for artifact in found.artifacts:
            _fetch(store, run.artifact(artifact.name), artifact.sha256, whole / "artifacts" / artifact.name)
        exchanges = _exchanges(run, whole / "artifacts" / calls.ARTIFACT)
        for key, sha256 in exchanges.items():
            _fetch(store, key, sha256, whole / key.removeprefix(f"{run.base}/"))
        whole.rename(to)
    return len(found.artifacts) + len(exchanges)


def _exchanges(run: layout.RunLayout, list_of_calls: Path) -> dict[str, str]:
    """The files of every call, by their keys, with the digests that the run's list of calls names."""
    if not list_of_calls.exists():
        return {}
    found = {}
    for call in documents.load(calls.ModelCalls, list_of_calls.read_bytes(), name=calls.ARTIFACT).calls:
        digests = {"exchange.json": call.page_sha256, "exchange.ftj": call.journal_sha256}
        for file, sha256 in digests.items():
            if sha256 is not None:
                found[run.exchange(call.exchange, file, tool=call.kind == TOOL)] = sha256
    return found


def _fetch(store: ObjectStore, key: str, sha256: str, target: Path) -> None:
    if (actual := _write(store.open(key), target)) != sha256:
        raise NotAsRecorded(key, sha256, actual)


def _write(chunks: Iterable[bytes], target: Path) -> str:
    """Write a new file; the SHA-256 of what was written."""
    target.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    with target.open("xb") as file:
        for chunk in chunks:
            digest.update(chunk)
            file.write(chunk)
    return digest.hexdigest()


def _reference(run: str, namespace: str, context: str | None) -> RecordReference:
    status = Kubectl(context, namespace).get("benchmarkruns.fairtrial.dev", run).get("status", {})
    if not status.get("record"):
        raise FairtrialError(
            f"{namespace}/{run} has no record yet (phase {status.get('phase', 'Pending')}).",
            next_move=f"Wait for it: kubectl wait -n {namespace} --for=condition=Recorded benchmarkrun/{run}",
        )
    return RecordReference.model_validate(status["record"])


def _store_of(named: RecordReference) -> S3Store:
    """The store that the environment names, if the record lies in its bucket."""
    store = S3Store.from_env()
    if not named.uri.startswith(f"s3://{store.settings.bucket}/"):
        raise InvalidInput(
            f"FAIRTRIAL_S3_BUCKET: is {store.settings.bucket}, but the record is {named.uri}.",
            next_move="Name the bucket, and the endpoint, that the run was recorded in.",
        )
    return store
