"""Benjamini and Hochberg's adjustment: the share of false exploratory findings. By scipy's false_discovery_control.

Reference: Benjamini and Hochberg 1995. A member that could not be tested keeps its place as p = 1, where scipy raises.
"""

from collections.abc import Sequence

from scipy import stats


def benjamini_hochberg(p_values: Sequence[float | None]) -> tuple[float | None, ...]:
    """Adjusted p-values in the given order; None stays None."""
    if not p_values:
        return ()
    found = stats.false_discovery_control([1.0 if p is None else p for p in p_values], method="bh")
    return tuple(None if p is None else float(each) for p, each in zip(p_values, found, strict=True))
