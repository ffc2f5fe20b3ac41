"""`fairtrial measurements`: what the measurement tasks of a cohort found, by metric and candidate.

Medians and quartiles by the usual interpolation (Hyndman and Fan's type 7). A 95th percentile stands there only with
the 59 samples that bound it; with fewer the highest sample does. Runs that could not be measured are counted.
"""

import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from rich.table import Table

from fairtrial import documents
from fairtrial.audit.numbers.sample import quantile
from fairtrial.cli import output
from fairtrial.cli.book import Book, book_of
from fairtrial.errors import InvalidInput

TAIL_SAMPLES = 59  # so many bound a 95th percentile with 95 % confidence
_UNITS = {"ms": 1_000_000, "us": 1_000, "bytes": 1}  # in the record's own: nanoseconds, or bytes


@dataclass
class Samples:
    """Raw samples of one metric and candidate, in the order of the runs, in the metric's own unit."""

    samples: list[Fraction] = field(default_factory=list)
    runs: int = 0


Found = dict[tuple[str, str], Samples]


def run(name: str, namespace: str, context: str | None, *, as_json: bool) -> int:
    """Print what was measured as a table, or as the document that a decision rule's runtime budgets are read from."""
    found, unmeasured = measured(book_of(name, namespace, context))
    if not found:
        raise InvalidInput(
            f"cohort {name}: no run of it measured anything.", next_move="See docs/tasks.md, “Measuring”."
        )
    if as_json:
        sys.stdout.buffer.write(documents.dump(document(found)) + b"\n")
        sys.stdout.buffer.flush()
        return 0
    console = output.console()
    console.print(table(found))
    if unmeasured:
        console.print(f"{unmeasured} runs could not be measured, and are not among these.")
    return 0


def measured(book: Book) -> tuple[Found, int]:
    """All samples of the runs that count, and how many runs ended without."""
    found: Found = defaultdict(Samples)
    without = 0
    entries = sorted(book.ledger().records.values(), key=lambda entry: (entry.index, entry.run))
    for entry in entries:
        record = book.record(entry.run, entry.uid)
        taken = list(_taken(record)) if entry.outcome == "passed" else []
        without += not taken
        for metric, samples in taken:
            place = found[metric, record["identity"]["candidate"]]
            place.samples += samples
            place.runs += 1
    return dict(found), without


def document(found: Found) -> dict[str, Any]:
    """The document `runtime.json`: a cohort whose gate names it by its SHA-256 reads its runtime budgets against it."""
    metrics: dict[str, dict[str, list[str]]] = defaultdict(dict)
    for (metric, candidate), taken in sorted(found.items()):
        metrics[metric][candidate] = [decimal(sample) for sample in taken.samples]
    return {"schemaVersion": 1, "kind": "RuntimeResults", "metrics": metrics}


def table(found: Found) -> Table:
    """Medians, quartiles, range and tail, a line for each metric and candidate."""
    columns = ("METRIC", "CANDIDATE", "RUNS", "SAMPLES", "MEDIAN", "QUARTILES", "RANGE", "95TH PERCENTILE")
    made = Table(*columns, box=None, pad_edge=False)
    for (metric, candidate), taken in sorted(found.items()):
        ordered = sorted(taken.samples)
        low, middle, high = (quantile(ordered, Fraction(quarter, 4)) for quarter in (1, 2, 3))
        tail = _short(quantile(ordered, Fraction(95, 100))) if len(ordered) >= TAIL_SAMPLES else "too few samples"
        cells = (metric, candidate, str(taken.runs), str(len(ordered)), _short(middle))
        between = f"{_short(low)} to {_short(high)}", f"{_short(ordered[0])} to {_short(ordered[-1])}"
        made.add_row(*map(output.plain, cells), *between, tail)
    return made


def decimal(sample: Fraction) -> str:
    """A sample as decimal text; its denominator is a power of ten."""
    text = f"{sample.numerator / sample.denominator:.6f}" if sample.denominator > 1 else str(sample.numerator)
    return text.rstrip("0").rstrip(".") if "." in text else text


def _taken(record: dict[str, Any]) -> Iterator[tuple[str, list[Fraction]]]:
    for check in record["evaluation"]["checks"]:
        one = check.get("measurement")
        if one is not None:
            unit = _UNITS[one["metric"].rpartition("_")[2]]
            yield one["metric"], [Fraction(sample, unit) for sample in one["samples"]]


def _short(value: Fraction) -> str:
    return f"{float(value):.4g}" if value < 1000 else f"{float(value):,.0f}"  # noqa: PLR2004
