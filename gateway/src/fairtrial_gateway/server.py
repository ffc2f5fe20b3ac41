"""The HTTP server around the application: bounded heads, bodies as they come, no log of its own.

What cannot be read as a request never reaches the application. It is answered and counted here: a head over the limit
with 431, anything else with 400, in a form that the clients of every wire take for an error.
"""

import asyncio
import json
import time

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError, LineTooLong
from aiohttp.web_protocol import RequestHandler

from fairtrial_gateway.refusals import RefusalLog

HEAD_BYTES = 8190  # of a line, and of one header
LINGER_SECONDS = 5.0  # how long a refused body is read on, so that its sender sees the answer
HEAD_LINGER_SECONDS, LOOK_SECONDS = 2.0, 0.05  # the same for a head over the limit
HEAD_TOO_LARGE, NOT_HTTP = "head_too_large", "not_http"
_TOO_MANY = "Too many"  # how the parser begins when there are more headers than it takes


class Runner(web.AppRunner):
    """Serves an application, and notes what was no request of it."""

    def __init__(self, app: web.Application, refusals: RefusalLog, header_seconds: float) -> None:
        self._protocol = _protocol(refusals)
        super().__init__(
            app,
            access_log=None,
            handle_signals=False,
            keepalive_timeout=header_seconds,
            lingering_time=LINGER_SECONDS,
            max_line_size=HEAD_BYTES,
            max_field_size=HEAD_BYTES,
            auto_decompress=False,
            shutdown_timeout=1.0,
        )

    async def _make_server(self) -> web.Server:
        """The library's server with our protocol: it has no setting for what answers heads that can't be read."""
        server = await super()._make_server()
        protocol = self._protocol

        class Server(type(server)):  # type: ignore[misc]
            def __call__(self) -> RequestHandler:
                made: RequestHandler = super().__call__()
                made.__class__ = protocol
                return made

        server.__class__ = Server
        return server


def _protocol(refusals: RefusalLog) -> type[RequestHandler]:
    class Protocol(RequestHandler):
        __slots__ = ()

        def handle_error(
            self,
            request: web.BaseRequest,
            status: int = 500,
            exc: BaseException | None = None,
            message: str | None = None,
        ) -> web.StreamResponse:
            if not isinstance(exc, HttpProcessingError) or request.writer.output_size:
                return super().handle_error(request, status, exc, message)
            status, cause = unreadable(exc)
            refusals.note(cause, status, request.remote or "")
            self.close()  # what else comes on this connection is dropped
            kind = ReadOn if cause == HEAD_TOO_LARGE else web.Response
            response = kind(status=status, body=error_of(status, cause), content_type="application/json")
            response.force_close()
            return response

    return Protocol


class ReadOn(web.Response):
    """An answer after which the connection stays open for a moment: closed at once it would be reset while a client is
    still sending, and the client would not see the answer.
    """

    async def write_eof(self, data: bytes = b"") -> None:
        """Send the end, and wait until the client is gone."""
        transport = self._req.transport if self._req else None
        await super().write_eof(data)
        if transport and not transport.is_closing() and transport.can_write_eof():
            transport.write_eof()
        until = time.monotonic() + HEAD_LINGER_SECONDS
        while transport and not transport.is_closing() and time.monotonic() < until:  # noqa: ASYNC110 — no event tells
            await asyncio.sleep(LOOK_SECONDS)


def unreadable(error: HttpProcessingError) -> tuple[int, str]:
    """Status and cause for bytes that are no request. Pure."""
    too_long = isinstance(error, LineTooLong) or (error.message or "").startswith(_TOO_MANY)
    return (431, HEAD_TOO_LARGE) if too_long else (400, NOT_HTTP)


_SAYS = {
    HEAD_TOO_LARGE: f"head_too_large: a line or a header of a request may have {HEAD_BYTES} bytes.",
    NOT_HTTP: "not_http: this is no HTTP request.",
}


def error_of(status: int, cause: str) -> bytes:
    """An error that each wire's clients find in its place: nobody knows which of them is calling. Pure."""
    says = _SAYS[cause]
    error = {"type": "invalid_request_error", "code": status, "status": "INVALID_ARGUMENT", "message": says}
    return json.dumps({"type": "error", "error": error, "reason": cause, "message": says}).encode()
