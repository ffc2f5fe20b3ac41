"""Counts of any provider in one form; a sum is missing if any part is."""

import pytest

from fairtrial import documents
from fairtrial.usage.conflicts import Conflict, as_counts, compare, contradictions
from fairtrial.usage.counters import (
    CUT,
    INT64_MAX,
    NO_FINAL,
    NOT_IN_WIRE,
    Counters,
    Reported,
    Semantics,
    Usage,
    add,
    normalize,
    unavailable,
)

INSIDE = Semantics(cached_inside_input=True, reasoning_inside_output=True)
OUTSIDE = Semantics(cached_inside_input=False, reasoning_inside_output=False)


@pytest.mark.parametrize(
    ("reported", "semantics", "expected"),
    [
        (Reported(100, 64, NOT_IN_WIRE, 50, 32, 150), INSIDE, (100, 36, 64, None, 50, 32, 150)),
        (Reported(100, 64, 10, 50, 32, 150), INSIDE, (100, 26, 64, 10, 50, 32, 150)),
        (Reported(25, 4000, 300, 87, 0, NOT_IN_WIRE), OUTSIDE, (4325, 25, 4000, 300, 87, 0, None)),
        (Reported(25, 4000, NOT_IN_WIRE, 87), OUTSIDE, (4025, 25, 4000, None, 87, None, None)),
        (Reported(100, output=50), INSIDE, (100, None, None, None, 50, None, None)),
        (Reported(100, output=50), OUTSIDE, (None, 100, None, None, 50, None, None)),
        (Reported(10, 64, NOT_IN_WIRE, 50), INSIDE, (10, None, 64, None, 50, None, None)),
        (Reported(INT64_MAX, 1, 1, 1), OUTSIDE, (None, INT64_MAX, 1, 1, 1, None, None)),
        (Reported(), INSIDE, (None,) * 7),
    ],
)
def test_declared_semantics_decide(reported: Reported, semantics: Semantics, expected: tuple):
    counters = normalize(reported, semantics)
    assert tuple(as_counts(counters).values()) == expected
    assert set(counters.reasons) == {name for name, value in as_counts(counters).items() if value is None}


def test_what_is_left_out_is_zero_only_where_that_is_declared_and_usage_was_told():
    declared = Semantics(cached_inside_input=True, reasoning_inside_output=False, zero_left_out=True)
    assert normalize(Reported(5), declared).cached_input == 0
    assert normalize(Reported(5), declared).output == 0
    assert normalize(Reported(5, "not_a_count"), declared).cached_input is None
    assert normalize(Reported(), declared).cached_input is None


def _usage(**counts: int) -> Usage:
    return Usage("complete", "", Counters(**counts))


def test_a_sum_adds_up_and_leaves_out_what_has_no_usage():
    none = Usage("not_applicable", "error_answer", unavailable("error_answer", INSIDE))
    total = add([_usage(output=3, total=10), none, _usage(output=4, total=20)])
    assert (total.exchanges, total.counters.output, total.counters.total) == (2, 7, 30)
    assert total.counters.reason("output") == ""
    assert total.lacking["reasoning"] == 2


def test_a_sum_is_missing_if_any_part_is():
    absent = Usage("absent", "cut_before_usage", unavailable("cut_before_usage", INSIDE))
    total = add([_usage(output=3), absent, _usage(output=4)])
    assert total.counters.output is None
    assert total.counters.reason("output") == "cut_before_usage"
    assert (total.lacking["output"], total.at_least["output"]) == (1, 7)


@pytest.mark.parametrize("reason", [CUT, NO_FINAL])
def test_what_was_seen_before_the_last_word_is_a_lower_bound_and_no_count(reason: str):
    cut = Usage("incomplete", reason, Counters(all_input=100, output=1))
    total = add([_usage(all_input=10, output=3), cut])
    assert total.counters.all_input is None
    assert total.counters.reason("output") == reason
    assert total.at_least["all_input"] == 110


def test_one_missing_field_leaves_the_others():
    left_out = Usage("incomplete", "output_not_reported", Counters(all_input=5, reasons={"output": "not_reported"}))
    total = add([_usage(all_input=10, output=3), left_out])
    assert (total.counters.all_input, total.counters.output) == (15, None)


def test_reasons_that_differ_are_several():
    one = Usage("complete", "", Counters(reasons={"output": "not_reported"}))
    two = Usage("complete", "", Counters(reasons={"output": "out_of_range"}))
    assert add([one, two]).counters.reason("output") == "several_reasons"
    never = Usage("complete", "", Counters(reasons={"cache_write": NOT_IN_WIRE}))
    assert add([never, never]).counters.reason("cache_write") == NOT_IN_WIRE
    assert add([never, _usage(cache_write=1)]).counters.reason("cache_write") == "not_reported"


def test_a_sum_stays_within_64_bits():
    total = add([_usage(output=INT64_MAX), _usage(output=1)])
    assert (total.counters.output, total.counters.reason("output")) == (None, "out_of_range")
    assert total.at_least["output"] == INT64_MAX


def test_semantics_do_not_mix():
    outside = Usage("complete", "", Counters(output=1, reasoning=1, all_input=1, reasoning_inside_output=False))
    total = add([_usage(output=1, reasoning=1, all_input=1), outside])
    assert total.counters.reason("output") == "mixed_semantics"
    assert total.counters.all_input == 2


def test_of_no_exchange_the_sum_is_zero():
    assert set(as_counts(add([]).counters).values()) == {0}


def test_usage_is_a_document():
    usage = Usage("incomplete", CUT, normalize(Reported(1, 2, 3, 4), OUTSIDE), {"a": [1, None, "x"]}, "standard")
    assert documents.load(Usage, documents.dump(usage)) == usage


def test_sources_that_disagree_are_told_and_not_resolved():
    sources = {
        "provider": {"output": 10, "total": 30, "calls": 3},
        "gateway": {"output": 10, "total": None, "calls": 4},
        "agent": {"output": 9, "calls": 3, "turns": 2},
    }
    assert compare(sources) == [
        Conflict("calls", {"agent": 3, "gateway": 4, "provider": 3}),
        Conflict("output", {"agent": 9, "gateway": 10, "provider": 10}),
    ]


@pytest.mark.parametrize(
    ("counters", "expected"),
    [
        (normalize(Reported(100, 64, NOT_IN_WIRE, 50, 32, 150), INSIDE), []),
        (normalize(Reported(100, 64, NOT_IN_WIRE, 50, 32, 182), OUTSIDE), ["total"]),
        (normalize(Reported(100, 64, NOT_IN_WIRE, 50, 32, 246), OUTSIDE), []),
        (normalize(Reported(100, 0, 0, 50, 51, NOT_IN_WIRE), INSIDE), ["reasoning"]),
        (normalize(Reported(100, 101, 0, 50, 1, 150), INSIDE), ["cached_input"]),
        (normalize(Reported(100, 0, 0, 50, 1, 151), INSIDE), ["total"]),
        (normalize(Reported(100, 0, 0, 50, total=150), OUTSIDE), []),
        (normalize(Reported(), INSIDE), []),
    ],
)
def test_counts_that_do_not_fit_each_other_are_told(counters: Counters, expected: list[str]):
    assert [each.counter for each in contradictions(counters)] == expected
