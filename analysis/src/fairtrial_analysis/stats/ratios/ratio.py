"""The ratio of two numbers, exactly, or why there is none.

Reference: plain division. Libraries give infinity or NaN for a zero denominator; neither is a ratio.
"""

from dataclasses import dataclass
from fractions import Fraction

from fairtrial_analysis.stats.value import Number

ZERO = "zero_denominator"


@dataclass(frozen=True)
class Ratio:
    """Treatment over control."""

    value: Fraction | None
    reason: str = ""


def ratio(treatment: Number | None, control: Number | None) -> Ratio:
    """The ratio; None if either is missing or the control is zero. A measured zero over a positive control is zero."""
    if treatment is None or control is None:
        missing = "treatment" if treatment is None else "control"
        return Ratio(None, f"no_{missing}_value" if treatment is not None or control is not None else "no_values")
    if control == 0:
        return Ratio(None, ZERO)
    return Ratio(Fraction(treatment) / Fraction(control))
