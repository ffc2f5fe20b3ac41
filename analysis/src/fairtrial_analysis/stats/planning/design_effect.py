"""Design effect of runs in tasks, and how many independent runs they are worth. Exact.

Reference: Kish 1965, 1 + (m - 1) · icc.
"""

from fractions import Fraction


def design_effect(cluster_size: int, icc: Fraction) -> Fraction:
    """How much larger the variance is than with independent runs."""
    return 1 + (cluster_size - 1) * icc


def effective_size(clusters: int, cluster_size: int, icc: Fraction) -> Fraction:
    """So many independent runs would be as good."""
    return clusters * cluster_size / design_effect(cluster_size, icc)
