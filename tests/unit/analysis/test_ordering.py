"""Fractions are ordered exactly, whatever shortcut is taken."""

from fractions import Fraction
from itertools import combinations_with_replacement

from fairtrial_analysis.stats.location.ordering import ordered, whole
from fairtrial_analysis.stats.location.summary import median
from fairtrial_analysis.stats.paired.hodges_lehmann import hodges_lehmann
from hypothesis import given
from hypothesis import strategies as st

from fairtrial.audit.numbers import amounts, sample

NUMBERS = st.lists(st.integers(-(2**63), 2**63 - 1) | st.fractions(max_denominator=10**6), max_size=40)


@given(NUMBERS)
def test_the_order_is_that_of_the_numbers(values: list[int | Fraction]) -> None:
    assert ordered(values) == sorted(values)
    assert sample.ranked(map(Fraction, values)) == sorted(values)


def test_numbers_that_are_one_as_doubles_keep_their_order() -> None:
    close = [Fraction(1, 3) + Fraction(1, 10**30), Fraction(1, 3), Fraction(1, 3) - Fraction(1, 10**30)]

    assert len({float(each) for each in close}) == 1
    assert ordered(close) == sample.ranked(close) == close[::-1]


@given(NUMBERS)
def test_hodges_lehmann_is_the_median_of_all_averages_whatever_the_denominators(values: list[int | Fraction]) -> None:
    averages = [(Fraction(a) + b) / 2 for a, b in combinations_with_replacement(values, 2)]

    assert hodges_lehmann(values) == median(averages)
    assert amounts._hodges_lehmann([Fraction(each) for each in values]) == median(averages)


def test_a_common_denominator_that_would_be_too_long_is_not_made() -> None:
    primes = [number for number in range(2, 600) if all(number % each for each in range(2, number))]
    values = [Fraction(1, each) for each in primes]

    assert whole(values) == (values, 1)
    assert whole([Fraction(1, 6), Fraction(1, 4), 2]) == ([2, 3, 24], 12)
    assert hodges_lehmann(values) == amounts._hodges_lehmann(values)
