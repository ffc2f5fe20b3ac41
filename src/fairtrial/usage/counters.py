"""Token counts in one form for every provider, from its own fields under the semantics that it declares.

A count is a number or missing with a reason; missing never becomes zero and is never estimated. `cached_input` is what
was read from the provider's cache, `cache_write` what was written to it; `all_input` is those two and `uncached_input`.
`output`, `reasoning` and `total` are copied as they came; `reasoning_inside_output` says whether the last is a part of
the former.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

INT64_MAX = 2**63 - 1

# Why a count is missing.
NOT_REPORTED = "not_reported"  # the provider's usage lacks the field, or has null there
NOT_IN_WIRE = "not_in_wire"  # this provider has no such count at all: nothing is unknown
NOT_A_COUNT = "not_a_count"  # text, fraction, true, or a negative number
OUT_OF_RANGE = "out_of_range"  # 64 bits do not hold it
CONTRADICTORY = "contradicts_declared_semantics"  # a part is greater than what is declared to contain it
SEVERAL = "several_reasons"

# Why a usage is incomplete as a whole: its counts are what was last seen, and so lower bounds.
CUT = "cut_before_final_usage"
NO_FINAL = "no_final_usage"  # the answer came to its end, and its usage had been told before that

NOT_FORWARDED = "not_forwarded"  # the call ended before the provider was asked

NAMES = ("all_input", "uncached_input", "cached_input", "cache_write", "output", "reasoning", "total")

State = Literal["complete", "incomplete", "absent", "not_applicable"]


@dataclass(frozen=True)
class Semantics:
    """How a provider counts: declared by whoever set it up."""

    cached_inside_input: bool  # its input count holds cached tokens, both read and written
    reasoning_inside_output: bool  # its output count holds the reasoning
    zero_left_out: bool = False  # it leaves counts out where they are zero, as Gemini does; the input's apart


@dataclass(frozen=True)
class Counters:
    """Normalized counts; for each that is None, `reasons` says why."""

    all_input: int | None = None
    uncached_input: int | None = None
    cached_input: int | None = None
    cache_write: int | None = None
    output: int | None = None
    reasoning: int | None = None
    total: int | None = None
    reasoning_inside_output: bool = True
    reasons: dict[str, str] = field(default_factory=dict)
    unpriced: list[str] = field(default_factory=list)  # what was used and has a price of its own, such as web searches

    def get(self, name: str) -> int | None:
        """One count by its name in NAMES."""
        value: int | None = getattr(self, name)
        return value

    def reason(self, name: str) -> str:
        """Why a count is missing; empty where it is there."""
        return "" if self.get(name) is not None else self.reasons.get(name, NOT_REPORTED)


@dataclass(frozen=True)
class Usage:
    """The usage of one exchange. An incomplete one holds what was last seen, which is a lower bound."""

    state: State = "absent"
    reason: str = NOT_REPORTED  # empty where complete
    counters: Counters = field(default_factory=Counters)
    raw: dict[str, Any] = field(default_factory=dict)  # the provider's own object
    service_tier: str = ""


@dataclass(frozen=True)
class Reported:
    """What a usage object says in the provider's terms: for each count a number, or the reason why there is none."""

    input: int | str = NOT_REPORTED
    cached: int | str = NOT_REPORTED
    cache_write: int | str = NOT_REPORTED
    output: int | str = NOT_REPORTED
    reasoning: int | str = NOT_REPORTED
    total: int | str = NOT_REPORTED
    unpriced: tuple[str, ...] = ()


@dataclass(frozen=True)
class Total:
    """The usage of several exchanges.

    A count of `counters` is missing if any exchange lacks it, and `lacking` says how many do; `at_least` adds up what
    was seen all the same: a lower bound, for budgets and never for results.
    """

    exchanges: int
    counters: Counters
    at_least: dict[str, int]
    lacking: dict[str, int] = field(default_factory=dict)


def count(value: Any) -> int | str:
    """A count as JSON has it, or the reason why it is none."""
    if value is None:
        return NOT_REPORTED
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        return NOT_A_COUNT
    return value if value <= INT64_MAX else OUT_OF_RANGE


def unavailable(reason: str, semantics: Semantics) -> Counters:
    """Counters that are all missing for one reason."""
    return Counters(reasons=dict.fromkeys(NAMES, reason), reasoning_inside_output=semantics.reasoning_inside_output)


def normalize(reported: Reported, semantics: Semantics) -> Counters:
    """A provider's counts in the one form."""
    cached, write, output, reasoning = (
        0 if semantics.zero_left_out and each == NOT_REPORTED and isinstance(reported.input, int) else each
        for each in (reported.cached, reported.cache_write, reported.output, reported.reasoning)
    )
    written = 0 if write == NOT_IN_WIRE else write
    if semantics.cached_inside_input:
        all_input = reported.input
        uncached = _difference(reported.input, cached, written)
    else:
        uncached = reported.input
        all_input = _sum(reported.input, cached, written)
    found = dict(zip(NAMES, (all_input, uncached, cached, write, output, reasoning, reported.total), strict=True))
    return Counters(
        **{name: value for name, value in found.items() if isinstance(value, int)},
        reasoning_inside_output=semantics.reasoning_inside_output,
        reasons={name: value for name, value in found.items() if isinstance(value, str)},
        unpriced=list(reported.unpriced),
    )


def add(usages: Iterable[Usage]) -> Total:
    """The sum over exchanges; those to which usage does not apply are left out. Of none the sum is zero."""
    parts = [usage for usage in usages if usage.state != "not_applicable"]
    sums: dict[str, int] = {}
    reasons: dict[str, str] = {}
    lacking: dict[str, int] = {}
    for name in NAMES:
        why = [_lack(part, name) for part in parts]
        lacks = [each for each in why if each]
        total: int | str = sum(part.counters.get(name) or 0 for part in parts)
        if lacks:
            lacking[name] = len(lacks)
            total = _one(lacks, complete=len(lacks) == len(parts))
        elif _mixed(parts, name):
            total = "mixed_semantics"
        elif isinstance(total, int) and total > INT64_MAX:
            total = OUT_OF_RANGE
        if isinstance(total, int):
            sums[name] = total
        else:
            reasons[name] = total
    counters = Counters(
        **sums,
        reasoning_inside_output=all(part.counters.reasoning_inside_output for part in parts),
        reasons=reasons,
        unpriced=sorted({each for part in parts for each in part.counters.unpriced}),
    )
    seen = {name: sum(part.counters.get(name) or 0 for part in parts) for name in NAMES}
    return Total(len(parts), counters, {name: min(value, INT64_MAX) for name, value in seen.items()}, lacking)


def _lack(part: Usage, name: str) -> str:
    """Why an exchange lacks a count; empty where it has it. What was seen before a cut is none."""
    return part.reason if part.reason in {CUT, NO_FINAL} else part.counters.reason(name)


def _one(reasons: list[str], *, complete: bool) -> str:
    """The one reason that all share. That a count exists for some exchanges makes it unknown for the others."""
    known = {NOT_REPORTED if each == NOT_IN_WIRE and not complete else each for each in reasons}
    return known.pop() if len(known) == 1 else SEVERAL


def _mixed(parts: list[Usage], name: str) -> bool:
    declared = {part.counters.reasoning_inside_output for part in parts}
    return name in {"output", "reasoning"} and len(declared) > 1


def _sum(*counts: int | str) -> int | str:
    total = 0
    for each in counts:
        if isinstance(each, str):
            return each
        total += each
    return total if total <= INT64_MAX else OUT_OF_RANGE


def _difference(whole: int | str, *counts: int | str) -> int | str:
    parts = _sum(*counts)
    if isinstance(whole, str) or isinstance(parts, str):
        return whole if isinstance(whole, str) else parts
    return whole - parts if whole >= parts else CONTRADICTORY
