"""Competition ranks (1, 1, 3); what was not measured is unranked, not last. Exact.

Reference: standard competition ranking. Values are compared exactly, never as they are printed.
"""

from collections.abc import Mapping

from fairtrial_analysis.stats.value import Value


def ranks(scores: Mapping[str, Value]) -> dict[str, int | None]:
    """Rank by name, higher scores first."""
    numbers = [each.value for each in scores.values() if each.value is not None]
    return {
        name: None if each.value is None else 1 + sum(number > each.value for number in numbers)
        for name, each in sorted(scores.items())
    }
