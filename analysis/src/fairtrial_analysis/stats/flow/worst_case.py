"""The success difference if every run without a judgement had gone against the treatment, and if for it. Exact.

Reference: Manski's bounds. No assumption about why runs are missing can lead outside them.
"""

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Counts:
    """One arm: successes among valid runs, and how many runs have no judgement."""

    successes: int
    valid: int
    invalid: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.valid + self.invalid


@dataclass(frozen=True)
class Bounds:
    """Lowest and highest possible difference."""

    low: Fraction | None
    high: Fraction | None
    reason: str = ""


def worst_case(treatment: Counts, control: Counts) -> Bounds:
    """Bounds of treatment minus control."""
    if not treatment.total or not control.total:
        return Bounds(None, None, "no_runs")
    ours, theirs = Fraction(treatment.successes, treatment.total), Fraction(control.successes, control.total)
    return Bounds(
        ours - theirs - Fraction(control.invalid, control.total),
        ours - theirs + Fraction(treatment.invalid, treatment.total),
    )
