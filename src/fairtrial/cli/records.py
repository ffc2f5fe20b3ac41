"""`fairtrial record` and `fairtrial artifacts`: read what a run left in the store, checked against its hashes."""

import json
from pathlib import Path
from typing import Any

import typer

from fairtrial.cli.kubectl import Kubectl
from fairtrial.errors import DigestMismatch, FairtrialError
from fairtrial.evidence import layout
from fairtrial.evidence.store import ObjectStore, S3Store


def record(run: str, namespace: str, context: str | None) -> None:
    """Print a run's record, after checking that its bytes have the SHA-256 that the run's status names."""
    typer.echo(json.dumps(_record(run, namespace, context, S3Store.from_env()), indent=2, ensure_ascii=False))


def artifacts(run: str, to: Path, namespace: str, context: str | None) -> None:
    """Download a run's record and every artifact that it names; each is checked against the record's hash."""
    if to.exists():
        raise FairtrialError(f"{to} exists already.", next_move="Name a folder that does not; nothing is overwritten.")
    store = S3Store.from_env()
    found = _record(run, namespace, context, store)
    prefix = _status(run, namespace, context)["record"]["uri"].removesuffix("record.json")
    to.mkdir(parents=True)
    (to / "record.json").write_text(json.dumps(found, indent=2, ensure_ascii=False))
    base = layout.key_of_uri(prefix)
    for artifact in found["artifacts"]:
        target = to / "artifacts" / artifact["name"]
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as file:
            for chunk in store.open(f"{base}artifacts/{artifact['name']}"):
                file.write(chunk)
    typer.echo(f"{to}: record.json and {len(found['artifacts'])} artifacts, every hash as recorded")


def _status(run: str, namespace: str, context: str | None) -> dict[str, Any]:
    status = Kubectl(context, namespace).get("benchmarkruns.fairtrial.dev", run).get("status", {})
    if not status.get("record"):
        raise FairtrialError(
            f"{namespace}/{run} has no record yet (phase {status.get('phase', 'Pending')}).",
            next_move=f"Wait for it: kubectl wait -n {namespace} --for=condition=Recorded benchmarkrun/{run}",
        )
    return dict(status)


def _record(run: str, namespace: str, context: str | None, store: ObjectStore) -> dict[str, Any]:
    named = _status(run, namespace, context)["record"]
    data = store.get(layout.key_of_uri(named["uri"]))
    actual = layout.sha256(data)
    if actual != named["sha256"]:
        raise DigestMismatch(named["uri"], named["sha256"], actual)
    parsed: dict[str, Any] = json.loads(data)
    return parsed
