"""The documents inside a journal's frames.

Bodies are kept as they were. Heads come here without the values that `fairtrial.secrets.redact` takes out of them.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from fairtrial.documents import RunIdentity

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
TOOL = "tool"  # as the wire of a call that went to a tool server
FORWARDED = "forwarded"  # the note after which the provider has its part in how the exchange ends
_EXCHANGE = re.compile(r"[0-9]{13}-[0-9a-f]{8}")


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
    step: str = ""  # of the task; empty before the first, and where nobody told the gateway of steps
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


def session_of(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The headers by which the agent tells its sessions and helpers apart."""
    found = {name.lower(): value for name, value in headers}
    return {name: found[name][:SESSION_VALUE_MAX] for name in SESSION_HEADERS if name in found}
