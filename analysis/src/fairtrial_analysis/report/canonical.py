"""The bytes of report.json: RFC 8785, so that every language writes the same report in the same bytes. Pure."""

import dataclasses
import functools
from typing import Any

import rfc8785

from fairtrial.documents import camel


def to_json(value: Any) -> Any:
    """Dataclasses become objects with camelCase keys, without the fields that are None; keys of mappings stay.

    A lone surrogate, from a hostile name, becomes `?`: UTF-8 has none.
    """
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {to_json(key): to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        found = ((name, getattr(value, attribute)) for name, attribute in _fields(type(value)))
        return {name: to_json(item) for name, item in found if item is not None}
    return value


def to_bytes(value: Any) -> bytes:
    """Canonical bytes; NaN and infinity are errors."""
    return rfc8785.dumps(to_json(value))


@functools.cache
def _fields(kind: type) -> tuple[tuple[str, str], ...]:
    return tuple((camel(one.name), one.name) for one in dataclasses.fields(kind))
