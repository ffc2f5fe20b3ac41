"""`fairtrial fetch`: an evidence package from the store to a folder, and what it says."""

import json
from pathlib import Path
from typing import Any

from rich.console import Console

from fairtrial.cli import output
from fairtrial.cli.analysed import of_cohort
from fairtrial.cli.download import Address, download
from fairtrial.evidence import package_paths as paths
from fairtrial.evidence.store import S3Store

FOLDER = Path("evidence")


def run(what: str, namespace: str, context: str | None, to: Path | None) -> None:
    """Fetch the package of a cohort, by the digest in its status, or the one at an address."""
    store = S3Store.from_env()
    bucket = store.settings.bucket
    if what.startswith("s3://"):
        address = Address.of(what, bucket)
    else:
        address = of_cohort(what, namespace, context, bucket).address
    folder = to or FOLDER / address.digest
    console = output.console()
    with console.status("lists …") as status:
        count = download(store, address, folder, lambda done, of: status.update(f"{done} of {of} files …"))
    _show(console, folder, count)


def _show(console: Console, folder: Path, count: int) -> None:
    held = folder / "data"
    request, report = _json(held / paths.REQUEST), _json(held / paths.REPORT)
    cohort = request.get("cohort", {})
    verdict = report.get("executive", {}).get("verdict") or "none: the cohort has no decision rule"
    signed = "" if (folder / paths.STATEMENT).exists() else "   not signed: nothing shows who made it"
    for name, text in (
        ("package", f"{folder}: {count} files, every hash as listed{signed}"),
        ("cohort", f"{cohort.get('namespace')}/{cohort.get('name')}"),
        ("verdict", str(verdict)),
        ("report", str(held / "analysis" / "report.html")),
        ("next", f"fairtrial verify {folder} --trust trust.json"),
    ):
        console.print(output.plain(f"{name:8} {text}"), soft_wrap=True)


def _json(path: Path) -> dict[str, Any]:
    """What a document of the package says; nothing if it is no object: `verify` tells what is wrong with it."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
