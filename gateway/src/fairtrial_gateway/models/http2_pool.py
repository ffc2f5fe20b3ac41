"""HTTP/2 connections by provider: which one a call takes, and when another is made."""

import asyncio
import ssl
from functools import partial
from urllib.parse import urlsplit

from fairtrial_gateway.models.failures import Unreachable
from fairtrial_gateway.models.http2 import Connection, RawHeaders, Stream

ATTEMPTS = 50  # others may be quicker to fill a connection that was made
Origin = tuple[str, str, int]
_LOCAL = frozenset({b"host", b"content-length", b"connection", b"transfer-encoding", b"keep-alive", b"upgrade"})


class Pool:
    """Connections by provider, made when those there are full."""

    def __init__(self, connect_seconds: float, tls: ssl.SSLContext | None = None) -> None:
        self._connect_seconds = connect_seconds
        self._tls = tls
        self._connections: dict[Origin, list[Connection]] = {}
        self._connecting: dict[Origin, asyncio.Task[None]] = {}

    async def send(self, url: str, target: str, headers: RawHeaders, body: bytes) -> Stream:
        """Send a POST and wait for the head of its answer."""
        parts = urlsplit(url)
        default = 443 if parts.scheme == "https" else 80
        origin = (parts.scheme, parts.hostname or "", parts.port or default)
        pseudo: RawHeaders = [
            (b":method", b"POST"),
            (b":authority", parts.netloc.encode()),
            (b":scheme", parts.scheme.encode()),
            (b":path", (parts.path + target).encode("latin-1")),
        ]
        own = [(name.lower(), value) for name, value in headers if name.lower() not in _LOCAL]
        length = [(b"content-length", str(len(body)).encode())]
        connection = await self._connection(origin)
        return await connection.send(pseudo + own + length, body)

    def close(self) -> None:
        """End every connection."""
        for task in self._connecting.values():
            task.cancel()
        for connections in self._connections.values():
            for connection in connections:
                connection.close()

    async def _connection(self, origin: Origin) -> Connection:
        """One with room. Calls that need a new one share the attempt to make it, and its failure."""
        for _ in range(ATTEMPTS):
            if free := self._free(origin):
                return free
            if origin not in self._connecting:
                task = self._connecting[origin] = asyncio.create_task(self._connect(origin))
                task.add_done_callback(partial(self._connected, origin))
            await asyncio.shield(self._connecting[origin])
        raise Unreachable("The provider takes connections, and no call on any of them.")

    def _connected(self, origin: Origin, task: "asyncio.Task[None]") -> None:
        del self._connecting[origin]
        task.cancelled() or task.exception()  # seen: whoever waited may be gone

    def _free(self, origin: Origin) -> Connection | None:
        kept = []
        for connection in self._connections.get(origin, []):
            if connection.usable and (connection.free or not connection.idle):
                kept.append(connection)
            elif connection.idle:
                connection.close()
        self._connections[origin] = kept
        return next((connection for connection in kept if connection.free), None)

    async def _connect(self, origin: Origin) -> None:
        scheme, host, port = origin
        tls = self._context() if scheme == "https" else None
        try:
            async with asyncio.timeout(self._connect_seconds):
                loop = asyncio.get_running_loop()
                transport, connection = await loop.create_connection(Connection, host, port, ssl=tls)
        except TimeoutError as error:
            raise Unreachable("The provider took no connection in time.") from error
        if tls and transport.get_extra_info("ssl_object").selected_alpn_protocol() != "h2":
            transport.abort()
            raise Unreachable("The provider does not speak HTTP/2, which its ModelProvider asks for.")
        self._connections.setdefault(origin, []).append(connection)

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = ssl.create_default_context()
            self._tls.set_alpn_protocols(["h2"])
        return self._tls
