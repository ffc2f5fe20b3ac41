"""Probability that one success rate exceeds another, given independent uniform priors. Exact sum, by hand.

Reference: the closed form for integer Beta parameters; Bowyer et al. 2025 (arXiv 2503.01747) recommend such a line. By
hand because scipy has none and quadrature isn't exact. Descriptive only, with its prior; never a gate.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import comb


@dataclass(frozen=True)
class Posterior:
    """P(treatment > control), under the prior that is named."""

    probability: Fraction
    prior: str = "Beta(1,1) each"


def posterior_superiority(treatment: int, treatment_n: int, control: int, control_n: int) -> Posterior:
    """Of `treatment` in `treatment_n` against `control` in `control_n`; no runs leave the prior."""
    a, b = treatment + 1, treatment_n - treatment + 1
    c, d = control + 1, control_n - control + 1
    # order a+b-1 uniforms that make X and c+d-1 that make Y: X > Y exactly where at least c of the first a+c-1 are Y's
    ways = sum(comb(c + d - 1, c + more) * comb(a + b - 1, a - 1 - more) for more in range(min(a, d)))
    return Posterior(Fraction(ways, comb(a + b + c + d - 2, a + c - 1)))
