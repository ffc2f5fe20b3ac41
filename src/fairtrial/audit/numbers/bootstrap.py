"""The bootstrap interval of a ratio of medians, as the analysis draws it: enumerated for small samples, else PCG64.

Up to eight values an arm, all resamples are counted: the median of a resample has a distribution in closed form over
ranks. Beyond that, resamples are drawn with numpy's generator, which `pcg64` has again, and the percentiles are
interpolated.
"""

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

from fairtrial.audit.numbers.intervals import Ends
from fairtrial.audit.numbers.pcg64 import Generator, seed_of

ENUMERATED_MAX, RESAMPLES, BATCH = 8, 9999, 1000
TAIL = Fraction(25, 1000)


def ratio_of_medians(ours: Sequence[Fraction], theirs: Sequence[Fraction], seed: int, metric: str) -> Ends | None:
    """The 95 % percentile interval, or none where a resample has none."""
    if min(len(ours), len(theirs)) <= 1 or not all(theirs):
        return None
    if len(set(ours)) == len(set(theirs)) == 1:
        return ours[0] / theirs[0], ours[0] / theirs[0]
    if max(len(ours), len(theirs)) <= ENUMERATED_MAX:
        return _enumerated(ours, theirs)
    return _drawn(sorted(ours), sorted(theirs), seed, metric)


def _enumerated(ours: Sequence[Fraction], theirs: Sequence[Fraction]) -> Ends:
    found: dict[Fraction, Fraction] = {}
    for (a, p), (b, q) in itertools.product(_medians(ours).items(), _medians(theirs).items()):
        found[a / b] = found.get(a / b, Fraction(0)) + p * q
    ordered = sorted(found.items())
    return _percentile(ordered, TAIL), _percentile(ordered, 1 - TAIL)


def _medians(values: Sequence[Fraction]) -> dict[Fraction, Fraction]:
    """How likely each median of a resample is: by how often each value is drawn."""
    ordered, n = sorted(values), len(values)
    made: dict[Fraction, Fraction] = {}
    for drawn in itertools.combinations_with_replacement(range(n), n):
        ways = math.factorial(n)
        for _, same in itertools.groupby(drawn):
            ways //= math.factorial(len(list(same)))
        middle = (ordered[drawn[(n - 1) // 2]] + ordered[drawn[n // 2]]) / 2
        made[middle] = made.get(middle, Fraction(0)) + Fraction(ways, n**n)
    return made


def _percentile(ordered: list[tuple[Fraction, Fraction]], q: Fraction) -> Fraction:
    below = Fraction(0)
    for value, weight in ordered:
        below += weight
        if below >= q:
            return value
    return ordered[-1][0]


def _drawn(ours: list[Fraction], theirs: list[Fraction], seed: int, metric: str) -> Ends:
    draw = Generator(seed_of(seed, f"pooledMedianRatio/{metric}"))
    samples = [[float(each) for each in ours], [float(each) for each in theirs]]
    made: list[float] = []
    while len(made) < RESAMPLES:
        count = min(BATCH, RESAMPLES - len(made))
        tops, bottoms = ([_resampled(one, draw) for _ in range(count)] for one in samples)
        made += [a / b for a, b in zip(tops, bottoms, strict=True)]
    made.sort()
    return _interpolated(made, float(TAIL)), _interpolated(made, 1 - float(TAIL))


def _resampled(ordered: list[float], draw: Generator) -> float:
    """The median of one resample, from the ranks that were drawn."""
    n = len(ordered)
    ranks = sorted(draw.below(n) for _ in range(n))
    return (ordered[ranks[(n - 1) // 2]] + ordered[ranks[n // 2]]) / 2


def _interpolated(ordered: list[float], q: float) -> float:
    at = (len(ordered) - 1) * q
    below = int(at)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (at - below) * (ordered[above] - ordered[below])
