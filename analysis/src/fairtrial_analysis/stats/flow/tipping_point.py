"""How many runs without a judgement must be counted against the treatment before its advantage is gone. Exact.

Reference: a tipping-point analysis. All start in the treatment's favour; the larger steps are turned first, which needs
the fewest.
"""

from dataclasses import dataclass
from fractions import Fraction

from fairtrial_analysis.stats.flow.worst_case import Counts, worst_case


@dataclass(frozen=True)
class TippingPoint:
    """The number; None with a reason if there is no advantage to lose or no number can remove it."""

    turned: int | None
    of: int
    reason: str = ""


def tipping_point(treatment: Counts, control: Counts) -> TippingPoint:
    """Until treatment minus control is zero or less."""
    of = treatment.invalid + control.invalid
    bounds = worst_case(treatment, control)
    if bounds.low is None or bounds.high is None:
        return TippingPoint(None, of, bounds.reason)
    if bounds.high <= 0:
        return TippingPoint(0, of, "no_advantage_even_if_all_are_for_it")
    if bounds.low > 0:
        return TippingPoint(None, of, "none_can_remove_it")
    steps = sorted(
        [Fraction(1, treatment.total)] * treatment.invalid + [Fraction(1, control.total)] * control.invalid,
        reverse=True,
    )
    left = bounds.high
    for turned, step in enumerate(steps, start=1):
        left -= step
        if left <= 0:
            return TippingPoint(turned, of)
    raise AssertionError("the bounds said that enough can be turned")
