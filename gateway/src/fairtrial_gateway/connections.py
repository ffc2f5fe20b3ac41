"""Connections that send nothing: the server's timeouts begin with a request, so the wait for one is limited here."""

import asyncio
import time
from collections.abc import Awaitable, Callable

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class IdleReaper:
    """Closes connections on which no request has begun for too long. `begun` is a middleware and must be the first."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._busy: set[asyncio.BaseTransport] = set()
        self._idle_since: dict[asyncio.Transport, float] = {}

    @web.middleware
    async def begun(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Mark the connection busy while its request is handled."""
        transport = request.transport
        if transport is None:
            return await handler(request)
        self._busy.add(transport)
        try:
            return await handler(request)
        finally:
            self._busy.discard(transport)
            self._idle_since.pop(transport, None)

    async def run(self, server: web.Server) -> None:
        """Look around a few times in each period, for ever."""
        while True:
            self.sweep(server.connections, time.monotonic())
            await asyncio.sleep(self._seconds / 4)

    def sweep(self, connections: list[RequestHandler], now: float) -> None:
        """Close what has been idle for too long."""
        idle = {each.transport: each for each in connections if each.transport and each.transport not in self._busy}
        self._idle_since = {transport: self._idle_since.get(transport, now) for transport in idle}
        for transport, since in self._idle_since.items():
            if now - since >= self._seconds:
                idle[transport].force_close()
