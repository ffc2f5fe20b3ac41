"""The scripted provider over real sockets: whole sessions on each wire, and faults that only a connection can have."""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from fairtrial.scripted import Served, parse_script, serve
from fairtrial.scripted import server as module
from fairtrial.scripted.server import line
from tests.unit.scripted.agents import TOOLS, request

STEPS = [
    {"say": "I look at the file first.", "read": "a.py"},
    {"say": "I test.", "run": "pytest"},
    {"say": "It works."},
]
PATHS = {
    "chat": "/v1/chat/completions",
    "messages": "/v1/messages?beta=true",
    "responses": "/v1/responses",
    "gemini": "/v1beta/models/m-1:{}",
}
WIRES = list(PATHS)


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=20)) as session:
        yield session


def scripted(*faults: dict[str, Any], **more: Any) -> Any:
    return serve(parse_script({"steps": STEPS, "faults": list(faults), **more}), keep=True)


def call(served: Served, wire: str, results: int = 0, *, stream: bool = False, tools: str = "pi") -> dict[str, Any]:
    """Arguments of a POST."""
    body = request(wire, TOOLS[tools], results)
    method = "streamGenerateContent?alt=sse" if stream else "generateContent"
    if stream and wire != "gemini":
        body["stream"] = True
    return {"url": served.url + PATHS[wire].format(method), "json": body}


def said(wire: str, body: dict[str, Any]) -> tuple[str, list[str]]:
    """Text and names of called tools in an answer."""
    match wire:
        case "chat":
            message = body["choices"][0]["message"]
            return message["content"], [one["function"]["name"] for one in message.get("tool_calls", [])]
        case "messages":
            parts = body["content"]
        case "responses":
            text = "".join(part["text"] for item in body["output"] for part in item.get("content", []))
            return text, [item["name"] for item in body["output"] if item["type"] == "function_call"]
        case _:
            parts = body["candidates"][0]["content"]["parts"]
    names = [one.get("name") or one.get("functionCall", {}).get("name") for one in parts if "text" not in one]
    return "".join(one.get("text", "") for one in parts), names


@pytest.mark.parametrize("wire", WIRES)
async def test_a_session_is_played_to_its_end(client: aiohttp.ClientSession, wire: str) -> None:
    async with scripted() as served:
        answers = []
        for results in range(3):
            async with client.post(**call(served, wire, results)) as response:
                assert (response.status, response.content_type) == (200, "application/json")
                answers.append(said(wire, await response.json()))

    assert answers == [("I look at the file first.", ["read"]), ("I test.", ["bash"]), ("It works.", [])]
    assert [(one.wire, one.step, one.results, one.stream) for one in served.seen] == [
        (wire, 1, 0, False),
        (wire, 2, 1, False),
        (wire, 3, 2, False),
    ]


@pytest.mark.parametrize("wire", WIRES)
async def test_a_stream_comes_in_events(client: aiohttp.ClientSession, wire: str) -> None:
    async with scripted() as served, client.post(**call(served, wire, stream=True)) as response:
        assert (response.status, response.content_type) == (200, "text/event-stream")
        whole = (await response.read()).decode()

    assert whole.endswith("\n\n") and "I look at the file first." in whole
    assert "".join(one for one in whole.splitlines() if not one.startswith(("data: ", "event: "))) == ""


async def test_a_server_that_was_restarted_goes_on_where_the_agent_is(client: aiohttp.ClientSession) -> None:
    answers = []
    for _ in range(2):
        async with scripted() as served, client.post(**call(served, "chat", 1)) as response:
            answers.append(await response.read())

    assert answers[0] == answers[1]


async def test_gemini_streams_an_array_when_no_events_are_asked_for(client: aiohttp.ClientSession) -> None:
    async with scripted() as served:
        post = call(served, "gemini", stream=True)
        post["url"] = post["url"].removesuffix("?alt=sse")
        async with client.post(**post) as response:
            assert response.content_type == "application/json"
            assert [next(iter(chunk)) for chunk in json.loads(await response.read())] == ["candidates"] * 2


@pytest.mark.parametrize("prefix", ["/model", "/run/abc"])
async def test_any_prefix_is_let_through(client: aiohttp.ClientSession, prefix: str) -> None:
    async with scripted() as served:
        for wire in WIRES:
            post = call(served, wire)
            post["url"] = post["url"].replace("/v1", f"{prefix}/v1", 1)
            async with client.post(**post) as response:
                assert response.status == 200


async def test_what_is_no_call_is_answered_in_the_dialect_of_its_path(client: aiohttp.ClientSession) -> None:
    async with scripted() as served:
        async with client.get(f"{served.url}/v1/responses") as response:
            assert (response.status, (await response.json())["error"]["type"]) == (404, "invalid_request_error")
        async with client.post(f"{served.url}/v1/messages", data=b"{") as response:
            assert (response.status, (await response.json())["type"]) == (400, "error")
        async with client.post(f"{served.url}/v1beta/models/m:embedContent", data=b"{}") as response:
            assert response.status == 404
        async with client.get(f"{served.url}/healthz") as response:
            assert await response.json() == {"alive": True}

    assert [one.status for one in served.seen] == [404, 400, 404]


async def test_too_large_a_body_is_refused(client: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BODY_MAX", 100)
    async with scripted() as served, client.post(**call(served, "gemini")) as response:
        assert (response.status, (await response.json())["error"]["code"]) == (413, 413)


async def test_an_agent_that_cannot_follow_is_told(client: aiohttp.ClientSession) -> None:
    async with scripted() as served:
        post = call(served, "messages")
        post["json"]["tools"] = post["json"]["tools"][3:]
        async with client.post(**post) as response:
            assert response.status == 400 and "Offered: write" in (await response.json())["error"]["message"]


async def test_tokens_are_counted_and_that_is_no_attempt(client: aiohttp.ClientSession) -> None:
    async with scripted({"kind": "status"}) as served:
        body = json.dumps(request("messages", TOOLS["claude"])).encode()
        async with client.post(f"{served.url}/v1/messages/count_tokens", data=body) as response:
            assert await response.json() == {"input_tokens": -(-len(body) // 4)}
        async with client.post(f"{served.url}/v1/messages", data=body) as response:
            assert response.status == 500


# --- what is kept of a request ----------------------------------------------------------------------------------------
async def test_a_key_is_told_by_its_digest_and_never_logged(client: aiohttp.ClientSession) -> None:
    secret = "sk-very-secret"
    ways: list[dict[str, Any]] = [
        {"headers": {"Authorization": f"Bearer {secret}"}},
        {"headers": {"x-api-key": secret}},
        {"headers": {"x-goog-api-key": secret}},
        {"params": {"key": secret}},
    ]
    async with scripted() as served:
        for way in ways:
            async with client.post(**call(served, "chat"), **way) as response:
                assert response.status == 200

    assert {one.key for one in served.seen} == {hashlib.sha256(secret.encode()).hexdigest()[:12]}
    assert not any(secret in line(one) for one in served.seen)
    assert served.requests[0].headers["authorization"] == f"Bearer {secret}"
    assert json.loads(served.requests[0].body)["model"] == "m-1"


async def test_requests_are_kept_only_if_asked_for(client: aiohttp.ClientSession) -> None:
    async with (
        serve(parse_script({"steps": STEPS})) as served,
        client.post(**call(served, "chat")) as response,
    ):
        assert response.status == 200

    assert (len(served.seen), len(served.requests)) == (1, 0)


# --- faults -----------------------------------------------------------------------------------------------------------
async def test_faults_strike_by_step_and_attempt(client: aiohttp.ClientSession) -> None:
    faults = [{"kind": "status", "status": 429, "retryAfter": 1, "step": 2, "times": 2}, {"kind": "status", "step": 2}]
    async with scripted(*faults) as served:
        statuses = []
        for results in (0, 1, 1, 1, 1, 2):
            async with client.post(**call(served, "chat", results)) as response:
                statuses.append((response.status, response.headers.get("Retry-After")))
        served.forget()
        async with client.post(**call(served, "chat", 1)) as response:
            again = response.status

    assert statuses == [(200, None), (429, "1"), (429, "1"), (500, None), (200, None), (200, None)]
    assert (again, [(one.attempt, one.fault) for one in served.seen]) == (429, [(1, "status")])


async def test_plain_requests_have_their_own_faults(client: aiohttp.ClientSession) -> None:
    async with scripted({"kind": "status"}, {"kind": "status", "status": 503, "step": "plain"}) as served:
        for expected in (503, 200):
            async with client.post(**call(served, "chat", tools="none")) as response:
                assert response.status == expected


@pytest.mark.parametrize("wire", WIRES)
async def test_a_cut_stream_breaks_off_after_some_events(client: aiohttp.ClientSession, wire: str) -> None:
    async with scripted({"kind": "truncated_stream", "afterEvents": 1}) as served:
        async with client.post(**call(served, wire, stream=True)) as response:
            assert response.status == 200
            first = await response.content.readuntil(b"\n\n")
            with pytest.raises(aiohttp.ClientPayloadError):
                await response.content.read()
        async with client.post(**call(served, wire, stream=True)) as response:
            assert (await response.read()).startswith(first)


async def test_a_cut_body_is_shorter_than_announced(client: aiohttp.ClientSession) -> None:
    async with (
        scripted({"kind": "truncated_stream"}) as served,
        client.post(**call(served, "chat")) as response,
    ):
        with pytest.raises(aiohttp.ClientPayloadError):
            await response.read()


async def test_a_silent_server_sends_no_header(client: aiohttp.ClientSession) -> None:
    async with scripted({"kind": "silence"}) as served:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3), client.post(**call(served, "chat", stream=True)):
                pass
        async with client.post(**call(served, "chat", stream=True)) as response:
            assert response.status == 200


async def test_a_stream_may_fall_silent_and_go_on(client: aiohttp.ClientSession) -> None:
    faults = [{"kind": "silence", "afterEvents": 1}, {"kind": "silence", "afterEvents": 1, "seconds": 0.2}]
    async with scripted(*faults) as served:
        async with client.post(**call(served, "chat", stream=True)) as response:
            await response.content.readuntil(b"\n\n")
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(response.content.read(1), 0.3)
        before = asyncio.get_running_loop().time()
        async with client.post(**call(served, "chat", stream=True)) as response:
            assert (await response.read()).endswith(b"data: [DONE]\n\n")
        assert asyncio.get_running_loop().time() - before >= 0.2


@pytest.fixture
def sending(monkeypatch: pytest.MonkeyPatch) -> set[object]:
    """The answers that are being sent."""
    found: set[object] = set()
    send = module._send

    async def watched(*arguments: Any) -> Any:
        found.add(mark := object())
        try:
            return await send(*arguments)
        finally:
            found.remove(mark)

    monkeypatch.setattr(module, "_send", watched)
    return found


@pytest.mark.parametrize("stream", [True, False])
async def test_an_endless_answer_ends_with_its_client(
    client: aiohttp.ClientSession, sending: set[object], stream: bool
) -> None:
    async with scripted({"kind": "endless"}) as served:
        async with client.post(**call(served, "chat", stream=stream)) as response:
            await response.content.readexactly(1_000_000)
            assert len(sending) == 1
            response.close()
        await drained(sending)


async def test_a_silence_ends_with_its_client(client: aiohttp.ClientSession, sending: set[object]) -> None:
    async with scripted({"kind": "silence"}) as served:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3), client.post(**call(served, "chat")):
                pass
        await drained(sending)


async def drained(sending: set[object]) -> None:
    for _ in range(250):
        if not sending:
            return
        await asyncio.sleep(0.02)
    pytest.fail("an answer is still being sent")


async def test_a_long_answer_is_as_long_as_said(client: aiohttp.ClientSession) -> None:
    fault = {"kind": "long", "bytes": 3_000_000, "step": "plain"}
    async with (
        scripted(fault, pace={"chars": 10_000}) as served,
        client.post(**call(served, "chat", stream=True, tools="none")) as response,
    ):
        data = [json.loads(one[6:]) for one in (await response.read()).split(b"\n\n") if one.startswith(b"data: {")]

    text = "".join(one["choices"][0]["delta"].get("content", "") for one in data)
    assert 3_000_000 <= len(text) < 3_100_000


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("kind", ["gzip", "gzip_bomb"])
async def test_a_compressed_answer_is_what_it_was(client: aiohttp.ClientSession, kind: str, stream: bool) -> None:
    async with scripted({"kind": kind}) as served:
        async with client.post(**call(served, "messages", stream=stream)) as response:
            assert response.headers["Content-Encoding"] == "gzip"
            size, last = 0, b""
            async for chunk in response.content.iter_any():
                size, last = size + len(chunk), (last + chunk)[-10_000:]
        async with client.post(**call(served, "messages", stream=stream)) as response:
            plain = await response.read()
    assert last.endswith(plain)
    assert size == len(plain) if kind == "gzip" else size > 100_000_000


async def test_a_huge_header_breaks_clients_that_have_a_limit(client: aiohttp.ClientSession) -> None:
    async with scripted({"kind": "huge_header"}) as served:
        with pytest.raises(aiohttp.ClientResponseError):
            await client.post(**call(served, "chat"))
        async with client.post(**call(served, "chat")) as response:
            assert response.status == 200


async def test_a_character_is_split_between_two_writes(client: aiohttp.ClientSession) -> None:
    async with (
        scripted({"kind": "split_utf8"}, pace={"ms": 5}) as served,
        client.post(**call(served, "gemini", stream=True)) as response,
    ):
        pieces = [chunk async for chunk in response.content.iter_any()]

    assert "déjà vu — 日本" in b"".join(pieces).decode()
    with pytest.raises(UnicodeDecodeError):
        pieces[0].decode()


# --- pace and load ----------------------------------------------------------------------------------------------------
async def test_pace_is_kept(client: aiohttp.ClientSession) -> None:
    now = asyncio.get_running_loop().time
    async with scripted(pace={"chars": 5, "ms": 20, "firstMs": 100}) as served:
        begun = now()
        async with client.post(**call(served, "messages", stream=True)) as response:
            assert now() - begun >= 0.1
            count = (await response.read()).count(b"\n\n")
        assert now() - begun >= 0.1 + (count - 1) * 0.02


async def test_many_streams_at_once(client: aiohttp.ClientSession) -> None:
    async with scripted(pace={"chars": 3, "ms": 5}) as served:
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector) as session:

            async def one() -> bytes:
                async with session.post(**call(served, "responses", stream=True)) as response:
                    return await response.read()

            answers = await asyncio.gather(*(one() for _ in range(200)))

    assert len(set(answers)) == 1 and b"response.completed" in answers[0]
    assert len(served.seen) == 200
