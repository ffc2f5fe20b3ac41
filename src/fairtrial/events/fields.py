"""Values of a record as the events hold them: bounded, and never in doubt about their type. Pure."""

import hashlib
import math
import posixpath
import shlex
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from fairtrial import documents
from fairtrial.events import paths, shell
from fairtrial.events.rules import USAGE_FIELDS, Time, Usage

INT_MAX = 2**63 - 1
WORD_MAX, PATH_MAX, PATHS_MAX = 256, 1024, 200
_SCALE = {"s": 1000.0, "ms": 1.0, "us": 0.001, "ns": 0.000001}
_EPOCH_MAX_MS = 1e15
_DIGITS_MAX = 20


def word(value: Any) -> str:
    """A scalar as text, cut; empty if it is none."""
    return (paths.text_of(value) or "")[:WORD_MAX]


def integer(value: Any) -> int | None:
    """A whole number, also where it is written as a string, as OTLP writes 64-bit integers."""
    if isinstance(value, str) and value.isascii() and value.removeprefix("-").isdigit() and len(value) <= _DIGITS_MAX:
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if -INT_MAX <= value <= INT_MAX else None


def text(values: Sequence[Any]) -> str | None:
    """What a result says: texts joined by lines, anything else as JSON; None if there is nothing."""
    if not values:
        return None
    return "\n".join(value if isinstance(value, str) else documents.dump(value).decode() for value in values)


def command(value: Any) -> tuple[str, bool]:
    """A command line, from text or a list of arguments, and whether it was cut."""
    if isinstance(value, list):
        value = shlex.join(one for one in value if isinstance(one, str))
    line = value if isinstance(value, str) else ""
    return line[: shell.MAX_LENGTH], len(line) > shell.MAX_LENGTH


def digest(value: Any) -> str:
    """SHA-256 of a text's UTF-8 bytes, or of anything else's canonical JSON."""
    data = value.encode("utf-8", "replace") if isinstance(value, str) else documents.dump(value)
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def located(values: Sequence[Any], roots: Sequence[str]) -> tuple[str, ...]:
    """Paths, relative to the first of `roots` that they lie in; each once, in order."""
    made: dict[str, None] = {}
    for value in values:
        if isinstance(value, str) and value and len(value) <= PATH_MAX and not {"\0", "\n"} & set(value):
            made.setdefault(_relative(value.removeprefix("file://"), roots))
        if len(made) == PATHS_MAX:
            break
    return tuple(made)


def milliseconds(time: Time, record: Any, item: Any) -> float | None:
    """The record's own time, in ms since some moment."""
    value = paths.first(time.path, record, item)
    if time.unit == "iso8601":
        return _iso8601(value)
    try:
        number = float(value) * _SCALE[time.unit] if isinstance(value, int | float | str) else math.nan
    except (ValueError, OverflowError):
        return None
    return number if abs(number) < _EPOCH_MAX_MS else None


def usage(rule: Usage, record: Any, item: Any) -> dict[str, Any]:
    """The harness's own counts, by our names; what it does not say is left out."""
    made: dict[str, Any] = {}
    for name in USAGE_FIELDS:
        value = paths.first(getattr(rule, name), record, item)
        if name == "cost":
            if isinstance(value, int | float) and not isinstance(value, bool):
                made[name] = str(value)[:WORD_MAX]
        elif (number := integer(value)) is not None and number >= 0:
            made[name] = number
    return made | {"scope": rule.scope, "input_includes_cached": rule.input_includes_cached} if made else {}


def _iso8601(value: Any) -> float | None:
    if not isinstance(value, str) or len(value) > WORD_MAX:
        return None
    try:
        return datetime.fromisoformat(value).timestamp() * 1000
    except (ValueError, OverflowError, OSError):
        return None


def _relative(path: str, roots: Sequence[str]) -> str:
    path = posixpath.normpath(path)
    for root in roots:
        if path.startswith(root.rstrip("/") + "/"):
            return path[len(root.rstrip("/")) + 1 :]
    return path
