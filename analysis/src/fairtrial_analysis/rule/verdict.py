"""From states to a verdict, in the order that the rule names. Pure.

SUPPORTED needs everything; what the data are not good enough for comes before what they say.
"""

from collections.abc import Iterable, Sequence
from typing import Literal

from fairtrial_analysis.rule.model import ORDER, Step

Verdict = Literal["SUPPORTED", "NOT SUPPORTED", "INCONCLUSIVE"]
State = Literal["pass", "fail", "unknown"]


def conclude(gates: Iterable[str], conditions: Iterable[bool | None], order: Sequence[Step] = ORDER) -> Verdict:
    """The first step that holds decides: a gate that is not passed, a false condition, one that can't be decided."""
    held = list(conditions)
    ends: dict[Step, tuple[bool, Verdict]] = {
        "gates": (any(state != "pass" for state in gates), "INCONCLUSIVE"),
        "falseConditions": (False in held, "NOT SUPPORTED"),
        "undecidedConditions": (None in held or not held, "INCONCLUSIVE"),
    }
    return next((verdict for holds, verdict in (ends[step] for step in order) if holds), "SUPPORTED")
