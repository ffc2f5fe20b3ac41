"""The runs as tables: runs.csv (RFC 4180) and runs.parquet, one row per run, from the report alone. Pure.

Every metric has two columns: its value, empty where there is none, and `<metric>_state`, which says why. Numbers are
exact: integers, and decimal text for money. Rows are in the order of the report; nothing depends on locale or time.
"""

import csv
import io
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fairtrial_analysis.load.values import COLUMNS
from fairtrial_analysis.report.model import Report, Run
from fairtrial_analysis.rule.vocabulary import METRICS

CSV, PARQUET = "runs.csv", "runs.parquet"
_COMPRESSION, _LEVEL, _ROWS = "zstd", 3, 65536
_AT_A_TIME = 500  # rows
_INT64 = range(-(2**63), 2**63)
_DIGITS = 60  # after the point; what no such decimal is stays a fraction


@dataclass(frozen=True)
class Column:
    """One column that every run has."""

    name: str
    whole: bool  # an integer; text otherwise
    of: Callable[[Run], Any]


IDENTITY = (
    Column("run", False, lambda run: run.run),
    Column("uid", False, lambda run: run.uid),
    Column("schedule_index", True, lambda run: run.index),
    Column("block", False, lambda run: run.block),
    Column("task", False, lambda run: run.task),
    Column("candidate", False, lambda run: run.arm),
    Column("repetition", True, lambda run: run.repetition),
    Column("place_in_block", True, lambda run: run.place),
    Column("outcome", False, lambda run: run.outcome),
    Column("cause", False, lambda run: run.cause),
    Column("category", False, lambda run: run.category),
    Column("tags", False, lambda run: ";".join(run.tags) or None),
    Column("invalidity", False, lambda run: run.code),
    Column("reason", False, lambda run: run.reason),
    Column("replaces", False, lambda run: run.replaces),
    Column("corrections", False, lambda run: ";".join(map(str, run.corrected)) or None),
    Column("started_at", False, lambda run: run.started_at),
    Column("node", False, lambda run: run.node),
    Column("models", False, lambda run: ";".join(run.models) or None),
    Column("oom_kills", True, lambda run: run.oom_kills),
    Column("trace_gaps", False, lambda run: ";".join(run.trace_gaps) or None),
    Column("record_sha256", False, lambda run: run.record_sha256),
)


def header() -> list[str]:
    """Names of all columns."""
    return [each.name for each in IDENTITY] + [name for metric in COLUMNS for name in (metric, f"{metric}_state")]


def runs_csv(report: Report) -> bytes:
    """The runs as RFC 4180: UTF-8, lines end with CRLF, text is quoted, an empty field is no value."""
    held = io.BytesIO()
    with io.TextIOWrapper(held, "utf-8", "replace", newline="") as out:
        writer = csv.writer(out, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\r\n")
        writer.writerow(header())
        for cells in _rows(report):
            # unquoted and empty is none; a quoted empty text does not occur
            writer.writerow([_Blank() if cell is None else cell for cell in cells])
        out.flush()
        return held.getvalue()


def runs_parquet(report: Report) -> bytes:
    """The runs as Parquet. The bytes depend on the version of pyarrow, which the lock file and the image pin."""
    schema = _schema()
    table = pa.Table.from_batches(_batches(report, schema), schema)
    out = io.BytesIO()
    pq.write_table(table, out, compression=_COMPRESSION, compression_level=_LEVEL, row_group_size=_ROWS, version="2.6")
    return out.getvalue()


def _batches(report: Report, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows in Arrow's memory, some at a time: as Python's objects those of 10,000 runs take 60 MB."""
    rows = _rows(report)
    while some := list(itertools.islice(rows, _AT_A_TIME)):
        columns = zip(*some, strict=True)
        yield pa.record_batch([_array(cells, each.type) for cells, each in zip(columns, schema, strict=True)], schema)


def _array(cells: tuple[Any, ...], kind: pa.DataType) -> pa.Array:
    given = cells if kind == pa.int64() else [cell if cell is None else str(cell) for cell in cells]
    return pa.array(given, kind)


def _schema() -> pa.Schema:
    fields = [(each.name, pa.int64() if each.whole else pa.string()) for each in IDENTITY]
    for metric in COLUMNS:
        fields += [(metric, pa.int64() if _is_whole(metric) else pa.string()), (f"{metric}_state", pa.string())]
    return pa.schema([pa.field(name, kind) for name, kind in fields])


def _is_whole(metric: str) -> bool:
    return METRICS[metric].whole


def _rows(report: Report) -> Iterator[list[Any]]:
    for run in report.runs:
        absent = {each.metric: f"{each.state}: {each.reason}" for each in run.absent}
        cells = [each.of(run) for each in IDENTITY]
        for metric in COLUMNS:
            cells += [_cell(metric, run.values.get(metric)), _state(metric, run, absent)]
        yield cells


def _state(metric: str, run: Run, absent: dict[str, str]) -> str:
    return "measured" if metric in run.values else absent.get(metric, "missing: no_record")


def _cell(metric: str, value: float | str | None) -> int | str | None:
    """Exactly: an integer, or decimal text of what need not be one; 1/3 stays a fraction."""
    if value is None:
        return None
    exact = Fraction(value)
    if _is_whole(metric) and exact.denominator == 1 and exact.numerator in _INT64:
        return exact.numerator
    return decimal(exact)


def decimal(value: Fraction) -> str:
    """Decimal text, exactly; a fraction such as 1/3 stays one."""
    shift = next((digits for digits in range(_DIGITS + 1) if 10**digits % value.denominator == 0), None)
    if shift is None:
        return str(value)
    digits = str(abs(value.numerator) * (10**shift // value.denominator)).rjust(shift + 1, "0")
    whole, rest = digits[: len(digits) - shift], digits[len(digits) - shift :]
    return ("-" if value < 0 else "") + (f"{whole}.{rest}" if rest else whole)


class _Blank(int):
    """A number to the writer, so that nothing is quoted; written as nothing."""

    def __repr__(self) -> str:
        return ""

    __str__ = __repr__
