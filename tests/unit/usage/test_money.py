"""Cost is exact, or unavailable with the reason."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairtrial.errors import InvalidInput
from fairtrial.usage import money
from fairtrial.usage.counters import CUT, INT64_MAX, NOT_IN_WIRE, Counters, Reported, Semantics, Usage, normalize
from fairtrial.usage.money import Cost, Snapshot, at_least, cost, plain

PRICES = Snapshot(
    snapshot="2026-01",
    provider="p",
    model="m",
    currency="USD",
    effective_date="2026-01-01",
    input="3",
    cached_input="0.3",
    cache_write="3.75",
    output="15",
)
INSIDE = Semantics(cached_inside_input=True, reasoning_inside_output=True)
OUTSIDE = Semantics(cached_inside_input=False, reasoning_inside_output=False)


def _usage(reported: Reported, semantics: Semantics = OUTSIDE, tier: str = "") -> Usage:
    return Usage("complete", "", normalize(reported, semantics), {}, tier)


USAGE = _usage(Reported(25, 4000, 300, 87, 0))


def test_a_cost_is_exact_decimal_text():
    assert cost(USAGE, PRICES, "m") == Cost(
        "0.003705",
        "",
        "USD",
        "2026-01",
        {"input": "0.000075", "cached_input": "0.0012", "cache_write": "0.001125", "output": "0.001305"},
    )


@pytest.mark.parametrize(
    ("reported", "semantics", "prices", "amount"),
    [
        (Reported(100, 0, NOT_IN_WIRE, 50, 32), INSIDE, PRICES, "0.00105"),  # reasoning is in output already
        (Reported(100, 0, NOT_IN_WIRE, 50), INSIDE, PRICES, "0.00105"),  # and need not be known
        (Reported(100, 0, NOT_IN_WIRE, 50, 32), OUTSIDE, PRICES, "0.00153"),  # outside, at output's price
        (Reported(100, 0, NOT_IN_WIRE, 50, 32), OUTSIDE, replace(PRICES, reasoning="1"), "0.001082"),
        (Reported(100, 0, NOT_IN_WIRE, 50, 32), INSIDE, replace(PRICES, reasoning="1"), "0.000602"),
        (Reported(1_000_000, 0, 0, 0, 0), OUTSIDE, PRICES, "3"),
        (Reported(0, 0, 0, 0, 0), OUTSIDE, PRICES, "0"),
        (Reported(1, 0, 0, 0, 0), OUTSIDE, replace(PRICES, input="0.000000000001"), "0.000000000000000001"),
        (Reported(1, 0, 0, 0, 0), OUTSIDE, Snapshot("s", "p", "m", "USD", "2026-01-01", input="1"), "0.000001"),
    ],
)
def test_every_token_is_charged_once(reported: Reported, semantics: Semantics, prices: Snapshot, amount: str):
    assert cost(_usage(reported, semantics), prices, "m").amount == amount


@pytest.mark.parametrize(
    ("usage", "prices", "model", "reason"),
    [
        (USAGE, None, "m", "no_pricing_snapshot"),
        (USAGE, PRICES, "m-2026", "priced_for_another_model"),
        (replace(USAGE, service_tier="priority"), PRICES, "m", "priced_for_another_service_tier"),
        (
            replace(USAGE, service_tier="standard"),
            replace(PRICES, service_tier="flex"),
            "m",
            "priced_for_another_service_tier",
        ),
        (USAGE, replace(PRICES, cache_write=None), "m", "no_price_for_cache_write"),
        (USAGE, replace(PRICES, output=None), "m", "no_price_for_output"),
        (_usage(Reported(1, output=1), INSIDE), PRICES, "m", "uncached_input_not_reported"),
        (_usage(Reported(1, 0, 0, 1), OUTSIDE), PRICES, "m", "reasoning_not_reported"),
        (_usage(Reported(1, 0, 0, 1), INSIDE), replace(PRICES, reasoning="1"), "m", "reasoning_not_reported"),
        (
            _usage(Reported(1, 0, 0, 1, 2), INSIDE),
            replace(PRICES, reasoning="1"),
            "m",
            "reasoning_contradicts_declared_semantics",
        ),
        (_usage(Reported(1, 0, 0, 1, 0, unpriced=("audio",))), PRICES, "m", "no_price_for_audio"),
        (replace(USAGE, state="incomplete", reason=CUT), PRICES, "m", CUT),
        (Usage("absent", "not_requested"), PRICES, "m", "not_requested"),
    ],
)
def test_a_cost_is_unavailable_with_the_reason(usage: Usage, prices: Snapshot | None, model: str, reason: str):
    unavailable = cost(usage, prices, model)
    assert (unavailable.amount, unavailable.reason) == (None, reason)
    assert not unavailable.parts


@pytest.mark.parametrize(
    ("said", "priced"), [("", ""), ("", "flex"), ("standard", ""), ("default", "standard"), ("Flex", "flex")]
)
def test_a_usual_tier_fits(said: str, priced: str):
    assert cost(replace(USAGE, service_tier=said), replace(PRICES, service_tier=priced), "m").amount == "0.003705"


def test_where_usage_does_not_apply_nothing_is_charged():
    assert cost(Usage("not_applicable", "error_answer"), PRICES, "").amount == "0"


_COUNTS = st.integers(0, INT64_MAX)
_PRICES = st.decimals(0, 10**12 - 1, allow_nan=False, places=12).map(plain)


@settings(max_examples=60, deadline=None)
@given(counts=st.tuples(_COUNTS, _COUNTS, _COUNTS), prices=st.tuples(_PRICES, _PRICES, _PRICES))
def test_no_digit_is_ever_lost(counts: tuple, prices: tuple):
    counters = Counters(uncached_input=counts[0], cached_input=counts[1], cache_write=0, output=counts[2])
    snapshot = replace(PRICES, input=prices[0], cached_input=prices[1], output=prices[2])
    amount = cost(Usage("complete", "", counters), snapshot, "m").amount
    assert amount is not None
    assert "E" not in amount.upper()
    exact = sum(Fraction(count) * Fraction(price) for count, price in zip(counts, prices, strict=True)) / 10**6
    assert Fraction(amount) == exact


def test_costs_add_up_and_one_that_is_unavailable_makes_the_sum_so():
    one = cost(USAGE, PRICES, "m")
    assert money.add([one, one, one]) == Cost(
        "0.011115",
        "",
        "USD",
        "2026-01",
        {"input": "0.000225", "cached_input": "0.0036", "cache_write": "0.003375", "output": "0.003915"},
    )
    lacking = money.add([one, cost(replace(USAGE, state="incomplete", reason=CUT), PRICES, "m")])
    assert (lacking.amount, lacking.reason) == (None, f"{CUT}, in 1 of 2 exchanges")
    assert money.add([one, Cost("1", "", "EUR", "x")]).reason == "several_currencies"
    assert money.add([]).amount == "0"
    newer = cost(USAGE, replace(PRICES, snapshot="2026-02"), "m")
    assert money.add([one, newer]).snapshot == "2026-01,2026-02"


def test_a_budget_sees_a_lower_bound():
    assert at_least(Counters(uncached_input=1_000_000, output=None), PRICES) == "3"
    assert at_least(USAGE.counters, replace(PRICES, output=None)) == "0.0024"


@pytest.mark.parametrize(
    "price", ["1e3", "-1", "NaN", "", ".5", "1,5", "1" * 13, "0." + "1" * 13, "\N{ARABIC-INDIC DIGIT ONE}"]
)
def test_what_is_no_decimal_is_refused(price: str):
    with pytest.raises(InvalidInput, match="input"):
        replace(PRICES, input=price)


@pytest.mark.parametrize(
    ("value", "text"),
    [("0", "0"), ("0.00", "0"), ("100", "100"), ("1.50", "1.5"), ("1E+3", "1000"), ("1E-7", "0.0000001")],
)
def test_plain_text(value: str, text: str):
    assert plain(Decimal(value)) == text
