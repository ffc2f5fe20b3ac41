"""A record's values as statistics have them: a number, or the state and the reason of there being none. Pure."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from fairtrial.evidence import value as recorded
from fairtrial_analysis.stats.value import Value, measured, missing, not_applicable, void

_STATES: Mapping[str, Callable[[str], Value]] = {
    "missing": lru_cache(missing),  # thousands of runs share a few reasons
    "not_applicable": lru_cache(not_applicable),
    "void": lru_cache(void),
}


_measured = lru_cache(maxsize=4096)(measured)  # and many the same small counts


def state(name: str, reason: str) -> Value:
    """No number, and why."""
    return _STATES[name](reason)


def plain(value: recorded.Value[Any]) -> Value:
    """A record's value as statistics have it."""
    if value.state == "measured":
        return _measured(value.value) if isinstance(value.value, int) else state("missing", "not_a_number")
    return state(value.state, value.reason or "no_reason")


def told(metrics: Mapping[str, Any], key: str, part: str, like: recorded.Value[int]) -> Value:
    """A metric that the candidate's adapter counted; without any, for the reason that holds for its turns (`like`)."""
    found = metrics.get(key)
    if not isinstance(found, dict) or found.get("state") not in ("measured", *_STATES):
        return plain(like) if like.state != "measured" else state("missing", "not_told")
    if found["state"] != "measured":
        return state(found["state"], str(found.get("reason") or "not_told"))
    number = found.get("value")
    number = number.get(part) if part and isinstance(number, dict) else number
    if isinstance(number, bool) or not isinstance(number, int):
        return state("missing", "not_told")
    return _measured(number)
