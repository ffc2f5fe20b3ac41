"""`fairtrial store audit`: ask the store about what a fetched package names."""

import json
from datetime import UTC, date, datetime, time
from pathlib import Path

import typer
from rich.console import Console

from fairtrial.audit import lists, telling
from fairtrial.audit.findings import Findings
from fairtrial.audit.folder import Folder
from fairtrial.cli import output
from fairtrial.errors import InvalidInput
from fairtrial.evidence import layout, store_audit
from fairtrial.evidence import package_paths as paths
from fairtrial.evidence.store import S3Store


def run(folder: Path, until: str | None, *, as_json: bool) -> int:
    """Ask; 0 where the store says nothing against what the package names, 1 where it does."""
    console = output.console()
    store, lasts = S3Store.from_env(), _moment(until)
    named = _named(folder, store.settings.bucket)
    with console.status("versions …") as status:
        found = store_audit.audit(
            store, named, lasts, lambda done, of: status.update(f"retention: {done} of {of} objects …")
        )
    if as_json:
        told = [{"code": one.code, "key": one.key, "says": one.says} for one in found]
        typer.echo(json.dumps({"objects": len(named), "findings": told}, indent=2))
    else:
        _tell(console, found, len(named))
    return int(any(one.code not in store_audit.WARNINGS for one in found))


def _tell(console: Console, found: list[store_audit.Finding], objects: int) -> None:
    headings: dict[str, str] = {code: f"{code}: {meaning}" for code, meaning in store_audit.MEANINGS.items()}
    for line in telling.by_code(((one.code, one.key or "(bucket)", one.says) for one in found), headings):
        console.print(output.plain(line), soft_wrap=True)
    wrong = sum(one.code not in store_audit.WARNINGS for one in found)
    console.print(f"{objects} objects that the package names: {wrong} findings, {len(found) - wrong} warnings")
    if not found:
        console.print("The store says that each was written once, never deleted, and can't be.")


def _named(folder: Path, bucket: str) -> list[str]:
    """The keys of what the package names, as its fetch.txt has them; of another bucket nothing could be asked here."""
    listed, findings = folder / paths.FETCH, Findings()
    if not listed.is_file():
        raise InvalidInput(f"{listed}: there is none.", next_move="Name the folder that `fairtrial fetch` made.")
    made = lists.fetched(Folder(folder, findings, {paths.FETCH: listed.stat().st_size}))
    for finding in findings:
        raise InvalidInput(f"{listed}: {finding.code}: {finding.says}", next_move=f"Run: fairtrial verify {folder}")
    if strange := next((one.uri for one in made.values() if not one.uri.startswith(f"s3://{bucket}/")), None):
        raise InvalidInput(f"FAIRTRIAL_S3_BUCKET: is {bucket}, but {listed} names {strange}.")
    return sorted({layout.key_of_uri(one.uri) for one in made.values()})


def _moment(until: str | None) -> datetime:
    """The end of the day that was given, or now."""
    if until is None:
        return datetime.now(UTC)
    try:
        return datetime.combine(date.fromisoformat(until), time.max, UTC)
    except ValueError:
        raise InvalidInput(f"--until {until!r}: is no date.", next_move="Write it as 2027-01-31.") from None
