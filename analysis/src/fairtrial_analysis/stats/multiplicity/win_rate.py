"""Mean win rate over tasks, ties counting half. Exact; supplementary only.

Reference: the mean win rate of HELM. It changes when a competitor is added, so it ranks nothing by itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from fairtrial_analysis.stats.value import Number


@dataclass(frozen=True)
class WinRate:
    """One candidate's mean over the tasks on which it met another."""

    name: str
    tasks: int
    value: Fraction | None
    reason: str = ""


def win_rates(scores: Mapping[str, Mapping[str, Number]]) -> tuple[WinRate, ...]:
    """From candidate → task → score, higher being better."""
    return tuple(_of(name, scores) for name in sorted(scores))


def _of(name: str, scores: Mapping[str, Mapping[str, Number]]) -> WinRate:
    rates = []
    for task, mine in scores[name].items():
        theirs = [other[task] for rival, other in scores.items() if rival != name and task in other]
        if theirs:
            rates.append(Fraction(2 * sum(mine > x for x in theirs) + sum(mine == x for x in theirs), 2 * len(theirs)))
    if not rates:
        return WinRate(name, 0, None, "no_task_with_a_rival")
    return WinRate(name, len(rates), sum(rates, Fraction(0)) / len(rates))
