"""Reading an answer as it passes, without its content coding. The agent gets the bytes as they came.

Output is given in pieces, and stops at a limit: a few kilobytes can hold gigabytes of nothing.
"""

import sys
import zlib
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import brotli

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PIECE = 16 * 1024  # what is read in one go, while nobody else is served
FLOOR = 16 * 1024 * 1024  # above this a body may be no more than GROWTH times as long as it came
GROWTH = 100
CODINGS = ("identity", "gzip", "x-gzip", "deflate", "br", "zstd")


class Decoder(Protocol):
    """One coding."""

    def pieces(self, chunk: bytes) -> Iterator[bytes]:
        """What the next bytes stand for, in bounded pieces. Raises one of `ERRORS` for what is not this coding."""


ERRORS: tuple[type[Exception], ...] = (zlib.error, brotli.error, zstd.ZstdError, EOFError, ValueError)


class _Identity:
    def pieces(self, chunk: bytes) -> Iterator[bytes]:
        if len(chunk) <= PIECE:
            yield chunk
            return
        for start in range(0, len(chunk), PIECE):
            yield chunk[start : start + PIECE]


class _Zlib:
    """gzip and deflate; gzip may have several members, deflate is sent with and without a zlib header."""

    def __init__(self, *, gzip: bool) -> None:
        self._gzip = gzip
        self._object = zlib.decompressobj(31) if gzip else None

    def pieces(self, chunk: bytes) -> Iterator[bytes]:
        while chunk:
            if self._object is None:
                self._object = zlib.decompressobj(15 if chunk[0] & 0x0F == 0x08 else -15)  # noqa: PLR2004 — CM 8
            yield self._object.decompress(chunk, PIECE)
            chunk = self._object.unconsumed_tail
            if self._object.eof:
                chunk = self._object.unused_data.lstrip(b"\0") if self._gzip else b""
                if chunk:
                    self._object = zlib.decompressobj(31)


class _Brotli:
    def __init__(self) -> None:
        self._object = brotli.Decompressor()

    def pieces(self, chunk: bytes) -> Iterator[bytes]:
        piece = self._object.process(chunk, output_buffer_limit=PIECE)
        while piece:
            yield piece
            piece = self._object.process(b"", output_buffer_limit=PIECE)


class _Zstd:
    def __init__(self) -> None:
        self._object: Any = zstd.ZstdDecompressor()

    def pieces(self, chunk: bytes) -> Iterator[bytes]:
        while chunk or not (self._object.needs_input or self._object.eof):
            if self._object.eof:
                self._object = zstd.ZstdDecompressor()  # the next frame
            yield self._object.decompress(chunk, PIECE)
            chunk = self._object.unused_data if self._object.eof else b""


def decoder(content_encoding: str) -> Decoder | None:
    """A decoder for a Content-Encoding header; None for a coding, or a chain of them, that is not known here."""
    coding = content_encoding.strip().lower() or "identity"
    if coding == "identity":
        return _Identity()
    if coding in ("gzip", "x-gzip", "deflate"):
        return _Zlib(gzip=coding != "deflate")
    if coding == "br":
        return _Brotli()
    return _Zstd() if coding == "zstd" else None


def coding_of(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """The content coding that headers name, in however many lines."""
    return ", ".join(value.decode("latin-1") for name, value in headers if name.lower() == b"content-encoding")


class Plain:
    """The decoded body of one message, fed piece by piece to whoever reads it, until something is wrong with it."""

    def __init__(self, content_encoding: str, limit: int) -> None:
        self._decoder = decoder(content_encoding)
        self._limit, self._came, self._read = limit, 0, 0
        self.problem = "" if self._decoder else f"the content coding {content_encoding[:40]!r} is not known"

    def pieces(self, chunk: bytes) -> Iterator[bytes]:
        """What the next bytes stand for; nothing once there is a `problem`."""
        if self.problem or self._decoder is None:
            return
        self._came += len(chunk)
        most = min(self._limit, max(FLOOR, GROWTH * self._came))
        try:
            for piece in self._decoder.pieces(chunk):
                self._read += len(piece)
                if self._read > most:
                    self.problem = "the body is longer than the limit without its content coding"
                    return
                if piece:
                    yield piece
        except ERRORS as error:
            self.problem = f"the body is not in its content coding ({type(error).__name__})"
