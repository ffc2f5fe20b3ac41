"""accounted_tokens follows a named rule, and counts no token twice."""

import itertools

import pytest

from fairtrial.errors import InvalidInput
from fairtrial.usage.accounted import ALL_TOKENS, FRESH_TOKENS, RULES, Rule, accounted_tokens
from fairtrial.usage.counters import INT64_MAX, NAMES, NOT_IN_WIRE, Counters, Reported, Semantics, normalize

INSIDE = Semantics(cached_inside_input=True, reasoning_inside_output=True)
OUTSIDE = Semantics(cached_inside_input=True, reasoning_inside_output=False)
REPORTED = Reported(100, 64, NOT_IN_WIRE, 50, 32, NOT_IN_WIRE)


@pytest.mark.parametrize(
    ("semantics", "rule", "expected"),
    [
        (INSIDE, ALL_TOKENS, 150),
        (OUTSIDE, ALL_TOKENS, 182),
        (INSIDE, FRESH_TOKENS, 86),
        (OUTSIDE, FRESH_TOKENS, 118),
        (INSIDE, Rule("r", ("output",)), 50),
        (OUTSIDE, Rule("r", ("output",)), 50),
        (INSIDE, Rule("r", ("reasoning",)), 32),
        (INSIDE, Rule("r", ("uncached_input", "cached_input", "cache_write")), 100),
    ],
)
def test_a_rule_means_the_same_for_every_provider(semantics: Semantics, rule: Rule, expected: int):
    assert accounted_tokens(normalize(REPORTED, semantics), rule).value == expected


def test_no_allowed_rule_counts_a_token_twice():
    counters = normalize(Reported(111, 10, 1, 1000, 10_000, 11_111), OUTSIDE)
    for size in range(1, 5):
        for names in itertools.permutations(NAMES, size):
            try:
                rule = Rule("r", names)
            except InvalidInput:
                continue
            value = accounted_tokens(counters, rule).value
            assert value is not None
            assert value <= 11_111


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("output", "output"), "overlaps"),
        (("total", "output"), "overlaps"),
        (("all_input", "cached_input"), "overlaps"),
        (("cache_write", "all_input"), "overlaps"),
        ((), "there are none"),
        (("characters",), "not 'characters'"),
    ],
)
def test_a_rule_that_overlaps_is_refused(names: tuple[str, ...], message: str):
    with pytest.raises(InvalidInput, match=message):
        Rule("r", names)


def test_a_missing_counter_makes_it_unavailable():
    counters = Counters(all_input=1, output=2, reasoning_inside_output=False, reasons={"reasoning": "not_reported"})
    accounted = accounted_tokens(counters, ALL_TOKENS)
    assert (accounted.rule, accounted.value, accounted.reason) == ("all_tokens", None, "reasoning: not_reported")
    assert accounted_tokens(Counters(cache_write=1), FRESH_TOKENS).reason == "uncached_input: not_reported"


def test_it_stays_within_64_bits():
    counters = Counters(all_input=INT64_MAX, output=1)
    assert accounted_tokens(counters, ALL_TOKENS).reason == "out_of_range"
    assert set(RULES) == {"all_tokens", "fresh_tokens"}
