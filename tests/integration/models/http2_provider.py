"""A provider that speaks HTTP/2, with or without TLS, and does what a test says."""

import asyncio
import contextlib
import datetime as dt
import ipaddress
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import h2.config
import h2.connection
import h2.events
import h2.exceptions
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass
class Call:
    """One stream as the provider sees it."""

    connection: "ServerConnection"
    number: int
    headers: list[tuple[bytes, bytes]]
    body: bytearray = field(default_factory=bytearray)
    was_reset: bool = False

    async def answer(self, body: bytes, *headers: tuple[str, str], status: int = 200, end: bool = True) -> None:
        self.connection.h2.send_headers(self.number, [(":status", str(status)), *headers])
        self.connection.flush()
        await self.send(body, end=end)

    async def send(self, body: bytes, *, end: bool) -> None:
        rest = memoryview(body)
        while rest:
            room = min(self.connection.h2.local_flow_control_window(self.number), 16384, len(rest))
            if room <= 0:
                self.connection.window.clear()
                await self.connection.window.wait()
                continue
            self.connection.h2.send_data(self.number, bytes(rest[:room]))
            rest = rest[room:]
            self.connection.flush()
            await asyncio.sleep(0)
        if end:
            self.connection.h2.end_stream(self.number)
            self.connection.flush()


Answerer = Callable[[Call], Awaitable[None]]


class ServerConnection(asyncio.Protocol):
    def __init__(self, provider: "Http2Provider") -> None:
        self.provider = provider
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding=None))
        self.calls: dict[int, Call] = {}
        self.window = asyncio.Event()
        self.transport: asyncio.Transport | None = None
        self.tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.provider.connections.append(self)
        self.h2.initiate_connection()
        self.flush()

    def data_received(self, data: bytes) -> None:
        for event in self.h2.receive_data(data):
            if isinstance(event, h2.events.RequestReceived):
                self.calls[event.stream_id] = Call(self, event.stream_id, list(event.headers))
            elif isinstance(event, h2.events.DataReceived):
                self.calls[event.stream_id].body += event.data
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, h2.events.StreamEnded):
                call = self.calls[event.stream_id]
                self.provider.asked.append(call)
                task = asyncio.ensure_future(self._answer(call))
                self.tasks.add(task)
                task.add_done_callback(self.tasks.discard)
            elif isinstance(event, h2.events.StreamReset):
                self.calls[event.stream_id].was_reset = True
            self.window.set()
        self.flush()

    async def _answer(self, call: Call) -> None:
        with contextlib.suppress(h2.exceptions.ProtocolError):
            await self.provider.answer(call)

    def flush(self) -> None:
        if self.transport:
            self.transport.write(self.h2.data_to_send())

    def abort(self) -> None:
        assert self.transport
        self.transport.abort()


@dataclass
class Http2Provider:
    answer: Answerer
    url: str = ""
    asked: list[Call] = field(default_factory=list)
    connections: list[ServerConnection] = field(default_factory=list)

    @asynccontextmanager
    async def serving(self, tls: ssl.SSLContext | None = None) -> AsyncIterator["Http2Provider"]:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: ServerConnection(self), "127.0.0.1", 0, ssl=tls)
        scheme = "https" if tls else "http"
        self.url = f"{scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield self
        server.close()
        for connection in self.connections:
            connection.abort()
            for task in connection.tasks:
                task.cancel()


def certificate(folder: Path, *, alpn: list[str]) -> tuple[ssl.SSLContext, Path]:
    """A server's TLS with a certificate of its own, and the file to trust it by."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(minutes=5))
        .not_valid_after(now + dt.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    chain, private = folder / "cert.pem", folder / "key.pem"
    chain.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain, private)
    context.set_alpn_protocols(alpn)
    return context, chain
