"""Deltas of A/B pairs. One pair has no replication, so an interval exists only over several. t quantile by scipy.

Reference: the agent-ergonomics protocol; over pairs the t interval of `task_t`, with the pair as the unit.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from fairtrial_analysis.stats.conventions import CONVENTIONS, Conventions
from fairtrial_analysis.stats.paired.blocks import Block
from fairtrial_analysis.stats.paired.task_t import TaskMean, task_t


@dataclass(frozen=True)
class AbPairs:
    """Deltas by pair, pairs without one, and their mean over pairs."""

    deltas: tuple[tuple[str, Fraction], ...]
    incomplete: tuple[str, ...]
    mean: TaskMean


def ab_pairs(pairs: Mapping[str, Block], conventions: Conventions = CONVENTIONS) -> AbPairs:
    """From pair → both arms' values."""
    deltas = tuple((name, each.difference) for name, each in sorted(pairs.items()) if each.difference is not None)
    lost = tuple(name for name, each in sorted(pairs.items()) if each.difference is None)
    return AbPairs(deltas, lost, task_t([delta for _, delta in deltas], conventions))
