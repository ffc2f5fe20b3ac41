"""The objects of a JSON array out of bytes cut anywhere, with bounded memory: Gemini's stream that is not events."""

import re

MAX_ELEMENT = 8 * 1024 * 1024
_MARK = re.compile(rb'["{}\[\]]')
_STRING_END = re.compile(rb'["\\]')


class Splitter:
    """Feed it chunks; it returns the objects that end in each, as bytes. What lies between objects is left out."""

    def __init__(self, max_element: int = MAX_ELEMENT) -> None:
        self._max = max_element
        self._kept = bytearray()
        self._depth = 0  # of braces and brackets; the array itself is 1
        self._in_string = False
        self._escaped = False
        self._oversize = False
        self.problem = ""

    def feed(self, chunk: bytes) -> list[bytes]:
        """The objects that this chunk completes."""
        found: list[bytes] = []
        start, at = 0, 0  # of what is not kept yet, and of what is not read yet
        while at < len(chunk):
            if self._in_string:
                at = self._string(chunk, at)
                continue
            mark = _MARK.search(chunk, at)
            if mark is None:
                break
            at = mark.end()
            opened = self._depth
            self._step(mark.group())
            if opened == 1 and self._depth > 1:
                start = at - 1
            elif opened > 1 and self._depth == 1:
                self._keep(chunk[start:at])
                self._take(found)
        if self._depth > 1:
            self._keep(chunk[start:])
        return found

    def _string(self, chunk: bytes, at: int) -> int:
        if self._escaped:
            self._escaped = False
            return at + 1
        end = _STRING_END.search(chunk, at)
        if end is None:
            return len(chunk)
        self._escaped = end.group() == b"\\"
        self._in_string = self._escaped
        return end.end()

    def _step(self, mark: bytes) -> None:
        if mark == b'"':
            self._in_string = True
        else:
            self._depth += 1 if mark in b"{[" else -1

    def _keep(self, piece: bytes) -> None:
        if len(self._kept) + len(piece) > self._max:
            self._oversize, self._kept = True, bytearray()
            self.problem = "a part of the stream is too large to read"
        elif not self._oversize:
            self._kept += piece

    def _take(self, found: list[bytes]) -> None:
        if not self._oversize:
            found.append(bytes(self._kept))
        self._kept, self._oversize = bytearray(), False
