"""Ratio of totals beside task-normalised ratios. Exact, by hand.

Reference: plain sums and medians. One large task decides a ratio of totals, so it never stands alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from fairtrial_analysis.stats.location.summary import median
from fairtrial_analysis.stats.paired.log_ratio_t import geometric_mean
from fairtrial_analysis.stats.ratios.ratio import ratio
from fairtrial_analysis.stats.value import Number


@dataclass(frozen=True)
class RatioSummaries:
    """Three ways to say how two sequences of paired numbers compare."""

    ratio_of_totals: Fraction | None
    geometric_mean: float | None
    median: Fraction | None
    reason: str = ""


def ratio_summaries(treatment: Sequence[Number], control: Sequence[Number]) -> RatioSummaries:
    """Of pairs in the same order."""
    pairs = [ratio(ours, theirs).value for ours, theirs in zip(treatment, control, strict=True)]
    total = ratio(sum(map(Fraction, treatment), Fraction(0)), sum(map(Fraction, control), Fraction(0)))
    if not pairs or None in pairs:
        return RatioSummaries(total.value, None, None, "zero_denominator" if pairs else "no_values")
    ratios = [each for each in pairs if each is not None]
    return RatioSummaries(total.value, geometric_mean(ratios) if all(ratios) else None, median(ratios))
