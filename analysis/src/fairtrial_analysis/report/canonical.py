"""The bytes of report.json: RFC 8785, so that every language writes the same report in the same bytes. Pure."""

import dataclasses
from typing import Any

import rfc8785

from fairtrial.documents import camel


def to_json(value: Any) -> Any:
    """Dataclasses become objects with camelCase keys, without the fields that are None; keys of mappings stay."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        made = {camel(f.name): getattr(value, f.name) for f in dataclasses.fields(value)}
        return {key: to_json(item) for key, item in made.items() if item is not None}
    if isinstance(value, dict):
        return {key: to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    return value


def to_bytes(value: Any) -> bytes:
    """Canonical bytes. A lone surrogate, from a hostile name, becomes `?`; NaN and infinity are errors."""
    return rfc8785.dumps(_clean(to_json(value)))


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_clean(item) for item in value]
    return value
