"""The ledger: pages follow each other, or they are refused."""

import json

import pytest

from fairtrial import documents
from fairtrial.attest import merkle
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


def test_after_the_end_only_corrections_and_analyses_follow():
    end = [LedgerEntry("complete", counts={"scheduled": 1})]
    correction = LedgerEntry("correction", run="c-00001", sha256="2" * 64)
    analysis = LedgerEntry("analysis", sha256="3" * 64, outcome="SUPPORTED")

    made = read("c", "uid-c", pages(FIRST, end, [analysis], [correction]))

    assert [entry.sha256 for entry in (*made.analyses, *made.corrections)] == ["3" * 64, "2" * 64]
    with pytest.raises(InvalidInput, match="holds a ticket after the end"):
        pages(FIRST, end, [LedgerEntry("ticket", run="c-00002", index=2)])
    for kind in ("analysis", "release"):
        with pytest.raises(InvalidInput, match=f"holds a {kind} before the end"):
            pages(FIRST, [LedgerEntry(kind, sha256="3" * 64)])


def test_a_release_is_told_once_and_is_something_to_analyse_again_for():
    end = [LedgerEntry("complete", counts={"scheduled": 1})]
    release = LedgerEntry("release", sha256="5" * 64)
    analysis = LedgerEntry("analysis", sha256="3" * 64, outcome="SUPPORTED")

    made = read("c", "uid-c", pages(FIRST, end, [analysis], [release], [analysis]))

    assert made.release is not None
    assert (made.release.sha256, made.release.number, made.analysable, made.size) == ("5" * 64, 5, 5, 6)
    assert sorted(made.checkpoints)[-3:] == [4, 5, 6]
    with pytest.raises(InvalidInput, match="holds a second release"):
        pages(FIRST, end, [release], [release])


def test_the_first_page_may_say_what_the_store_does():
    found = {"conditionalPut": True, "objectLock": None, "winners": 1}

    made = read("c", "uid-c", pages([FIRST[0], LedgerEntry("capabilities", sha256="4" * 64, found=found)]))

    assert made.capabilities is not None
    assert made.capabilities.found == found
    with pytest.raises(InvalidInput, match="second capabilities"):
        pages(FIRST, [made.capabilities], [made.capabilities])


def test_a_checkpoint_is_due_at_the_seal_every_256_entries_at_the_end_and_ever_after():
    def tickets(first: int, last: int) -> list[LedgerEntry]:
        return [LedgerEntry("ticket", run=f"c-{index:05d}", index=index) for index in range(first, last + 1)]

    groups = [
        [LedgerEntry("sealed", sha256="1" * 64), *tickets(1, 2)],
        tickets(3, 254),  # 255 entries
        tickets(255, 256),  # 257
        tickets(257, 400),
        [LedgerEntry("complete", counts={"scheduled": 400})],
        [LedgerEntry("correction", sha256="2" * 64)],
        [LedgerEntry("analysis", sha256="3" * 64)],
    ]

    stored = pages(*groups)

    leaves = [documents.dump(entry) for page in stored for entry in json.loads(page)["entries"]]
    assert read("c", "uid-c", stored).checkpoints == merkle.prefix_roots(leaves, [3, 257, 402, 403, 404])
