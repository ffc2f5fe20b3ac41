"""Context tax: what a ticket loses inside a chain, at one depth. Exact.

Reference: the agent-ergonomics protocol; isolated minus in-chain, so that a loss is positive. Depths are never pooled.
"""

from dataclasses import dataclass
from fractions import Fraction

from fairtrial_analysis.stats.value import Value


@dataclass(frozen=True)
class ContextTax:
    """The loss at one depth."""

    depth: int
    value: Fraction | None
    reason: str = ""


def context_tax(isolated: Value, in_chain: Value, depth: int) -> ContextTax:
    """From the two scores of the same ticket at the same depth."""
    if isolated.value is None or in_chain.value is None:
        return ContextTax(depth, None, isolated.reason or in_chain.reason)
    return ContextTax(depth, Fraction(isolated.value) - Fraction(in_chain.value))
