"""How calls went over the time of a run: what is a fault, what is recovery, what the start and the tail are."""

from dataclasses import replace
from typing import Any

import pytest

from fairtrial.documents import RunIdentity
from fairtrial.journal.summary import Exchange
from fairtrial.usage.calls import summarise
from fairtrial.usage.counters import Counters, Usage
from fairtrial.usage.course import NO_ANSWER, TOO_FEW, UNUSABLE, Course, Pair, course, fault

RUN = RunIdentity("trials", "run-1", "uid")


def call(
    at: int = 0, *, lasts: int = 100, ttft: int | None = 40, tokens: int | None = 1000, **changes: Any
) -> Exchange:
    """A call that began `at` ms and had a usable answer."""
    usage = Usage("complete", "", Counters(all_input=tokens, output=10))
    good = Exchange(
        f"{1_700_000_000_000 + at:013d}-00000000", RUN, "p", "openaiChat", "/v1", "2026", "complete",
        status=200, ttlb_ms=lasts, ttft_ms=ttft, first_usable=True, usage=usage,
    )  # fmt: skip
    return replace(good, **changes)


def failed(at: int = 0, **changes: Any) -> Exchange:
    """A call that failed on the provider's side."""
    return call(at, ttft=None, tokens=None, **({"status": 500, "first_usable": False} | changes))


# --- what is a fault --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("page", "expected"),
    [
        (call(), ""),
        (failed(status=429), "rate_limited"),
        (failed(status=529), "overloaded"),
        (failed(status=500), "server_error"),
        (failed(status=None, ending="upstream_unreachable"), "unreachable"),
        (failed(status=200, ending="upstream_cut", first_usable=True), "cut"),
        (failed(status=200, ending="upstream_silent"), "silent"),
        (failed(status=200, error_type="overloaded_error"), "overloaded"),
        (failed(status=200), UNUSABLE),  # an empty body, or one that no reader understands
        (failed(status=400), ""),  # the agent asked for something that there is not
        (failed(status=200, ending="client_gone"), ""),  # the agent gave it up
        (failed(status=None, ending="gateway_restarted"), ""),
        (failed(status=429, ending="refused", refusal="rate"), ""),  # the gateway's own answer
    ],
)
def test_a_fault_is_what_failed_on_the_providers_side(page: Exchange, expected: str) -> None:
    assert fault(page) == expected


# --- recovery ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("calls", "faults", "recovered"),
    [
        ([], 0, 0),
        ([call(0), call(200)], 0, 0),
        ([failed(0), call(200)], 1, 1),
        ([failed(0), failed(200), call(400)], 2, 2),  # one usable answer ends both
        ([call(0), failed(200)], 1, 0),  # an answer before is no recovery
        ([failed(0), call(200), failed(400)], 2, 1),
        ([failed(0, lasts=500), call(200)], 1, 0),  # begun while the fault was not over: another conversation's
        ([failed(0, lasts=500), call(500)], 1, 1),
        ([failed(0), call(200, ending="upstream_cut")], 2, 0),  # usable in part, and a fault itself
        ([failed(0), call(200, first_usable=False, status=400)], 1, 0),
    ],
)
def test_a_fault_is_recovered_from_by_a_usable_answer_that_began_after_it(
    calls: list[Exchange], faults: int, recovered: int
) -> None:
    found = course(calls)

    assert (sum(found.faults.values()), found.recovered) == (faults, recovered)


def test_faults_are_counted_by_what_failed() -> None:
    found = course([failed(0, status=429), failed(200, status=429), failed(400, status=503), call(600)])

    assert found.faults == {"rate_limited": 2, "server_error": 1}


# --- start and tail ---------------------------------------------------------------------------------------------------
def test_the_start_and_the_tail_are_thirds_in_the_order_of_beginning_each_told_by_its_lower_median() -> None:
    waits = [10, 30, 20, 500, 500, 500, 60, 80, 70, 90, 75]  # 11 calls: thirds of three
    calls = [call(100 * n, ttft=ms, tokens=1000 * (n + 1)) for n, ms in enumerate(waits)]

    found = course(list(reversed(calls)))

    assert found.first_tokens_ms == Pair(20, 75)
    assert found.inputs == Pair(2000, 10_000)
    assert (found.first_token_ms, found.largest_input) == (75, 11_000)


def test_the_lower_median_of_an_even_number_is_a_value_that_was_observed() -> None:
    assert course([call(0, ttft=10), call(100, ttft=31)]).first_token_ms == 10


def test_eight_calls_have_no_start_and_no_tail_but_a_median() -> None:
    found = course([call(100 * n) for n in range(8)])

    assert found.first_tokens_ms == found.inputs == Pair(reason=TOO_FEW)
    assert (found.first_token_ms, found.largest_input) == (40, 1000)


def test_faults_and_refusals_are_no_part_of_start_and_tail() -> None:
    calls = [call(100 * n) for n in range(8)] + [failed(800), call(900, ending="upstream_cut")]

    assert course(calls).first_tokens_ms == Pair(reason=TOO_FEW)


def test_one_call_without_a_count_makes_the_context_unknown_and_not_smaller() -> None:
    found = course([call(100 * n, tokens=None if n == 3 else 1000) for n in range(9)])

    assert (found.largest_input, found.inputs) == (None, Pair(reason="unknown_in_1_of_9_calls"))
    assert found.largest_input_reason == "unknown_in_1_of_9_calls"
    assert found.first_tokens_ms == Pair(40, 40)


def test_no_usable_answer_is_a_reason_and_no_zero() -> None:
    assert course([]) == Course()
    assert course([failed()]).first_token_reason == NO_ANSWER


# --- in the list of calls ---------------------------------------------------------------------------------------------
def test_the_list_of_calls_holds_what_its_course_is_computed_of() -> None:
    pages = [failed(0, status=503), call(200, kind="count_tokens"), call(400, ttft=12, tokens=700)]
    made = summarise({one.exchange: (one, 1, "0" * 64) for one in pages}, [], provider="p", model="m", prices=None)

    assert [(one.fault, one.ttft_ms, one.input_tokens, one.output_tokens) for one in made.calls] == [
        ("server_error", None, None, 10),
        ("", 40, 1000, 10),
        ("", 12, 700, 10),
    ]
    assert made.course == course([pages[0], pages[2]])
    assert (made.course.recovered, made.course.largest_input) == (1, 700)
