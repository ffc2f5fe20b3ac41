"""Which ranks differ for a reason: paired tests over tasks, adjusted over all pairs. Tests by scipy.

Reference: sign-flip tests of task differences, Holm 1979. A rank interval runs from one more than the candidates that
are significantly better to all but those that are significantly worse.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np

from fairtrial_analysis.stats.conventions import CONVENTIONS, Conventions
from fairtrial_analysis.stats.multiplicity.holm import holm
from fairtrial_analysis.stats.paired.sign_flip import sign_flip
from fairtrial_analysis.stats.value import Number

RngOf = Callable[[str], np.random.Generator]


@dataclass(frozen=True)
class Standing:
    """One candidate: the ranks it may have, and with whom it is statistically tied."""

    name: str
    best_rank: int
    worst_rank: int
    tied_with: tuple[str, ...]


@dataclass(frozen=True)
class Comparison:
    """One pair over the tasks that both have."""

    one: str
    other: str
    tasks: int
    mean_difference: Fraction | None
    p: float | None
    adjusted: float | None


@dataclass(frozen=True)
class TieSets:
    """Standings by name, and the comparisons they rest on."""

    standings: tuple[Standing, ...]
    comparisons: tuple[Comparison, ...]


def tie_sets(
    scores: Mapping[str, Mapping[str, Number]], rng_of: RngOf, conventions: Conventions = CONVENTIONS
) -> TieSets:
    """From candidate → task → score, higher being better; `rng_of` gives the generator of a named comparison."""
    names = sorted(scores)
    pairs = list(combinations(names, 2))
    differences = [
        [Fraction(scores[one][t]) - Fraction(scores[other][t]) for t in sorted(set(scores[one]) & set(scores[other]))]
        for one, other in pairs
    ]
    p_values = [
        sign_flip(each, rng_of(f"{one}/{other}"), conventions).p
        for (one, other), each in zip(pairs, differences, strict=True)
    ]
    comparisons = [
        Comparison(one, other, len(each), sum(each, Fraction(0)) / len(each) if each else None, p, adjusted)
        for (one, other), each, p, adjusted in zip(pairs, differences, p_values, holm(p_values), strict=True)
    ]
    better = {pair for each in comparisons if (pair := _decided(each, float(2 * conventions.tail)))}
    return TieSets(tuple(_standing(name, names, better) for name in names), tuple(comparisons))


def _decided(found: Comparison, alpha: float) -> tuple[str, str] | None:
    """(better, worse), if the pair is told apart."""
    if found.adjusted is None or found.mean_difference is None or found.adjusted > alpha or not found.mean_difference:
        return None
    return (found.one, found.other) if found.mean_difference > 0 else (found.other, found.one)


def _standing(name: str, names: list[str], better: set[tuple[str, str]]) -> Standing:
    above = sum((other, name) in better for other in names)
    below = sum((name, other) in better for other in names)
    tied = tuple(o for o in names if o != name and (o, name) not in better and (name, o) not in better)
    return Standing(name, 1 + above, len(names) - below, tied)
