"""Break-even: how many tasks pay for construction, at the median saving per task. Exact.

Reference: construction cost / (control median - treatment median), in one unit. No saving, no break-even; a missing
input is said first. Medians ignore failures: `per_success` stands beside it. The interval follows the saving's: if that
includes zero, it has no upper end.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from fairtrial_analysis.stats.interval import Interval, no_interval
from fairtrial_analysis.stats.value import Number, Value

NAME = "break_even_from_saving"


@dataclass(frozen=True)
class BreakEven:
    """The number of tasks, exactly and as whole tasks; or why there is none."""

    status: Literal["break_even", "no_break_even", "unavailable"]
    unit: str
    saving: Fraction | None = None
    value: Fraction | None = None
    tasks_needed: int | None = None
    reason: str = ""


def break_even(construction_cost: Value, control_median: Value, treatment_median: Value, unit: str) -> BreakEven:
    """From three numbers in the same unit."""
    inputs = {
        "construction_cost": construction_cost,
        "control_median": control_median,
        "treatment_median": treatment_median,
    }
    lacking = [f"{name}: {each.reason}" for name, each in inputs.items() if each.value is None]
    if construction_cost.value is None or control_median.value is None or treatment_median.value is None:
        return BreakEven("unavailable", unit, reason="; ".join(lacking))
    saving = Fraction(control_median.value) - Fraction(treatment_median.value)
    if saving <= 0:
        return BreakEven("no_break_even", unit, saving, reason="no_saving" if saving == 0 else "negative_saving")
    value = Fraction(construction_cost.value) / saving
    return BreakEven("break_even", unit, saving, value, math.ceil(value))


def break_even_interval(construction_cost: Number, saving: Interval) -> Interval:
    """From the interval of the saving per task: its ends exchange places, and zero saving lies at infinity."""
    if saving.low is None or saving.high is None:
        return no_interval(NAME, saving.confidence, saving.reason or "no_interval_of_the_saving", saving.about)
    if saving.high <= 0:
        return no_interval(NAME, saving.confidence, "no_saving", saving.about)
    cost = Fraction(construction_cost)
    low = cost / Fraction(saving.high)
    if saving.low <= 0:
        return Interval(low, None, NAME, saving.confidence, saving.about, unbounded=True)
    return Interval(low, cost / Fraction(saving.low), NAME, saving.confidence, saving.about)
