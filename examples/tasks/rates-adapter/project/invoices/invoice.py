"""Totals of invoices."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal

from invoices.rates import RateSource


@dataclass(frozen=True)
class Position:
    """One line of an invoice."""

    text: str
    amount: Decimal
    currency: str


def total(positions: Iterable[Position], currency: str, rates: RateSource) -> Decimal:
    """What positions come to in one currency, each rounded to cents."""
    return sum((_converted(position, currency, rates) for position in positions), Decimal("0.00"))


def _converted(position: Position, currency: str, rates: RateSource) -> Decimal:
    rate = Decimal(1) if position.currency == currency else rates.rate(position.currency, currency)
    return (position.amount * rate).quantize(Decimal("0.01"), rounding=ROUND_HALF_EVEN)
