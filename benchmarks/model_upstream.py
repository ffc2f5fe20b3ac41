"""The model and the API server that `model_calls` measures against; one process, `python -m benchmarks.model_upstream`.

The model is as fast as Python gets: one protocol class on a bare socket, answers made beforehand, nothing parsed that
is not needed. What it streams carries the monotonic clock, so that a reader on the same machine knows each piece's age.
The last message of a request says what is wanted: `answer`, `paced CHUNKS MILLISECONDS` or `bulk BYTES`.
"""

import asyncio
import base64
import json
import re
import time
from typing import Any

from aiohttp import web

from benchmarks.model_load import MODEL, NAMESPACE

API_SECONDS = 0.003  # how long an API server takes for one object
CREDENTIAL = "sk-upstream-0123456789abcdef"
TEXT = "The function returns one item too few because its range ends at the length instead of one after it. " * 3
EVENT_BYTES = 16 * 1024  # of a bulk stream
_LENGTH = re.compile(rb"content-length: *(\d+)", re.I)
_PACED, _BULK = re.compile(rb'"paced (\d+) (\d+)"'), re.compile(rb'"bulk (\d+)"')
_STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def _event(delta: dict[str, str], finish: str | None = None, **more: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    chunk = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": MODEL, "choices": [choice]}
    return b"data: " + json.dumps(chunk | more).encode() + b"\n\n"


def _http_chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


USAGE = {"prompt_tokens": 40, "completion_tokens": 60, "total_tokens": 100}
_ANSWER_BODY = json.dumps(
    {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": MODEL,
        "choices": [{"index": 0, "message": {"role": "assistant", "content": TEXT}, "finish_reason": "stop"}],
        "usage": USAGE,
    }
).encode()
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (
    len(_ANSWER_BODY),
    _ANSWER_BODY,
)
_NUMBER = b"number-0000"  # no two events are alike: LiteLLM takes repeated ones for a model that loops
_BULK_EVENT = _http_chunk(_event({"content": _NUMBER.decode() + "x" * EVENT_BYTES}))
_LAST = _event({}, "stop") + _event({}, None, usage=USAGE) + b"data: [DONE]\n\n"
_END = _http_chunk(_LAST) + b"0\r\n\r\n"


class Model(asyncio.Protocol):
    """One connection, one request after the other."""

    def __init__(self) -> None:
        self._received = b""
        self._writable = asyncio.Event()
        self._writable.set()
        self._task: asyncio.Task[None] | None = None  # the loop itself holds tasks by weak references only

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer as soon as the request is whole."""
        self._received += data
        head_end = self._received.find(b"\r\n\r\n")
        if head_end < 0:
            return
        length = _LENGTH.search(self._received, 0, head_end)
        end = head_end + 4 + (int(length[1]) if length else 0)
        if len(self._received) < end:
            return
        body, self._received = self._received[head_end + 4 : end], self._received[end:]
        if paced := _PACED.search(body):
            self._task = asyncio.create_task(self._paced(int(paced[1]), int(paced[2]) / 1000))
        elif bulk := _BULK.search(body):
            self._task = asyncio.create_task(self._bulk(int(bulk[1])))
        else:
            self._transport.write(ANSWER)

    def pause_writing(self) -> None:
        """The reader is slower."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """The reader has caught up."""
        self._writable.set()

    def connection_lost(self, _error: Exception | None) -> None:
        """Nobody reads any more."""
        self._writable.set()

    async def _paced(self, chunks: int, pause: float) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        self._transport.write(_STREAM_HEAD)
        for number in range(chunks):
            await asyncio.sleep(began + number * pause - loop.time())
            if self._transport.is_closing():
                return
            self._transport.write(_http_chunk(_event({"content": f"@{time.monotonic_ns()} word "})))
        self._transport.write(_END)

    async def _bulk(self, size: int) -> None:
        self._transport.write(_STREAM_HEAD)
        for number in range(-(-size // EVENT_BYTES)):
            await self._writable.wait()
            if self._transport.is_closing():
                return
            self._transport.write(_BULK_EVENT.replace(_NUMBER, b"number-%04d" % (number % 10_000), 1))
        self._transport.write(_END)


def _object(name: str, **parts: Any) -> dict[str, Any]:
    return {"metadata": {"namespace": NAMESPACE, "name": name, "uid": f"{name}-uid"}, **parts}


def api_server(upstream: str) -> web.Application:
    """An API server that believes every token of ours, and knows any number of runs, one provider and one Secret."""
    usage = {"cachedInsideInput": True, "reasoningInsideOutput": True}
    provider = {
        "url": upstream,
        "wire": "openaiChat",
        "credentialSecretRef": {"name": "secret", "key": "key"},
        "model": {"id": MODEL},
        "usage": usage,
        "maxConcurrency": 1000,
        "requestsPerMinute": 1_000_000,
    }
    made = {
        "modelproviders": lambda name: _object(name, spec=provider),
        "secrets": lambda name: _object(name, data={"key": base64.b64encode(CREDENTIAL.encode()).decode()}),
        "benchmarkruns": lambda name: _object(
            name,
            spec={"network": {"modelProviderRef": {"name": "provider"}}},
            status={"agentPod": {"uid": f"{name}-agent-uid"}},
        ),
    }

    async def get(request: web.Request) -> web.Response:
        await asyncio.sleep(API_SECONDS)
        return web.json_response(made[request.match_info["resource"]](request.match_info["name"]))

    async def review(request: web.Request) -> web.Response:
        await asyncio.sleep(API_SECONDS)
        token = (await request.json())["spec"]["token"]
        claims = token.split(".")[1]
        pod = (
            json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4))).get("pod") if claims != "b" else ""
        )
        if not pod:
            return web.json_response({"status": {"authenticated": False}}, status=201)
        extra = {f"authentication.kubernetes.io/pod-{key}": [value] for key, value in _names_of(pod).items()}
        user = {"username": f"system:serviceaccount:{NAMESPACE}:fairtrial-run", "extra": extra}
        status = {"authenticated": True, "user": user, "audiences": ["fairtrial/provider"]}
        return web.json_response({"status": status}, status=201)

    app = web.Application()
    app.router.add_post("/apis/authentication.k8s.io/v1/tokenreviews", review)
    app.router.add_get(f"/apis/fairtrial.dev/v1alpha1/namespaces/{NAMESPACE}/{{resource}}/{{name}}", get)
    app.router.add_get(f"/api/v1/namespaces/{NAMESPACE}/{{resource}}/{{name}}", get)
    return app


def _names_of(pod: str) -> dict[str, str]:
    return {"name": pod, "uid": f"{pod}-uid"}


async def serve() -> None:
    """Serve until killed; both ports go to standard output."""
    model = await asyncio.get_running_loop().create_server(Model, "127.0.0.1", 0, backlog=1024)
    port = model.sockets[0].getsockname()[1]
    runner = web.AppRunner(api_server(f"http://127.0.0.1:{port}"), access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(json.dumps({"model": port, "api": runner.addresses[0][1]}), flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve())
