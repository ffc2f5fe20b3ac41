"""Undoing encodings in a stream: each function takes bytes and gives what they stand for, and a rest that it cannot
judge yet because an escape may be cut in two. All in linear time. Pure, standard library only.
"""

import base64
import re
from collections.abc import Callable

Undo = Callable[[bytes], tuple[bytes, bytes]]

_HEX = b"0123456789abcdefABCDEF"
_PERCENT = re.compile(rb"%([0-9a-fA-F]{2})")
_PERCENT_CUT = re.compile(rb"%[0-9a-fA-F]?\Z")
_UNICODE = re.compile(
    rb"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|\\u([0-9a-fA-F]{4})"  # a pair, or one
)
_SECOND_HALF_CUT = re.compile(rb"(?:\\(?:u(?:[dD](?:[c-fC-F](?:[0-9a-fA-F]{0,2}))?)?)?)?\Z")
_LOOKBACK = 12  # the longest escape is a pair
_SIMPLE = {
    rb"\"": b'"',
    rb"\/": b"/",
    rb"\n": b"\n",
    rb"\r": b"\r",
    rb"\t": b"\t",
    rb"\b": b"\b",
    rb"\f": b"\f",
}
_TO_STANDARD = bytes.maketrans(b"-_", b"+/")
_HEX_NOISE = re.compile(rb"[\\0]x")


def nothing(data: bytes) -> tuple[bytes, bytes]:
    """The bytes as they are."""
    return data, b""


def percent(data: bytes) -> tuple[bytes, bytes]:
    """Percent-encoding, of any of the characters."""
    if b"%" not in data:
        return data, b""
    cut = _PERCENT_CUT.search(data, max(0, len(data) - 2))
    data, rest = (data[: cut.start()], data[cut.start() :]) if cut else (data, b"")
    return _PERCENT.sub(lambda found: bytes((int(found.group(1), 16),)), data), rest


def json(data: bytes) -> tuple[bytes, bytes]:
    """The escapes of JSON strings."""
    if b"\\" not in data:
        return data, b""
    data, rest = _before_cut_escape(data)
    # Halves between pairs of backslashes hold only escapes that begin with their own backslash.
    return b"\\".join(_unescaped(part) for part in data.split(rb"\\")), rest


def _unescaped(part: bytes) -> bytes:
    if b"\\" not in part:
        return part
    for escape, meant in _SIMPLE.items():
        part = part.replace(escape, meant)
    return _UNICODE.sub(_character, part) if rb"\u" in part else part


def _character(found: "re.Match[bytes]") -> bytes:
    high, low, one = found.groups()
    code = int(one, 16) if one else 0x10000 + ((int(high, 16) - 0xD800) << 10) + (int(low, 16) - 0xDC00)
    return chr(code).encode("utf-8", "surrogatepass")


def _before_cut_escape(data: bytes) -> tuple[bytes, bytes]:
    """Cut before an escape that may go on: a single backslash, an unfinished number, or the first half of a pair."""
    start = len(data)
    at = data.find(b"\\", max(0, len(data) - _LOOKBACK))
    if at >= 0:
        # Which backslash begins an escape depends on how many stand before it.
        run = at
        while run and data[run - 1 : run] == b"\\":
            run -= 1
        at = data.find(b"\\", at + 1) if (at - run) % 2 else at
    while 0 <= at < len(data):
        end = at + _escape_length(data, at)
        if end > len(data):
            start = at
            break
        at = data.find(b"\\", end)
    return data[:start], data[start:]


def _escape_length(data: bytes, at: int) -> int:
    """How long the escape at `at` is, or may yet become."""
    if data[at + 1 : at + 2] != b"u":
        return 2
    digits = data[at + 2 : at + 6]
    if any(each not in _HEX for each in digits):
        return 2
    is_first_half = len(digits) == 4 and digits[:1] in b"dD" and digits[1:2] in b"89abAB"  # noqa: PLR2004
    rest = data[at + 6 : at + 12]
    return 12 if is_first_half and _SECOND_HALF_CUT.match(rest) else 6


def base64_text(data: bytes) -> tuple[bytes, bytes]:
    """Base64 in the standard alphabet, without line breaks."""
    return data.translate(_TO_STANDARD, b" \t\r\n"), b""


def hex_text(data: bytes) -> tuple[bytes, bytes]:
    """Hexadecimal digits in lower case, without what stands between bytes."""
    rest = data[-1:] if data[-1:] in {b"0", b"\\"} else b""
    data = data.removesuffix(rest) if rest else data
    if b"x" in data:
        data = _HEX_NOISE.sub(b"", data)
    return data.lower().translate(None, b" \t\r\n:,-"), rest


def base64_cores(secret: bytes) -> list[bytes]:
    """What every base64 text that holds the secret holds: one piece for each way in which it can be aligned."""
    cores = []
    for before, mixed in ((0, 0), (1, 2), (2, 3)):
        text = base64.b64encode(bytes(before) + secret)
        cores.append(text[mixed : (before + len(secret)) * 8 // 6])
    return cores
