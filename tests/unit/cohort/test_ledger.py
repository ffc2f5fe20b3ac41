"""The ledger: pages follow each other, or they are refused."""

import json

import pytest

from fairtrial.cohort.ledger import Ledger, LedgerEntry, read
from fairtrial.errors import InvalidInput

AT = "2026-01-01T12:00:00Z"
FIRST = [LedgerEntry("sealed", sha256="1" * 64), LedgerEntry("ticket", run="c-00001", index=1)]
SECOND = [
    LedgerEntry("record", run="c-00001", uid="u", index=1, outcome="invalid", reason="evicted"),
    LedgerEntry("replacement", run="c-00001", uid="u", index=1, by="c-00001-r1", code="allowed", why="evicted"),
    LedgerEntry("ticket", run="c-00001-r1", index=1),
]


def pages(*groups: list[LedgerEntry]) -> list[bytes]:
    ledger, made = Ledger("c", "uid-c"), list[bytes]()
    for group in groups:
        made.append(ledger.page(group, AT).to_bytes())
        ledger.take(made[-1])
    return made


def test_pages_number_their_entries_and_say_what_they_follow():
    made = read("c", "uid-c", pages(FIRST, SECOND))

    assert made.size == 5
    assert list(made.tickets) == ["c-00001", "c-00001-r1"]
    assert list(made.open) == ["c-00001-r1"]
    assert made.scheduled == 1
    assert made.replaces["c-00001-r1"].run == "c-00001"
    assert made.decisions["c-00001"].number == 4


def test_empty_fields_are_left_out_of_what_is_stored():
    page = json.loads(pages(FIRST)[0])

    assert page["entries"][1] == {"number": 2, "kind": "ticket", "run": "c-00001", "index": 1}


def test_a_page_that_is_missing_changed_or_anothers_is_refused():
    one, two = pages(FIRST, SECOND)
    changed = one.replace(b"c-00001", b"c-00002")

    for broken, why in (
        ([two], "follows"),
        ([changed, two], "follows"),
        ([one, one], "follows"),
        ([one.replace(b"uid-c", b"uid-d")], "is of cohort"),
        ([one.replace(b'"number":2', b'"number":3')], "entry 3 where 2 belongs"),
        ([one.replace(b"ticket", b"ticked")], "ticked"),
    ):
        with pytest.raises(InvalidInput, match=why):
            read("c", "uid-c", broken)


def test_the_same_thing_is_said_once():
    with pytest.raises(InvalidInput, match="second ticket of c-00001"):
        pages(FIRST, [LedgerEntry("ticket", run="c-00001", index=1)])


def test_what_is_said_once_of_a_cohort_is_said_once():
    for kind in ("sealed", "capabilities", "complete"):
        twice = pages([LedgerEntry(kind, sha256="1" * 64)], [])[:1]
        ledger = read("c", "uid-c", twice)
        with pytest.raises(InvalidInput, match=f"second {kind}"):
            ledger.take(ledger.page([LedgerEntry(kind, sha256="2" * 64)], AT).to_bytes())


def test_corrections_are_kept_in_their_order():
    ledger = read("c", "uid-c", pages(FIRST, [LedgerEntry("correction", run="c-00001", sha256=n * 64) for n in "12"]))

    assert [entry.sha256[0] for entry in ledger.corrections] == ["1", "2"]
    assert ledger.analysable == 4
