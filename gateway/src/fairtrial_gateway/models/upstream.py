"""Talking to providers: HTTP/1.1 by aiohttp, HTTP/2 by `http2_pool`; what comes is given on as it comes.

Nothing is decoded, followed or tried again here, and proxies are those that the settings name: the agent sees what the
provider did. Both protocols look the same to the caller: an `Answer` with a head, and bytes until there are no more.
"""

import asyncio
import ssl
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import urlsplit

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from fairtrial_gateway.models.failures import Cut, Silent, Unreachable
from fairtrial_gateway.models.http2_pool import Pool
from fairtrial_gateway.models.settings import ModelSettings

RawHeaders = list[tuple[bytes, bytes]]
KEEP_ALIVE = 15.0  # idle connections are closed before providers close them: a POST is not sent twice
HEAD_BYTES = 64 * 1024  # of one header line of an answer
_FINAL = 200  # statuses below are not
_BODILESS = frozenset({"GET", "DELETE"})
_NO_DEFAULTS = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")


@dataclass(frozen=True)
class Call:
    """One request to a provider."""

    url: str  # of the provider, without the call's own path
    target: str  # path and query, percent-encoded as the agent sent them
    headers: RawHeaders
    body: bytes
    method: str = "POST"
    http2: bool = False


class Answer(Protocol):
    """An answer whose head has come."""

    status: int
    reason: str
    http_version: str
    headers: RawHeaders

    @property
    def ended(self) -> bool:
        """Whether the body has come to its end and was read."""

    def ready(self) -> bytes:
        """The bytes of the body that have come already; none if the next must be waited for."""

    async def read(self) -> bytes:
        """The next bytes of the body as they came; none at its end. `Cut` where it ended before its end."""

    def close(self) -> None:
        """Want no more of it."""


class Upstream:
    """All providers that this process talks to, with their connections."""

    def __init__(self, settings: ModelSettings) -> None:
        self._settings = settings
        self._session: aiohttp.ClientSession | None = None
        self._http2 = Pool(settings.connect_seconds)

    async def close(self) -> None:
        """Close every connection."""
        if self._session:
            await self._session.close()
        self._http2.close()

    async def send(self, call: Call) -> Answer:
        """Send a request and wait for the head of its answer; `Unreachable` or `Silent` where none comes."""
        try:
            async with asyncio.timeout(self._settings.first_byte_seconds):
                if call.http2:
                    return await self._http2.send(call.url, call.target, call.headers, call.body)
                return await self._http1(call)
        except TimeoutError as error:
            raise Silent(f"The provider sent nothing for {self._settings.first_byte_seconds:.0f} s.") from error
        except (aiohttp.ClientError, ConnectionError, ssl.SSLError, ValueError, OSError) as error:
            raise Unreachable(f"The provider gave no answer ({type(error).__name__}).") from error

    async def _http1(self, call: Call) -> Answer:
        try:
            answer = await self._client().request(
                call.method,
                URL(call.url + call.target, encoded=True),
                data=call.body or (None if call.method in _BODILESS else b""),
                headers=_headers(call.headers),
                skip_auto_headers=_NO_DEFAULTS,
                allow_redirects=False,
                proxy=self._settings.proxy or None,
            )
        except aiohttp.ConnectionTimeoutError as error:
            raise Unreachable("The provider took no connection in time.") from error
        if answer.status < _FINAL:
            answer.close()
            raise Unreachable(f"The provider answered with status {answer.status}, which is no answer.")
        return _Http1Answer(answer)

    def _client(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEP_ALIVE),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._settings.connect_seconds),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                trust_env=False,
                max_line_size=HEAD_BYTES,
                max_field_size=HEAD_BYTES,
            )
        return self._session


class _Http1Answer:
    def __init__(self, answer: aiohttp.ClientResponse) -> None:
        self._answer = answer
        self.status, self.reason = answer.status, answer.reason or ""
        version = answer.version
        self.http_version = f"{version.major}.{version.minor}" if version else "1.1"
        self.headers: RawHeaders = list(answer.raw_headers)

    @property
    def ended(self) -> bool:
        """Whether all was read."""
        return self._answer.content.at_eof()

    def ready(self) -> bytes:
        """What has come already."""
        content = self._answer.content
        return content.read_nowait() if content.exception() is None else b""

    async def read(self) -> bytes:
        """The next bytes of the body."""
        try:
            return await self._answer.content.readany()
        except (aiohttp.ClientError, ConnectionError, ssl.SSLError) as error:
            raise Cut("The provider's answer ended before its end.") from error

    def close(self) -> None:
        """A whole answer leaves its connection for the next call; any other takes it along."""
        self._answer.close() if not self._answer.content.is_eof() else self._answer.release()


def _headers(pairs: RawHeaders) -> "CIMultiDict[str]":
    """Headers in order. A repeated one takes the case of its first: the library takes another case for an update."""
    cases: dict[bytes, bytes] = {}
    return CIMultiDict((text(cases.setdefault(name.lower(), name)), text(value)) for name, value in pairs)


def text(raw: bytes) -> str:
    """A header's bytes as the library wants them: it writes UTF-8, and what is not UTF-8 is read as ISO 8859-1."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def address(url: str, path: str) -> str:
    """Where a call of `path` goes: the provider's address, whose own `/v1` or `/v1beta` is that of the path."""
    base = url.rstrip("/")
    version = path.split("/", 2)[1] if path.startswith("/") else ""
    return base.removesuffix(f"/{version}") if version and urlsplit(base).path.endswith(f"/{version}") else base
