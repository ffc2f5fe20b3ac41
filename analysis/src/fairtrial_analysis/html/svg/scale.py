"""From values to coordinates, and where an axis has its ticks. Pure.

Ticks are exact: multiples of 1, 2 or 5 times a power of ten, and on a logarithmic axis such multiples of every power.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

Number = int | float | Fraction
_STEPS = (Fraction(1), Fraction(2), Fraction(5), Fraction(10))
# What a decade is divided into, coarse to fine; the first division with enough ticks is taken.
_DECADES = ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 5, 7), (1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 4, 5, 6, 7, 8, 9))
_FEWEST = 4


@dataclass(frozen=True)
class Linear:
    """Equal differences have equal lengths."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: Number) -> float:
        """The coordinate of a value."""
        return self.start + (float(value) - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self, about: int = 5) -> tuple[Fraction, ...]:
        """Round values inside the domain, roughly as many as asked for."""
        return round_values(self.low, self.high, about)


@dataclass(frozen=True)
class Log:
    """Equal ratios have equal lengths; for positive values."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: Number) -> float:
        """The coordinate of a value."""
        share = math.log(float(value) / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self, about: int = 5) -> tuple[Fraction, ...]:
        """Round values inside the domain: of each decade the same, or evenly spaced ones where it is narrow."""
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        for division in _DECADES:
            values = [Fraction(str(each)) * Fraction(10) ** decade for decade in decades for each in division]
            inside = tuple(value for value in values if self.low <= value <= self.high)
            if len(inside) >= _FEWEST:
                return inside[:: math.ceil(len(inside) / (2 * about))]
        return round_values(self.low, self.high, about)


@dataclass(frozen=True)
class Band:
    """A place for each of some names, one after the other."""

    names: tuple[str, ...]
    start: float
    step: float

    def __call__(self, name: str) -> float:
        """The middle of a name's place."""
        return self.start + (self.names.index(name) + 0.5) * self.step

    @property
    def end(self) -> float:
        """Where the last place ends."""
        return self.start + len(self.names) * self.step


def linear(values: Sequence[Number], start: float, end: float, *, zero: bool = False, pad: float = 0.04) -> Linear:
    """A scale that holds all values with a margin on both sides, and zero if asked for; any scale if there are none."""
    low, high = _ends([*values, 0] if zero else values)
    margin = (high - low) * pad or abs(high) * 0.5 or 0.5
    return Linear(low if zero and low == 0 else low - margin, high + margin, start, end)


def log(values: Sequence[Number], start: float, end: float, *, pad: float = 0.06) -> Log:
    """A scale that holds all positive values with a margin; any scale if there are none."""
    low, high = _ends([value for value in values if value > 0] or [1])
    factor = max((high / low) ** pad, 1.05)
    return Log(low / factor, high * factor, start, end)


def round_values(low: float, high: float, about: int) -> tuple[Fraction, ...]:
    """Multiples of 1, 2 or 5 times a power of ten from `low` to `high`."""
    rough = Fraction(high - low) / max(about, 1)
    power = Fraction(10) ** math.floor(math.log10(rough))
    step = next(power * each for each in _STEPS if power * each >= rough)
    first = math.ceil(Fraction(low) / step)
    return tuple(step * each for each in range(first, math.floor(Fraction(high) / step) + 1))


def plain(value: Fraction) -> str:
    """A tick's value as it is read: 0.25, 1500, 20 k, 3 M."""
    size = abs(value)
    for limit, unit, letter in ((10**9, 10**9, " G"), (10**6, 10**6, " M"), (10**4, 10**3, " k")):
        if size >= limit:
            return _decimal(value / unit) + letter
    return _decimal(value)


def signed(value: Fraction) -> str:
    """The same with a plus before what is positive."""
    return f"+{plain(value)}" if value > 0 else plain(value)


def in_points(value: Fraction) -> str:
    """A share as percentage points, with its sign."""
    return signed(value * 100)


def _decimal(value: Fraction) -> str:
    text = f"{Decimal(value.numerator) / Decimal(value.denominator):.10f}"
    text = text.rstrip("0").rstrip(".")
    return text.replace("-", "\N{MINUS SIGN}")


def _ends(values: Sequence[Number]) -> tuple[float, float]:
    numbers = [float(value) for value in values] or [0.0, 1.0]
    return min(numbers), max(numbers)
