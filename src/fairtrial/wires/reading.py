"""The one reader of answers: finds how an answer is framed, and hands its JSON objects to a wire's account of it."""

import json
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from fairtrial.usage.counters import (
    CUT,
    NO_FINAL,
    NOT_REPORTED,
    Reported,
    Semantics,
    State,
    Usage,
    normalize,
    unavailable,
)
from fairtrial.wires import body, elements, sse
from fairtrial.wires.base import RequestFacts, ResponseFacts

MAX_BODY = 32 * 1024 * 1024
ERROR_STATUS = 400
_BLANK = b" \t\r\n\xef\xbb\xbf"


@dataclass(slots=True)
class Seen:
    """What a wire's account has seen so far."""

    response_id: str = ""
    model: str = ""
    service_tier: str = ""
    usage: dict[str, Any] = field(default_factory=dict)
    final: bool = False  # the usage is the answer's last word
    first_usable: bool = False
    ended: bool = False
    stop_reason: str = ""
    error_type: str = ""

    def note(self, **facts: Any) -> None:
        """Keep texts that are there; what a later part leaves out stays as it was."""
        for name, value in facts.items():
            if isinstance(value, str) and value:
                setattr(self, name, body.text(value))

    def merge(self, usage: Any) -> bool:
        """Take a usage object: of each field the last that was seen. Whether there was one."""
        if not isinstance(usage, dict):
            return False
        _merge(self.usage, body.bounded(usage))
        return True


class Account(Protocol):
    """A wire's account of one answer."""

    seen: Seen

    def wants(self, name: str, data: str, /) -> bool:
        """Whether a stream's event of that name must be parsed. A cheap filter: when in doubt, yes."""

    def event(self, name: str, value: dict[str, Any], /) -> None:
        """Take one object of a stream."""

    def whole(self, value: dict[str, Any]) -> None:
        """Take an answer that came as one object, an error too."""

    def reported(self) -> Reported:
        """The usage in the provider's own terms."""


Framing = Literal["unknown", "sse", "object", "array", "other"]


class AnswerReader:
    """Implements `Reader` for every wire."""

    def __init__(self, account: Account, request: RequestFacts, semantics: Semantics, status: int) -> None:
        self._account, self._request, self._semantics, self._status = account, request, semantics, status
        self._framing: Framing = "unknown"
        self._events = sse.Decoder()
        self._elements = elements.Splitter()
        self._whole = bytearray()
        self._has_events = False
        self._problem = ""
        self._facts: ResponseFacts | None = None

    @property
    def usable(self) -> bool:
        """Whether something that an agent can use has come. Of an answer that does not stream: only at its end."""
        return self._account.seen.first_usable

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the decompressed body, cut anywhere."""
        if self._framing == "unknown":
            self._framing = _framing(chunk)
        if self._framing in {"sse", "unknown"}:
            for event in self._events.feed(chunk):
                self._has_events = True
                self._event(event)
        elif self._framing == "object":
            self._keep(chunk)
        elif self._framing == "array":
            for data in self._elements.feed(chunk):
                self._object(data)
            self._problem = self._problem or self._elements.problem

    def finish(self) -> ResponseFacts:
        """What was learnt, when nothing more comes."""
        if self._facts is None:
            self._facts = self._finished()
        return self._facts

    def _keep(self, chunk: bytes) -> None:
        self._whole += chunk
        if len(self._whole) > MAX_BODY:
            self._whole, self._framing = bytearray(), "other"
            self._problem = "the answer is too large to read"

    def _event(self, event: sse.Event) -> None:
        if event.oversize:
            self._problem = self._problem or "an event is too large to read"
        elif event.data.strip() == "[DONE]":
            self._account.event("[DONE]", {})
        elif self._account.wants(event.name, event.data):
            self._object(event.data, event.name, unfinished=event.unfinished)

    def _object(self, data: bytes | str, name: str = "", *, unfinished: bool = False) -> None:
        value, problem = body.parse(data)
        if isinstance(value, dict):
            self._account.event(name, value)
        elif not unfinished:  # what a cut leaves of an event is no event
            self._problem = self._problem or (problem or "a part of the stream is not a JSON object")

    def _finished(self) -> ResponseFacts:
        if self._framing in {"sse", "unknown"} and (event := self._events.finish()):
            self._has_events = True
            self._event(event)
        if self._framing == "unknown":
            self._problem = "the answer is empty"
        elif self._framing == "sse" and not self._has_events:
            self._problem = "the answer is neither JSON nor an event stream"
        elif self._framing == "object":
            value, self._problem = body.parse(bytes(self._whole))
            self._whole = bytearray()
            if isinstance(value, dict):
                self._account.whole(value)
        elif self._framing == "other" and not self._problem:
            self._problem = "the answer is neither JSON nor an event stream"
        seen = self._account.seen
        return ResponseFacts(
            usage=self._usage(),
            response_id=seen.response_id,
            model=seen.model,
            first_usable=seen.first_usable,
            ended=seen.ended,
            stop_reason=seen.stop_reason,
            error_type=seen.error_type,
            problem=self._problem,
        )

    def _usage(self) -> Usage:
        seen = self._account.seen
        if self._request.call.kind == "count_tokens":
            return self._none("not_applicable", "count_tokens")
        if not seen.usage:
            is_error = self._status >= ERROR_STATUS
            return self._none("not_applicable" if is_error else "absent", "error_answer" if is_error else self._why())
        reported = self._account.reported()
        counters = normalize(reported, self._semantics)
        state: State = "complete"
        reason = ""
        if not seen.final:
            state, reason = "incomplete", NO_FINAL if seen.ended else CUT
        elif counters.output is None or isinstance(reported.input, str):
            name, why = ("output", counters.reason("output")) if counters.output is None else ("input", reported.input)
            state, reason = "incomplete", f"{name}_{why}"
        return Usage(state, reason, counters, body.plain(seen.usage), seen.service_tier)

    def _why(self) -> str:
        """Why an answer that is no error has no usage."""
        if "too large" in self._problem:
            return "too_large_to_read"
        if self._framing in {"object", "other"}:
            return "not_readable" if self._problem else NOT_REPORTED
        if self._account.seen.error_type:
            return "error_in_stream"
        if not self._request.asks_usage:
            return "not_requested"
        return NOT_REPORTED if self._account.seen.ended else "cut_before_usage"

    def _none(self, state: State, reason: str) -> Usage:
        return Usage(state, reason, unavailable(reason, self._semantics), service_tier=self._account.seen.service_tier)


def _framing(chunk: bytes) -> Framing:
    """How an answer is framed, by its first byte that is not blank: content types are wrong too often."""
    first = chunk.lstrip(_BLANK)[:1]
    known: dict[bytes, Framing] = {b"": "unknown", b"{": "object", b"[": "array", b"<": "other"}
    return known.get(first, "sse")


def _merge(into: dict[str, Any], new: dict[str, Any]) -> None:
    for key, value in new.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        elif value is not None or key not in into:
            into[key] = value


def error_json(value: Any) -> bytes:
    """An error body: small, in plain ASCII."""
    return json.dumps(value, separators=(",", ":")).encode()
