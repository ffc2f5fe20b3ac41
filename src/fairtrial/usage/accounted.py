"""accounted_tokens: the one number that a cohort compares, as the cohort's named rule adds it up. Pure.

A rule is data: which counters are added. They may not overlap. Reasoning is added only where the provider counts it
outside output, so that a rule that names both means the same for every provider.
"""

from dataclasses import dataclass

from fairtrial.errors import InvalidInput
from fairtrial.usage.counters import INT64_MAX, NAMES, NOT_IN_WIRE, OUT_OF_RANGE, Counters

_PARTS = {  # what each counter holds
    "all_input": {"uncached_input", "cached_input", "cache_write"},
    "total": {"uncached_input", "cached_input", "cache_write", "output", "reasoning"},
}


@dataclass(frozen=True)
class Rule:
    """A named rule. One that would count a token twice is refused where it is made."""

    name: str
    counters: tuple[str, ...]

    def __post_init__(self) -> None:
        unknown = [each for each in self.counters if each not in NAMES]
        if not self.name or not self.counters or unknown:
            raise InvalidInput(
                f"accounted_tokens rule {self.name!r}: counters must be some of {', '.join(NAMES)}"
                + (f", not {', '.join(map(repr, unknown))}." if unknown else "; there are none."),
                next_move="Name the counters that the cohort adds up.",
            )
        held: set[str] = set()
        for each in self.counters:
            parts = _PARTS.get(each, {each})
            if held & parts:
                raise InvalidInput(
                    f"accounted_tokens rule {self.name!r}: counters: {each} overlaps the others in "
                    f"{', '.join(sorted(held & parts))}.",
                    next_move="Leave one of them out; no token may count twice.",
                )
            held |= parts


ALL_TOKENS = Rule("all_tokens", ("all_input", "output", "reasoning"))
FRESH_TOKENS = Rule("fresh_tokens", ("uncached_input", "cache_write", "output", "reasoning"))
RULES = {rule.name: rule for rule in (ALL_TOKENS, FRESH_TOKENS)}


@dataclass(frozen=True)
class Accounted:
    """The number, or the reason why there is none; and the rule that it follows."""

    rule: str
    value: int | None = None
    reason: str = ""


def accounted_tokens(counters: Counters, rule: Rule) -> Accounted:
    """The sum that a rule defines; unavailable if any of its counters is missing."""
    total = 0
    for name in rule.counters:
        if name == "reasoning" and counters.reasoning_inside_output and "output" in rule.counters:
            continue
        value = counters.get(name)
        if value is None:
            if name == "cache_write" and counters.reason(name) == NOT_IN_WIRE:
                continue  # what this provider never counts apart is in the input already
            return Accounted(rule.name, reason=f"{name}: {counters.reason(name)}")
        total += value
    return Accounted(rule.name, total) if total <= INT64_MAX else Accounted(rule.name, reason=OUT_OF_RANGE)
