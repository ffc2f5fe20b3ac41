"""What a streamed answer says, joined: a scan for secrets must see across the many small events of a stream. Pure."""

from collections.abc import Iterator
from typing import Any

from fairtrial.wires import body, sse

# Where the wires put pieces of text and of tool calls.
_PIECES = frozenset(
    {"text", "thinking", "partial_json", "content", "reasoning_content", "arguments", "delta", "refusal"}
)
_DEPTH = 8


class Said:
    """Feed it the decompressed body of an answer; it returns the pieces of text, in their order.

    Nothing comes of a body that is no event stream. Pieces of different blocks are not told apart, since what is looked
    for in them is a run of characters.
    """

    def __init__(self) -> None:
        self._events = sse.Decoder()

    def feed(self, chunk: bytes) -> bytes:
        """The text of the events that end in this chunk."""
        return b"".join(piece for event in self._events.feed(chunk) for piece in _of(event))

    def finish(self) -> bytes:
        """The text of an event that the end cut off, if it can be read."""
        last = self._events.finish()
        return b"".join(_of(last)) if last else b""


def _of(event: sse.Event) -> Iterator[bytes]:
    value, _ = body.parse(event.data)
    for piece in _pieces(value, _DEPTH):
        yield piece.encode("utf-8", "replace")


def _pieces(value: Any, depth: int) -> Iterator[str]:
    if not depth:
        return
    if isinstance(value, list):
        for item in value:
            yield from _pieces(item, depth - 1)
    elif isinstance(value, dict):
        for name, item in value.items():
            if isinstance(item, str) and name in _PIECES:
                yield item
            elif isinstance(item, dict | list):
                yield from _pieces(item, depth - 1)
