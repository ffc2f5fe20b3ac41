"""Numbers in ascending order, exactly, and many of them in little time. Pure.

Reference: rounding to the nearest double is monotonic (IEEE 754), so it never turns two numbers round and may go first;
the numbers themselves decide where it makes them one. Fractions alone compare slowly: ten thousand runs with a few
metrics that are not whole would take minutes.
"""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

from fairtrial_analysis.stats.value import Number

_BITS_MAX = 512  # of a common denominator; a larger one makes every number as long


def ordered(values: Iterable[Number]) -> list[Number]:
    """The values in their order."""
    listed = list(values)
    if all(isinstance(each, int) for each in listed):
        return sorted(listed)
    return sorted(listed, key=lambda each: (float(each), each))


def whole(values: Sequence[Number]) -> tuple[Sequence[Number], int]:
    """The values as integers, with what they were multiplied by; unchanged, by 1, where that would make them long."""
    scale = 1
    for each in values:
        scale = math.lcm(scale, each.denominator)
        if scale.bit_length() > _BITS_MAX:
            return values, 1
    return [int(Fraction(each) * scale) if scale > 1 else int(each) for each in values], scale
