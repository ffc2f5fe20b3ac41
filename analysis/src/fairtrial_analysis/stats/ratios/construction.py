"""What construction cost, by part and unit; the main break-even numerator and the inclusive one. Exact.

Reference: the paired protocol. The main numerator is the framework's own part and its integration; shared acceptance
and benchmark infrastructure appear in the inclusive total only. A session without telemetry makes its part unavailable;
nothing is inferred from repository size.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

from fairtrial_analysis.stats.value import Value, measured, missing

Part = Literal[
    "framework", "plain_application", "framework_application", "shared_acceptance", "benchmark_infrastructure"
]
PARTS: tuple[Part, ...] = get_args(Part)


@dataclass(frozen=True)
class Session:
    """One development session: which part it built, and what it took, by unit (tokens, a currency, seconds …)."""

    part: Part
    spent: dict[str, Value]


@dataclass(frozen=True)
class Construction:
    """Totals of one unit by part, the main numerator and the inclusive total."""

    unit: str
    sessions: int
    parts: tuple[tuple[Part, Value], ...]
    main: Value
    inclusive: Value


def construction(sessions: Iterable[Session], unit: str, main: Sequence[Part] = ("framework",)) -> Construction:
    """The totals in one unit; `main` names the parts of the main numerator."""
    log = list(sessions)
    parts = {part: _total([s.spent.get(unit, missing("not_logged")) for s in log if s.part == part]) for part in PARTS}
    return Construction(
        unit, len(log), tuple(parts.items()), _total([parts[part] for part in main]), _total(list(parts.values()))
    )


def _total(values: Sequence[Value]) -> Value:
    lacking = next((each for each in values if each.value is None), None)
    return lacking or measured(sum((Fraction(each.value or 0) for each in values), Fraction(0)))
