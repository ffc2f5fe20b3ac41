"""JSON bodies as a careful proxy reads them: nothing raises; what two parsers could read differently is a problem."""

import json
import re
from collections.abc import Mapping
from typing import Any

from fairtrial.usage.counters import INT64_MAX

TEXT_MAX = 256
PARAMETERS_MAX = 64
VALUES_MAX = 2_000_000  # of one document: more are no conversation, and would take gigabytes and seconds
_CONTENT = frozenset({"model", "stream", "system", "input", "instructions", "prompt", "messages", "contents", "user"})


class Doubled(dict[str, Any]):
    """An object in which a key stands twice: which one counts depends on who reads it."""

    key = ""


def parse(data: bytes | str) -> tuple[Any, str]:
    """The value and an empty problem, or None and why there is no value. Fractions stay the text that they were."""
    try:
        text = data if isinstance(data, str) else data.decode("utf-8")
        if len(text) > VALUES_MAX and sum(map(text.count, "[{,")) > VALUES_MAX:
            return None, "the body has too many values"
        return json.loads(text, parse_float=str, parse_constant=str, object_pairs_hook=_object), ""
    except UnicodeDecodeError:
        return None, "the body is not UTF-8"
    except RecursionError:
        return None, "the body is nested too deep"
    except ValueError as error:
        return None, f"the body is not JSON: {getattr(error, 'msg', 'a number is too long')}"


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    doubled, seen = Doubled(found), set()
    for key, _ in pairs:
        if key in seen:
            doubled.key = key
        seen.add(key)
    return doubled


def parse_request(body: bytes) -> tuple[dict[str, Any], str]:
    """A request's object; empty with a problem where it is none."""
    value, problem = parse(body)
    if not problem and not isinstance(value, dict):
        problem = "the body is not a JSON object"
    return (value if isinstance(value, dict) else {}), problem


def text(value: Any) -> str:
    """Short, storable text of a scalar; empty for anything else."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if -INT64_MAX <= value <= INT64_MAX else "out of range"
    return value[:TEXT_MAX].encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def child(value: Any, name: str) -> dict[str, Any]:
    """The object under a key; empty where there is none."""
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def items(value: Any, name: str) -> list[dict[str, Any]]:
    """The objects in the list under a key."""
    found = value.get(name) if isinstance(value, dict) else None
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def snake(name: str) -> str:
    """`camelCase` as `snake_case`."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda found: f"_{found.group(1).lower()}", name)


def model_and_stream(request: Mapping[str, Any]) -> tuple[str, bool, str]:
    """The model and whether the answer is streamed, where the body says both; and a problem."""
    model, stream = request.get("model"), request.get("stream")
    streamed = stream is True
    if isinstance(request, Doubled):
        return text(model), streamed, f"the body names {text(request.key)!r} twice"
    for key in request:
        folded = key.casefold()
        if folded in {"model", "stream"} and key != folded:
            return text(model), streamed, f"the body has {text(key)!r}, which some readers take for {folded!r}"
    if not isinstance(model, str) or not model or len(model) > TEXT_MAX:
        return text(model), streamed, f"the body must name a model as text of at most {TEXT_MAX} characters"
    if stream is not None and not isinstance(stream, bool):
        return text(model), streamed, "stream must be true or false"
    return text(model), streamed, ""


def parameters(request: Mapping[str, Any], renamed: Mapping[str, str]) -> tuple[dict[str, str], str]:
    """Everything at the top but the content, and what `renamed` maps from "object.key" or "key" to our name; and a
    problem.

    A parameter that is said twice, differently, has no one value: that is a problem.
    """
    said = [(snake(key), text(value)) for key, value in request.items() if key not in _CONTENT]
    for path, name in renamed.items():
        first, _, second = path.partition(".")
        outer = child(request, first) if second else request
        if isinstance(outer, Doubled):
            return {}, f"the body names {text(outer.key)!r} twice"
        said.append((name, text(outer.get(second or first))))
    found: dict[str, str] = {}
    for name, value in said:
        if value and found.setdefault(name, value) != value:
            return {}, f"the body says {text(name)} twice, differently"
    for key, item in request.items():
        if key not in _CONTENT and isinstance(item, dict | list):
            found.setdefault(snake(key), "an object" if isinstance(item, dict) else "a list")
    if len(found) > PARAMETERS_MAX:
        return {}, f"the body has more than {PARAMETERS_MAX} parameters"
    return found, ""


def bounded(value: Any, depth: int = 4) -> Any:
    """A usage object cut to a size fit for a record; numbers stay as they are."""
    if isinstance(value, dict) and depth:
        return {text(key): bounded(item, depth - 1) for key, item in list(value.items())[:PARAMETERS_MAX]}
    if isinstance(value, list) and depth:
        return [bounded(item, depth - 1) for item in value[:PARAMETERS_MAX]]
    if value is None or isinstance(value, int):
        return value
    return text(value) if isinstance(value, str) else "left out: nested too deep"


def plain(value: Any) -> Any:
    """The same with integers that 64 bits do not hold as text."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value if not isinstance(value, int) or isinstance(value, bool) or abs(value) <= INT64_MAX else text(value)
