"""Whether every block holds both arms, and which arm went first how often. Exact.

Reference: blocked randomisation. A run's place in its block is its place in the schedule.
"""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Balance:
    """Counts over blocks of (task, repetition)."""

    blocks: int
    complete: int
    treatment_first: int
    control_first: int


def schedule_balance(order: Iterable[tuple[str, int, str]], treatment: str, control: str) -> Balance:
    """Of (task, repetition, arm) in the order of the schedule."""
    blocks: dict[tuple[str, int], list[str]] = {}
    for task, repetition, arm in order:
        blocks.setdefault((task, repetition), []).append(arm)
    whole = [arms for arms in blocks.values() if sorted(arms) == sorted((treatment, control))]
    first = sum(arms[0] == treatment for arms in whole)
    return Balance(len(blocks), len(whole), first, len(whole) - first)
