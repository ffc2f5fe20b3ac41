"""Totals in one currency."""

from decimal import Decimal

import pytest
from invoices.invoice import Position, total
from invoices.rates import FixedRates, UnknownCurrency

RATES = FixedRates({"USD": Decimal("1.25")})


def test_a_total_in_two_currencies():
    positions = [Position("work", Decimal("100.00"), "EUR"), Position("flight", Decimal("250.00"), "USD")]
    assert total(positions, "EUR", RATES) == Decimal("300.00")


def test_an_unknown_currency_is_named():
    with pytest.raises(UnknownCurrency, match="XXX"):
        total([Position("?", Decimal(1), "XXX")], "EUR", RATES)
