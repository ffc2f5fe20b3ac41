"""Reading the package's documents: strictly, and with a finding instead of an exception for whatever does not fit."""

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from fairtrial.attest import canonical
from fairtrial.audit.findings import Findings
from fairtrial.audit.folder import DOCUMENT_MAX, Folder
from fairtrial.errors import Unproven

_LARGE, _SMALL = 21, -6  # beyond so many digits before, or zeros after the point, ECMAScript writes an exponent
SKEW = timedelta(seconds=60)  # between the clocks of operator, API server, nodes and authorities
_text = json.JSONEncoder(ensure_ascii=False).encode  # json.dumps would make an encoder each time: of a report, 40,000

# What reading a document of another shape raises. Not more: a mistake of this program is no finding.
_SHAPE = (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError)


def load(folder: Folder, path: str, *, integer_max: int = 2**63 - 1) -> Any:
    """The value of a canonical document of ours; None, and a finding, where it can't be read at all."""
    data = folder.read(path)
    return None if data is None else value_of(data, path, folder.findings, integer_max=integer_max)


def value_of(data: bytes, path: str, findings: Findings, *, integer_max: int = 2**63 - 1) -> Any:
    """The same of bytes that were read."""
    value = parsed(data, path, findings, integer_max=integer_max)
    if value is not None and canonical.to_bytes(value) != data:
        findings.add("JSON_NOT_CANONICAL", path, "Is not written in its one canonical form.")
    return value


def parsed(data: bytes, path: str, findings: Findings, *, integer_max: int = 2**63 - 1) -> Any:
    """The value of JSON of any spelling."""
    try:
        return canonical.parse(data, name=path, size_max=DOCUMENT_MAX, integer_max=integer_max)
    except Unproven as refused:
        note(refused, path, findings)
        return None


def load_report(folder: Folder, path: str) -> Any:
    """The value of a document in the form of RFC 8785, which writes floating point in one way."""
    data = folder.read(path)
    value = None if data is None else parsed(data, path, folder.findings, integer_max=2**53)
    if data is not None and value is not None and jcs(value).encode("utf-8", "replace") != data:
        folder.findings.add("JSON_NOT_CANONICAL", path, "Is not written as RFC 8785 has it.")
    return value


def jcs(value: Any) -> str:
    """RFC 8785: as our canonical form, with numbers as ECMAScript writes them."""
    if isinstance(value, dict):
        # Only beyond U+FFFF is the order of UTF-16's units not that of code points.
        keys = sorted(value, key=None if all(map(str.isascii, value)) else _units)
        return "{" + ",".join([f"{_text(key)}:{jcs(value[key])}" for key in keys]) + "}"
    if isinstance(value, list):
        return "[" + ",".join([jcs(item) for item in value]) + "]"
    return _number(value) if isinstance(value, float) else _plain(value)


def _plain(value: str | int | None) -> str:
    """A value without floating point and without anything in it."""
    # The encoder looks up its settings for all but text; of numbers a report has tens of thousands.
    return int.__repr__(value) if type(value) is int else _text(value)


def _units(key: str) -> bytes:
    return key.encode("utf-16-be", "surrogatepass")


@contextmanager
def reading(findings: Findings, path: str) -> Iterator[None]:
    """What inside does not find the fields that it reads becomes a finding about `path`."""
    try:
        yield
    except _SHAPE as error:
        findings.add("FIELD_INVALID", path, f"Has not the fields that it must have ({type(error).__name__}: {error}).")


def precedes(earlier: str, later: str) -> bool:
    """Whether one time can come before another, told by clocks that may differ by a minute; ValueError for no time."""
    begin, end = (datetime.fromisoformat(text) for text in (earlier, later))
    return begin - end <= SKEW


def note(refused: Unproven, path: str, findings: Findings) -> None:
    """A refusal as a finding."""
    findings.add(refused.code, path, refused.message)


def _number(value: float) -> str:
    """ECMA-262, Number::toString, from Python's shortest digits."""
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = f"{abs(value)!r}".partition("e")
    whole, _, part = mantissa.partition(".")
    digits = (whole + part).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + part) - len((whole + part).lstrip("0")))
    digits = digits.rstrip("0")
    if 0 < point <= _LARGE:
        padded = digits.ljust(point, "0")
        return sign + (padded if len(digits) <= point else f"{digits[:point]}.{digits[point:]}")
    if _SMALL < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    tail = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{tail}e{'+' if point > 0 else '-'}{abs(point - 1)}"


def is_finite(value: Any) -> bool:
    """Whether this is a number, and one that readers agree on."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
