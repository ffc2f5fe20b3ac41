"""Holm's adjustment of p-values: the chance of any false claim in a family. By hand: scipy has none.

Reference: Holm 1979, step-down. The family is fixed in advance: a member that could not be tested keeps its place, so
that dropping it does not make the others look better. Exact of fractions.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import TypeVar

P = TypeVar("P", float, Fraction)


def holm(p_values: Sequence[P | None]) -> tuple[P | None, ...]:
    """Adjusted p-values in the given order; None stays None."""
    family = len(p_values)
    tested = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted: list[P | None] = [None] * family
    largest: P | None = None
    for rank, (p, place) in enumerate(tested):
        step = min((family - rank) * p, type(p)(1))
        largest = step if largest is None else max(largest, step)
        adjusted[place] = largest
    return tuple(adjusted)
