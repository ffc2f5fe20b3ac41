"""The lines that an agent says, which of them are messages, and how both sides' lines are written down. Pure.

What is written down, one JSON value per line:

    {"jsonrpc":"2.0",…}             the agent's own line, byte for byte, whatever is in it
    {"client":{"jsonrpc":…},…}      what the client said; for an answer also `to`, the method that had asked, and for a
                                    permission `toolCallId` and `decision`
    {"run":{"event":…}}             what the client did: start and end
    {"unread":{"reason":…}}         in place of an agent's line that is too long, or that looks like one of these three
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

MOST_BYTES = 16 * 1024 * 1024  # of one line; agents put whole files into one
_BEGINS = 2000  # characters that are kept of what is not written down
_OURS = frozenset({"client", "run", "unread"})

Message = dict[str, Any]
Decision = Literal["granted", "denied", "cancelled"]


@dataclass(frozen=True)
class Line:
    """One line without its end; of one that is too long only the beginning."""

    data: bytes
    size: int
    sha256: str

    @property
    def whole(self) -> bool:
        """Whether `data` is all of it."""
        return len(self.data) == self.size


class Splitter:
    """Cuts bytes into lines, and never holds more than `most` of one."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most = most
        self._begin()

    def _begin(self) -> None:
        self._kept, self._size, self._hash = bytearray(), 0, hashlib.sha256()

    def feed(self, data: bytes) -> Iterator[Line]:
        """The lines that these bytes end."""
        *whole, rest = data.split(b"\n")
        for piece in whole:
            self._add(piece)
            yield self._taken()
        self._add(rest)

    def rest(self) -> Iterator[Line]:
        """What has no end."""
        if self._size:
            yield self._taken()

    def _add(self, piece: bytes) -> None:
        self._size += len(piece)
        self._hash.update(piece)
        if self._size <= self._most:
            self._kept += piece
        else:
            del self._kept[_BEGINS:]

    def _taken(self) -> Line:
        line = Line(bytes(self._kept), self._size, self._hash.hexdigest())
        self._begin()
        return line


@dataclass(frozen=True)
class Said:
    """An agent's line: how it is written down, and the message that it is, if it is one."""

    written: bytes
    message: Message | None = None


def said(line: Line) -> Said | None:
    """What a line is; None for an empty one."""
    if not line.whole:
        return Said(_unread(line, f"longer than {MOST_BYTES // 2**20} MiB"))
    data = line.data.strip()
    if not data:
        return None
    try:
        value = json.loads(data.decode())
    except (ValueError, RecursionError):
        return Said(data)
    if isinstance(value, dict) and not _OURS.isdisjoint(value):
        return Said(_unread(line, "no message, and looks like a line of the client's"))
    return Said(data, value if _is_message(value) else None)


def _is_message(value: Any) -> bool:
    """Whether it is a request, a notification or an answer; what is none of them could confuse who reads it."""
    if not isinstance(value, dict) or isinstance(value.get("id"), bool | float | list | dict):
        return False
    if "method" in value:
        return isinstance(value["method"], str)
    return "id" in value and ("result" in value or isinstance(value.get("error"), dict))


def _unread(line: Line, reason: str) -> bytes:
    begins = line.data.decode("utf-8", "replace")[:_BEGINS]
    return _json({"unread": {"reason": reason, "bytes": line.size, "sha256": line.sha256, "begins": begins}})


@dataclass(frozen=True)
class Asked:
    """What the record says of a request of the agent's beside its answer; not the request, which may be large."""

    method: str
    call_id: str = ""
    kinds: Mapping[str, str] = field(default_factory=dict)  # of the options of a request for permission

    @classmethod
    def by(cls, request: Message) -> "Asked":
        """What a request asks for; one that is not in order gets no more than its method."""
        try:
            call_id = request["params"]["toolCall"]["toolCallId"]
            kinds = {one["optionId"]: one["kind"] for one in request["params"]["options"]}
        except (KeyError, TypeError):
            return cls(request["method"])
        return cls(request["method"], call_id, kinds)


def sent(message: Message, asked: Asked | None) -> bytes:
    """How the client's own message is written down; `asked` is what it answers."""
    about: dict[str, Any] = {"to": asked.method} if asked else {}
    result = message.get("result")
    if asked and isinstance(result, dict) and "outcome" in result:
        about |= {"toolCallId": asked.call_id, "decision": _decision(asked, result["outcome"])}
    return _json({"client": message} | about)


def _decision(asked: Asked, outcome: Mapping[str, str]) -> Decision:
    kind = asked.kinds.get(outcome.get("optionId", ""), "")
    if not kind:
        return "cancelled"
    return "granted" if kind.startswith("allow") else "denied"


def ran(event: str, **facts: Any) -> bytes:
    """How the client's own doing is written down."""
    return _json({"run": {"event": event} | facts})


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
