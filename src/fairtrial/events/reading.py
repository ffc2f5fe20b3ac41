"""Recorded bytes cut into records, with their places, in bounded memory whatever the bytes are."""

import json
import mmap
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from fairtrial.events import paths

CHUNK = 64 * 1024


@dataclass(frozen=True)
class Piece:
    """One record's bytes and where they are; `data` is None where they are not to be read, for `reason`."""

    offset: int
    length: int
    after: int  # where the next piece may begin: `offset + length`, and the line's end
    data: bytes | None
    reason: str = ""
    end: bool = False  # a JSON document without its records


def lines(stream: BinaryIO, limit: int) -> Iterator[Piece]:
    """The stream's lines, without their ends. A line over `limit` bytes is passed over without being held."""
    offset = 0
    held, length = bytearray(), 0
    while chunk := stream.read(CHUNK):
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            length += end - start
            if length <= limit:
                held += chunk[start:end]
            yield _piece(offset, length, length + 1, held, limit)
            offset += length + 1
            held, length, start = bytearray(), 0, end + 1
        length += len(chunk) - start
        if length <= limit:
            held += chunk[start:]
        else:
            held.clear()
    if length:
        yield _piece(offset, length, length, held, limit)


def _piece(offset: int, length: int, whole: int, held: bytearray, limit: int) -> Piece:
    if length > limit:
        return Piece(offset, length, offset + whole, None, f"line_over_{limit}_bytes")
    return Piece(offset, length, offset + whole, bytes(held))


# Strings, brackets and colons of JSON; what is between them (numbers, words, commas) needs no look. No alternative can
# match where another can, except the lone quotation mark of a string that does not end, which ends the search.
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}:"]', re.DOTALL)
_DEPTH_MAX = 1000
_NO_KEY = paths.Key("")  # of an object whose next key was not read yet; no path can hold an empty key


def elements(data: bytes | mmap.mmap, records: Sequence[str], limit: int) -> Iterator[Piece]:
    """The items of the lists at `records` in a JSON document, in order; last, the document with null for each item.

    What comes before a cut or a fault is given; then one piece without data says what is wrong with the rest.
    """
    walk = _Walk({paths.compiled(path)[0].steps for path in records})
    rest, done = bytearray(), 0
    for found in _TOKEN.finditer(data):
        item = walk.token(found.group(), found.start())
        if item is not None:
            rest = _grown(rest, data, done, item[0], limit) + b"null"
            done = item[1]
            yield _item(data, *item, limit)
        if walk.broken:
            break
    if walk.whole and (rest or data[done : done + CHUNK].strip()):
        rest = _grown(rest, data, done, len(data), limit)
        kept = bytes(rest) if len(rest) <= limit else None
        yield Piece(0, len(data), len(data), kept, "" if kept else f"document_over_{limit}_bytes", end=True)
    elif len(data):
        start = max(walk.began, done)
        yield Piece(start, len(data) - start, len(data), None, "document_cut_or_broken")


class _Walk:
    """Where in a JSON document its next token is."""

    def __init__(self, patterns: set[tuple[paths.Step, ...]]) -> None:
        self._patterns, self._depths = patterns, {len(pattern) for pattern in patterns}
        self._place: list[paths.Step] = []  # how the next value would be reached
        self._key = b""
        self._depth = 0  # at which the item is over
        self.began = -1  # of the item that is being passed, if any
        self.broken = False

    @property
    def whole(self) -> bool:
        """Whether everything that was opened is closed."""
        return not self._place and not self.broken

    def token(self, token: bytes, at: int) -> tuple[int, int] | None:
        """Take the next token; beginning and end of the item that it ends."""
        if token in b"[{":
            if self.began < 0 and len(self._place) in self._depths and tuple(self._place) in self._patterns:
                self.began, self._depth = at, len(self._place)
            self._place.append(paths.Every() if token == b"[" else _NO_KEY)
            self.broken = len(self._place) > _DEPTH_MAX
        elif token in b"]}":
            return self._closed(at + 1)
        elif token == b":":
            if self._place and self.began < 0:
                self._place[-1] = paths.Key(_key(self._key))
        else:
            self._key, self.broken = token, token == b'"'
        return None

    def _closed(self, end: int) -> tuple[int, int] | None:
        if not self._place:
            self.broken = True
            return None
        self._place.pop()
        if self.began < 0 or len(self._place) != self._depth:
            return None
        began, self.began = self.began, -1
        return began, end


def _item(data: bytes | mmap.mmap, start: int, end: int, limit: int) -> Piece:
    if end - start > limit:
        return Piece(start, end - start, end, None, f"record_over_{limit}_bytes")
    return Piece(start, end - start, end, bytes(data[start:end]))


def _grown(rest: bytearray, data: bytes | mmap.mmap, start: int, end: int, limit: int) -> bytearray:
    """`rest` with more of the document; once over the limit, it grows no more."""
    return rest + data[start : min(end, start + limit + 1)] if len(rest) <= limit else rest


def _key(text: bytes) -> str:
    try:
        return str(json.loads(text.decode("utf-8", "replace")))
    except ValueError:
        return ""


def whole(stream: BinaryIO) -> bytes | mmap.mmap:
    """All of a stream: mapped if it is a file, so that it takes no memory of ours."""
    try:
        return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError):  # not a file, or an empty one
        return stream.read()
