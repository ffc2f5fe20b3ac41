"""One exchange being written down, as it happens."""

import time
from collections.abc import Iterable

from fairtrial import documents
from fairtrial.journal import summary
from fairtrial.journal.exchange import RequestHead, ResponseHead, Started
from fairtrial.journal.frames import Kind
from fairtrial.journal.summary import Exchange
from fairtrial.secrets.redact import redact_headers, redact_target
from fairtrial_gateway.models.spool import Spool, SpoolFile, SpoolFull

RawHeaders = Iterable[tuple[bytes, bytes]]


class Recording:
    """Frames with the milliseconds since the exchange began. Credentials in heads are replaced here, and only here."""

    def __init__(self, spool: Spool, started: Started, asked: RequestHead) -> None:
        self.started = started
        self._began = time.monotonic()
        self.file: SpoolFile = spool.create(started.exchange)
        try:
            self.file.append(Kind.STARTED, 0, documents.dump(started), more=True)
            self.file.append(Kind.REQUEST_HEAD, 0, documents.dump(asked))
        except SpoolFull:
            self.file.discard()
            raise

    @property
    def ms(self) -> int:
        """Milliseconds since the exchange began."""
        return int((time.monotonic() - self._began) * 1000)

    def request_body(self, chunk: bytes, *, last: bool = False) -> None:
        """The next bytes of the request's body; after the `last` ones its end is told at once."""
        self.file.append(Kind.REQUEST_BODY, self.ms, chunk, more=last)

    def request_end(self) -> None:
        """The request is there as a whole."""
        self.file.append(Kind.REQUEST_END, self.ms)

    def response_head(
        self, status: int, reason: str, http_version: str, headers: RawHeaders, *, more: bool = False
    ) -> None:
        """What the provider answers; with `more` the first bytes of its body are told at once."""
        head = ResponseHead(status, reason, http_version, _redacted(headers))
        self.file.append(Kind.RESPONSE_HEAD, self.ms, documents.dump(head), more=more)

    def own_response(self, status: int, headers: RawHeaders, body: bytes) -> None:
        """What the gateway itself answers; small, and written even if the spool is full."""
        head = ResponseHead(status, "", "1.1", _redacted(headers), "gateway")
        self.file.append(Kind.RESPONSE_HEAD, self.ms, documents.dump(head), always=True, more=True)
        self.file.append(Kind.RESPONSE_BODY, self.ms, body, always=True, more=True)
        self.file.append(Kind.RESPONSE_END, self.ms, always=True)

    def response_body(self, chunk: bytes, *, last: bool = False) -> None:
        """The next bytes of the answer's body, as received; after the `last` ones its end is told at once."""
        self.file.append(Kind.RESPONSE_BODY, self.ms, chunk, more=last)

    def response_end(self) -> None:
        """The answer came to its end."""
        self.file.append(Kind.RESPONSE_END, self.ms)

    def note(self, what: str) -> None:
        """Something that happened."""
        self.file.append(Kind.NOTE, self.ms, what.encode())

    def ended(self, page: Exchange) -> bool:
        """The exchange is over, and this is what it came to. False if a full disk refuses that; the upload adds it."""
        try:
            self.file.append(Kind.ENDED, self.ms, summary.dump(page), always=True)
        except SpoolFull:
            return False
        finally:
            self.file.close()
        return True


def request_head(method: str, target: str, http_version: str, headers: RawHeaders) -> RequestHead:
    """What the agent asks."""
    return RequestHead(method, redact_target(target), http_version, _redacted(headers))


def _redacted(headers: RawHeaders) -> list[list[str]]:
    """Headers as documents hold them: a byte a character."""
    return [[name.decode("latin-1"), value.decode("latin-1")] for name, value in redact_headers(headers)]
