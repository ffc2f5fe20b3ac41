"""Whether a success rate is shown to be no worse by more than a margin: the lower Newcombe limit against it.

Reference: the interval form of a non-inferiority test. A margin of points, never "not worse": a bare comparison of two
equal rates is met by a coin's chance whatever the number of runs.
"""

from dataclasses import dataclass
from fractions import Fraction

from fairtrial_analysis.stats.conventions import CONVENTIONS, Conventions
from fairtrial_analysis.stats.proportions.newcombe import newcombe


@dataclass(frozen=True)
class NonInferiority:
    """The lower limit of the difference, the margin, and whether the limit lies strictly above minus the margin."""

    lower: float | None
    margin: Fraction
    shown: bool | None
    reason: str = ""


def non_inferiority(
    treatment: tuple[int, int], control: tuple[int, int], margin: Fraction, conventions: Conventions = CONVENTIONS
) -> NonInferiority:
    """Of two (successes, runs). None where an arm has no runs."""
    found = newcombe(*treatment, *control, conventions).interval
    if found.low is None:
        return NonInferiority(None, margin, None, found.reason)
    return NonInferiority(float(found.low), margin, Fraction(found.low) > -margin)
