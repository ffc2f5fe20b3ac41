"""Agents that go away or dawdle, providers that stop, lie or never end, a store that is away: nothing is lost, memory
stays small, and every journal says what happened.
"""

import asyncio
import base64
import json
import time
import tracemalloc
from urllib.parse import quote

import aiohttp
import pytest

from fairtrial.journal.frames import Kind
from tests.integration.models.world import (
    ANTHROPIC_EVENTS,
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
from tests.integration.models.world import (
    world as make_world,
)

REQUEST = json.dumps({"model": MODEL, "stream": True, "max_tokens": 1, "messages": []}).encode()
STREAM = sse()


async def begin(world: World) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """An agent that has sent its call."""
    reader, writer = await asyncio.open_connection("127.0.0.1", world.port, limit=1024)
    writer.write(post("/model/v1/messages", REQUEST, f"x-api-key: {world.token}"))
    await writer.drain()
    return reader, writer


def provider_of(world: World, answer, **spec):
    made = RawProvider(answer)
    serving = made.serving()

    class Entered:
        async def __aenter__(self):
            await serving.__aenter__()
            world.kubernetes.provider(made.url, "anthropicMessages", **spec)
            return made

        async def __aexit__(self, *error):
            await serving.__aexit__(*error)

    return Entered()


# --- agents -----------------------------------------------------------------------------------------------------------
async def test_an_agent_that_goes_away_is_drained_for_its_usage(world: World):
    parts = [STREAM[at : at + 40] for at in range(0, len(STREAM), 40)]
    async with provider_of(world, chunked(parts, pause=0.05)):
        reader, writer = await begin(world)
        await reader.read(300)
        writer.transport.abort()
        page = await world.page()

    assert (page.ending, page.usage.state, page.usage.counters.output) == ("client_gone", "complete", 7)
    assert world.body(page, Kind.RESPONSE_BODY) == STREAM
    assert b"client_gone" in [frame.payload for frame in world.frames(page) if frame.kind == Kind.NOTE]


@pytest.mark.parametrize("limit", [{"drain_seconds": 0.2}, {"drain_bytes": 500}])
async def test_draining_has_an_end_in_time_and_in_bytes(tmp_path, limit):
    async with make_world(tmp_path, **limit) as world:
        parts = [STREAM[:-100], *[b": ping\n\n" * 10] * 1000]
        async with provider_of(world, chunked(parts, pause=0.02)) as provider:
            reader, writer = await begin(world)
            await reader.read(300)
            writer.transport.abort()
            went = time.monotonic()
            page = await world.page()
            assert time.monotonic() - went < 10, "the provider would go on for twenty"
            await asyncio.sleep(0.1)

            assert provider.cut == 1
        assert page.ending == "client_gone"
        assert page.usage.state == "incomplete"
        assert page.usage.counters.uncached_input == 10


async def test_an_agent_that_leaves_a_silent_stream_is_noticed(tmp_path):
    async with make_world(tmp_path, drain_seconds=0.3, idle_seconds=20) as world:
        async with provider_of(world, chunked([STREAM[:300], STREAM[300:]], pause=30)):
            reader, writer = await begin(world)
            await reader.read(300)
            writer.transport.abort()
            page = await world.page()

        assert (page.ending, page.usage.state) == ("client_gone", "incomplete")


async def test_an_agent_that_leaves_before_the_answer_begins_is_noticed(tmp_path):
    async with make_world(tmp_path, drain_seconds=0.5) as world:

        async def silent(writer: asyncio.StreamWriter) -> None:
            await asyncio.sleep(30)

        async with provider_of(world, silent):
            _, writer = await begin(world)
            await asyncio.sleep(0.1)
            writer.transport.abort()
            page = await world.page()

        assert (page.ending, page.status, page.usage.state) == ("client_gone", None, "absent")


async def test_an_agent_that_goes_away_in_its_request_forwards_nothing(world: World):
    async with provider_of(world, whole(b"{}")) as provider:
        _, writer = await asyncio.open_connection("127.0.0.1", world.port)
        writer.write(post("/model/v1/messages", REQUEST, f"x-api-key: {world.token}")[:-10])
        await writer.drain()
        await asyncio.sleep(0.1)
        writer.transport.abort()
        page = await world.page()

    assert (page.ending, provider.asked) == ("client_gone", [])
    assert world.body(page, Kind.REQUEST_BODY) == REQUEST[:-10]


async def test_a_half_closed_connection_is_taken_for_gone(world: World):
    async with provider_of(world, whole(STREAM)) as provider:
        await raw(world.port, post("/model/v1/messages", REQUEST, f"x-api-key: {world.token}"), half_close=True)
        page = await world.page()

    assert page.ending == "client_gone"
    assert page.usage.state in (("complete", "absent") if provider.asked else ("not_applicable",))


async def test_a_slow_agent_slows_the_provider_down_and_takes_no_memory(world: World):
    piece = b": " + b"x" * 65533 + b"\n\n"
    sent = 0

    async def long(writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
        for _ in range(800):
            writer.write(piece)
            await writer.drain()
            sent += len(piece)
        writer.write(STREAM)
        writer.close()

    async with provider_of(world, long):
        reader, writer = await begin(world)
        await reader.read(1000)
        await asyncio.sleep(1)
        stalled = sent
        tracemalloc.start()
        read = 1000
        while chunk := await reader.read(65536):
            read += len(chunk)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        writer.close()

    assert stalled < 20_000_000  # what sockets hold, not what the provider has
    assert read > 800 * len(piece)
    assert peak < 8_000_000
    page = await world.page()
    assert (page.ending, page.usage.counters.output) == ("complete", 7)


async def test_an_agent_that_takes_nothing_is_taken_for_gone(tmp_path):
    async with make_world(tmp_path, stalled_seconds=0.3, drain_bytes=1000) as world:
        piece = b": " + b"x" * 65533 + b"\n\n"
        async with provider_of(world, chunked([piece] * 800)):
            _, writer = await begin(world)
            page = await world.page()
            writer.close()

        assert page.ending == "client_gone"


# --- providers --------------------------------------------------------------------------------------------------------
async def test_a_stream_that_is_cut_is_cut_for_the_agent_too(world: World):
    async with provider_of(world, chunked([STREAM[:-200]], end=False)):
        answered = await raw(world.port, post("/model/v1/messages", REQUEST, f"x-api-key: {world.token}"))

    with pytest.raises((AssertionError, ValueError)):
        dechunked(answered)
    page = await world.page()
    assert (page.ending, page.usage.state, page.status) == ("upstream_cut", "incomplete", 200)
    assert page.usage.counters.uncached_input == 10
    assert page.first_usable


async def test_a_stream_that_ends_without_its_last_event_was_cut(world: World):
    async with provider_of(world, chunked([STREAM[:-60]])):
        await raw(world.port, post("/model/v1/messages", REQUEST, f"x-api-key: {world.token}"))

    assert (await world.page()).ending == "upstream_cut"


async def test_silence_before_and_in_an_answer_has_an_end(tmp_path):
    async with make_world(tmp_path, first_byte_seconds=0.2, idle_seconds=0.2) as world:

        async def silent(writer: asyncio.StreamWriter) -> None:
            await asyncio.sleep(10)

        async with provider_of(world, silent):
            answered = await raw(world.port, post("/model/v1/messages", REQUEST, f"x-api-key: {world.token}"))
            assert answered.startswith(b"HTTP/1.1 504 ") and b'"type":"error"' in answered
        async with provider_of(world, chunked([STREAM[:300], STREAM[300:]], pause=10)):
            await asyncio.sleep(0.02)
            answered = await raw(world.port, post("/model/v1/messages", REQUEST, f"x-api-key: {world.token}"))
            assert answered.startswith(b"HTTP/1.1 200 ")
        first, second = await world.pages(2)

        assert (first.ending, first.status) == ("upstream_silent", 504)
        assert (second.ending, second.usage.state) == ("upstream_silent", "incomplete")


async def test_a_provider_that_is_not_there_is_502(world: World):
    world.kubernetes.provider("http://127.0.0.1:1", "anthropicMessages")

    answered = await raw(world.port, post("/model/v1/messages", REQUEST, f"x-api-key: {world.token}"))

    assert answered.startswith(b"HTTP/1.1 502 ")
    assert (await world.page()).ending == "upstream_unreachable"


async def test_a_provider_that_talks_nonsense_is_502(world: World):
    async def nonsense(writer: asyncio.StreamWriter) -> None:
        writer.write(b"\x16\x03\x01 this is not HTTP\r\n\r\n")
        writer.close()

    async with provider_of(world, nonsense):
        answered = await raw(world.port, post("/model/v1/messages", REQUEST, f"x-api-key: {world.token}"))

    assert answered.startswith(b"HTTP/1.1 502 ")


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\nX-Odd: a\x01b\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 O\x01K\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n{}",
    ],
    ids=["header", "reason", "switch"],
)
async def test_a_head_that_cannot_be_passed_on_is_the_providers_fault(world: World, head: bytes):
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(head)

    async with provider_of(world, answer):
        answered = await raw(world.port, post("/model/v1/messages", REQUEST, f"x-api-key: {world.token}"))
        page = await world.page()

    assert answered.startswith(b"HTTP/1.1 502 ") and b"Content-Type: application/json" in answered
    assert page.ending in ("upstream_cut", "upstream_unreachable")
    assert page.usage.state == "absent"  # it was forwarded, and nobody knows what it used


async def test_a_call_that_was_never_forwarded_used_nothing(world: World):
    async def silent(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(30)

    async with provider_of(world, silent, maxConcurrency=1):
        first, second = await begin(world), await begin(world)
        await asyncio.sleep(0.1)
        second[1].transport.abort()
        await asyncio.sleep(0.1)
        first[1].transport.abort()
        pages = await world.pages(2)

    assert [page.ending for page in pages] == ["client_gone"] * 2
    assert sorted((page.usage.state, page.usage.reason) for page in pages) == [
        ("absent", "client_gone"),
        ("not_applicable", "not_forwarded"),
    ]


async def test_an_answer_that_never_ends_is_ended_in_bytes_and_in_time(tmp_path):
    for changes in ({"max_response_bytes": 100_000}, {"total_seconds": 0.3}):
        folder = tmp_path / str(len(str(changes)))
        folder.mkdir()
        async with (
            make_world(folder, **changes) as world,
            provider_of(world, chunked([STREAM[:-60]] * 10_000, pause=0.001)),
        ):
            await raw(world.port, post("/model/v1/messages", REQUEST, f"x-api-key: {world.token}"))
            page = await world.page()

            assert page.ending == "gateway_cut"
            assert page.response_bytes < 400_000


async def test_a_gzip_bomb_passes_as_it_is_and_harms_nobody(tmp_path):
    bomb = zipped(b"{" + b" " * 50_000_000)
    async with (
        make_world(tmp_path, max_response_bytes=1_000_000) as world,
        provider_of(world, whole(bomb, "Content-Encoding: gzip")),
    ):
        tracemalloc.start()
        answered = await raw(world.port, post("/model/v1/messages", REQUEST, f"x-api-key: {world.token}"))
        page = await world.page()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()

    assert answered.endswith(bomb)
    assert page.usage.reason == "not_readable"
    assert page.usage.state in ("absent", "incomplete")
    assert peak < 30_000_000


@pytest.mark.parametrize("coding", ["gzip", "identity"])
async def test_while_an_answer_of_many_events_is_read_others_go_on(world: World, coding: str):
    plain = b"data: {}\n\n" * 500_000
    body, longest = zipped(plain) if coding == "gzip" else plain, 0.0

    async def look() -> None:
        nonlocal longest
        while True:
            before = time.thread_time()  # what the loop's thread itself does: the machine may be busy
            await asyncio.sleep(0.001)
            longest = max(longest, time.thread_time() - before)

    async with provider_of(world, whole(body, f"Content-Encoding: {coding}")):
        looking = asyncio.create_task(look())
        await raw(world.port, post("/model/v1/messages", REQUEST, f"x-api-key: {world.token}"))
        looking.cancel()
        await world.page()

    assert longest < 0.5  # of what takes seconds in one go


async def test_malformed_answers_pass_as_they_are(world: World):
    async with provider_of(world, whole(b'{"id": "m", "usage": {"output_tokens": 3')):
        request = json.dumps({"model": MODEL, "max_tokens": 1, "messages": []}).encode()
        answered = await raw(world.port, post("/model/v1/messages", request, f"x-api-key: {world.token}"))

    assert answered.endswith(b'{"output_tokens": 3')
    page = await world.page()
    assert (page.ending, page.usage.state) == ("complete", "absent")


# --- the store --------------------------------------------------------------------------------------------------------
async def test_while_the_store_is_away_calls_go_on_and_journals_wait(world: World):
    async with provider_of(world, whole(STREAM)):
        world.store.away = True
        for _ in range(3):
            answered = await raw(world.port, post("/model/v1/messages", REQUEST, f"x-api-key: {world.token}"))
            assert answered.endswith(STREAM)
        await asyncio.sleep(0.2)
        assert world.store.objects == {}
        assert len(world.calls.spool.files()) == 3
        world.store.away = False
        pages = await world.pages(3)

    assert {page.ending for page in pages} == {"complete"}
    await world.calls.settled(5)
    assert world.calls.spool.files() == [] and world.calls.spool.used == 0


async def test_a_full_spool_refuses_new_calls_and_loses_nothing(tmp_path):
    async with make_world(tmp_path, spool_bytes=20_000) as world, provider_of(world, whole(STREAM)):
        world.store.away = True
        statuses = []
        for _ in range(12):
            answered = await raw(world.port, post("/model/v1/messages", REQUEST, f"x-api-key: {world.token}"))
            statuses.append(answered[9:12])
        assert statuses[0] == b"200" and statuses[-1] == b"503"
        assert b"Retry-After: 10" in answered
        served = statuses.count(b"200")
        world.store.away = False

        assert len(await world.pages(served)) == served
        answered = await raw(world.port, post("/model/v1/messages", REQUEST, f"x-api-key: {world.token}"))
        assert answered.startswith(b"HTTP/1.1 200 ")


async def test_a_spool_that_fills_in_the_middle_of_an_answer_cuts_it(tmp_path):
    async with make_world(tmp_path, spool_bytes=50_000) as world:
        async with provider_of(world, chunked([b": " + b"x" * 8000 + b"\n\n"] * 20)):
            await raw(world.port, post("/model/v1/messages", REQUEST, f"x-api-key: {world.token}"))
            page = await world.page()

        assert page.ending == "gateway_cut"
        assert "spool" in page.message


@pytest.mark.parametrize("size", [200, 450])
async def test_a_call_whose_journal_cannot_begin_is_refused_and_leaves_nothing(tmp_path, size):
    async with make_world(tmp_path, spool_bytes=size) as world, provider_of(world, whole(STREAM)) as provider:
        answered = await raw(world.port, post("/model/v1/messages", REQUEST, f"x-api-key: {world.token}"))

        assert answered.startswith(b"HTTP/1.1 503 ") and b"Retry-After: 10" in answered
        assert (world.calls.busy, world.calls.spool.used, world.calls.spool.files()) == (0, 0, [])
        assert (provider.asked, world.store.objects) == ([], {})


async def test_a_run_has_only_so_many_calls_open(tmp_path):
    async def silent(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(30)

    async with make_world(tmp_path, run_calls=2, drain_seconds=0.1) as world, provider_of(world, silent):
        agents = [await begin(world) for _ in range(2)]
        await asyncio.sleep(0.1)
        answered = await raw(world.port, post("/model/v1/messages", REQUEST, f"x-api-key: {world.token}"))
        assert answered.startswith(b"HTTP/1.1 429 ") and b"Retry-After" in answered

        agents[0][1].transport.abort()
        await world.pages(1)
        agents.append(await begin(world))
        await asyncio.sleep(0.1)
        assert world.calls.lifecycle.under_way == 2
        for _, writer in agents:
            writer.transport.abort()


# --- secrets ----------------------------------------------------------------------------------------------------------
SPELLINGS = {
    "plain": CREDENTIAL,
    "base64": base64.b64encode(f"xx{CREDENTIAL}".encode()).decode(),
    "percent": quote(CREDENTIAL, safe="").replace("-", "%2D"),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("coding", ["identity", "gzip"])
async def test_a_credential_that_comes_back_is_found_however_it_is_written(world: World, spelling: str, coding: str):
    body = b": " + SPELLINGS[spelling].encode() + b"\n\n" + STREAM
    body = zipped(body) if coding == "gzip" else body
    parts = [body[at : at + 7] for at in range(0, len(body), 7)]
    async with provider_of(world, chunked(parts, f"Content-Encoding: {coding}")):
        _, received = dechunked(await raw(world.port, post("/model/v1/messages", REQUEST, f"x-api-key: {world.token}")))

    assert received == body
    page = await world.page()
    assert {(leak.name, leak.encoding, leak.where) for leak in page.leaks} == {
        ("provider-credential", spelling, "response_body")
    }
    pages = [data for key, data in world.store.objects.items() if not key.endswith(".ftj")]
    assert not any(CREDENTIAL.encode() in data for data in pages)


async def test_a_credential_that_is_spread_over_the_events_of_a_stream_is_found(world: World):
    pieces = [CREDENTIAL[at : at + 3] for at in range(0, len(CREDENTIAL), 3)]
    delta = ANTHROPIC_EVENTS[2][1]
    told = [("content_block_delta", delta | {"delta": {"type": "text_delta", "text": piece}}) for piece in pieces]
    async with provider_of(world, whole(sse([*ANTHROPIC_EVENTS[:2], *told, *ANTHROPIC_EVENTS[3:]]))):
        await raw(world.port, post("/model/v1/messages", REQUEST, f"x-api-key: {world.token}"))

    assert [(leak.name, leak.where) for leak in (await world.page()).leaks] == [
        ("provider-credential", "response_text")
    ]


async def test_a_credential_in_a_request_and_in_a_head_is_found(world: World):
    request = json.dumps({"model": MODEL, "max_tokens": 1, "messages": [CREDENTIAL]}).encode()
    async with provider_of(world, whole(b"{}", f"X-Echo: {CREDENTIAL}")):
        await raw(world.port, post("/model/v1/messages", request, f"x-api-key: {world.token}"))

    page = await world.page()
    assert {leak.where for leak in page.leaks} == {"request_body", "response_head"}


async def test_the_next_call_uses_a_credential_that_was_changed(world: World, session: aiohttp.ClientSession):
    async with provider_of(world, whole(b"{}")) as provider:
        for value in (CREDENTIAL, "another-credential\n"):
            world.kubernetes.secret(value)
            await asyncio.sleep(0.02)
            await raw(world.port, post("/model/v1/messages", REQUEST, f"x-api-key: {world.token}"))

    assert [asked.header("x-api-key") for asked in provider.asked] == [CREDENTIAL, "another-credential"]


async def test_times_are_told(world: World):
    async with provider_of(world, chunked([STREAM[:300], STREAM[300:]], pause=0.2)):
        began = time.monotonic()
        await raw(world.port, post("/model/v1/messages", REQUEST, f"x-api-key: {world.token}"))
        took = (time.monotonic() - began) * 1000

    page = await world.page()
    assert page.ttfb_ms is not None and page.ttlb_ms is not None
    assert page.ttfb_ms < 150 <= page.ttlb_ms - page.ttfb_ms < took + 1
    assert page.ttft_ms is not None
    assert page.ttfb_ms <= page.ttft_ms <= page.ttlb_ms
    times = [frame.ms for frame in world.frames(page) if frame.kind == Kind.RESPONSE_BODY]
    assert max(times) - min(times) >= 150
