"""Sign-flip test of differences, exactly, also of many: flips are counted by the sum that they give. By hand.

Reference: Fisher's randomisation test; the statistic is the sum, both sides count. Shares of a few runs are multiples
of a small fraction, so that the flips of hundreds of tasks have only some thousands of sums; scipy enumerates each flip
and draws beyond some twenty differences. Where flips and sums are both too many there is no p-value.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

from fairtrial_analysis.stats.conventions import CONVENTIONS, Conventions
from fairtrial_analysis.stats.value import Number

STEPS_MAX = 10_000_000  # differences · sums; some seconds


def counted_flip(differences: Sequence[Number], conventions: Conventions = CONVENTIONS) -> Fraction | None:
    """The two-sided p of a sum of zero; None of nothing, or of too much to be counted."""
    whole = [Fraction(each) for each in differences]
    scale = math.lcm(*(each.denominator for each in whole))
    steps = [int(each * scale) for each in whole]
    total = sum(map(abs, steps))
    if not whole or (len(whole) > conventions.permutation_exact_max_n and len(whole) * total > STEPS_MAX):
        return None
    turned = {0: 1}  # by the sum of those that are turned down: how many ways
    for step in map(abs, steps):
        more = dict(turned)
        for reached, ways in turned.items():
            more[reached + step] = more.get(reached + step, 0) + ways
        turned = more
    seen = abs(sum(steps))
    far = sum(ways for reached, ways in turned.items() if abs(total - 2 * reached) >= seen)
    return Fraction(far, 2 ** len(steps))
