"""Server-sent events out of bytes cut anywhere, as the WHATWG standard reads them, with bounded memory.

Works on bytes and decodes whole events, so that a cut inside a character does no harm. An event over the limit is
reported as such, without its data; the stream goes on.
"""

from dataclasses import dataclass

MAX_EVENT = 8 * 1024 * 1024
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Event:
    """One event. `name` is empty where the stream gives none."""

    name: str
    data: str
    oversize: bool = False  # over the limit; its data is lost
    unfinished: bool = False  # the stream ended before the empty line that ends an event


class Decoder:
    """Feed it chunks; it returns the events that they complete."""

    def __init__(self, max_event: int = MAX_EVENT) -> None:
        self._max = max_event
        self._partial = bytearray()  # a line whose end has not come
        self._data = bytearray()  # with a line feed after each line
        self._name = b""
        self._oversize = False
        self._after_cr = False
        self._start: bytes | None = b""  # what could yet be a byte order mark

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that end in this chunk."""
        if self._start is not None:
            chunk = self._without_mark(chunk)
        if self._after_cr and chunk:  # the rest of a CR LF that was cut in two
            self._after_cr = False
            chunk = chunk.removeprefix(b"\n")
        if not chunk:
            return []
        if b"\r" in chunk:
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, rest = chunk.split(b"\n")
        if lines and self._partial:
            self._begin(lines[0])
            lines[0], self._partial = bytes(self._partial), bytearray()
        events = [event for line in lines if (event := self._line(line))]
        self._begin(rest)
        return events

    def finish(self) -> Event | None:
        """What the stream's end cut off, if it has data. The standard drops it; an account of a cut stream does not."""
        self._begin(self._start or b"")
        if self._partial:
            self._line(bytes(self._partial))
        event = self._dispatch()
        return event and Event(event.name, event.data, event.oversize, unfinished=True)

    def _without_mark(self, chunk: bytes) -> bytes:
        start = (self._start or b"") + chunk
        if len(start) < len(_BOM) and _BOM.startswith(start):
            self._start = start
            return b""
        self._start = None
        return start.removeprefix(_BOM)

    def _begin(self, piece: bytes) -> None:
        """Keep a piece of a line; what no event can hold is read to its end as a comment."""
        self._partial += piece
        if len(self._partial) + len(self._data) > self._max:
            self._forget()
            self._partial = bytearray(b":")

    def _forget(self) -> None:
        self._oversize, self._data = True, bytearray()

    def _line(self, line: bytes) -> Event | None:
        if not line:
            return self._dispatch()
        if len(line) + len(self._data) > self._max:
            self._forget()
            return None
        name, _, value = line.partition(b":")
        if name == b"data" and not self._oversize:
            self._data += value.removeprefix(b" ") + b"\n"
        elif name == b"event":
            self._name = value.removeprefix(b" ")[:256]
        return None

    def _dispatch(self) -> Event | None:
        data, name, oversize = self._data, self._name, self._oversize
        self._data, self._name, self._oversize = bytearray(), b"", False
        if not data and not oversize:
            return None
        return Event(name.decode("utf-8", "replace"), data[:-1].decode("utf-8", "replace"), oversize)
