"""What the dialects share: events of a stream, and JSON as bytes."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

CREATED = 1_700_000_000  # the same time in every answer: nothing in one depends on when it was asked for


@dataclass(frozen=True)
class Event:
    """One event as it goes over the wire. `is_text`: it adds to the answer's text, so it may be said again."""

    data: bytes
    is_text: bool = False


def encoded(value: Any) -> bytes:
    """Compact JSON. Not escaped to ASCII: providers send UTF-8, and readers must cope with it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def data_event(value: Mapping[str, Any], *, is_text: bool = False) -> Event:
    """An event without a name."""
    return Event(b"data: " + encoded(value) + b"\n\n", is_text)


def named_event(value: Mapping[str, Any], *, is_text: bool = False) -> Event:
    """An event named by the `type` of its data."""
    return Event(b"event: " + value["type"].encode() + b"\ndata: " + encoded(value) + b"\n\n", is_text)


def pieces(text: str, chars: int) -> Iterator[str]:
    """`text` cut into pieces of at most `chars` characters."""
    for start in range(0, len(text), chars):
        yield text[start : start + chars]


def parsed(arguments: str) -> Any:
    """Arguments as the object that some dialects hold, or None if they are no JSON object any more."""
    try:
        value = json.loads(arguments)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
