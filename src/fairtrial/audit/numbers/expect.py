"""What a place of the report must hold, and whether it does: exact where it can be, else to nine digits.

A section is expected as nested dictionaries and lists. Their leaves are plain values, `Num` (a number with its method
and what it is of), `Five` (a summary) or `ANY` (words for people, which nothing follows from). Whatever the report has
and is not expected is as wrong as what it lacks.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from fairtrial.audit.documents import is_finite
from fairtrial.audit.numbers.intervals import order_statistics
from fairtrial.audit.numbers.sample import quantile_of_ranked
from fairtrial.audit.numbers.told import Value

Real = Fraction | float | int
RELATIVE, ABSOLUTE = 1e-9, 1e-12
STATES = ("measured", "missing", "not_applicable", "void")
INTERVALS = {
    "wilson", "clopper_pearson", "newcombe", "task_t", "log_ratio_t", "wider_of_newcombe_and_task_t",
    "median_order_statistics", "break_even_from_saving", "bootstrap_percentile", "decision_rule",
    "pairwise_holm",
}  # fmt: skip
TEXT_MAX = 100_000  # digits of an exact fraction
EXACT_BITS = 14_000  # of a longer fraction only the rounded value is told
LEVEL = Fraction(95, 100)


class _Any:
    """Words that nothing follows from."""


ANY = _Any()


@dataclass(frozen=True)
class Ends:
    """An interval that must be there."""

    method: str
    low: Real | None
    high: Real | None
    coverage: Fraction | None = None


@dataclass(frozen=True)
class Num:
    """A number, or that there is none; the counts are checked where they are given."""

    method: str
    of: dict[str, Any]
    value: Real | None
    ends: Ends | None = None
    audit: Ends | None = None
    counts: dict[str, int] = field(default_factory=dict)  # n, numerator, denominator, scheduled


@dataclass(frozen=True)
class Alone:
    """A number without method: `value`, and `exact` where that does not hold it."""

    value: Real | None


@dataclass(frozen=True)
class Five:
    """A summary of these values."""

    of: dict[str, Any]
    values: tuple[Value, ...]


Problem = tuple[str, str]  # where in the report, and what is wrong there
_KNOWN_NUMBER = {
    "state", "method", "of", "value", "exact", "unit", "n", "numerator", "denominator", "scheduled", "interval",
    "audit", "reason", "runs",
}  # fmt: skip
_KNOWN_FIVE = {
    "state", "of", "n", "missing", "notApplicable", "void", "unit", "minimum", "q1", "median", "q3", "maximum",
    "mean", "standardDeviation", "interval", "method", "reason",
}  # fmt: skip


def of(among: str, metric: str | None = None, **more: Any) -> dict[str, Any]:
    """What a number is of, as the report writes it."""
    return {key: value for key, value in {"among": among, "metric": metric, **more}.items() if value is not None}


def problems(said: Any, expected: Any, where: str) -> Iterator[Problem]:
    """Everything in which a place of the report is not what it must be."""
    if expected is ANY:
        return
    for kind, check in _CHECKS:
        if isinstance(expected, kind):
            yield from check(said, expected, where)
            return
    if isinstance(expected, dict) and isinstance(said, dict):
        yield from _object(said, expected, where)
    elif isinstance(expected, list) and isinstance(said, list):
        if len(said) != len(expected):
            yield where, f"has {len(said)} items, where there must be {len(expected)}"
        for at, (one, wanted) in enumerate(zip(said, expected, strict=False)):
            yield from problems(one, wanted, f"{where}[{at}]")
    elif not same(said, expected):
        yield where, f"is {said!r}, and follows as {_shown(expected)}"


def _object(said: dict[str, Any], expected: dict[str, Any], where: str) -> Iterator[Problem]:
    for key in sorted(set(said) | {key for key, value in expected.items() if value is not None}):
        if key not in expected:
            yield f"{where}.{key}", "is not known to follow from anything"
        else:
            yield from problems(said.get(key), expected[key], f"{where}.{key}")


def same(said: Any, expected: Any) -> bool:
    """Whether a plain value is the one that follows; a number may differ beyond its ninth digit."""
    if isinstance(expected, Fraction | float) or (isinstance(expected, int) and not isinstance(expected, bool)):
        if not is_finite(said):
            return False
        if isinstance(said, int) and isinstance(expected, int | Fraction):
            return said == expected or Fraction(expected).denominator != 1
        return math.isclose(said, expected, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    return type(said) is type(expected) and bool(said == expected)


def exactly(said: dict[str, Any], expected: Real) -> bool:
    """Whether `value` and `exact` are this number."""
    if not same(said.get("value"), expected):
        return False
    if isinstance(expected, float):
        return "exact" not in said
    text = said.get("exact")
    return _fraction(text) == expected if text is not None else said.get("value") == expected or _is_long(expected)


def _is_long(number: Fraction | int) -> bool:
    return max(number.numerator.bit_length(), number.denominator.bit_length()) > EXACT_BITS


def _fraction(text: Any) -> Fraction | None:
    if not isinstance(text, str) or len(text) > TEXT_MAX or not set(text) <= set("0123456789/-"):
        return None
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        return None


def _number(said: Any, expected: Num, where: str) -> Iterator[Problem]:
    if not isinstance(said, dict) or set(said) - _KNOWN_NUMBER:
        yield where, "is no number with its method"
        return
    if (said.get("method"), said.get("of")) != (expected.method, expected.of):
        yield where, f"is {said.get('method')} of {said.get('of')}, not {expected.method} of {expected.of}"
        return
    if (said.get("state") == "measured") != (expected.value is not None) or said.get("state") not in STATES:
        yield where, f"is {said.get('state')}, and follows as {_shown(expected.value)}"
        return
    if expected.value is None and ("value" in said or "exact" in said):
        yield where, "has a value, and follows as none"
    if expected.value is not None and not exactly(said, expected.value):
        yield where, f"is {said.get('exact', said.get('value'))}, and follows as {_shown(expected.value)}"
    for key in ("n", "numerator", "denominator", "scheduled"):
        if not same(said.get(key), expected.counts.get(key)):
            yield f"{where}.{key}", f"is {said.get(key)}, and follows as {expected.counts.get(key)}"
    yield from _interval(said.get("interval"), expected.ends, f"{where}.interval")
    yield from _interval(said.get("audit"), expected.audit, f"{where}.audit")


def _interval(said: Any, expected: Ends | None, where: str) -> Iterator[Problem]:
    if expected is None:
        if said is not None and not (isinstance(said, dict) and said.get("method") in INTERVALS):
            yield where, "is no interval"
        elif said is not None and ("low" in said or "high" in said):
            yield where, "has ends, and there are none"
        return
    if not isinstance(said, dict) or said.get("method") != expected.method:
        yield where, f"is not that of {expected.method}"
        return
    for key, end in (("low", expected.low), ("high", expected.high)):
        if (end is None and key in said) or (end is not None and not same(said.get(key), end)):
            yield f"{where}.{key}", f"is {said.get(key)}, and follows as {_shown(end)}"
    if said.get("confidence") != "0.95":
        yield where, f"has a confidence of {said.get('confidence')}"
    # of one value it is nothing, and need not be written
    told = expected.coverage is not None and not _is_long(expected.coverage)
    if told and (_fraction(said.get("coverage")) or 0) != expected.coverage:
        yield f"{where}.coverage", f"is {said.get('coverage')}, and follows as {expected.coverage}"


def _five(said: Any, expected: Five, where: str) -> Iterator[Problem]:
    if not isinstance(said, dict) or set(said) - _KNOWN_FIVE or said.get("method") != "five_numbers":
        yield where, "is no summary"
        return
    if said.get("of") != expected.of:
        yield where, f"is of {said.get('of')}, not of {expected.of}"
    states = [each.state for each in expected.values]
    numbers = [each.number for each in expected.values if each.number is not None]
    none = "not_applicable" if states and set(states) == {"not_applicable"} else "missing"
    if said.get("state") != ("measured" if numbers else none):
        yield f"{where}.state", f"is {said.get('state')}"
    counts = {"n": len(numbers), "missing": states.count("missing"), "void": states.count("void")}
    for key, count in (counts | {"notApplicable": states.count("not_applicable")}).items():
        if said.get(key) != count:
            yield f"{where}.{key}", f"is {said.get(key)}, and follows as {count}"
    deviation = spread(numbers)
    if not same(said.get("standardDeviation"), deviation):
        yield f"{where}.standardDeviation", f"is {said.get('standardDeviation')}, and follows as {_shown(deviation)}"
    for key, number in (five(numbers) | {"mean": mean(numbers)}).items():
        if not _is_alone(said.get(key), number):
            yield f"{where}.{key}", f"is {said.get(key)}, and follows as {_shown(number)}"
    ranked = order_statistics(numbers)
    ends = Ends("median_order_statistics", *ranked) if ranked else None
    yield from _interval(said.get("interval"), ends, f"{where}.interval")


def _alone(said: Any, expected: Alone, where: str) -> Iterator[Problem]:
    if not _is_alone(said, expected.value):
        yield where, f"is {said}, and follows as {_shown(expected.value)}"


def _is_alone(said: Any, expected: Real | None) -> bool:
    if expected is None or said is None:
        return said is None and expected is None
    return isinstance(said, dict) and set(said) <= {"value", "exact"} and exactly(said, expected)


def five(numbers: list[Fraction]) -> dict[str, Fraction | None]:
    """Least value, quartiles (Hyndman and Fan's type 7), greatest value."""
    names = ("minimum", "q1", "median", "q3", "maximum")
    if not numbers:
        return dict.fromkeys(names)
    whole, scale = _whole(numbers)
    whole.sort()
    return {name: quantile_of_ranked(whole, Fraction(part, 4)) / scale for part, name in enumerate(names)}


def mean(numbers: list[Fraction]) -> Fraction | None:
    """The arithmetic mean."""
    whole, scale = _whole(numbers)
    return Fraction(sum(whole), scale * len(whole)) if whole else None


def spread(numbers: list[Fraction]) -> float | None:
    """The standard deviation, with n - 1; None of fewer than two values."""
    n, (whole, scale) = len(numbers), _whole(numbers)
    if n < 2:  # noqa: PLR2004 - one value has no spread
        return None
    square = n * sum(each * each for each in whole) - sum(whole) ** 2
    return math.sqrt(Fraction(square, n * (n - 1) * scale * scale))


def _whole(numbers: list[Fraction]) -> tuple[list[int], int]:
    """The numbers times their common denominator, and that: integers take a tenth of the time of fractions."""
    scale = math.lcm(*(each.denominator for each in numbers))
    return [each.numerator * (scale // each.denominator) for each in numbers], scale


def _shown(expected: Any) -> str:
    return "none" if expected is None else str(expected) if isinstance(expected, Fraction) else repr(expected)


_CHECKS: tuple[tuple[type, Callable[[Any, Any, str], Iterator[Problem]]], ...] = (
    (Num, _number),
    (Five, _five),
    (Ends, _interval),
    (Alone, _alone),
)
