"""Chain score: mean of the stages' checkers times (1/2 + coherence/2). Exact.

Reference: the agent-ergonomics protocol. A failed stage scores what the convention says (zero); an unmeasured one is
left out and listed. Without a coherence there is no score.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from fairtrial_analysis.stats.conventions import CONVENTIONS, Conventions
from fairtrial_analysis.stats.value import Value

FAILED = "failed"


@dataclass(frozen=True)
class ChainScore:
    """The score, over how many stages."""

    value: Fraction | None
    stages_scored: int
    stages_unmeasured: tuple[str, ...]
    reason: str = ""


def chain_score(stages: Mapping[str, Value], coherence: Value, conventions: Conventions = CONVENTIONS) -> ChainScore:
    """From one value per stage; `missing("failed")` is a failed stage, any other reason an unmeasured one."""
    failed = Fraction(conventions.failed_stage_score)
    found = {name: failed if each.reason == FAILED else each.value for name, each in stages.items()}
    scored = [Fraction(value) for value in found.values() if value is not None]
    unmeasured = tuple(name for name, value in found.items() if value is None)
    if not scored or coherence.value is None:
        return ChainScore(None, len(scored), unmeasured, coherence.reason or "no_stage_scored")
    mean = sum(scored, Fraction(0)) / len(scored)
    return ChainScore(mean * (1 + Fraction(coherence.value)) / 2, len(scored), unmeasured)
