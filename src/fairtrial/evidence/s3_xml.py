"""What a store's answers say, as far as it is asked here: refusals, sizes, listings, uploads, Object Lock. Pure.

Elements are found in any namespace, since stores differ in whether they name S3's.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import unquote_plus
from xml.etree.ElementTree import Element, ParseError, fromstring
from xml.sax.saxutils import escape

INTERNAL_ERROR = 500


class Refused(Exception):
    """A store's answer that is no success: its HTTP status, and the code and message of S3 if it says them."""

    def __init__(self, status: int, code: str, message: str = "") -> None:
        self.status, self.code, self.message = status, code, message
        super().__init__(f"{status} {code}: {message}" if message else f"{status} {code}")


class Unreadable(Exception):
    """An answer that is not what S3 answers: something between here and the store, or a cut one."""


@dataclass(frozen=True)
class Unfinished:
    """A multipart upload that nobody has completed or aborted."""

    key: str
    upload_id: str
    initiated: datetime


@dataclass(frozen=True)
class Version:
    """One version of an object, or a marker that somebody left who deleted it."""

    key: str
    version_id: str
    marker: bool


@dataclass(frozen=True)
class Retention:
    """Until when an object's version can't be deleted, and whether a right can shorten that (GOVERNANCE)."""

    mode: str
    until: datetime


def refusal(status: int, data: bytes) -> Refused:
    """The error that an answer is. One to HEAD has no body, and a proxy's has no code: the status stands for it."""
    try:
        said = _read(data)
    except Unreadable:
        return Refused(status, str(status))
    return Refused(status, said.findtext("{*}Code") or str(status), said.findtext("{*}Message") or "")


def size(headers: Mapping[str, str]) -> int:
    """Bytes of the object that an answer is about."""
    told = headers.get("content-length") or ""
    if not told.isdecimal():
        raise Unreadable(f"the store's answer has {told!r} for its length")
    return int(told)


def etag(headers: Mapping[str, str]) -> str:
    """What a store calls a part that it took; its completion must name it so."""
    told = headers.get("etag")
    if not told:
        raise Unreadable("the store's answer has no ETag")
    return told


def upload_id(data: bytes) -> str:
    """The name of an upload that was begun."""
    return _text(_read(data), "UploadId")


def completed(data: bytes) -> None:
    """Check the answer to a completion: a store that took long says 200 first, and then perhaps an error."""
    said = _read(data)
    if said.tag.rpartition("}")[2] == "Error":
        raise refusal(INTERNAL_ERROR, data)


def parts(made: Iterable[Mapping[str, str | int]]) -> bytes:
    """The body of a completion: number, ETag and checksum of every part."""
    each = "".join(
        f"<Part>{''.join(f'<{name}>{escape(str(value))}</{name}>' for name, value in part.items())}</Part>"
        for part in made
    )
    return f'<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">{each}</CompleteMultipartUpload>'.encode()


def keys(data: bytes) -> tuple[list[str], str | None]:
    """A page of keys, and the token of the next one, if there is one."""
    said = _read(data)
    found = [_decoded(said, _text(each, "Key")) for each in said.findall("{*}Contents")]
    return found, _text(said, "NextContinuationToken") if _truncated(said) else None


def uploads(data: bytes) -> tuple[list[Unfinished], str | None]:
    """A page of unfinished uploads, and the key after which the next one begins, if there is one."""
    said = _read(data)
    try:
        found = [
            Unfinished(
                _decoded(said, _text(each, "Key")),
                _text(each, "UploadId"),
                datetime.fromisoformat(_text(each, "Initiated")),
            )
            for each in said.findall("{*}Upload")
        ]
    except ValueError as error:
        raise Unreadable(f"an upload's time: {error}") from error
    return found, _decoded(said, _text(said, "NextKeyMarker")) if _truncated(said) else None


def versions(data: bytes) -> tuple[list[Version], dict[str, str] | None]:
    """A page of versions and markers, and where the next one begins, if there is one."""
    said = _read(data)
    found = [
        Version(_decoded(said, _text(each, "Key")), _text(each, "VersionId"), kind == "DeleteMarker")
        for kind in ("Version", "DeleteMarker")
        for each in said.findall(f"{{*}}{kind}")
    ]
    if not _truncated(said):
        return found, None
    after = {"key-marker": _decoded(said, _text(said, "NextKeyMarker"))}
    return found, after | {"version-id-marker": _text(said, "NextVersionIdMarker")}


def retention(data: bytes) -> Retention:
    """What an object's own retention is."""
    said = _read(data)
    try:
        return Retention(_text(said, "Mode"), datetime.fromisoformat(_text(said, "RetainUntilDate")))
    except ValueError as error:
        raise Unreadable(f"a retention's time: {error}") from error


def default_retention(data: bytes) -> tuple[str, int]:
    """Mode and days of a bucket's default retention; "" and 0 without a default."""
    rule = _read(data).find("{*}Rule/{*}DefaultRetention")
    if rule is None:
        return "", 0
    days = rule.findtext("{*}Days") or "0"
    return rule.findtext("{*}Mode") or "", int(days) if days.isdecimal() else 0


def _read(data: bytes) -> Element:
    try:
        return fromstring(data)  # noqa: S314 — expat itself limits how much entities may grow
    except ParseError as error:
        raise Unreadable(f"the store's answer is no XML: {error}") from error


def _text(said: Element, name: str) -> str:
    found = said.findtext(f"{{*}}{name}")
    if not found:
        raise Unreadable(f"the store's answer has no {name}")
    return found


def _truncated(said: Element) -> bool:
    return said.findtext("{*}IsTruncated") == "true"


def _decoded(said: Element, key: str) -> str:
    """A key as it is: stores that were asked to encode keys say whether they did."""
    return unquote_plus(key) if said.findtext("{*}EncodingType") == "url" else key
