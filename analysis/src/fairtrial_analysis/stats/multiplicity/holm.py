"""Holm's adjustment of p-values: the chance of any false claim in a family. By hand: scipy has none.

Reference: Holm 1979, step-down. The family is fixed in advance: a member that could not be tested keeps its place, so
that dropping it does not make the others look better.
"""

from collections.abc import Sequence


def holm(p_values: Sequence[float | None]) -> tuple[float | None, ...]:
    """Adjusted p-values in the given order; None stays None."""
    family = len(p_values)
    tested = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * family
    largest = 0.0
    for rank, (p, place) in enumerate(tested):
        largest = max(largest, min((family - rank) * p, 1.0))
        adjusted[place] = largest
    return tuple(adjusted)
