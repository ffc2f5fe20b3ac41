"""Tool servers that a task allows by name: the same bytes, recorded apart from model calls, and no other server."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from fairtrial_gateway.models.tools import servers_of

from fairtrial.errors import InvalidInput
from fairtrial.journal import summary
from fairtrial.journal.frames import Kind
from tests.integration.models.world import RawProvider, World, chunked, dechunked, post, raw, whole
from tests.integration.models.world import world as make_world

CALL = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode()
ANSWER = b'event: message\ndata: {"jsonrpc":"2.0","id":1,"result":{"tools":[]}}\n\n'


def use(world: World, *allowed: str) -> None:
    world.kubernetes.run(task={"toolServers": list(allowed)})


def request(path: str, token: str, *headers: str, method: str = "POST", body: bytes = CALL) -> bytes:
    return post(path, body, f"Authorization: Bearer {token}", *headers).replace(b"POST", method.encode(), 1)


@asynccontextmanager
async def with_search(folder: Path) -> AsyncIterator[tuple[World, RawProvider]]:
    """A world whose administrator knows one tool server."""
    server = RawProvider(whole(b"[]"))
    async with server.serving(), make_world(folder, tool_servers=json.dumps({"search": server.url})) as world:
        yield world, server


async def page_of(world: World) -> summary.Exchange:
    for _ in range(500):
        for key, data in world.store.objects.items():
            if "/tool/" in key and key.endswith("/exchange.json"):
                return summary.load(data)
        await asyncio.sleep(0.01)
    raise AssertionError(list(world.store.objects))


async def test_a_call_passes_byte_for_byte_and_lies_apart_from_model_calls(tmp_path):
    async with RawProvider(chunked([ANSWER], "Mcp-Session-Id: s1")).serving() as server:
        servers = json.dumps({"search": f"{server.url}/base/"})
        async with make_world(tmp_path, tool_servers=servers) as world:
            use(world, "search")
            sent = request("/tool/search/mcp?key=own&x=%2F", world.token, "Mcp-Protocol-Version: 1")
            head, body = dechunked(await raw(world.port, sent))
            page = await page_of(world)

            assert body == ANSWER and b"Mcp-Session-Id: s1" in head
            (asked,) = server.asked
            assert asked.body == CALL
            assert asked.head.startswith(b"POST /base/mcp?key=own&x=%2F HTTP/1.1\r\n")
            assert {name.lower() for name, _ in asked.headers} == {"host", "content-length", "mcp-protocol-version"}
            assert (page.ending, page.kind, page.wire, page.provider) == ("complete", "tool", "tool", "search")
            assert (page.usage.state, page.leak_scan) == ("not_applicable", "done")
            assert world.body(page, Kind.RESPONSE_BODY) == ANSWER
            assert not any("/model/" in key for key in world.store.objects)


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
async def test_other_methods_pass(tmp_path, method: str):
    async with with_search(tmp_path) as (world, server):
        use(world, "search")
        body = b"x" if method == "PUT" else b""
        answered = await raw(world.port, request("/tool/search/a", world.token, method=method, body=body))

        assert answered.endswith(b"[]")
        assert server.asked[0].head.startswith(f"{method} /a ".encode())
        assert server.asked[0].body == body


@pytest.mark.parametrize(
    ("name", "allowed", "status"),
    [("search", [], 403), ("search", ["other"], 403), ("unknown", ["unknown"], 503), ("", ["search"], 403)],
)
async def test_what_a_task_does_not_allow_is_not_reached(tmp_path, name: str, allowed: list[str], status: int):
    async with with_search(tmp_path) as (world, server):
        use(world, *allowed)
        answered = await raw(world.port, request(f"/tool/{name}/mcp", world.token))

        assert answered[9:12] in (str(status).encode(), b"404")
        assert server.asked == []


async def test_a_foreign_token_reaches_no_tool(tmp_path):
    async with with_search(tmp_path) as (world, server):
        use(world, "search")
        token = world.kubernetes.token("r1-agent", "agent-uid", "fairtrial/record")

        assert (await raw(world.port, request("/tool/search/mcp", token)))[9:12] == b"403"
        assert server.asked == []


@pytest.mark.parametrize(
    "path", ["/../admin", "/x/..%2fadmin", "/%2e%2e/admin", "/%252e%252e/admin", "/x\\..\\admin", "/./x"]
)
async def test_nothing_beside_the_servers_path_is_reached(tmp_path, path: str):
    async with (
        RawProvider(whole(b"[]")).serving() as server,
        make_world(tmp_path, tool_servers=json.dumps({"search": f"{server.url}/search"})) as world,
    ):
        use(world, "search")
        answered = await raw(world.port, request(f"/tool/search{path}", world.token))

        assert answered[9:12] in (b"400", b"404")
        assert server.asked == []


@pytest.mark.parametrize(("path", "asked"), [("", b"/mcp"), ("?a=b", b"/mcp?a=b"), ("/", b"/mcp/")])
async def test_the_servers_own_address_is_reached(tmp_path, path: str, asked: bytes):
    async with (
        RawProvider(whole(b"[]")).serving() as server,
        make_world(tmp_path, tool_servers=json.dumps({"search": f"{server.url}/mcp"})) as world,
    ):
        use(world, "search")
        answered = await raw(world.port, request(f"/tool/search{path}", world.token))

        assert answered.endswith(b"[]")
        assert server.asked[0].head.split(b" ")[1] == asked


async def test_a_name_is_what_its_bytes_say(tmp_path):
    async with with_search(tmp_path) as (world, server):
        use(world, "search")

        assert (await raw(world.port, request("/tool/se%61rch/mcp", world.token)))[9:12] == b"403"
        assert server.asked == []


async def test_a_server_that_is_away_is_told_and_recorded(tmp_path):
    async with make_world(tmp_path, tool_servers=json.dumps({"search": "http://127.0.0.1:1"})) as world:
        use(world, "search")

        answered = await raw(world.port, request("/tool/search/mcp", world.token))

        assert answered.startswith(b"HTTP/1.1 502 ")
        assert (await page_of(world)).ending == "upstream_unreachable"


@pytest.mark.parametrize("text", ["[]", "{", '{"a": 1}', '{"a": "ftp://x"}', '{"a": "http://"}', '{"a": "http://x?y"}'])
def test_addresses_that_are_none_are_refused(text: str):
    with pytest.raises(InvalidInput, match="TOOL_SERVERS"):
        servers_of(text)
