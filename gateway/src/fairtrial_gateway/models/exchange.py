"""What is known of one call while it is under way, and the page that it becomes. Pure but for the recording."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol

from aiohttp import web

from fairtrial.journal.exchange import FORWARDED, TOOL, Started, session_of
from fairtrial.journal.summary import Ending, Exchange
from fairtrial.secrets.redact import redact_target
from fairtrial.usage.counters import NOT_FORWARDED, State, Usage, unavailable
from fairtrial.wires import BY_NAME
from fairtrial.wires.base import Call, Reader, RequestFacts, ResponseFacts
from fairtrial_gateway.logs import say
from fairtrial_gateway.models.decompress import Plain
from fairtrial_gateway.models.parties import Owner, Peer
from fairtrial_gateway.models.recording import Recording

ERROR = 400
REQUEST_IDS = ("request-id", "x-request-id", "x-goog-request-id", "apim-request-id", "cf-ray")
TEXT_MAX = 300


class Dialect(Protocol):
    """How errors are told: every wire, and whatever tool servers' clients expect."""

    @property
    def name(self) -> str:
        """Its name."""

    def error_body(self, call: Call | None, status: int, kind: str, message: str) -> tuple[str, bytes]:
        """Content type and body of an error."""


class Declined(Exception):
    """The gateway's own answer to a call that it does not forward."""

    def __init__(self, status: int, refusal: str, message: str, *, retry_after: int | None = None) -> None:
        self.status, self.refusal, self.message, self.retry_after = status, refusal, message, retry_after
        super().__init__(message)


@dataclass
class Live:
    """One call under way."""

    peer: Peer
    dialect: Dialect  # the path's wire; or the provider's where no wire knows the path
    call: Call | None
    target: str
    request: web.Request
    recording: Recording
    owner: Owner
    facts: RequestFacts | None = None
    reader: Reader | None = None
    plain: Plain | None = None
    status: int | None = None
    answer_headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    request_bytes: int = 0
    response_bytes: int = 0
    forwarded: bool = False
    queued_ms: int = 0
    ttfb_ms: int | None = None
    ttft_ms: int | None = None
    ttlb_ms: int | None = None
    ending: Ending = "gateway_cut"  # until something better is known
    refusal: str = ""
    message: str = ""
    response: web.StreamResponse | None = None  # what the server finishes, once there is one

    def forward(self) -> None:
        """From here on the call is the provider's too."""
        self.forwarded = True
        self.recording.note(FORWARDED)

    def answered(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        """The head of the provider's answer has come."""
        self.ttfb_ms, self.status, self.answer_headers = self.recording.ms, status, headers
        if self.facts:
            self.reader = BY_NAME[self.peer.wire].reader(self.facts, self.peer.semantics, status)

    def end(self, ending: Ending, message: str = "", refusal: str = "") -> None:
        """How it ended."""
        self.ending, self.message, self.refusal = ending, message, refusal

    def feed(self, chunk: bytes) -> Iterator[None]:
        """Read on for usage and identifiers, step by step: others go on between them."""
        self.response_bytes += len(chunk)
        if self.plain and self.reader:
            for number, piece in enumerate(self.plain.pieces(chunk)):
                if number:
                    yield
                self.reader.feed(piece)
                if self.ttft_ms is None and self.reader.usable:
                    self.ttft_ms = self.recording.ms

    def finish(self) -> Exchange:
        """The page, of whatever is known now."""
        found = self._answered()
        if self.ending == "complete" and self._came_short(found):
            self.ending, self.message = "upstream_cut", "The answer lacks the event that ends it."
        started, facts = self.recording.started, self.facts
        headers = ((name.decode("latin-1"), value.decode("latin-1")) for name, value in self.request.raw_headers)
        return replace(
            page(started, facts, found, self.answer_headers),
            ending=self.ending,
            kind=TOOL if self.peer.wire == TOOL else self.call.kind if self.call else "",
            refusal=self.refusal,
            message=self.message[:TEXT_MAX],
            status=self.status,
            queued_ms=self.queued_ms,
            ttfb_ms=self.ttfb_ms,
            ttft_ms=self._first_token_ms(found),
            ttlb_ms=self.ttlb_ms,
            request_bytes=self.request_bytes,
            response_bytes=self.response_bytes,
            usage=self._usage(found),
            session=session_of(headers),
        )

    def _answered(self) -> ResponseFacts | None:
        if self.reader is None:
            return None
        try:
            return self.reader.finish()
        except Exception as error:  # noqa: BLE001 — what a provider sent must not lose its own journal
            say("answer could not be read", logging.ERROR, error=type(error).__name__)
            return None

    def _first_token_ms(self, found: ResponseFacts | None) -> int | None:
        if found is None or not found.first_usable:
            return None
        return self.ttlb_ms if self.ttft_ms is None else self.ttft_ms

    def _came_short(self, found: ResponseFacts | None) -> bool:
        readable = found is not None and not found.problem and not (self.plain and self.plain.problem)
        streamed = self.facts is not None and self.facts.streamed
        good = self.status is not None and self.status < ERROR
        return bool(found and readable and streamed and good and not found.ended and not found.error_type)

    def _usage(self, found: ResponseFacts | None) -> Usage:
        semantics = self.peer.semantics
        if not self.forwarded or self.peer.wire == TOOL:
            why = "refused" if self.ending == "refused" else TOOL if self.peer.wire == TOOL else NOT_FORWARDED
            return Usage("not_applicable", why, unavailable(why, semantics))
        if found is None:
            return Usage("absent", self.ending, unavailable(self.ending, semantics))
        if self.plain and self.plain.problem and found.usage.state in ("complete", "absent"):
            state: State = "absent" if found.usage.state == "absent" else "incomplete"
            return replace(found.usage, state=state, reason="not_readable")
        return found.usage


def page(
    started: Started, asked: RequestFacts | None, found: ResponseFacts | None, answer_headers: list[tuple[bytes, bytes]]
) -> Exchange:
    """Which call it was, what it asked for and what its answer says, whoever ends it: the gateway that had it under
    way, or one that found its journal. How it ended, its times, sizes and usage are for them to say."""
    return Exchange(
        exchange=started.exchange,
        run=started.run,
        provider=started.provider,
        wire=started.wire,
        path=started.path,
        started_at=started.started_at,
        ending="gateway_restarted",
        requested_model=(asked.model if asked else "") or None,
        answered_model=(found.model if found else "") or None,
        provider_request_id=request_id(answer_headers),
        response_id=(found.response_id if found else "") or None,
        stop_reason=found.stop_reason if found else "",
        error_type=found.error_type if found else "",
        streamed=asked.streamed if asked else False,
        first_usable=found.first_usable if found else False,
        step=started.step,
    )


def request_id(headers: list[tuple[bytes, bytes]]) -> str | None:
    """The provider's own name of the request, by the headers in which providers give it."""
    found = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in headers}
    return next((found[name][:TEXT_MAX] for name in REQUEST_IDS if name in found), None)


def journal_path(target: str) -> str:
    """A call's path as the journal names it."""
    return redact_target(target)[:TEXT_MAX]
