"""What a verification found, for people as a table and for programs as JSON. Pure; everything in it is printable."""

import json
from collections.abc import Iterable, Iterator, Mapping

from fairtrial.audit.findings import CODES, Finding
from fairtrial.audit.verify import Result

_SHOWN = 20  # of one code, in the table; the JSON has all


def as_json(result: Result) -> str:
    """One document with every finding."""
    made = {
        "schemaVersion": 1,
        "kind": "Verification",
        "package": result.package_sha256,
        "cohort": result.cohort,
        "files": result.files,
        "bytes": result.size,
        "runs": result.runs,
        "ledgerEntries": result.ledger_entries,
        "verdict": result.verdict,
        "findings": [_finding(one) for one in result.findings],
        "remarks": result.findings.remarks,
    }
    return json.dumps(made, indent=2)


def as_text(result: Result) -> Iterator[str]:
    """Lines: what was looked at, every finding by its code, what could not be shown, and the end of it."""
    yield f"package  {result.package_sha256}"
    yield f"cohort   {result.cohort or 'unknown'}"
    yield (
        f"looked   {result.files} files, {result.size:,} bytes, {result.runs} runs, {result.ledger_entries} entries "
        "of the ledger"
    )
    yield f"verdict  {result.verdict or 'none'} (computed again from the records)"
    found = list(result.findings)
    headings = {code: f"{code} ({severity}): {meaning}" for code, (severity, meaning) in CODES.items()}
    yield from by_code(((one.code, one.path, one.says) for one in found), headings)
    if result.findings.remarks:
        yield ""
        yield "Not shown by this verification:"
        yield from (f"  {says}" for says in result.findings.remarks)
    yield ""
    yield f"{len(found)} findings" if found else "No findings."


def by_code(found: Iterable[tuple[str, str, str]], headings: Mapping[str, str]) -> Iterator[str]:
    """Findings, each as its code, its place and a sentence, in the order of codes below the heading of each."""
    lines: dict[str, list[str]] = {}
    for code, where, says in found:
        lines.setdefault(code, []).append(f"  {where}: {says}")
    for code, of_code in sorted(lines.items()):
        yield ""
        yield headings[code]
        yield from of_code[:_SHOWN]
        if len(of_code) > _SHOWN:
            yield f"  and {len(of_code) - _SHOWN} more; --json has all"


def table() -> Iterator[str]:
    """The codes as a table of the documentation."""
    yield "| code | severity | meaning |"
    yield "|---|---|---|"
    yield from (f"| `{code}` | {severity} | {meaning} |" for code, (severity, meaning) in CODES.items())


def _finding(one: Finding) -> dict[str, str]:
    return {"code": one.code, "severity": one.severity, "path": one.path, "says": one.says}
