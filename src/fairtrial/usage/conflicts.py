"""Where sources disagree about what was used, or a source about itself: reported, never resolved. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from fairtrial.usage.counters import CONTRADICTORY, NAMES, NOT_IN_WIRE, Counters


@dataclass(frozen=True)
class Conflict:
    """One count on which sources disagree."""

    counter: str
    counts: dict[str, int]  # source → what it says
    note: str = ""


def as_counts(counters: Counters) -> dict[str, int | None]:
    """Counters as a source for `compare`."""
    return {name: counters.get(name) for name in NAMES}


def compare(sources: Mapping[str, Mapping[str, int | None]]) -> list[Conflict]:
    """Every count for which two sources (such as provider, gateway and agent) have different numbers.

    A source that has no number for a count has no opinion. Counts may have any name, so that calls can be compared too.
    """
    names = sorted({name for counts in sources.values() for name in counts})
    found = []
    for name in names:
        said = {source: counts.get(name) for source, counts in sorted(sources.items())}
        known = {source: value for source, value in said.items() if value is not None}
        if len(set(known.values())) > 1:
            found.append(Conflict(name, known))
    return found


def contradictions(counters: Counters) -> list[Conflict]:
    """Where a provider's counts do not fit each other under the semantics that were declared for it."""
    found = []
    output, reasoning, total = counters.output, counters.reasoning, counters.total
    if counters.reasoning_inside_output and output is not None and reasoning is not None and reasoning > output:
        note = "reasoning is declared to be inside output, and is more"
        found.append(Conflict("reasoning", {"reasoning": reasoning, "output": output}, note))
    if counters.reason("uncached_input") == CONTRADICTORY:
        held = {name: value for name in ("all_input", "cached_input", "cache_write") if (value := counters.get(name))}
        found.append(Conflict("cached_input", held, "cached input is declared to be inside input, and is more"))
    outside = 0 if counters.reasoning_inside_output else reasoning
    if total is not None and counters.all_input is not None and output is not None and outside is not None:
        added = counters.all_input + output + outside
        if added != total and counters.reason("total") != NOT_IN_WIRE:
            found.append(Conflict("total", {"total": total, "sum": added}, "the total is not the sum of its parts"))
    return found
