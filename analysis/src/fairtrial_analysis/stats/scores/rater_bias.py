"""A rater's bias: its mean distance from hard checks where both exist, taken off where only the rater exists. Exact.

Reference: the agent-ergonomics protocol, per lens. Without a pair a rater is uncalibrated, which is not a bias of zero.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from fairtrial_analysis.stats.value import Number


@dataclass(frozen=True)
class RaterBias:
    """The bias and the number of pairs behind it."""

    n: int
    bias: Fraction | None
    reason: str = ""

    def calibrated(self, soft: Number) -> Fraction | None:
        """A soft score without the bias; None from an uncalibrated rater."""
        return None if self.bias is None else Fraction(soft) - self.bias


def rater_bias(pairs: Sequence[tuple[Number, Number]]) -> RaterBias:
    """From (hard, rater) pairs."""
    if not pairs:
        return RaterBias(0, None, "uncalibrated")
    return RaterBias(
        len(pairs), sum((Fraction(rater) - Fraction(hard) for hard, rater in pairs), Fraction(0)) / len(pairs)
    )
