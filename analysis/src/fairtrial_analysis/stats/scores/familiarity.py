"""Familiarity lift: what an agent knew of a thing by its name, from the same questions with names masked. Exact.

Reference: the agent-ergonomics protocol; may be negative. The items are the same in both, so the two-by-two table of
item outcomes is given too; the Newcombe interval treats them as independent and is wide (8 against 7 of 10: -.26 to
.44).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from fairtrial_analysis.stats.conventions import CONVENTIONS, Conventions
from fairtrial_analysis.stats.interval import Interval
from fairtrial_analysis.stats.proportions.newcombe import newcombe


@dataclass(frozen=True)
class Familiarity:
    """The lift, and items by (cold right?, masked right?)."""

    items: int
    value: Fraction | None
    both: int
    only_cold: int
    only_masked: int
    neither: int
    interval: Interval | None
    reason: str = ""


def familiarity(
    cold: Sequence[bool], masked: Sequence[bool], conventions: Conventions = CONVENTIONS, *, void: str = ""
) -> Familiarity:
    """From the outcomes of the same items in the same order; `void` is the reason why the masking failed."""
    pairs = list(zip(cold, masked, strict=True))
    both, only_cold, only_masked, neither = (
        pairs.count(kind) for kind in ((True, True), (True, False), (False, True), (False, False))
    )
    n = len(pairs)
    if void or not n:
        return Familiarity(n, None, both, only_cold, only_masked, neither, None, void or "no_items")
    interval = newcombe(sum(cold), n, sum(masked), n, conventions).interval
    return Familiarity(n, Fraction(sum(cold) - sum(masked), n), both, only_cold, only_masked, neither, interval)
