"""The smallest difference of success that a design can tell from none, before it runs. Exact.

Reference: Erdős 1945, on the lemma of Littlewood and Offord: of all differences with a sign-flip p of 2/2^k or less,
the smallest is that of k tasks which differ by one run each, all in one direction. Every run is valid. A pair alone
must pass Holm's first step; once others are told apart, less is asked of the next. That is the best case: tasks that
scatter need a larger difference.
"""

from fractions import Fraction

from fairtrial_analysis.stats.conventions import CONVENTIONS, Conventions


def smallest_resolvable(
    tasks: int, repetitions: int, pairs: int, conventions: Conventions = CONVENTIONS
) -> Fraction | None:
    """Mean over tasks, of one of `pairs` pairs; None if even all tasks in one direction are too few."""
    k = 1
    while Fraction(2 * pairs, 2**k) > 2 * conventions.tail:
        k += 1
    return Fraction(k, tasks * repetitions) if k <= tasks else None
