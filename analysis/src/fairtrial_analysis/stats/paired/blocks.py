"""Differences inside blocks: the same task and repetition in both arms. Exact.

Reference: protocol's own definition; described, without pretending that repeated random runs are deterministic pairs. A
block that lacks an arm is listed, never filled in and never paired with another block. The median of differences is not
the difference of medians: both are given.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from fairtrial_analysis.stats.location.summary import median
from fairtrial_analysis.stats.paired.hodges_lehmann import hodges_lehmann
from fairtrial_analysis.stats.value import Value


@dataclass(frozen=True)
class Block:
    """Both arms' values in one block."""

    treatment: Value
    control: Value

    @property
    def difference(self) -> Fraction | None:
        """Treatment minus control; None unless both were measured."""
        if self.treatment.value is None or self.control.value is None:
            return None
        return Fraction(self.treatment.value) - Fraction(self.control.value)


@dataclass(frozen=True)
class PairedDifferences:
    """The differences by block, what they come to, and the blocks that have none."""

    differences: tuple[tuple[str, Fraction], ...]
    incomplete: tuple[str, ...]
    lower: int
    ties: int
    higher: int
    median_of_differences: Fraction | None
    difference_of_medians: Fraction | None
    hodges_lehmann: Fraction | None
    minimum: Fraction | None
    maximum: Fraction | None
    reason: str = ""


def paired_differences(blocks: Mapping[str, Block]) -> PairedDifferences:
    """Over all blocks, in the order of their names."""
    found = tuple((name, each.difference) for name, each in sorted(blocks.items()))
    pairs = tuple((name, difference) for name, difference in found if difference is not None)
    lost = tuple(name for name, difference in found if difference is None)
    values = [difference for _, difference in pairs]
    if not values:
        return PairedDifferences((), lost, 0, 0, 0, None, None, None, None, None, "no_complete_block")
    ours = median(blocks[name].treatment.value or 0 for name, _ in pairs)
    theirs = median(blocks[name].control.value or 0 for name, _ in pairs)
    assert ours is not None and theirs is not None
    return PairedDifferences(
        pairs,
        lost,
        sum(each < 0 for each in values),
        sum(each == 0 for each in values),
        sum(each > 0 for each in values),
        median(values),
        ours - theirs,
        hodges_lehmann(values),
        min(values),
        max(values),
    )
