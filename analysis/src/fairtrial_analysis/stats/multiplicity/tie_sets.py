"""Which ranks differ for a reason: paired tests over tasks, adjusted over all pairs. Exact.

Reference: sign-flip tests of task differences, Holm 1979. A rank interval runs from one more than the candidates that
are significantly better to all but those that are significantly worse. The family is every pair; who was not measured
keeps a place in it, has no rank and is tied with nobody. A pair that can't be tested is not told apart.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from fairtrial_analysis.stats.conventions import CONVENTIONS, Conventions
from fairtrial_analysis.stats.multiplicity.holm import holm
from fairtrial_analysis.stats.paired.counted_flip import counted_flip
from fairtrial_analysis.stats.value import Number


@dataclass(frozen=True)
class Standing:
    """One candidate: the ranks it may have, and with whom it is statistically tied. No ranks: not measured."""

    name: str
    best_rank: int | None
    worst_rank: int | None
    tied_with: tuple[str, ...]


@dataclass(frozen=True)
class Comparison:
    """One pair over the tasks that both have: one minus other. `apart`: their difference is no chance."""

    one: str
    other: str
    differences: tuple[Fraction, ...]
    p: Fraction | None
    adjusted: Fraction | None
    apart: bool

    @property
    def mean_difference(self) -> Fraction | None:
        """None without a common task."""
        return sum(self.differences, Fraction(0)) / len(self.differences) if self.differences else None


@dataclass(frozen=True)
class TieSets:
    """Standings in the order of the candidates, and the comparisons of all pairs in that order."""

    standings: tuple[Standing, ...]
    comparisons: tuple[Comparison, ...]


def tie_sets(scores: Mapping[str, Mapping[str, Number]], conventions: Conventions = CONVENTIONS) -> TieSets:
    """From candidate → task → score, higher being better."""
    pairs = list(combinations(scores, 2))
    differences = [_differences(scores[one], scores[other]) for one, other in pairs]
    p_values = [counted_flip(each, conventions) for each in differences]
    comparisons = []
    for (one, other), found, p, adjusted in zip(pairs, differences, p_values, holm(p_values), strict=True):
        apart = adjusted is not None and adjusted <= 2 * conventions.tail and sum(found) != 0
        comparisons.append(Comparison(one, other, found, p, adjusted, apart))
    better = {_decided(each) for each in comparisons if each.apart}
    measured = [name for name in scores if scores[name]]
    return TieSets(tuple(_standing(name, measured, better) for name in scores), tuple(comparisons))


def _differences(one: Mapping[str, Number], other: Mapping[str, Number]) -> tuple[Fraction, ...]:
    return tuple(Fraction(one[task]) - Fraction(other[task]) for task in sorted(set(one) & set(other)))


def _decided(found: Comparison) -> tuple[str, str]:
    """(better, worse) of a pair that is told apart."""
    return (found.one, found.other) if sum(found.differences) > 0 else (found.other, found.one)


def _standing(name: str, measured: list[str], better: set[tuple[str, str]]) -> Standing:
    if name not in measured:
        return Standing(name, None, None, ())
    above = sum((other, name) in better for other in measured)
    below = sum((name, other) in better for other in measured)
    tied = tuple(o for o in measured if o != name and (o, name) not in better and (name, o) not in better)
    return Standing(name, 1 + above, len(measured) - below, tied)
