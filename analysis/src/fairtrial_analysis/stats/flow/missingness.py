"""Missingness of one field: what is there, what is missing and why, what does not apply. Exact.

Reference: plain counts, by field and arm. A measured zero is present; what does not apply leaves the denominator; what
was voided is missing from it for another reason and counted apart.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fairtrial_analysis.stats.proportions.rate import Rate, rate
from fairtrial_analysis.stats.value import Value, sample


@dataclass(frozen=True)
class Missingness:
    """Counts of one field in one arm."""

    n: int
    present: int
    missing: int
    not_applicable: int
    void: int
    zeros: int
    missing_rate: Rate
    reasons: tuple[tuple[str, int], ...]


def missingness(values: Iterable[Value]) -> Missingness:
    """Of one field."""
    seen = sample(values)
    lost = seen.missing + seen.void
    return Missingness(
        seen.n + lost + seen.not_applicable,
        seen.n,
        seen.missing,
        seen.not_applicable,
        seen.void,
        sum(each == 0 for each in seen.numbers),
        rate(lost, seen.n + lost, seen.n + lost + seen.not_applicable, empty="not_applicable_anywhere"),
        seen.reasons,
    )


def by_field_and_arm(
    fields: Mapping[str, Mapping[str, Iterable[Value]]],
) -> tuple[tuple[str, str, Missingness], ...]:
    """The table, from field → arm → values, in the order of names."""
    return tuple(
        (name, arm, missingness(values))
        for name, arms in sorted(fields.items())
        for arm, values in sorted(arms.items())
    )
