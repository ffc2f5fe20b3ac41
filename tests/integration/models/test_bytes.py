"""What goes in comes out: byte for byte, both ways, on every wire, streamed and not; credentials apart."""

import json

import aiohttp
import pytest

from fairtrial.journal.frames import Kind
from tests.integration.models.world import (
    CREDENTIAL,
    MODEL,
    RawProvider,
    World,
    chunked,
    dechunked,
    post,
    raw,
    sse,
    whole,
    zipped,
)

ANTHROPIC = {"id": "msg_1", "model": MODEL, "content": [{"type": "text", "text": "ü"}], "stop_reason": "end_turn"}
CHAT = {"id": "c1", "model": MODEL, "choices": [{"index": 0, "message": {"content": "x"}, "finish_reason": "stop"}]}
WIRES = {
    "anthropicMessages": (
        "/v1/messages?beta=true",
        {"model": MODEL, "max_tokens": 10, "messages": []},
        ANTHROPIC
        | {
            "usage": {
                "input_tokens": 3,
                "cache_read_input_tokens": 0,
                "cache_creation_input_tokens": 0,
                "output_tokens": 4,
            }
        },
        "x-api-key",
    ),
    "openaiChat": (
        "/v1/chat/completions",
        {"model": MODEL, "messages": []},
        CHAT | {"usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}},
        "Authorization",
    ),
    "openaiResponses": (
        "/v1/responses",
        {"model": MODEL, "input": []},
        {"id": "r1", "object": "response", "model": MODEL, "status": "completed", "output": []}
        | {"usage": {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}},
        "Authorization",
    ),
    "gemini": (
        f"/v1beta/models/{MODEL}:generateContent?a=%2F%20b",
        {"contents": []},
        {
            "candidates": [{"content": {"parts": [{"text": "x"}]}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 4, "totalTokenCount": 7},
            "modelVersion": MODEL,
            "responseId": "g1",
        },
        "x-goog-api-key",
    ),
}


def odd(value: object) -> bytes:
    """JSON as nobody would write it again: its bytes show whether anybody did."""
    return b" " + json.dumps(value, indent=3, ensure_ascii=False, separators=(" ,", " : ")).encode() + b"\r\n"


@pytest.mark.parametrize("wire", WIRES)
async def test_a_whole_answer_passes_byte_for_byte_and_is_counted(world: World, wire: str):
    path, request, answer, credential_header = WIRES[wire]
    sent, received = odd(request), odd(answer)
    headers = ("Content-Type: application/json", "X-Odd-Case: Yes", "request-id: req_1", "Set-Cookie: a=b")
    async with RawProvider(whole(received, *headers, status="200 Fine")).serving() as provider:
        world.kubernetes.provider(provider.url, wire)
        answered = await raw(
            world.port,
            post(
                f"/model{path}",
                sent,
                f"Authorization: Bearer {world.token}",
                "User-Agent: agent/1",
                "x-OdD: 1",
                "x-odd: 2",
            ),
        )

    head, _, body = answered.partition(b"\r\n\r\n")
    assert body == received
    assert head.decode().split("\r\n") == [
        "HTTP/1.1 200 Fine",
        *headers,
        f"Content-Length: {len(received)}",
        "Connection: close",
    ]
    (asked,) = provider.asked
    assert asked.body == sent
    assert asked.head.startswith(f"POST {path} HTTP/1.1\r\n".encode())
    expected = f"Bearer {CREDENTIAL}" if credential_header == "Authorization" else CREDENTIAL
    assert [pair for pair in asked.headers if pair[0].lower() not in ("host", "content-length")] == [
        ("User-Agent", "agent/1"),
        ("x-OdD", "1"),
        ("x-OdD", "2"),
        (credential_header, expected),
    ]
    page = await world.page()
    assert (page.ending, page.status, page.provider_request_id, page.answered_model) == (
        "complete",
        200,
        "req_1",
        MODEL,
    )
    assert (page.usage.state, page.usage.counters.all_input, page.usage.counters.output) == ("complete", 3, 4)
    assert world.body(page, Kind.REQUEST_BODY) == sent
    assert world.body(page, Kind.RESPONSE_BODY) == received
    assert page.first_usable or wire == "openaiResponses"
    assert not page.leaks and page.leak_scan == "done"


@pytest.mark.parametrize("size", [1, 3, 1000])
async def test_a_stream_passes_as_it_comes_cut_anywhere(world: World, size: int):
    stream = sse()
    parts = [stream[at : at + size] for at in range(0, len(stream), size)]
    async with RawProvider(chunked(parts, "Content-Type: text/event-stream")).serving() as provider:
        world.kubernetes.provider(provider.url, "anthropicMessages")
        request = odd({"model": MODEL, "stream": True, "max_tokens": 1, "messages": []})
        answered = await raw(world.port, post("/model/v1/messages", request, f"x-api-key: {world.token}"))

    head, body = dechunked(answered)
    assert body == stream
    assert b"Server:" not in head and b"Date:" not in head
    page = await world.page()
    assert (page.ending, page.streamed, page.response_id) == ("complete", True, "msg_1")
    counters = page.usage.counters
    assert (counters.uncached_input, counters.cached_input, counters.cache_write, counters.output) == (10, 5, 2, 7)
    assert world.body(page, Kind.RESPONSE_BODY) == stream


async def test_the_first_piece_reaches_the_agent_before_the_last_is_sent(world: World, session: aiohttp.ClientSession):
    stream = sse()
    async with RawProvider(chunked([stream[:200], stream[200:]], pause=0.3)).serving() as provider:
        world.kubernetes.provider(provider.url, "anthropicMessages")
        body = json.dumps({"model": MODEL, "stream": True, "max_tokens": 1, "messages": []})
        headers = {"x-api-key": world.token}
        async with session.post(f"{world.url}/model/v1/messages", data=body, headers=headers) as answer:
            assert await answer.content.readany() == stream[:200]
            assert not answer.content.at_eof()


@pytest.mark.parametrize("place", ["Authorization: Bearer {}", "x-api-key: {}", "x-goog-api-key: {}", "?key={}"])
async def test_a_key_is_taken_from_wherever_sdks_put_it_and_goes_no_further(world: World, place: str):
    path = f"/v1beta/models/{MODEL}:streamGenerateContent?alt=sse"
    answer = b'data: {"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"STOP"}]}\r\n\r\n'
    async with RawProvider(whole(answer)).serving() as provider:
        world.kubernetes.provider(provider.url, "gemini")
        key = place.format(world.token)
        sent = post(f"/model{path}&key={world.token}", b"{}") if key[0] == "?" else post(f"/model{path}", b"{}", key)
        assert (await raw(world.port, sent)).endswith(answer)

    (asked,) = provider.asked
    assert asked.head.startswith(f"POST {path} ".encode())
    assert world.token.encode() not in asked.head
    assert asked.header("x-goog-api-key") == CREDENTIAL
    page = await world.page()
    stored = b"".join(world.store.objects.values())
    assert world.token.encode() not in stored and CREDENTIAL.encode() not in stored
    assert page.path == (path + "&key=[redacted]" if key[0] == "?" else path)


async def test_hop_by_hop_headers_stay_on_their_hop(world: World):
    answer = whole(
        b"{}", "Connection: X-Hop, close", "X-Hop: 1", "Keep-Alive: timeout=5", "Proxy-Authenticate: x", "X-End: 2"
    )
    async with RawProvider(answer).serving() as provider:
        world.kubernetes.provider(provider.url, "openaiChat")
        sent = post(
            "/model/v1/chat/completions",
            odd({"model": MODEL}),
            f"Authorization: Bearer {world.token}",
            "TE: trailers",
            "Connection: X-Mine",
            "X-Mine: 1",
            "Proxy-Authorization: Basic eA==",
            "Expect: 100-continue",
            "Accept-Encoding: br;q=1.0, gzip;q=0.5",
        )
        answered = await raw(world.port, sent)

    assert b"X-Hop" not in answered and b"Keep-Alive" not in answered and b"Proxy-Authenticate" not in answered
    assert b"X-End: 2" in answered
    (asked,) = provider.asked
    names = {name.lower() for name, _ in asked.headers}
    assert names == {"host", "authorization", "accept-encoding", "content-length"}
    assert asked.header("Accept-Encoding") == "br;q=1.0, gzip;q=0.5"
    assert asked.header("Host") == provider.url.removeprefix("http://")


async def test_a_compressed_answer_passes_compressed_and_is_counted(world: World):
    body = zipped(sse())
    parts = [body[at : at + 10] for at in range(0, len(body), 10)]
    async with RawProvider(chunked(parts, "Content-Encoding: gzip")).serving() as provider:
        world.kubernetes.provider(provider.url, "anthropicMessages")
        request = odd({"model": MODEL, "stream": True, "max_tokens": 1, "messages": []})
        head, received = dechunked(
            await raw(world.port, post("/model/v1/messages", request, f"x-api-key: {world.token}"))
        )

    assert received == body and b"Content-Encoding: gzip" in head
    page = await world.page()
    assert (page.usage.state, page.usage.counters.output) == ("complete", 7)


async def test_a_compressed_request_is_read_and_passes_compressed(world: World):
    body = zipped(odd({"model": MODEL}))
    async with RawProvider(whole(b"{}")).serving() as provider:
        world.kubernetes.provider(provider.url, "openaiChat")
        headers = (f"Authorization: Bearer {world.token}", "Content-Encoding: gzip")
        await raw(world.port, post("/model/v1/chat/completions", body, *headers))

    assert provider.asked[0].body == body
    assert (await world.page()).requested_model == MODEL


async def test_a_request_in_chunks_arrives_whole(world: World):
    body = odd({"model": MODEL, "messages": ["x" * 5000]})
    parts = b"".join(f"{len(p):x}\r\n".encode() + p + b"\r\n" for p in (body[:10], body[10:])) + b"0\r\n\r\n"
    head = (
        f"POST /model/v1/chat/completions HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer {world.token}\r\n"
        "Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    async with RawProvider(whole(b"{}")).serving() as provider:
        world.kubernetes.provider(provider.url, "openaiChat")
        await raw(world.port, head.encode() + parts)

    assert provider.asked[0].body == body
    assert provider.asked[0].header("Content-Length") == str(len(body))


@pytest.mark.parametrize(
    ("status", "retry_after"),
    [("429 Too Many Requests", "7"), ("529 Overloaded", "1"), ("500 X", None), ("302 Y", None)],
)
async def test_errors_of_the_provider_pass_with_their_retry_after(world: World, status: str, retry_after: str | None):
    headers = [f"Retry-After: {retry_after}"] if retry_after else ["Location: http://127.0.0.1:1/elsewhere"]
    async with RawProvider(
        whole(b'{"error":{"type":"overloaded_error"}}', *headers, status=status)
    ).serving() as provider:
        world.kubernetes.provider(provider.url, "anthropicMessages")
        request = odd({"model": MODEL, "max_tokens": 1, "messages": []})
        answered = await raw(world.port, post("/model/v1/messages", request, f"x-api-key: {world.token}"))

    assert answered.startswith(f"HTTP/1.1 {status}\r\n".encode())
    assert headers[0].encode() in answered
    assert len(provider.asked) == 1
    page = await world.page()
    assert (page.ending, page.status) == ("complete", int(status[:3]))
