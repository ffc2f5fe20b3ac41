"""The server: reads a request, asks what to answer, sends it as decided. All decisions are made elsewhere."""

import asyncio
import hashlib
import json
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass, field

from aiohttp import web

from fairtrial.scripted.choose import Choice, choose
from fairtrial.scripted.conversation import BadRequest, Conversation, Wire, read
from fairtrial.scripted.delivery import Delivery, deliver, refused
from fairtrial.scripted.dialects import COUNT_TOKENS
from fairtrial.scripted.faults import Fault, fault_of
from fairtrial.scripted.script import Script
from fairtrial.scripted.usage import Counts

BODY_MAX = 64 * 1024 * 1024
KEPT_REQUESTS = 1000
_KEY_HEADERS = ("authorization", "x-api-key", "x-goog-api-key", "api-key")
_PATHS: dict[str, Wire] = {
    "/v1/messages": "messages",
    "/v1/messages/count_tokens": "count_tokens",
    "/v1/chat/completions": "chat",
    "/v1/responses": "responses",
}


@dataclass(frozen=True)
class Seen:
    """A request that was answered, without its secrets: what the log holds, one line each."""

    number: int
    method: str
    path: str
    wire: str
    model: str
    stream: bool
    tools: tuple[str, ...]
    results: int
    session: int
    step: int | str
    attempt: int
    fault: str
    status: int
    called: tuple[str, ...]
    bytes: int
    key: str  # the first digits of the SHA-256 of the caller's key: enough to tell whose it is, not to use it
    usage: Counts | None  # what the answer told; None where it told nothing, or a fault struck


@dataclass(frozen=True)
class Request:
    """A request as it came, for tests that look closer. Holds secrets; kept in memory only, and only if asked for."""

    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass
class Served:
    """A running server: its address, what it was asked, and who is told of each request."""

    script: Script
    url: str = ""
    keep: bool = False
    log: Callable[[Seen], None] | None = None
    seen: deque[Seen] = field(default_factory=lambda: deque(maxlen=KEPT_REQUESTS))
    requests: deque[Request] = field(default_factory=lambda: deque(maxlen=KEPT_REQUESTS))
    attempts: Counter[tuple[int, int | str]] = field(default_factory=Counter)
    total: int = 0

    def forget(self) -> None:
        """Begin anew: no attempt was made, nothing was asked."""
        self.attempts.clear()
        self.seen.clear()
        self.requests.clear()


@asynccontextmanager
async def serve(
    script: Script,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    keep: bool = False,
    log: Callable[[Seen], None] | None = None,
) -> AsyncIterator[Served]:
    """Serve `script` while the context lasts. With `keep`, `requests` holds the last requests, secrets and all."""
    served = Served(script, keep=keep, log=log)
    app = web.Application(client_max_size=BODY_MAX)
    app[_SERVED] = served
    app.router.add_get("/healthz", _health)
    app.router.add_route("*", "/{path:.*}", _handle)
    # A handler ends with its client: nobody waits for the end of a silence that nobody hears.
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1, handler_cancellation=True)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        await site.start()
        bound = runner.addresses[0][1]
        served.url = f"http://{f'[{host}]' if ':' in host else host}:{bound}"
        yield served
    finally:
        await runner.cleanup()


_SERVED = web.AppKey("served", Served)


def line(seen: Seen) -> str:
    """A request as one line of JSON."""
    return json.dumps(asdict(seen), separators=(",", ":"))


def route(path: str, query: Mapping[str, str]) -> tuple[Wire, str, bool, bool] | None:
    """The wire of a path, with Gemini's model, whether it streams and whether in events. Any prefix is let through."""
    for suffix, wire in _PATHS.items():
        if path.endswith(suffix):
            return wire, "", False, True
    _, found, call = path.rpartition("/models/")
    model, _, method = call.rpartition(":")
    if found and model and method in {"generateContent", "streamGenerateContent"}:
        stream = method == "streamGenerateContent"
        return "gemini", model, stream, query.get("alt") == "sse" or not stream
    return None


async def _health(_request: web.Request) -> web.Response:
    return web.json_response({"alive": True})


async def _handle(request: web.Request) -> web.StreamResponse:
    served = request.app[_SERVED]
    served.total += 1
    try:
        body = await request.read()
    except web.HTTPRequestEntityTooLarge:
        found = route(request.path, request.query)
        body, reply = b"", _Reply(refused(found[0] if found else "", 413, f"More than {BODY_MAX} bytes."))
    else:
        reply = _reply(served, request, body)
    if served.keep:
        served.requests.append(Request(request.path_qs, request.headers.copy(), body))
    seen = _seen(served.total, request, len(body), reply)
    served.seen.append(seen)
    if served.log:
        served.log(seen)
    return await _send(request, reply.delivery, f"req_{served.total:06}")


@dataclass(frozen=True)
class _Reply:
    """What is sent, and what it was decided from."""

    delivery: Delivery
    conversation: Conversation | None = None
    choice: Choice | None = None
    attempt: int = 0
    fault: Fault | None = None


def _reply(served: Served, request: web.Request, body: bytes) -> _Reply:
    found = route(request.path, request.query)
    if found is None or request.method != "POST":
        said = f"{request.method} {request.path}: the scripted provider has no such call."
        return _Reply(refused(found[0] if found else "", 404, said))
    wire, model, stream, framed = found
    conversation = None
    try:
        conversation = read(wire, body, model=model, stream=stream, framed=framed)
        choice = choose(served.script, conversation)
    except BadRequest as error:
        return _Reply(refused(wire, 400, str(error)), conversation)
    place, fault = choice.position, None
    if wire != COUNT_TOKENS:  # counting is no attempt at the step
        served.attempts[place.session, place.step] += 1
        fault = fault_of(place.faults, place.step, served.attempts[place.session, place.step])
    delivery = deliver(conversation, choice.answer, fault, served.script.pace, request.headers)
    return _Reply(delivery, conversation, choice, served.attempts[place.session, place.step], fault)


def _seen(number: int, request: web.Request, size: int, reply: _Reply) -> Seen:
    conversation, choice = reply.conversation, reply.choice
    return Seen(
        number=number,
        method=request.method,
        path=request.path,
        wire=conversation.wire if conversation else "",
        model=conversation.model if conversation else "",
        stream=bool(conversation and conversation.stream),
        tools=tuple(tool.name for tool in conversation.tools) if conversation else (),
        results=conversation.results if conversation else 0,
        session=choice.position.session if choice else 0,
        step=choice.position.step if choice else "",
        attempt=reply.attempt,
        fault=reply.fault.kind if reply.fault else "",
        status=reply.delivery.status,
        called=tuple(call.name for call in choice.answer.calls) if choice else (),
        bytes=size,
        key=_key(request.headers, request.query),
        usage=_told(conversation, choice, reply.fault),
    )


def _told(conversation: Conversation | None, choice: Choice | None, fault: Fault | None) -> Counts | None:
    if conversation is None or choice is None or fault or conversation.wire == COUNT_TOKENS:
        return None
    return choice.answer.usage if conversation.wants_usage or not conversation.stream else None


def _key(headers: Mapping[str, str], query: Mapping[str, str]) -> str:
    given = next((headers[name] for name in _KEY_HEADERS if name in headers), query.get("key", ""))
    secret = given.removeprefix("Bearer ")
    return hashlib.sha256(secret.encode()).hexdigest()[:12] if secret else ""


async def _send(request: web.Request, delivery: Delivery, number: str) -> web.StreamResponse:
    headers = {**delivery.headers, "X-Request-Id": number, "Request-Id": number}
    response = web.StreamResponse(status=delivery.status, headers=headers)
    if not delivery.chunked:
        response.content_length = sum(map(len, delivery.chunks))
    await asyncio.sleep(delivery.first_ms / 1000)
    if delivery.pause_at == -1:
        await asyncio.sleep(delivery.pause_seconds)
    with suppress(ConnectionError):  # a client may leave at any time; its next request says why, if anything does
        await response.prepare(request)
        await _send_chunks(request, response, delivery)
    return response


async def _send_chunks(request: web.Request, response: web.StreamResponse, delivery: Delivery) -> None:
    for index, chunk in enumerate(delivery.chunks):
        if index == delivery.cut_at:
            return _abort(request)
        if index == delivery.pause_at:
            await asyncio.sleep(delivery.pause_seconds)
        await response.write(chunk)
        if index == 0:
            for _ in range(delivery.padding_times):
                await response.write(delivery.padding)
        if delivery.repeat and index == delivery.repeat.index:
            await _send_again(response, delivery)
        if delivery.ms:
            await asyncio.sleep(delivery.ms / 1000)
    if delivery.cut_at is not None:
        return _abort(request)
    await response.write_eof()
    return None


async def _send_again(response: web.StreamResponse, delivery: Delivery) -> None:
    repeat = delivery.repeat
    assert repeat
    done = 0
    while repeat.times is None or done < repeat.times:
        await response.write(repeat.chunk)
        await asyncio.sleep(repeat.ms / 1000)
        done += 1


def _abort(request: web.Request) -> None:
    if request.transport:
        request.transport.abort()
