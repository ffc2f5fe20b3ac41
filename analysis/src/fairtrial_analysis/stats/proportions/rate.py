"""A rate, and the difference of two: exact, with numerator, denominator and what had been scheduled.

Reference: the plain proportion. Timeouts, give-ups and broken builds are in the denominator; runs that can't be judged
are not, and the gap between denominator and scheduled shows them. Of no runs there is no rate.
"""

from dataclasses import dataclass
from fractions import Fraction

NO_VALID_RUNS = "no_valid_runs"


@dataclass(frozen=True)
class Rate:
    """So many of so many, of so many scheduled."""

    numerator: int
    denominator: int
    scheduled: int
    value: Fraction | None
    reason: str = ""

    @property
    def text(self) -> str:
        """For people: `37/50`, or why there is none."""
        if self.value is None:
            return f"n/a ({self.denominator} of {self.scheduled} scheduled)"
        gap = "" if self.denominator == self.scheduled else f" ({self.denominator} of {self.scheduled} scheduled)"
        return f"{self.numerator}/{self.denominator}{gap}"


def rate(numerator: int, denominator: int, scheduled: int | None = None, *, empty: str = NO_VALID_RUNS) -> Rate:
    """The rate of a count in another; `empty` is the reason where the denominator is zero."""
    if not 0 <= numerator <= denominator:
        raise ValueError(f"{numerator} of {denominator} is no proportion")
    planned = denominator if scheduled is None else scheduled
    if not denominator:
        return Rate(numerator, 0, planned, None, empty)
    return Rate(numerator, denominator, planned, Fraction(numerator, denominator))


@dataclass(frozen=True)
class RateDifference:
    """Treatment minus control."""

    value: Fraction | None
    reason: str = ""


def rate_difference(treatment: Rate, control: Rate) -> RateDifference:
    """The difference of two rates; none if either has no runs, which is not a rate of zero."""
    if treatment.value is None or control.value is None:
        return RateDifference(None, treatment.reason or control.reason)
    return RateDifference(treatment.value - control.value)
