"""The report's list of runs and runs.csv: each run's row again, from its record, value by value."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from fairtrial.audit.folder import Folder
from fairtrial.audit.numbers.accounts import models, oom_kills
from fairtrial.audit.numbers.conduct import trace_gaps
from fairtrial.audit.numbers.expect import ANY
from fairtrial.audit.numbers.rows import COLUMNS, Row

JsonObject = dict[str, Any]
TABLE = "data/analysis/runs.csv"
SAFE = 2**53 - 1
_IDENTITY = {
    "run": "run", "uid": "uid", "schedule_index": "index", "block": "block", "task": "task", "candidate": "arm",
    "repetition": "repetition", "place_in_block": "place", "outcome": "outcome", "cause": "cause",
    "category": "category", "tags": "tags", "invalidity": "code", "reason": "reason", "replaces": "replaces",
    "corrections": "corrected", "started_at": "startedAt", "node": "node", "models": "models", "oom_kills": "oomKills",
    "trace_gaps": "traceGaps", "record_sha256": "recordSha256",
}  # fmt: skip


def expected(found: Sequence[Row], corrections: Mapping[str, list[int]]) -> list[JsonObject]:
    """Every run as the report must have it."""
    return [_run(row, corrections.get(row.run, [])) for row in found]


def _run(row: Row, corrections: list[int]) -> JsonObject:
    record, end = row.record, row.end
    pod = (record.get("pods") or {}).get("agent") or {}
    told = bool(record)
    return {
        "run": row.run,
        "uid": row.uid or None,
        "index": row.index,
        "block": row.block,
        "task": row.task,
        "arm": row.arm,
        "repetition": row.repetition,
        "place": row.place,
        "outcome": row.outcome,
        "cause": end.get("cause") or None,
        "category": end.get("category"),
        "tags": list(end.get("tags", ())),
        "code": end.get("invalidity"),
        "reason": (end.get("reason") or None) if told and not row.voided else ANY,
        "replaces": row.replaces or None,
        "corrected": corrections,
        "recordSha256": row.record_sha256 or None,
        "record": f"data/runs/{row.run}/record.json" if row.record_sha256 else None,
        "startedAt": (record["timings"]["timestamps"].get("agentStarted") or None) if told else None,
        "node": pod.get("node") or None,
        "models": models(record) if told else [],
        "oomKills": oom_kills(record) if told else None,
        "traceGaps": trace_gaps(record) if told else [],
        "values": {name: _json(has.number) for name, has in row.values.items() if has.number is not None},
        "absent": [
            {"metric": name, "state": has.state, "reason": has.reason}
            for name, has in row.values.items()
            if has.number is None
        ],
    }


def _json(number: Fraction) -> int | str:
    """A JSON number where one holds it exactly, else text."""
    whole = number.denominator == 1 and abs(number.numerator) <= SAFE
    return number.numerator if whole else str(number)


# --- runs.csv ---------------------------------------------------------------------------------------------------------
def table(folder: Folder, wanted: Sequence[JsonObject]) -> None:
    """runs.csv cell by cell. An empty field is no value."""
    data = folder.read(TABLE)
    if data is None:
        return
    try:
        lines = list(csv.reader(io.StringIO(data.decode("utf-8"), newline=""), strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        folder.findings.add("TABLE_MISMATCH", TABLE, f"Is no CSV: {error}.")
        return
    for says in _differences(lines, wanted):
        folder.findings.add("TABLE_MISMATCH", TABLE, says)


def _differences(lines: list[list[str]], wanted: Sequence[JsonObject]) -> Iterator[str]:
    header = [*_IDENTITY, *(name for metric in COLUMNS for name in (metric, f"{metric}_state"))]
    if not lines or lines[0] != header:
        yield "Its columns are not those of a table of runs."
        return
    if len(lines) != len(wanted) + 1:
        yield f"Has {len(lines) - 1} rows; there are {len(wanted)} runs."
    for number, (line, run) in enumerate(zip(lines[1:], wanted, strict=False), 2):
        if len(line) != len(header):
            yield f"Row {number} has {len(line)} fields."
            continue
        cells = dict(zip(header, line, strict=True))
        for name, has in _cells(run):
            if has is not ANY and cells[name] != has:
                yield f"Row {number} ({run['run']}): {name} is {cells[name]!r}, and follows as {has!r}."


def _cells(run: JsonObject) -> Iterator[tuple[str, Any]]:
    for name, key in _IDENTITY.items():
        has = run[key]
        text = ";".join(map(str, has)) if isinstance(has, list) else "" if has is None else has
        yield name, text if text is ANY else str(text)
    absent = {one["metric"]: f"{one['state']}: {one['reason']}" for one in run["absent"]}
    for metric in COLUMNS:
        has = run["values"].get(metric)
        yield metric, "" if has is None else _decimal(Fraction(has))
        yield f"{metric}_state", "measured" if has is not None else absent.get(metric, "missing: no_record")


def _decimal(number: Fraction) -> str:
    """Decimal text, exactly; what no decimal is stays a fraction."""
    for digits in range(61):
        if 10**digits % number.denominator == 0:
            whole, rest = divmod(abs(number.numerator) * (10**digits // number.denominator), 10**digits)
            sign = "-" if number < 0 else ""
            return f"{sign}{whole}" + (f".{rest:0{digits}d}" if digits else "")
    return str(number)
