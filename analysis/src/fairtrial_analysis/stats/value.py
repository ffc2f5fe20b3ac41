"""A measured number or the reason why there is none; and a sample of them in which nothing is dropped silently. Pure.

The same four states as a record's values, with exact numbers instead of text. A measured zero is a number like any
other.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Literal

Number = int | Fraction
State = Literal["measured", "missing", "not_applicable", "void"]


@dataclass(frozen=True)
class Value:
    """One value in one of four states; only `measured` has a number, every other state has a reason."""

    state: State
    value: Number | None = None
    reason: str = ""

    def __post_init__(self) -> None:
        is_number = isinstance(self.value, int | Fraction) and not isinstance(self.value, bool)
        if (self.state == "measured") != is_number or is_number == bool(self.reason):
            raise ValueError(f"{self.state} {self.value!r} {self.reason!r}: a number if measured, a reason if not")


def measured(value: int | str | Fraction | Decimal) -> Value:
    """It was observed; decimal text such as `0.25` is taken exactly. NaN and infinity are refused."""
    return Value("measured", value if isinstance(value, int) else _whole(Fraction(value)))


def missing(reason: str) -> Value:
    """It exists, but was not observed."""
    return Value("missing", reason=reason)


def not_applicable(reason: str) -> Value:
    """There is no such thing here."""
    return Value("not_applicable", reason=reason)


def void(reason: str) -> Value:
    """It was observed, and may not be used."""
    return Value("void", reason=reason)


@dataclass(frozen=True)
class Sample:
    """The numbers of a sample in their given order, and what was left out of it."""

    numbers: tuple[Number, ...]
    missing: int = 0
    not_applicable: int = 0
    void: int = 0
    reasons: tuple[tuple[str, int], ...] = ()  # of all that was left out

    @property
    def n(self) -> int:
        """How many numbers there are."""
        return len(self.numbers)


def sample(values: Iterable[Value]) -> Sample:
    """The sample of some values."""
    everything = list(values)
    states = Counter(each.state for each in everything)
    reasons = Counter(each.reason for each in everything if each.reason)
    return Sample(
        tuple(each.value for each in everything if each.value is not None),
        states["missing"],
        states["not_applicable"],
        states["void"],
        tuple(sorted(reasons.items())),
    )


def _whole(value: Fraction) -> Number:
    return int(value) if value.denominator == 1 else value
