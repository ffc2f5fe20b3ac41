"""Where exchange rates come from."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Protocol


class UnknownCurrency(Exception):
    """The source has no rate for this currency. Asking again won't help."""

    def __init__(self, currency: str) -> None:
        super().__init__(f"no rate for {currency}")
        self.currency = currency


class RatesUnavailable(Exception):
    """The source can't answer now, or not sensibly. It says nothing about the currency."""


class RateSource(Protocol):
    """Answers with exchange rates."""

    def rate(self, source: str, target: str) -> Decimal:
        """How many units of `target` one unit of `source` is; raises UnknownCurrency or RatesUnavailable."""
        ...


class FixedRates:
    """Rates from a table of what one euro is worth."""

    def __init__(self, per_euro: Mapping[str, Decimal]) -> None:
        self._per_euro = {"EUR": Decimal(1), **per_euro}

    def rate(self, source: str, target: str) -> Decimal:
        """How many units of `target` one unit of `source` is."""
        for currency in (source, target):
            if currency not in self._per_euro:
                raise UnknownCurrency(currency)
        return self._per_euro[target] / self._per_euro[source]
