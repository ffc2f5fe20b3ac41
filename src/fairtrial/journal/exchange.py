"""The documents inside a journal's frames, and what may not get into them.

Bodies are kept as they were. Of the heads, the values of `SECRET_HEADERS` and of the query parameter `key` are replaced
by `[redacted]`: they authenticate, and nothing else of a call does.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fairtrial.documents import RunIdentity

REDACTED = "[redacted]"
SECRET_HEADERS = frozenset(
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
SECRET_PARAMETERS = frozenset({"key"})
# By these an agent tells its sessions and helpers apart; they are copied into the summary. Values are the agent's own.
SESSION_HEADERS = (
    "x-claude-code-session-id",
    "x-claude-code-agent-id",
    "session-id",
    "thread-id",
    "x-openai-subagent",
    "x-codex-parent-thread-id",
    "x-session-id",
    "x-parent-session-id",
    "x-stainless-retry-count",
)
SESSION_VALUE_MAX = 200
_EXCHANGE = re.compile(r"[0-9]{13}-[0-9a-f]{8}")

Headers = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Started:
    """The first frame, and `started.json`: an exchange has begun, and which."""

    exchange: str
    run: RunIdentity
    provider: str
    wire: str
    path: str
    started_at: str
    cohort: str = ""  # with the run's identity it says where in the store the exchange belongs
    schema_version: int = 1


@dataclass(frozen=True)
class RequestHead:
    """What the agent asked. `headers` are pairs of name and value, in order, a byte a character (ISO 8859-1)."""

    method: str
    target: str
    http_version: str
    headers: list[list[str]]


@dataclass(frozen=True)
class ResponseHead:
    """What came back. `origin` tells an answer of the provider's from one of the gateway's own."""

    status: int
    reason: str
    http_version: str
    headers: list[list[str]]
    origin: str = "provider"


def exchange_id(unix_ms: int, random: bytes) -> str:
    """The name of an exchange: names sort by time. `random` are four bytes."""
    return f"{unix_ms:013d}-{random.hex()}"


def is_exchange_id(text: str) -> bool:
    """Whether `text` could be the name of an exchange."""
    return _EXCHANGE.fullmatch(text) is not None


def redacted(headers: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Headers for the journal: secret values replaced, everything else as it was, in order."""
    return [[name, REDACTED if name.lower() in SECRET_HEADERS else value] for name, value in headers]


def redacted_target(target: str) -> str:
    """A path with its query for the journal, byte for byte but for the value of a `key`."""
    path, mark, query = target.partition("?")
    return path + mark + "&".join(_redacted_parameter(each) for each in query.split("&"))


def without_secret_parameters(query: str) -> str:
    """A query string without the parameters that carry a caller's key; the rest stays byte for byte."""
    return "&".join(each for each in query.split("&") if each.partition("=")[0] not in SECRET_PARAMETERS)


def session_of(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The headers by which the agent tells its sessions and helpers apart."""
    found = {name.lower(): value for name, value in headers}
    return {name: found[name][:SESSION_VALUE_MAX] for name in SESSION_HEADERS if name in found}


def _redacted_parameter(parameter: str) -> str:
    name, equals, _ = parameter.partition("=")
    return f"{name}={REDACTED}" if equals and name in SECRET_PARAMETERS else parameter
