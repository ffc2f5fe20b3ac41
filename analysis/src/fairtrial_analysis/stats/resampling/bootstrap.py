"""Bootstrap percentile intervals: enumerated for small samples, by scipy.stats.bootstrap with a seed for larger ones.

Reference: Efron 1979, percentile method. Never BCa (its jackknife acceleration is invalid for medians and gives NaN on
equal values) and never `basic` (it gave negative token counts). The estimate is the data's statistic, never a bootstrap
median. With five values the interval of a median is [min, max] for every seed, and covers 93.75 %: `coverage` says so.
Intervals over pooled runs speak of these tasks only.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from scipy import stats

from fairtrial_analysis.stats.conventions import CONVENTIONS, Conventions
from fairtrial_analysis.stats.interval import Interval, no_interval
from fairtrial_analysis.stats.location import order_statistic
from fairtrial_analysis.stats.resampling import exact
from fairtrial_analysis.stats.value import Number

Kind = Literal["median", "mean", "difference_of_medians", "ratio_of_medians"]
ZERO = "zero_denominator"


@dataclass(frozen=True)
class Bootstrap:
    """The statistic of the data, its interval, its standard error, and whether resamples were enumerated or drawn."""

    kind: Kind
    estimate: Fraction | None
    interval: Interval
    standard_error: float | None = None
    how: Literal["enumerated", "drawn", ""] = ""


def bootstrap(
    kind: Kind, samples: Sequence[Sequence[Number]], rng: np.random.Generator, conventions: Conventions = CONVENTIONS
) -> Bootstrap:
    """Of one sample, or of treatment and control. `rng` (see `seeds`) is used for large samples only."""
    name = f"bootstrap_{conventions.bootstrap_method}"
    if not all(samples) or (kind == "ratio_of_medians" and exact.median([Fraction(x) for x in samples[1]]) == 0):
        why = ZERO if all(samples) else "no_values"
        return Bootstrap(kind, None, no_interval(name, conventions.confidence, why))
    values = [[Fraction(each) for each in one] for one in samples]
    estimate = _statistic(kind, values)
    if min(map(len, values)) < 2:  # noqa: PLR2004
        return Bootstrap(kind, estimate, no_interval(name, conventions.confidence, "one_value_has_no_spread"))
    if all(len(set(one)) == 1 for one in values):
        same = Interval(estimate, estimate, name, conventions.confidence, "these_tasks", degenerate=True)
        return Bootstrap(kind, estimate, same, 0.0)
    if kind == "ratio_of_medians" and not all(values[1]):
        return Bootstrap(kind, estimate, no_interval(name, conventions.confidence, "zero_denominator_in_resamples"))
    if max(map(len, values)) <= conventions.bootstrap_exact_max_n:
        return _enumerated(kind, values, estimate, name, conventions)
    return _drawn(kind, values, estimate, name, rng, conventions)


def _statistic(kind: Kind, values: Sequence[Sequence[Fraction]]) -> Fraction:
    of = exact.mean if kind == "mean" else exact.median
    parts = [of(one) for one in values]
    return _combine(kind)(*parts) if len(parts) > 1 else parts[0]


def _combine(kind: Kind) -> Callable[[Fraction, Fraction], Fraction]:
    return (lambda ours, theirs: ours / theirs) if kind == "ratio_of_medians" else (lambda ours, theirs: ours - theirs)


def _enumerated(
    kind: Kind, values: list[list[Fraction]], estimate: Fraction, name: str, conventions: Conventions
) -> Bootstrap:
    of = exact.mean if kind == "mean" else exact.median
    parts = [exact.distribution(one, of) for one in values]
    found = exact.combined(parts[0], parts[1], _combine(kind)) if len(parts) > 1 else parts[0]
    low, high = exact.percentile(found, conventions.tail), exact.percentile(found, 1 - conventions.tail)
    whole = (min(values[0]), max(values[0])) == (low, high)
    n = len(values[0])
    covers = order_statistic.coverage(n, 1, n) if kind == "median" and whole else None
    interval = Interval(low, high, name, conventions.confidence, "these_tasks", coverage=covers)
    return Bootstrap(kind, estimate, interval, exact.standard_error(found), "enumerated")


def _drawn(
    kind: Kind,
    values: list[list[Fraction]],
    estimate: Fraction,
    name: str,
    rng: np.random.Generator,
    conventions: Conventions,
) -> Bootstrap:
    def median_of(*parts: Any, axis: int = -1) -> Any:
        medians = [np.median(part, axis=axis) for part in parts]
        if kind == "ratio_of_medians":
            return medians[0] / medians[1]
        return medians[0] - medians[1] if len(medians) > 1 else medians[0]

    found = stats.bootstrap(
        [np.array([float(each) for each in sorted(one)]) for one in values],
        np.mean if kind == "mean" else median_of,
        n_resamples=conventions.bootstrap_resamples,
        batch=1000,  # bounds memory; the result does not depend on it
        vectorized=True,
        confidence_level=float(conventions.level),
        method="percentile",
        rng=rng,
    )
    limits = found.confidence_interval
    interval = Interval(float(limits.low), float(limits.high), name, conventions.confidence, "these_tasks")
    return Bootstrap(kind, estimate, interval, float(found.standard_error), "drawn")
