"""A gateway on a loopback socket with what surrounds it: an API server that knows a few tokens, a store in memory that
can be away, and providers that answer byte by byte as a test says.
"""

import asyncio
import base64
import gzip
import io
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from aiohttp import web
from fairtrial_gateway.__main__ import runner_of
from fairtrial_gateway.app import Gateway
from fairtrial_gateway.identity import Identity
from fairtrial_gateway.kubernetes import KubernetesApi
from fairtrial_gateway.metrics import Metrics
from fairtrial_gateway.models.assembly import ModelCalls
from fairtrial_gateway.models.settings import ModelSettings
from fairtrial_gateway.settings import Settings

from fairtrial.errors import StoreUnavailable
from fairtrial.evidence.layout import Layout
from fairtrial.evidence.memory import MemoryStore, MemoryUpload
from fairtrial.evidence.objects import OCTETS, StoredObject
from fairtrial.journal import summary
from fairtrial.journal.frames import Frame, FrameReader, Kind
from fairtrial.journal.summary import Exchange

CREDENTIAL = "sk-the-real-credential-0123456789"
AGENT_UID, RUN_UID = "agent-uid", "run-uid"
MODEL = "model-1"
QUICK = ModelSettings(
    connect_seconds=2,
    first_byte_seconds=5,
    idle_seconds=5,
    stalled_seconds=5,
    drain_seconds=3,
    queue_seconds=30,
    request_seconds=5,
    run_ttl=0.01,
    provider_ttl=0.01,
)


def jwt(claims: dict[str, Any]) -> str:
    """A token that looks like one; only the fake API server believes it."""
    return ".".join(
        base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in ({}, claims, 0)
    )


def claims_of(token: str) -> dict[str, Any]:
    """What a token of `jwt` says."""
    body = token.split(".")[1]
    claims: dict[str, Any] = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    return claims


@dataclass
class FakeKubernetes:
    """What the API server knows."""

    url: str = ""
    reviews: dict[str, dict[str, Any]] = field(default_factory=dict)
    objects: dict[str, dict[str, Any]] = field(default_factory=dict)  # by resource and name
    away: bool = False
    forbidden: set[str] = field(default_factory=set)  # resources that the gateway may not read
    gateways: list[str] = field(default_factory=list)  # addresses behind the gateway's Service

    def token(self, pod: str, uid: str, audience: str = "fairtrial/provider", lifetime: int = 600) -> str:
        token = jwt({"exp": int(time.time()) + lifetime, "pod": pod, "uid": uid, "aud": audience})
        extra = {"authentication.kubernetes.io/pod-name": [pod], "authentication.kubernetes.io/pod-uid": [uid]}
        user = {"username": "system:serviceaccount:team:fairtrial-run", "extra": extra}
        self.reviews[token] = {"authenticated": True, "user": user, "audiences": [audience]}
        return token

    def put(self, resource: str, name: str, **parts: Any) -> None:
        metadata = {"namespace": "team", "name": name, "uid": f"{name}-uid"}
        self.objects[f"{resource}/{name}"] = {"metadata": metadata, **parts}

    def run(self, name: str = "r1", *, limits: dict[str, Any] | None = None, **status: Any) -> None:
        spec = {"network": {"modelProviderRef": {"name": "provider"}}, "limits": limits or {}}
        self.put("benchmarkruns", name, spec=spec, status={"agentPod": {"uid": AGENT_UID}} | status)

    def provider(self, url: str, wire: str, **spec: Any) -> None:
        full = {
            "url": url,
            "wire": wire,
            "credentialSecretRef": {"name": "secret", "key": "key"},
            "model": {"id": MODEL},
            "usage": {"cachedInsideInput": wire != "anthropicMessages", "reasoningInsideOutput": wire != "gemini"},
            "maxConcurrency": 1000,
            "requestsPerMinute": 100000,
        }
        self.put("modelproviders", "provider", spec=full | spec)

    def secret(self, value: str = CREDENTIAL) -> None:
        self.put("secrets", "secret", data={"key": base64.b64encode(value.encode()).decode()})

    async def review(self, request: web.Request) -> web.Response:
        if self.away:
            return web.json_response({}, status=503)
        token = (await request.json())["spec"]["token"]
        found = self.reviews.get(token, {"authenticated": False})
        if found["authenticated"] and claims_of(token)["exp"] <= time.time():
            found = {"authenticated": False, "error": "token has expired"}
        return web.json_response({"status": found}, status=201)

    async def get(self, request: web.Request) -> web.Response:
        if self.away:
            return web.json_response({}, status=503)
        resource, name = request.match_info["resource"], request.match_info["name"]
        if resource in self.forbidden:
            return web.json_response({"reason": "Forbidden"}, status=403)
        found = self.objects.get(f"{resource}/{name}")
        if found is None:
            return web.json_response({"reason": "NotFound", "details": {"name": name}}, status=404)
        return web.json_response(found)

    async def slices(self, request: web.Request) -> web.Response:
        ready = [{"addresses": [address], "conditions": {"ready": True}} for address in self.gateways]
        return web.json_response({"items": [{"endpoints": ready}]})

    @asynccontextmanager
    async def serving(self) -> AsyncIterator["FakeKubernetes"]:
        app = web.Application()
        app.router.add_get("/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices", self.slices)
        app.router.add_post("/apis/authentication.k8s.io/v1/tokenreviews", self.review)
        app.router.add_get("/apis/fairtrial.dev/v1alpha1/namespaces/team/{resource}/{name}", self.get)
        app.router.add_get("/api/v1/namespaces/team/{resource}/{name}", self.get)
        async with served(app) as self.url:
            yield self


@asynccontextmanager
async def served(app: web.Application) -> AsyncIterator[str]:
    """An application on a free port."""
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


class Store(MemoryStore):
    """A store that can be away."""

    def __init__(self) -> None:
        super().__init__()
        self.away = False

    def put(self, key: str, data: bytes, *, media_type: str = OCTETS) -> StoredObject:
        self._look()
        return super().put(key, data, media_type=media_type)

    def open_upload(self, key: str, *, media_type: str = OCTETS, sha256: str | None = None) -> MemoryUpload:
        self._look()
        return super().open_upload(key, media_type=media_type, sha256=sha256)

    def keys(self, prefix: str) -> list[str]:
        self._look()
        return super().keys(prefix)

    def _look(self) -> None:
        if self.away:
            raise StoreUnavailable("The store is away.")


# --- a provider that is told every byte -------------------------------------------------------------------------------
@dataclass
class Asked:
    """One request as the provider received it."""

    head: bytes
    body: bytes

    @property
    def headers(self) -> list[tuple[str, str]]:
        lines = self.head.decode("latin-1").split("\r\n")[1:]
        return [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines if line)]

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)


Answerer = Callable[[asyncio.StreamWriter], Awaitable[None]]


@dataclass
class RawProvider:
    """Speaks HTTP/1.1 by hand. `answer` writes the whole answer; the connection is closed afterwards if it says so."""

    answer: Answerer
    url: str = ""
    asked: list[Asked] = field(default_factory=list)
    cut: int = 0  # connections that the gateway ended

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                asked = Asked(head.removesuffix(b"\r\n\r\n"), b"")
                asked.body = await reader.readexactly(int(asked.header("Content-Length") or 0))
                self.asked.append(asked)
                await self.answer(writer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            self.cut += 1
        finally:
            writer.close()

    @asynccontextmanager
    async def serving(self) -> AsyncIterator["RawProvider"]:
        server = await asyncio.start_server(self.handle, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield self
        server.close()


def whole(body: bytes, *headers: str, status: str = "200 OK") -> Answerer:
    """An answer with its length."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        lines = [f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}", "", ""]
        writer.write("\r\n".join(lines).encode("latin-1") + body)

    return answer


def chunked(parts: list[bytes], *headers: str, pause: float = 0, end: bool = True) -> Answerer:
    """An answer in pieces, each sent by itself; without `end` the connection is cut instead."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write("\r\n".join(["HTTP/1.1 200 OK", *headers, "Transfer-Encoding: chunked", "", ""]).encode("latin-1"))
        for part in parts:
            writer.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
            await writer.drain()
            await asyncio.sleep(pause)
        if end:
            writer.write(b"0\r\n\r\n")
        else:
            writer.transport.abort()

    return answer


# --- the gateway ------------------------------------------------------------------------------------------------------
@dataclass
class World:
    """A running gateway and everything around it."""

    url: str
    kubernetes: FakeKubernetes
    store: Store
    calls: ModelCalls
    gateway: Gateway
    token: str

    @property
    def port(self) -> int:
        return int(self.url.rsplit(":", 1)[1])

    async def pages(self, count: int = 1, seconds: float = 10) -> list[Exchange]:
        """The pages in the store, once there are so many."""
        deadline = time.monotonic() + seconds
        while True:
            keys = [key for key in sorted(self.store.objects) if key.endswith("/exchange.json")]
            if len(keys) >= count:
                return [summary.load(self.store.objects[key]) for key in keys]
            assert time.monotonic() < deadline, f"{len(keys)} pages of {count}"
            await asyncio.sleep(0.01)

    async def page(self) -> Exchange:
        """The only page."""
        (page,) = await self.pages()
        return page

    def frames(self, page: Exchange) -> list[Frame]:
        """The stored journal of an exchange; whole."""
        key = next(k for k in self.store.objects if k.endswith(f"/{page.exchange}/exchange.ftj"))
        reader = FrameReader(io.BytesIO(self.store.objects[key]))
        found = list(reader)
        assert reader.stop and reader.stop.why == "end"
        return found

    def body(self, page: Exchange, kind: Kind) -> bytes:
        return b"".join(frame.payload for frame in self.frames(page) if frame.kind == kind)


@asynccontextmanager
async def world(folder: Path, store: Store | None = None, **changes: Any) -> AsyncIterator[World]:
    """A gateway that is ready, with the settings changed."""
    async with FakeKubernetes().serving() as kubernetes:
        (folder / "token").write_text("the-gateways-own-token")
        settings = replace(Settings(kubernetes.url, "", str(folder / "token")), host="127.0.0.1", header_seconds=5)
        api, store, metrics = KubernetesApi(settings), store or Store(), Metrics()
        models = replace(QUICK, spool_dir=str(folder / "spool"), **changes)
        calls = ModelCalls(models, api, store, Layout(), metrics)
        gateway = Gateway(settings, Identity(api, 30), store, Layout(), metrics, calls)
        await calls.start()
        runner = runner_of(gateway)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        kubernetes.run()
        kubernetes.secret()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield World(url, kubernetes, store, calls, gateway, kubernetes.token("r1-agent", AGENT_UID))
        await runner.cleanup()
        store.away = False
        await calls.settled(10)
        await calls.close()
        await api.close()
        gateway.threads.close()


async def raw(port: int, data: bytes, *, half_close: bool = False) -> bytes:
    """Send bytes as they are, and read until the gateway closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    await writer.drain()
    if half_close:
        writer.write_eof()
    answer = await reader.read()
    writer.close()
    return answer


def dechunked(answer: bytes) -> tuple[bytes, bytes]:
    """Head and body of an answer in chunks."""
    head, _, rest = answer.partition(b"\r\n\r\n")
    body = b""
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        length = int(size, 16)
        if length == 0:
            return head, body
        body, rest = body + rest[:length], rest[length + 2 :]
    raise AssertionError("the chunks have no end")


def post(path: str, body: bytes, *headers: str) -> bytes:
    """A request in bytes."""
    lines = [f"POST {path} HTTP/1.1", "Host: gateway", *headers, f"Content-Length: {len(body)}", "Connection: close"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body


ANTHROPIC_EVENTS: list[tuple[str, dict[str, Any]]] = [
    (
        "message_start",
        {
            "type": "message_start",
            "message": {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "model": MODEL,
                "content": [],
                "usage": {"input_tokens": 10, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 2}
                | {"output_tokens": 1},
            },
        },
    ),
    (
        "content_block_start",
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    ),
    (
        "content_block_delta",
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Grüße — 東京 🎉"}},
    ),
    ("content_block_stop", {"type": "content_block_stop", "index": 0}),
    (
        "message_delta",
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7}},
    ),
    ("message_stop", {"type": "message_stop"}),
]


def sse(events: list[tuple[str, dict[str, Any]]] = ANTHROPIC_EVENTS) -> bytes:
    """Events as a stream."""
    return b"".join(
        f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode() for name, data in events
    )


def zipped(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)
