"""Headers and query on their way through: hop-by-hop fields, the caller's key, the provider's credential. Pure.

Headers are raw pairs of bytes, so that order, case and repetition of what passes stay as they were.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import unquote_plus

from fairtrial.errors import InvalidInput
from fairtrial.wires.base import ANTHROPIC, CHAT, GEMINI, RESPONSES

Headers = list[tuple[bytes, bytes]]
Place = Literal["bearer", "x-api-key", "x-goog-api-key"]

# RFC 9110 §7.6.1, what Connection lists comes on top; and what is between a client and its proxy.
HOP_BY_HOP = frozenset(
    {b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade"}
    | {b"proxy-authenticate", b"proxy-authorization", b"proxy-authentication-info", b"http2-settings"}
)
KEY_HEADERS = (b"authorization", b"x-api-key", b"x-goog-api-key", b"api-key")
KEY_PARAMETER = "key"
PLACES: dict[str, Place] = {
    ANTHROPIC: "x-api-key",
    CHAT: "bearer",
    RESPONSES: "bearer",
    GEMINI: "x-goog-api-key",
}
_CREDENTIAL = re.compile(r"[\x21-\x7e]+(?: [\x21-\x7e]+)*")


@dataclass(frozen=True)
class Token:
    """The caller's key; or a problem, for a 401."""

    value: str = ""
    problem: str = ""


def end_to_end(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """The headers without those that are for one hop only, in either direction."""
    pairs = list(headers)
    named = {
        option.strip().lower() for name, value in pairs if name.lower() == b"connection" for option in value.split(b",")
    }
    return [(name, value) for name, value in pairs if name.lower() not in HOP_BY_HOP | named]


def take_token(headers: Sequence[tuple[bytes, bytes]], query: str = "") -> Token:
    """The key that a client sent, wherever its SDK puts it. The same key twice is fine, two different ones are not."""
    found = {value for name, value in _keys(headers)} | {
        unquote_plus(value)
        for name, value in (part.partition("=")[::2] for part in query.split("&"))
        if unquote_plus(name) == KEY_PARAMETER
    }
    found.discard("")
    if not found:
        return Token(problem="no key: send it as bearer token, x-api-key, x-goog-api-key or ?key=")
    return Token(found.pop()) if len(found) == 1 else Token(problem="several different keys")


def upstream_headers(
    wire: str, headers: Sequence[tuple[bytes, bytes]], credential: str, place: Place | None = None
) -> Headers:
    """What goes to the provider: every key of the caller out, the credential in where the wire wants it.

    Host and Expect are the HTTP client's own business and are left out too; nothing else changes.
    """
    credential = credential.strip()
    if not _CREDENTIAL.fullmatch(credential):
        raise InvalidInput(
            "The provider's credential holds characters that a header cannot.",
            next_move="Put the bare key into the Secret: one line of printable ASCII.",
        )
    where = place or PLACES[wire]
    ours = (b"Authorization", b"Bearer ") if where == "bearer" else (where.encode(), b"")
    dropped = {*KEY_HEADERS, b"host", b"expect"}
    kept = [(name, value) for name, value in end_to_end(headers) if name.lower() not in dropped]
    return [*kept, (ours[0], ours[1] + credential.encode())]


def upstream_query(query: str) -> str:
    """The raw query without the caller's key; the rest byte for byte."""
    return "&".join(part for part in query.split("&") if unquote_plus(part.partition("=")[0]) != KEY_PARAMETER)


def _keys(headers: Iterable[tuple[bytes, bytes]]) -> Iterable[tuple[bytes, str]]:
    for name, value in headers:
        lower, text = name.lower(), value.decode("latin-1").strip()
        if lower == b"authorization":
            scheme, _, rest = text.partition(" ")
            if scheme.lower() == "bearer":
                yield lower, rest.strip()
        elif lower in KEY_HEADERS:
            yield lower, text
