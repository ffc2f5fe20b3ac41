"""What every interval says of itself: its ends, how it was made, and what it is about. Pure."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

About = Literal["these_tasks", "task_population", ""]


@dataclass(frozen=True)
class Interval:
    """An interval, or the reason why there is none. An end that is None in an unbounded interval lies at infinity.

    `about` keeps two questions apart: pooled counts speak of these very tasks, intervals over tasks of the population.
    """

    low: float | Fraction | None
    high: float | Fraction | None
    method: str
    confidence: str
    about: About = ""
    unbounded: bool = False
    degenerate: bool = False  # all observations are equal: the width says nothing
    coverage: Fraction | None = None  # exact, where it is known and is not the confidence
    reason: str = ""


def no_interval(method: str, confidence: str, reason: str, about: About = "") -> Interval:
    """There is none, for this reason."""
    return Interval(None, None, method, confidence, about, reason=reason)
