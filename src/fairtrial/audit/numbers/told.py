"""What a record says of one metric: a number, or the state and the reason of there being none. Pure."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

JsonObject = dict[str, Any]
_STATES = ("measured", "missing", "not_applicable", "void")


@dataclass(frozen=True)
class Value:
    """A number, or the state and the reason of there being none."""

    state: str
    number: Fraction | None = None
    reason: str = ""


def measured(number: int | Fraction) -> Value:
    """It was observed."""
    return Value("measured", Fraction(number))


def plain(said: JsonObject) -> Value:
    """A value of the record's own."""
    if said["state"] != "measured":
        return Value(said["state"], None, said.get("reason") or "no_reason")
    number = said.get("value")
    if isinstance(number, int) and not isinstance(number, bool):
        return measured(number)
    return Value("missing", None, "not_a_number")


def told(metrics: JsonObject, key: str, part: str, turns: JsonObject) -> Value:
    """A metric that the adapter counted; without any, for the reason that holds for its turns."""
    said = metrics.get(key)
    if not isinstance(said, dict) or said.get("state") not in _STATES:
        return plain(turns) if turns["state"] != "measured" else Value("missing", None, "not_told")
    if said["state"] != "measured":
        return Value(said["state"], None, str(said.get("reason") or "not_told"))
    number = said.get("value")
    number = number.get(part) if part and isinstance(number, dict) else number
    if isinstance(number, bool) or not isinstance(number, int):
        return Value("missing", None, "not_told")
    return measured(number)
