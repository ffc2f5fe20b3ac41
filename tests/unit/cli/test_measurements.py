"""`fairtrial measurements` and `attach`: samples of a runtime experiment, and the one document that a gate named."""

import io
import json
import re
import statistics
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest
from fairtrial_analysis.load.documents import _runtime
from rich.console import Console

from fairtrial import documents
from fairtrial.cli import measurements
from fairtrial.cli.attach import attach
from fairtrial.cli.book import Book
from fairtrial.cli.measurements import decimal, document, measured, quantile, table
from fairtrial.cohort.ledger import Ledger, LedgerEntry
from fairtrial.errors import Conflict, InvalidInput
from fairtrial.evidence.layout import Layout, sha256
from fairtrial.evidence.memory import MemoryStore

RUNS = [("r1", "eager", [3_000_000, 1_000_000]), ("r2", "lazy", [500_000]), ("r3", "eager", [2_000_000])]


def record(candidate: str, samples: list[int]) -> dict[str, Any]:
    taken = [{"metric": "cold_start_ms", "unit": "ns", "samples": samples, "warmUp": 1}] if samples else [None]
    checks = [{"name": "behaviour", "measurement": None}, *({"name": "start", "measurement": one} for one in taken)]
    return {"identity": {"candidate": candidate}, "evaluation": {"checks": checks}}


def book_with(*runs: tuple[str, str, list[int]], gates: Any = ()) -> Book:
    store, layout, ledger = MemoryStore(), Layout(), Ledger("runtime", "uid")
    keys = layout.cohort("team", "runtime", "uid")
    store.put(keys.preregistration(), documents.dump({"spec": {"gates": gates}}))
    for index, (name, candidate, samples) in enumerate(runs, start=1):
        store.put(
            layout.run("team", name, f"{name}-uid", "runtime").record(), documents.dump(record(candidate, samples))
        )
        outcome = "passed" if samples else "failed"
        entries = [
            LedgerEntry("ticket", run=name, index=index),
            LedgerEntry("record", run=name, uid=f"{name}-uid", index=index, outcome=outcome),
        ]
        data = ledger.page(entries, "2026-01-01T00:00:00Z").to_bytes()
        store.put(keys.ledger_page(ledger.size + 1), data)
        ledger.take(data)
    return Book(store, layout, "team", "runtime", "uid", "0" * 64)


def test_samples_are_put_together_by_candidate_in_the_order_of_the_schedule():
    found, without = measured(book_with(*RUNS, ("r4", "lazy", [])))

    eager = found["cold_start_ms", "eager"]
    assert (eager.samples, eager.runs) == ([Fraction(3), Fraction(1), Fraction(2)], 2)
    assert found["cold_start_ms", "lazy"].samples == [Fraction(1, 2)]
    assert without == 1


def test_the_document_is_the_one_that_an_analysis_reads():
    found, _ = measured(book_with(*RUNS))

    made = _runtime(documents.dump(document(found)))["runtime"]

    assert [value.value for value in made["cold_start_ms"]["eager"]] == [3, 1, 2]
    assert [value.value for value in made["cold_start_ms"]["lazy"]] == [Fraction(1, 2)]


@pytest.mark.parametrize(
    ("sample", "text"),
    [(Fraction(3), "3"), (Fraction(1, 2), "0.5"), (Fraction(1_234_567, 1_000_000), "1.234567"), (Fraction(0), "0")],
)
def test_a_sample_is_written_to_its_last_digit(sample: Fraction, text: str):
    assert decimal(sample) == text


def test_quartiles_are_those_of_the_statistics_module():
    values = [Fraction(value) for value in (5, 1, 9, 4, 4, 7)]

    found = [quantile(sorted(values), Fraction(quarter, 4)) for quarter in (1, 2, 3)]

    assert found == statistics.quantiles(values, n=4, method="inclusive")
    assert quantile([Fraction(3)], Fraction(95, 100)) == 3


def shown(samples: Sequence[int]) -> str:
    """The table of one run with these samples, in milliseconds."""
    found, _ = measured(book_with(("r1", "eager", [sample * 1_000_000 for sample in samples])))
    console = Console(file=io.StringIO(), width=200)
    console.print(table(found))
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_the_table_has_median_quartiles_range_and_tail():
    head, row = shown([1000, *range(99, 0, -1)]).splitlines()

    cells = ["METRIC", "CANDIDATE", "RUNS", "SAMPLES", "MEDIAN", "QUARTILES", "RANGE", "95TH PERCENTILE"]
    assert re.split(r" {2,}", head.strip()) == cells
    told = ["cold_start_ms", "eager", "1", "100", "50.5", "25.75 to 75.25", "1 to 1,000", "95.05"]
    assert re.split(r" {2,}", row.strip()) == told


def test_a_tail_needs_the_samples_that_bound_it():
    assert "too few samples" in shown(range(measurements.TAIL_SAMPLES - 1))
    assert "too few samples" not in shown(range(measurements.TAIL_SAMPLES))


def test_only_the_document_that_a_gate_named_is_attached_and_only_once():
    data = json.dumps({"kind": "RuntimeResults"}).encode()
    named = [{"name": "runtime", "evidence": [{"uri": "repository:runs/runtime.json", "sha256": sha256(data)}]}]
    book = book_with(gates=named)

    told = attach(book, "runtime.json", data)

    key = book.layout.cohort("team", "runtime", "uid").attached("runtime.json")
    assert told == f"{key} sha256:{sha256(data)}"
    assert book.store.get(key) == data
    for name, other, why in (
        ("runtime.json", b"{}", "but the sealed cohort names"),
        ("construction.json", data, "names none of this name"),
        ("notes.txt", data, "must be one of"),
    ):
        with pytest.raises(InvalidInput, match=why):
            attach(book, name, other)
    book.store.objects[key] = b"somebody else's"  # type: ignore[attr-defined]
    book.store._digests[key] = sha256(b"somebody else's")  # type: ignore[attr-defined]
    with pytest.raises(Conflict):
        attach(book, "runtime.json", data)
