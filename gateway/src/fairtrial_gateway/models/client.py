"""The agent's side of a call: the answer's bytes on their way to it, until it is gone."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

from aiohttp import web
from multidict import CIMultiDict

from fairtrial.wires.headers import end_to_end
from fairtrial_gateway.models.failures import Cut
from fairtrial_gateway.models.upstream import Answer, text

AT_ONCE = 32 * 1024  # bytes that a transport which holds none takes without a wait
EXACT = web.RequestKey("exact", frozenset)  # names of the headers that the provider sent
_DEFAULTS = ("Content-Type", "Date", "Server")


class Client:
    """One request, and its answer once it has begun."""

    def __init__(self, request: web.Request, stalled_seconds: float) -> None:
        self.request = request
        self._stalled = stalled_seconds
        self._response: web.StreamResponse | None = None
        self._gone = False
        self._whole = False  # the answer holds its body, and sends it at its end

    @property
    def gone(self) -> bool:
        """Whether nothing reaches it any more."""
        transport = self.request.transport
        self._gone = self._gone or transport is None or transport.is_closing()
        return self._gone

    async def begin(self, answer: Answer, whole: bytes = b"") -> web.StreamResponse:
        """Send the head of the provider's answer, as it is but for hop-by-hop headers; with it all of a body that has
        come `whole`, as its length says: two sends would be two wake-ups of whoever reads."""
        headers = CIMultiDict((text(name), text(value)) for name, value in end_to_end(answer.headers))
        if self.gone:
            return web.StreamResponse(status=answer.status, reason=answer.reason, headers=headers)
        self.request[EXACT] = frozenset(name.lower() for name in headers)
        self._whole = bool(whole) and headers.getall("Content-Length", []) == [str(len(whole))]
        response: web.StreamResponse
        if self._whole:
            response = web.Response(body=whole, status=answer.status, reason=answer.reason, headers=headers)
        else:
            response = web.StreamResponse(status=answer.status, reason=answer.reason, headers=headers)
        self._response = response
        try:
            await self._unless_gone(lambda: response.prepare(self.request))
        except ValueError as error:
            del self.request[EXACT]
            raise Cut("The head of the provider's answer holds characters that no head may.") from error
        return response

    async def write(self, chunk: bytes) -> None:
        """Send bytes; waits while it takes none, for as long as allowed."""
        if self._whole:
            return
        response = self._response
        assert response is not None
        await self._unless_gone(lambda: response.write(chunk), len(chunk))

    async def end(self) -> None:
        """The answer is whole."""
        if self._response is not None:
            await self._unless_gone(self._response.write_eof, 0 if not self._whole else None)

    async def dismiss(self, answer: web.Response) -> None:
        """Answer in the gateway's own words, or cut what has begun; from here on the agent counts as gone."""
        if self._response is None and not self.gone:
            self._response = answer
            answer.force_close()
            await self._unless_gone(lambda: answer.prepare(self.request))
            await self._unless_gone(answer.write_eof)
        self._gone = True
        self.cut()

    def cut(self) -> None:
        """End the connection after what was sent: nobody may take it for the whole answer."""
        if self.request.transport:
            self.request.transport.close()

    async def _unless_gone(self, sending: Callable[[], Awaitable[object]], size: int | None = None) -> None:
        """Send, for as long as allowed; what is known to be of a small `size` need not be watched."""
        if self.gone:
            return
        transport = self.request.transport
        small = size is not None and size <= AT_ONCE and transport and not transport.get_write_buffer_size()
        try:
            async with contextlib.nullcontext() if small else asyncio.timeout(self._stalled):
                await sending()
        except TimeoutError:
            self._gone = True
            if self.request.transport:
                self.request.transport.abort()
        except ConnectionError:
            self._gone = True


async def without_defaults(request: web.Request, response: web.StreamResponse) -> None:
    """Take out again what the server adds to every answer, where the answer is a provider's."""
    sent = request.get(EXACT)
    if sent is not None:
        for name in _DEFAULTS:
            if name.lower() not in sent:
                response.headers.popall(name, None)
