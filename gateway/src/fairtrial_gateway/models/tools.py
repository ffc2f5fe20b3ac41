"""Where agents reach tool servers: `/tool/NAME/…`, for the HTTP servers that their task allows by name.

A task names them, an administrator says where they are. Calls are recorded like model calls, apart from them, and
count no tokens; the agent's key is taken out and nothing is put in its place.
"""

import contextlib
import json
import re
import time
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from aiohttp import web

from fairtrial.errors import InvalidInput
from fairtrial.journal.exchange import TOOL
from fairtrial.wires.base import Call
from fairtrial.wires.headers import KEY_HEADERS, end_to_end
from fairtrial_gateway.models import requests, upstream
from fairtrial_gateway.models.client import Client
from fairtrial_gateway.models.exchange import Declined, Live
from fairtrial_gateway.models.failures import AgentGone
from fairtrial_gateway.models.parties import Owner, ToolServer
from fairtrial_gateway.models.proxy import Proxy
from fairtrial_gateway.models.relay import Relay
from fairtrial_gateway.models.spending import TimeLimit
from fairtrial_gateway.models.time_up import within

METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})
_DROPPED = frozenset({*KEY_HEADERS, b"host", b"expect"})


class ToolDialect:
    """Errors as JSON objects: no protocol says more for all tool servers."""

    name = TOOL

    def error_body(self, _call: Call | None, _status: int, kind: str, message: str) -> tuple[str, bytes]:
        """Content type and body."""
        return "application/json", json.dumps({"error": {"type": kind, "message": message}}).encode()


def servers_of(text: str) -> dict[str, ToolServer]:
    """The administrator's servers, from a JSON object of names and addresses."""
    try:
        raw = json.loads(text or "{}")
    except ValueError:
        raw = None
    if not isinstance(raw, dict) or not all(isinstance(url, str) for url in raw.values()):
        raise InvalidInput("FAIRTRIAL_GATEWAY_TOOL_SERVERS: must be a JSON object of names and addresses.")
    for name, url in raw.items():
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise InvalidInput(f"FAIRTRIAL_GATEWAY_TOOL_SERVERS: {name}: {url!r} must be http(s)://host[:port][/path].")
    return {name: ToolServer(name, url.rstrip("/")) for name, url in raw.items()}


def is_below(target: str) -> bool:
    """Whether a target stays below a server's address, whoever reads it: no `..`, however it is encoded."""
    path, _, _ = target.partition("?")
    segments = re.split(r"[/\\]", unquote(unquote(path)))
    return path[:1] in ("", "/") and not {".", ".."} & set(segments)


class ToolCalls:
    """Forwards calls of tools."""

    def __init__(self, proxy: Proxy, sender: upstream.Upstream, servers: Mapping[str, ToolServer]) -> None:
        self._proxy, self._upstream, self._servers = proxy, sender, servers

    async def handle(
        self, request: web.Request, name: str, target: str, owner: Owner, limit: TimeLimit | None
    ) -> web.StreamResponse:
        """Answer one call of a run that may use the server."""
        server = self._servers.get(name)
        if server is None:
            message = f"Tool server {name!r} is allowed by the task, and the gateway does not know where it is."
            raise Declined(503, "unknown_tool_server", message, retry_after=30)
        lifecycle = self._proxy.lifecycle
        live = lifecycle.begin(request, target, ToolDialect(), None, owner, server)
        return await lifecycle.run(live, self._forwarded(live, server, limit), lambda _: None)

    async def _forwarded(self, live: Live, server: ToolServer, limit: TimeLimit | None) -> None:
        settings = self._proxy.settings
        client = Client(live.request, settings.stalled_seconds)
        relay = Relay(settings, live, client)
        if limit is not None and time.time() >= limit.at:
            raise Declined(400, limit.over.refusal, limit.over.message)
        async with within(limit, live, client), contextlib.AsyncExitStack() as held:
            place = await held.enter_async_context(self._proxy.room_for(live))
            body = await requests.body(live, settings)
            place.shrink(len(body))
            if live.request.method not in METHODS:
                raise Declined(405, "unknown_path", f"{live.request.method} is not forwarded to tool servers.")
            if client.gone:
                raise AgentGone("The agent went away before its call was forwarded.")
            live.forward()
            sending = self._upstream.send(_call(live, server, body))
            answer = await relay.first_byte(sending)
            del body, sending
            await held.aclose()
            try:
                await relay.answer(answer)
            finally:
                answer.close()


def _call(live: Live, server: ToolServer, body: bytes) -> upstream.Call:
    headers = [pair for pair in end_to_end(live.request.raw_headers) if pair[0].lower() not in _DROPPED]
    return upstream.Call(server.url, live.target, headers, body, method=live.request.method)
