"""Field-based redaction of what is journalled: the values of these headers and query keys, and nothing else.

Free text, bodies included, is never rewritten: a leak there is found by the scan and blocks publication instead.
Pure, standard library only.
"""

from collections.abc import Iterable
from urllib.parse import unquote_plus

REDACTED = "[redacted]"
HEADERS = frozenset(
    {
        "authorization",
        "proxy-authorization",
        "cookie",
        "set-cookie",
        "x-api-key",
        "x-goog-api-key",
        "api-key",
    }
)
QUERY_KEYS = frozenset({"key", "api_key", "access_token"})


def redact_headers(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The headers, names and order as they were, with the values of secret ones replaced."""
    return [
        (name, REDACTED.encode() if name.decode("latin-1").strip().lower() in HEADERS else value)
        for name, value in headers
    ]


def redact_query(query: str) -> str:
    """A raw query with the values of secret keys replaced; the rest byte for byte."""
    parts = []
    for part in query.split("&"):
        name, equals, _ = part.partition("=")
        parts.append(f"{name}={REDACTED}" if equals and unquote_plus(name).lower() in QUERY_KEYS else part)
    return "&".join(parts)


def redact_target(target: str) -> str:
    """The same for a path that may have a query."""
    path, mark, query = target.partition("?")
    return f"{path}{mark}{redact_query(query)}"
