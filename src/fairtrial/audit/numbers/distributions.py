"""The distributions behind intervals and p-values, from the standard library. Pure.

The regularised incomplete beta function gives Student's and the beta distribution: its continued fraction by Lentz's
method (Numerical Recipes, 6.4). Quantiles are found by bisection, which can't diverge. What is discrete is exact.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

Z = 1.959963984540054  # the normal quantile of two-sided 95 %
TAIL = 0.025
FLIPPED_MAX, SUMS_MAX = 16, 10_000_000  # of more differences than these, times their sums, no flips are counted
_TINY, _STEPS, _BISECTIONS, _CLOSE = 1e-300, 500, 200, 1e-16


def beta_cdf(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function I_x(a, b)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):  # where the fraction converges slowly, by symmetry
        return 1 - beta_cdf(1 - x, b, a)
    log = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(log) * _fraction(x, a, b) / a


def beta_quantile(p: float, a: float, b: float) -> float:
    """The x at which I_x(a, b) is p."""
    return _bisect(lambda x: beta_cdf(x, a, b) - p, 0.0, 1.0)


@lru_cache(maxsize=1024)
def t_quantile(p: float, df: int) -> float:
    """Student's quantile, of a p above one half."""
    high = 1.0
    while _t_upper(high, df) > 1 - p:
        high *= 2
    return _bisect(lambda t: (1 - p) - _t_upper(t, df), 0.0, high)


def fisher_two_sided(lost: tuple[int, int], begun: tuple[int, int]) -> Fraction:
    """Fisher's exact p of two counts: the probability of all tables that are no likelier than this one."""
    total, out = sum(begun), sum(lost)
    ways = [
        math.comb(begun[0], first) * math.comb(begun[1], out - first)
        for first in range(max(0, out - begun[1]), min(out, begun[0]) + 1)
    ]
    seen = math.comb(begun[0], lost[0]) * math.comb(begun[1], lost[1])
    return Fraction(sum(each for each in ways if each <= seen), math.comb(total, out))


def counted_flip(differences: list[Fraction]) -> Fraction | None:
    """The share of all flips of signs whose sum is as far from zero; counted by sums, which is fast where they tie.

    None of nothing, and where flips and sums are both too many.
    """
    scale = math.lcm(*(each.denominator for each in differences))
    reach = sum(abs(each) for each in differences) * scale
    if not differences or (len(differences) > FLIPPED_MAX and len(differences) * reach > SUMS_MAX):
        return None
    sums = {0: 1}
    for step in (abs(int(each * scale)) for each in differences):
        flipped: dict[int, int] = {}
        for total, ways in sums.items():
            for moved in (total + step, total - step):
                flipped[moved] = flipped.get(moved, 0) + ways
        sums = flipped
    seen = abs(int(sum(differences) * scale))
    return Fraction(sum(ways for total, ways in sums.items() if abs(total) >= seen), 2 ** len(differences))


def superiority(c: int, n: int, d: int, m: int) -> Fraction:
    """P(p > q) of p ~ Beta(1 + c, 1 + n - c) and q ~ Beta(1 + d, 1 + m - d), exactly.

    p below x has a binomial tail in x; weighed by q's density it is a sum of beta functions of integers.
    """
    a, b, e, f = 1 + c, 1 + n - c, 1 + d, 1 + m - d
    size = a + b - 1
    # P(p <= x) is the chance of a or more successes in a + b - 1 trials
    return 1 - sum(
        (Fraction(math.comb(size, i) * _beta(e + i, f + size - i)) / _beta(e, f) for i in range(a, size + 1)),
        Fraction(0),
    )


def _beta(a: int, b: int) -> Fraction:
    return Fraction(math.factorial(a - 1) * math.factorial(b - 1), math.factorial(a + b - 1))


def _t_upper(t: float, df: int) -> float:
    """P(T > t) for t >= 0."""
    return beta_cdf(df / (df + t * t), df / 2, 0.5) / 2


def _fraction(x: float, a: float, b: float) -> float:
    c, d = 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > _TINY else _TINY)
    made = d
    for m in range(1, _STEPS):
        for step in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 + step * d
            d = 1 / (d if abs(d) > _TINY else _TINY)
            c = 1 + step / c
            c = c if abs(c) > _TINY else _TINY
            made *= c * d
        if abs(c * d - 1) < _CLOSE:
            break
    return made


def _bisect(rising: Callable[[float], float], low: float, high: float) -> float:
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if rising(middle) < 0 else (low, middle)
    return (low + high) / 2
