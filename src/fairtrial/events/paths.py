"""Where a value lies in a JSON line: a small path language. Pure.

    message.usage.input_tokens     keys, one after another
    changes[].path                 every item of a list
    choices[0].text                one item; [-1] is the last
    attributes[key=model].value    the items of a list whose `key` is `model`
    arguments.(json).command       a string that holds JSON, read on from there
    "a.b".c                        a key with a dot in it
    @.id                           of the item that `each` of the rule stands at; @ alone is the item
    a.b | c.d                      the first of several that is there
    =text                          the text itself

`null` counts as not there.
"""

import functools
import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fairtrial.errors import InvalidInput

MAX_LENGTH = 256
MAX_VALUES = 10_000  # of one path: an adapter's `[]` on a hostile list ends here
_STEP = re.compile(
    r"""(?:"(?P<quoted>[^"]+)"|\((?P<decode>json)\)|(?P<key>[^.\[\]()"\s|]+))(?P<brackets>(?:\[[^\[\]]*\])*)(?:\.|$)"""
)
_BRACKET = re.compile(r"\[([^\[\]]*)\]")
_INDEX = re.compile(r"-?[0-9]{1,6}")


@dataclass(frozen=True)
class Key:
    """Into an object."""

    name: str


@dataclass(frozen=True)
class Index:
    """Into a list, at one place."""

    at: int


@dataclass(frozen=True)
class Every:
    """Into a list, at every place, or where the item's `key` is `value`."""

    key: str = ""
    value: str = ""


@dataclass(frozen=True)
class Decode:
    """Into a string that holds JSON."""


Step = Key | Index | Every | Decode


@dataclass(frozen=True)
class Path:
    """One alternative: its steps, from the line or from the item of `each`."""

    of_item: bool
    steps: tuple[Step, ...]
    literal: str | None = None
    keys: tuple[str, ...] | None = None  # the steps, where all go into objects: most paths, and a record is asked many


@functools.lru_cache(maxsize=4096)
def compiled(text: str) -> tuple[Path, ...]:
    """The alternatives of a path; InvalidInput says what is wrong with it."""
    if len(text) > MAX_LENGTH:
        raise InvalidInput(f"path {text[:40]!r}… has more than {MAX_LENGTH} characters.")
    return tuple(_path(part.strip(), text) for part in text.split("|"))


def values(text: str, record: Any, item: Any = None) -> list[Any]:
    """Every value at the path, of the first alternative that has one."""
    for path in compiled(text) if text else ():
        if path.literal is not None:
            return [path.literal]
        start = item if path.of_item else record
        found = list(_walk([start], path.steps)) if path.keys is None else _descend(start, path.keys)
        if found:
            return found
    return []


def first(text: str, record: Any, item: Any = None) -> Any:
    """The first value at the path, or None."""
    found = values(text, record, item)
    return found[0] if found else None


def text_of(value: Any) -> str | None:
    """A scalar as it is written in JSON, without quotes; None for lists, objects and nothing."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else None


def parse(text: str) -> Any:
    """Read JSON leniently: NaN and infinities become null, of equal keys the last counts. ValueError if it is none."""
    return _DECODER.decode(text)


def _finite(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None


_DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=lambda _: None)


def _path(part: str, whole: str) -> Path:
    if part.startswith("="):
        return Path(of_item=False, steps=(), literal=part[1:])
    of_item = part == "@" or part.startswith("@.")
    rest = part.removeprefix("@").removeprefix(".") if of_item else part
    steps: list[Step] = []
    at = 0
    while at < len(rest):
        found = _STEP.match(rest, at)
        if found is None:
            raise InvalidInput(f"path {whole!r} can't be read from {rest[at:]!r} on; see docs/adapters.md, Paths.")
        steps.append(Decode() if found["decode"] else Key(found["quoted"] or found["key"]))
        steps += [_bracket(inner, whole) for inner in _BRACKET.findall(found["brackets"])]
        at = found.end()
    if not steps and not of_item:
        raise InvalidInput(f"path {whole!r} has an empty alternative.")
    keys = tuple(step.name for step in steps if isinstance(step, Key))
    return Path(of_item, tuple(steps), keys=keys if len(keys) == len(steps) else None)


def _bracket(inner: str, whole: str) -> Step:
    if not inner:
        return Every()
    if _INDEX.fullmatch(inner):
        return Index(int(inner))
    key, equals, value = inner.partition("=")
    if not equals or not key:
        raise InvalidInput(f"path {whole!r}: [{inner}] is neither [], [number] nor [key=value].")
    return Every(key, value)


def _descend(value: Any, keys: tuple[str, ...]) -> list[Any]:
    for key in keys:
        if not isinstance(value, dict):
            return []
        value = value.get(key)
    return [] if value is None else [value]


def _walk(found: list[Any], steps: tuple[Step, ...]) -> Iterator[Any]:
    for step in steps:
        found = [after for value in found for after in _into(value, step)][:MAX_VALUES]
    return (value for value in found if value is not None)


def _into(value: Any, step: Step) -> list[Any]:
    if isinstance(step, Key):
        return [value[step.name]] if isinstance(value, dict) and step.name in value else []
    if isinstance(step, Decode):
        return _decoded(value)
    if not isinstance(value, list):
        return []
    if isinstance(step, Index):
        return [value[step.at]] if -len(value) <= step.at < len(value) else []
    if not step.key:
        return value
    return [one for one in value if isinstance(one, dict) and text_of(one.get(step.key)) == step.value]


def _decoded(value: Any) -> list[Any]:
    if not isinstance(value, str):
        return [] if value is None else [value]  # some harnesses give the object itself
    try:
        return [parse(value)]
    except (ValueError, RecursionError):
        return []
