"""Whether runs were lost more often in one arm than in the other. By scipy.stats.fisher_exact.

Reference: Fisher's exact test, two-sided. Unequal loss is a headline warning: what is missing may not be missing at
random.
"""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from fairtrial_analysis.stats.proportions.rate import Rate, rate


@dataclass(frozen=True)
class DifferentialLoss:
    """Both rates of loss, and the p-value of their being one."""

    treatment: Rate
    control: Rate
    p: float | None
    reason: str = ""


def differential_loss(treatment: tuple[int, int], control: tuple[int, int]) -> DifferentialLoss:
    """Of two (lost, attempted)."""
    ours, theirs = rate(*treatment, empty="nothing_attempted"), rate(*control, empty="nothing_attempted")
    if ours.value is None or theirs.value is None:
        return DifferentialLoss(ours, theirs, None, "nothing_attempted")
    table = np.array([[lost, attempted - lost] for lost, attempted in (treatment, control)])
    return DifferentialLoss(ours, theirs, float(stats.fisher_exact(table).pvalue))
