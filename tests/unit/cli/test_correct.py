"""`fairtrial correct`: the next document of a chain, of which nothing is stored that a reader would refuse."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fairtrial_analysis.examples import example
from fairtrial_analysis.load.results import load
from fairtrial_analysis.load.source import StoreSource

from fairtrial.cli.correct import Book, Wanted, correction, keep, wanted_of
from fairtrial.cohort.ledger import LedgerEntry
from fairtrial.errors import InvalidInput
from fairtrial.evidence import layout as layouts

NOON = "2026-03-01T12:00:00Z"
VOID = Wanted("void", "task_defect", "The task's fixture was the wrong one.")


@pytest.fixture
def book() -> Book:
    made = example(tasks=2)
    metadata = made.cohort.metadata
    keys = made.layout.cohort(metadata.namespace, metadata.name, metadata.uid)
    sealed = layouts.sha256(made.store.get(keys.preregistration()))
    return Book(made.store, made.layout, metadata.namespace, metadata.name, metadata.uid, sealed)


def a_run(book: Book, outcome: str = "passed") -> str:
    return next(name for name, entry in book.ledger().records.items() if entry.outcome == outcome)


def told_in_the_ledger(book: Book, made: Any) -> None:
    """As the operator does it once the document lies in the store."""
    ledger, keys = book.ledger(), book.layout.cohort(book.namespace, book.cohort, book.uid)
    run = made.supersedes.run if made.supersedes else ""
    page = ledger.page([LedgerEntry("correction", run=run, sha256=made.sha256)], NOON)
    book.store.put(keys.ledger_page(ledger.size + 1), page.to_bytes())


def test_a_void_takes_a_run_out_of_what_counts_and_the_record_stays(book: Book):
    run = a_run(book)
    before = book.record(run, book.ledger().records[run].uid)

    made = correction(book, replace(VOID, run=run), NOON)
    keep(book, made)
    told_in_the_ledger(book, made)

    loaded = load(StoreSource(book.store, book.layout, (book.namespace, book.cohort, book.uid)))
    (trial,) = (one for one in loaded.results.trials if one.run == run)
    assert (trial.outcome, loaded.results.integrity_errors) == ("void", ())
    assert book.record(run, book.ledger().records[run].uid) == before


def test_a_field_is_corrected_and_corrected_again(book: Book):
    run = a_run(book, "failed")
    wanted = Wanted(
        "correction", "wrong_classification", "Looked at again.", run, ['classification.category="type_error"']
    )

    first = correction(book, wanted, NOON)
    keep(book, first)
    second = correction(book, replace(wanted, sets=['classification.category="time_limit"']), NOON)

    assert second.supersedes is not None
    assert (second.number, second.previous_sha256, second.supersedes.correction_sha256) == (
        2,
        first.sha256,
        first.sha256,
    )
    assert second.changes[0].before == "type_error"


def test_evidence_is_named_by_its_digest(book: Book, tmp_path: Path):
    (tmp_path / "mail.txt").write_text("it was so")

    made = correction(book, Wanted("deviation", "other", "x", evidence=[tmp_path / "mail.txt"]), NOON)

    assert (made.supersedes, made.evidence[0].uri) == (None, "file:mail.txt")
    assert made.evidence[0].sha256 == layouts.sha256(b"it was so")


def test_two_at_once_are_no_fork(book: Book):
    run = a_run(book)
    ours, theirs = (
        correction(book, replace(VOID, run=run), NOON),
        correction(book, replace(VOID, run=run, says="y"), NOON),
    )
    keep(book, theirs)

    with pytest.raises(InvalidInput, match="somebody else made correction 1"):
        keep(book, ours)


@pytest.mark.parametrize(
    ("sets", "why"),
    [
        (["classification.outcome=\"failed\""], "classification.outcome can't be corrected"),
        (["identity.run=\"x\""], "identity.run can't be corrected"),
        (["usage.nothing=1"], "the record has no such field"),
        (["usage.totalTokens"], "must be FIELD=JSON"),
        (["classification.category=type_error"], "is not JSON"),
    ],
)  # fmt: skip
def test_what_a_reader_would_refuse_is_not_made(book: Book, sets: list[str], why: str):
    with pytest.raises(InvalidInput, match=why):
        correction(book, Wanted("correction", "other", "x", a_run(book), sets), NOON)


def test_a_run_that_nobody_knows_and_a_broken_chain_are_refused(book: Book):
    with pytest.raises(InvalidInput, match="the ledger has no record of it"):
        correction(book, replace(VOID, run="no-such-run"), NOON)

    made = replace(correction(book, replace(VOID, run=a_run(book)), NOON), previous_sha256="0" * 64)
    keep(book, made)
    with pytest.raises(InvalidInput, match="CORRECTION_CHAIN"):
        correction(book, replace(VOID, run=a_run(book)), NOON)


def test_before_the_end_there_is_nothing_to_correct(book: Book):
    keys = book.layout.cohort(book.namespace, book.cohort, book.uid)
    last = max(key for key in book.store.keys(keys.ledger()))
    book.store.objects.pop(last)  # type: ignore[attr-defined]

    with pytest.raises(InvalidInput, match="is not complete"):
        correction(book, replace(VOID, run=a_run(book)), NOON)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"reason": "because"}, "--reason 'because': must be one of"),
        ({"says": " "}, "--says: is empty"),
        ({"void": True}, "--run: is missing"),
        ({"run": "r", "void": True, "sets": ["a=1"]}, "--void and --set"),
    ],
)
def test_options_that_contradict_each_other_are_refused(arguments: dict[str, Any], why: str):
    given = {"reason": "other", "says": "x", "run": "", "sets": [], "evidence": [], "void": False} | arguments

    with pytest.raises(InvalidInput, match=why):
        wanted_of(**given)


def test_without_set_and_void_it_is_a_deviation():
    assert wanted_of("other", "x", "", [], [], void=False).kind == "deviation"
    assert json.dumps(wanted_of("other", "x", "r", ["a=1"], [], void=False).kind) == '"correction"'
