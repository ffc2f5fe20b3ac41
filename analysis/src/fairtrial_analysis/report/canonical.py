"""The bytes of report.json: RFC 8785, so that every language writes the same report in the same bytes. Pure."""

import dataclasses
import functools
import io
from collections.abc import Callable
from typing import Any

import rfc8785

from fairtrial.documents import camel

_BY_ENTRY = 3  # a report, its list of runs, a run


def to_json(value: Any) -> Any:
    """Dataclasses become objects with camelCase keys, without the fields that are None; keys of mappings stay.

    A lone surrogate, from a hostile name, becomes `?`: UTF-8 has none.
    """
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    entries = _entries(value)
    return value if entries is None else {name: to_json(item) for name, item in entries}


def to_bytes(value: Any) -> bytes:
    """Canonical bytes; NaN and infinity are errors.

    The outer levels are written entry by entry: a second tree of a report of 10,000 runs takes 150 MB.
    """
    out = io.BytesIO()
    _write(value, out.write, levels=_BY_ENTRY)
    return out.getvalue()


def _write(value: Any, put: Callable[[bytes], object], levels: int) -> None:
    entries = _entries(value) if levels else None
    if entries is not None:
        put(b"{")
        for number, (name, item) in enumerate(sorted(entries, key=lambda entry: entry[0].encode("utf-16-be"))):
            put(b"," * bool(number) + rfc8785.dumps(name) + b":")
            _write(item, put, levels - 1)
        put(b"}")
    elif levels and isinstance(value, list | tuple):
        put(b"[")
        for number, item in enumerate(value):
            put(b"," * bool(number))
            _write(item, put, levels - 1)
        put(b"]")
    else:
        put(rfc8785.dumps(to_json(value)))


def _entries(value: Any) -> list[tuple[str, Any]] | None:
    """What an object has, by name as it is written; None for what becomes no object."""
    if isinstance(value, dict):
        return list({to_json(key): item for key, item in value.items()}.items())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        found = ((name, getattr(value, attribute)) for name, attribute in _fields(type(value)))
        return [(name, item) for name, item in found if item is not None]
    return None


@functools.cache
def _fields(kind: type) -> tuple[tuple[str, str], ...]:
    return tuple((camel(one.name), one.name) for one in dataclasses.fields(kind))
