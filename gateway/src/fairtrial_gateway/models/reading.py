"""Reading a journal after the exchange: what it says, its digests, and credentials that should not be in it."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fairtrial import documents
from fairtrial.journal import summary
from fairtrial.journal.exchange import FORWARDED, RequestHead, ResponseHead, Started
from fairtrial.journal.frames import Frame, FrameReader, Kind, Stop
from fairtrial.journal.summary import Exchange, Leak, Scan
from fairtrial.secrets.scan import Scanner
from fairtrial.wires.said import Said
from fairtrial_gateway.models.decompress import Plain

SCAN_LIMIT = 1 << 30  # of one body without its content coding
LEAKS_MAX = 100

Where = Literal["request_head", "request_body", "response_head", "response_body"]


@dataclass
class Told:
    """What a journal's frames say of the exchange, bodies apart."""

    started: Started | None = None
    request: RequestHead | None = None
    request_whole: bool = False
    request_bytes: int = 0
    forwarded: bool = False
    response: ResponseHead | None = None
    response_ms: int | None = None
    response_whole: bool = False
    response_bytes: int = 0
    last_ms: int = 0
    page: Exchange | None = None
    scan: Scan | None = None

    def take(self, frame: Frame) -> None:
        """Learn from the next frame."""
        self.last_ms = frame.ms
        match frame.kind:
            case Kind.STARTED:
                self.started = documents.load(Started, frame.payload, name="started frame")
            case Kind.REQUEST_HEAD:
                self.request = documents.load(RequestHead, frame.payload, name="request head")
            case Kind.REQUEST_BODY:
                self.request_bytes += len(frame.payload)
            case Kind.REQUEST_END:
                self.request_whole = True
            case Kind.NOTE:
                self.forwarded |= frame.payload == FORWARDED.encode()
            case Kind.RESPONSE_HEAD:
                self.response = documents.load(ResponseHead, frame.payload, name="response head")
                self.response_ms = frame.ms
            case Kind.RESPONSE_BODY:
                self.response_bytes += len(frame.payload)
            case Kind.RESPONSE_END:
                self.response_whole = True
            case Kind.ENDED:
                self.page = summary.load(frame.payload, name="ended frame")
            case Kind.SCANNED:
                self.scan = documents.load(Scan, frame.payload, name="scanned frame")


def told(path: Path, also: Callable[[Frame], None] = lambda _: None) -> tuple[Told, Stop]:
    """Read a journal; `also` sees every frame too."""
    facts = Told()
    with path.open("rb") as file:
        reader = FrameReader(file)
        for frame in reader:
            facts.take(frame)
            also(frame)
    assert reader.stop is not None
    return facts, reader.stop


class Scanning:
    """Digests of both bodies, and every place where a secret was found; without secrets to look for, no scan."""

    def __init__(self, secrets: Mapping[str, bytes] | None) -> None:
        self._secrets = secrets
        self._request, self._response = _Body("request_body", secrets), _Body("response_body", secrets)
        self._heads: list[Leak] = []
        self._answered = False

    def take(self, frame: Frame) -> None:
        """The next frame."""
        if frame.kind == Kind.REQUEST_BODY:
            self._request.feed(frame.payload)
        elif frame.kind == Kind.RESPONSE_BODY:
            self._response.feed(frame.payload)
        elif frame.kind == Kind.REQUEST_HEAD:
            self._heads.extend(_in_head("request_head", frame.payload, self._secrets))
            self._request.begin(coding(documents.load(RequestHead, frame.payload).headers))
        elif frame.kind == Kind.RESPONSE_HEAD:
            self._answered = True
            self._heads.extend(_in_head("response_head", frame.payload, self._secrets))
            self._response.begin(coding(documents.load(ResponseHead, frame.payload).headers))

    def result(self) -> Scan:
        """What was found."""
        request, response = self._request, self._response
        leaks = [*self._heads, *request.leaks(), *response.leaks()][:LEAKS_MAX]
        readable = self._secrets is not None and not request.problem and not response.problem
        digest = response.sha256 if self._answered else None
        return Scan(request.sha256, digest, leaks, "done" if readable else "failed")


class _Body:
    """One body: its digest, and what is found in it as it reads without its content coding."""

    def __init__(self, where: Where, secrets: Mapping[str, bytes] | None) -> None:
        self._where, self._digest = where, hashlib.sha256()
        self._scanner = Scanner(secrets) if secrets else None
        self._text = Scanner(secrets) if secrets and where == "response_body" else None
        self._said = Said()  # a secret may be spread over many small events of a stream
        self._plain = Plain("", SCAN_LIMIT)

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()

    @property
    def problem(self) -> str:
        return self._plain.problem

    def begin(self, content_encoding: str) -> None:
        self._plain = Plain(content_encoding, SCAN_LIMIT)

    def feed(self, chunk: bytes) -> None:
        self._digest.update(chunk)
        if self._scanner:
            for piece in self._plain.pieces(chunk):
                self._scanner.feed(piece)
                if self._text:
                    self._text.feed(self._said.feed(piece))

    def leaks(self) -> Iterator[Leak]:
        found = self._scanner.finish() if self._scanner else []
        yield from (Leak(each.name, each.encoding, self._where, each.offset) for each in found)
        if self._text:
            self._text.feed(self._said.finish())
            whole = {each.name for each in found}
            for each in self._text.finish():
                if each.name not in whole:
                    yield Leak(each.name, each.encoding, "response_text", each.offset)


def _in_head(where: Where, head: bytes, secrets: Mapping[str, bytes] | None) -> Iterator[Leak]:
    if secrets:
        scanner = Scanner(secrets)
        scanner.feed(head)
        for each in scanner.finish():
            yield Leak(each.name, each.encoding, where, each.offset)


def coding(headers: list[list[str]]) -> str:
    """The content coding that a head names."""
    return ", ".join(value for name, value in headers if name.lower() == "content-encoding")
