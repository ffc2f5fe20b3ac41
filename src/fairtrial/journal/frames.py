"""A file that is only ever appended to, and readable after a kill at any byte.

The file is an 8-byte header (magic and version) and frames. A frame is a head of 24 bytes, big-endian, and a payload:

    kind u8 · 3 zero bytes · length u32 · milliseconds since the exchange began u64 · CRC-32 of payload · CRC-32 of head

The head has a checksum of its own, so that a damaged length is told from a file that was cut.
"""

import enum
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Literal

MAGIC = b"\x89FTJ\r\n"
VERSION = 1
FILE_HEADER = MAGIC + VERSION.to_bytes(2, "big")
PAYLOAD_MAX = 1 << 24
_FIELDS = struct.Struct(">B3xIQI")
_CRC = struct.Struct(">I")
HEAD_SIZE = _FIELDS.size + _CRC.size

Why = Literal[
    "end",  # the file ends with a whole frame
    "cut",  # in the middle of its header or of a frame
    "damaged",  # a checksum does not hold
    "foreign",  # not a journal
    "version",  # a journal of another version
]


class Kind(enum.IntEnum):
    """What a frame holds."""

    STARTED = 1  # JSON: `exchange.Started`
    REQUEST_HEAD = 2  # JSON: `exchange.RequestHead`
    REQUEST_BODY = 3  # bytes, as they came
    REQUEST_END = 4
    RESPONSE_HEAD = 5  # JSON: `exchange.ResponseHead`
    RESPONSE_BODY = 6  # bytes, as they came
    RESPONSE_END = 7
    NOTE = 8  # text: something that happened, such as `client_gone`
    ENDED = 9  # JSON: `summary.Exchange` as far as it was known when the exchange ended
    SCANNED = 10  # JSON: `summary.Scan`, from reading everything above; nothing follows


@dataclass(frozen=True)
class Frame:
    """One frame. `kind` is a number: a later version may know more of them."""

    kind: int
    ms: int
    payload: bytes


@dataclass(frozen=True)
class Stop:
    """Where the last whole frame ends, and why nothing was read after it."""

    offset: int
    why: Why


def frame_head(kind: int, ms: int, payload: bytes) -> bytes:
    """What stands before `payload`; apart from it, so that large payloads are not copied."""
    if len(payload) > PAYLOAD_MAX:
        raise ValueError(f"a frame holds at most {PAYLOAD_MAX} bytes, not {len(payload)}")
    fields = _FIELDS.pack(kind, len(payload), ms, zlib.crc32(payload))
    return fields + _CRC.pack(zlib.crc32(fields))


class FrameReader:
    """The whole frames of a journal, one after the other. When they end, `stop` says where and why."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.stop: Stop | None = None

    def __iter__(self) -> Iterator[Frame]:
        header = self._file.read(len(FILE_HEADER))
        if header != FILE_HEADER:
            self.stop = Stop(0, _why_not(header))
            return
        offset = len(header)
        while True:
            found = self._next()
            if not isinstance(found, Frame):
                self.stop = Stop(offset, found)
                return
            offset += HEAD_SIZE + len(found.payload)
            yield found

    def _next(self) -> Frame | Why:
        head = self._file.read(HEAD_SIZE)
        if not head:
            return "end"
        if len(head) < HEAD_SIZE:
            return "cut"
        fields, crc = head[: _FIELDS.size], head[_FIELDS.size :]
        kind, length, ms, payload_crc = _FIELDS.unpack(fields)
        if _CRC.pack(zlib.crc32(fields)) != crc or length > PAYLOAD_MAX:
            return "damaged"
        payload = self._file.read(length)
        if len(payload) < length:
            return "cut"
        return Frame(kind, ms, payload) if zlib.crc32(payload) == payload_crc else "damaged"


def _why_not(header: bytes) -> Why:
    if FILE_HEADER.startswith(header):
        return "cut"
    return "version" if header.startswith(MAGIC) and len(header) == len(FILE_HEADER) else "foreign"
