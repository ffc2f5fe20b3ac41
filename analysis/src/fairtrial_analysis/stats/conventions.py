"""Every choice that a statistic depends on and that could have been another, in one document that is hashed. Pure.

The document is frozen with a cohort: a report prints its digest, and a changed convention is another analysis.
"""

import hashlib
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

from fairtrial import documents


@dataclass(frozen=True)
class Conventions:
    """The analysis configuration. Decimal numbers are text, so that no two readers round them differently."""

    schema_version: int = 1
    confidence: str = "0.95"  # two-sided, of every interval that does not say otherwise
    z: str = "1.959963984540054"  # its normal quantile, stored: libraries differ in the last digits
    quantile: Literal["hyndman_fan_7"] = "hyndman_fan_7"
    standard_deviation_ddof: Literal[1] = 1
    outlier_fence: str = "1.5"  # Tukey: times the interquartile range beyond the quartiles; flagged, never removed
    tail_quantile_min_n: int = 20  # below it a 95th percentile is interpolation and is marked so
    bootstrap_method: Literal["percentile"] = "percentile"  # never BCa: its jackknife is invalid for medians
    bootstrap_resamples: int = 9999
    bootstrap_exact_max_n: int = 8  # per sample; up to it all resamples are enumerated and there is no seed
    bootstrap_exact_percentile: Literal["inverse_cdf"] = "inverse_cdf"
    permutation_resamples: int = 9999
    permutation_exact_max_n: int = 16  # up to it every flip of labels is enumerated
    seed_of_metric: Literal["sha256(seed/metric)[:16]"] = "sha256(seed/metric)[:16]"
    bit_generator: Literal["PCG64"] = "PCG64"
    wilcoxon_zeros: Literal["dropped"] = "dropped"
    ties: Literal["exact"] = "exact"  # compared as rational numbers; equal is neither lower nor higher
    suite_aggregate: Literal["macro_mean"] = "macro_mean"  # of pass@k and pass^k, over tasks with enough runs
    success_difference: Literal["wider_of_newcombe_and_task_t"] = "wider_of_newcombe_and_task_t"
    success_difference_ends: Literal["cut_to_possible"] = "cut_to_possible"  # of a t interval beyond -1 or 1
    invalid_runs: Literal["excluded_and_bounded"] = "excluded_and_bounded"
    extra_valid_runs: Literal["all_scheduled"] = "all_scheduled"  # none is chosen after outcomes are known
    human_abort: Literal["not_judgeable"] = "not_judgeable"
    failed_stage_score: str = "0"  # an unmeasured stage is left out and listed
    context_tax_sign: Literal["isolated_minus_in_chain"] = "isolated_minus_in_chain"
    peer_percentile: Literal["midrank_excluding_self"] = "midrank_excluding_self"
    ranks: Literal["competition"] = "competition"  # 1, 1, 3; unmeasured is unranked
    low_variance_weighting: Literal["none"] = "none"
    break_even_missing: Literal["before_no_saving"] = "before_no_saving"  # a missing input is said first
    family_claims: Literal["holm"] = "holm"
    family_exploratory: Literal["benjamini_hochberg"] = "benjamini_hochberg"
    significant_digits: int = 12  # of a floating-point number that is written down

    @property
    def level(self) -> Fraction:
        """The confidence level, exactly."""
        return Fraction(self.confidence)

    @property
    def tail(self) -> Fraction:
        """What lies outside the interval on either side."""
        return (1 - self.level) / 2

    def to_bytes(self) -> bytes:
        """The canonical document."""
        return documents.dump(documents.to_json(self))

    @cached_property
    def sha256(self) -> str:
        """The digest that reports and sealed cohorts name."""
        return hashlib.sha256(self.to_bytes()).hexdigest()


CONVENTIONS = Conventions()
