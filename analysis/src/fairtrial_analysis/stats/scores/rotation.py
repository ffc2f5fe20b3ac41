"""Whose turn it is in a rotation: a Latin square over a roster.

Reference: the agent-ergonomics protocol, (base + run) modulo the roster's size.
"""

from collections.abc import Sequence


def rotation(base: int, roster_size: int, runs: Sequence[int]) -> tuple[int, ...]:
    """Positions in the roster."""
    return tuple((base + run) % roster_size for run in runs)
