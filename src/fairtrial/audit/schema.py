"""The fields that a record has: its published JSON Schema, read by a small validator. Pure.

Knows the keywords that our schemas use, and refuses a schema with any other: a rule that is skipped is no rule.
"""

import json
from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import Any

JsonObject = dict[str, Any]
_TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict, "array": list, "string": str, "integer": int, "boolean": bool, "null": type(None),
}  # fmt: skip
_SAYS_NOTHING = {"description", "default", "$schema", "$defs", "format", "title"}
_KEYWORDS = {
    "type", "$ref", "anyOf", "enum", "const", "properties", "required", "additionalProperties", "propertyNames",
    "items", "minLength", "maxLength", "minimum", "maximum", "maxProperties", "maxItems", "minItems",
}  # fmt: skip


@cache
def record_schema() -> JsonObject:
    """The schema of a record, as it is published."""
    found: JsonObject = json.loads(resources.files(__package__).joinpath("record.schema.json").read_bytes())
    return found


def problems(value: Any, schema: JsonObject) -> Iterator[str]:
    """What does not fit, each with the path of its field."""
    return _problems(value, schema, "", schema.get("$defs", {}))


def _problems(value: Any, schema: JsonObject, path: str, named: JsonObject) -> Iterator[str]:
    if unknown := set(schema) - _KEYWORDS - _SAYS_NOTHING:
        raise NotImplementedError(f"the schema has {sorted(unknown)}")
    if "$ref" in schema:
        yield from _problems(value, named[schema["$ref"].rpartition("/")[2]], path, named)
    if "anyOf" in schema:
        tried = [list(_problems(value, one, path, named)) for one in schema["anyOf"]]
        if all(tried):
            yield min(tried, key=len)[0]
            return
    if "type" in schema and not _is(value, schema["type"]):
        yield f"{path or 'it'} is not of type {schema['type']}"
        return
    yield from _of_value(value, schema, path)
    if isinstance(value, dict):
        yield from _of_object(value, schema, path, named)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _problems(item, schema.get("items", {}), f"{path}[{index}]", named)


def _of_value(value: Any, schema: JsonObject, path: str) -> Iterator[str]:
    if "enum" in schema and value not in schema["enum"]:
        yield f"{path} is none of {schema['enum']}"
    if "const" in schema and value != schema["const"]:
        yield f"{path} is not {schema['const']!r}"
    if isinstance(value, int) and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        yield f"{path} is out of its range"
    if isinstance(value, dict | list | str):
        what = "Properties" if isinstance(value, dict) else "Items" if isinstance(value, list) else "Length"
        if not schema.get(f"min{what}", 0) <= len(value) <= schema.get(f"max{what}", len(value)):
            yield f"{path} has {len(value)} {what.lower()}"


def _of_object(value: JsonObject, schema: JsonObject, path: str, named: JsonObject) -> Iterator[str]:
    yield from (f"{path} lacks {key}" for key in schema.get("required", ()) if key not in value)
    known, other = schema.get("properties", {}), schema.get("additionalProperties", True)
    for key, item in value.items():
        inside = f"{path}.{key}".lstrip(".")
        if "propertyNames" in schema:
            yield from _problems(key, schema["propertyNames"], inside, named)
        if key in known:
            yield from _problems(item, known[key], inside, named)
        elif other is False:
            yield f"{inside} is an unknown field"
        elif isinstance(other, dict):
            yield from _problems(item, other, inside, named)


def _is(value: Any, wanted: str | list[str]) -> bool:
    wanted = [wanted] if isinstance(wanted, str) else wanted
    return any(isinstance(value, _TYPES[one]) and not (one == "integer" and isinstance(value, bool)) for one in wanted)
