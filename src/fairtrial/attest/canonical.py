"""The strict JSON loader: only the one spelling that `fairtrial.documents.dump` writes is read, and nothing ambiguous.

Two parsers may read a duplicate key or a huge number differently, so that one sees what was signed and another what was
not. Codes: JSON_TOO_LARGE, JSON_INVALID, JSON_DUPLICATE_KEY, JSON_NUMBER, JSON_TOO_DEEP, JSON_NOT_CANONICAL.
"""

import json
import math
from typing import Any, NoReturn

from fairtrial.errors import Unproven

SIZE_MAX = 64 * 1024 * 1024
DEPTH_MAX = 64
INTEGER_MAX = 2**53 - 1  # beyond it, parsers that keep numbers as doubles read another one (RFC 8785 §3.2.2.3)
_DIGITS_MAX = 20


def load(data: bytes, *, name: str, size_max: int = SIZE_MAX, floats: bool = True) -> Any:
    """The value of canonical JSON bytes; `name` is what a refusal is about. Without `floats`, integers are all."""
    value = parse(data, name=name, size_max=size_max, floats=floats)
    if to_bytes(value) != data:
        _refuse("JSON_NOT_CANONICAL", name, "is not written in its one canonical form")
    return value


def parse(
    data: bytes, *, name: str, size_max: int = SIZE_MAX, floats: bool = True, integer_max: int = INTEGER_MAX
) -> Any:
    """The value of JSON bytes of any spelling, but nothing that two parsers may read differently.

    A record, whose counts have 64 bits, is read with a larger `integer_max`.
    """
    if len(data) > size_max:
        _refuse("JSON_TOO_LARGE", name, f"has {len(data)} bytes; {size_max} are allowed")

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(items)
        if len(made) != len(items):
            _refuse("JSON_DUPLICATE_KEY", name, "has an object with the same key twice")
        return made

    def integer(text: str) -> int:
        if len(text) > _DIGITS_MAX or abs(int(text)) > integer_max:
            _refuse("JSON_NUMBER", name, f"holds {text[:20]}…, which not every parser can keep")
        return int(text)

    def real(text: str) -> float:
        if not floats or not math.isfinite(float(text)):
            _refuse("JSON_NUMBER", name, f"holds the number {text[:20]}")
        return float(text)

    def constant(text: str) -> NoReturn:
        _refuse("JSON_NUMBER", name, f"holds {text}, which is not a JSON number")

    try:
        value = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=pairs,
            parse_int=integer,
            parse_float=real,
            parse_constant=constant,
        )
    except RecursionError:
        _refuse("JSON_TOO_DEEP", name, f"is nested deeper than {DEPTH_MAX} levels")
    except ValueError as error:
        raise Unproven("JSON_INVALID", f"{name} is not JSON: {error}.") from error
    if _depth(value) > DEPTH_MAX:
        _refuse("JSON_TOO_DEEP", name, f"is nested deeper than {DEPTH_MAX} levels")
    return value


def to_bytes(value: Any) -> bytes:
    """The canonical bytes: sorted keys, no spaces, UTF-8. A lone surrogate has none and gives b""."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return b""


def _depth(value: Any) -> int:
    """How many containers lie inside each other; without recursion, and no further than what is refused anyway."""
    depth, level = 0, [value]
    while level and depth <= DEPTH_MAX:
        containers = [one for one in level if isinstance(one, dict | list)]
        if not containers:
            return depth
        depth += 1
        level = [item for one in containers for item in (one.values() if isinstance(one, dict) else one)]
    return depth


def _refuse(code: str, name: str, why: str) -> NoReturn:
    raise Unproven(code, f"{name} {why}.")
