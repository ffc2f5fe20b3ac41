"""Providers that speak HTTP/2: the same bytes, many calls on a connection, and each call's troubles its own."""

import asyncio
import json

import pytest
from fairtrial_gateway.models.failures import Unreachable
from fairtrial_gateway.models.http2_pool import Pool

from fairtrial.journal.frames import Kind
from tests.integration.models.http2_provider import Call, Http2Provider, certificate
from tests.integration.models.world import CREDENTIAL, MODEL, RawProvider, World, dechunked, post, raw, sse, whole

REQUEST = json.dumps({"model": MODEL, "stream": True, "max_tokens": 1, "messages": ["x" * 300_000]}).encode()
STREAM = sse()


async def streamed(call: Call) -> None:
    await call.answer(STREAM, ("content-type", "text/event-stream"), ("request-id", "req_1"))


def use(world: World, url: str) -> None:
    world.kubernetes.provider(url, "anthropicMessages", httpVersion="2")


def sent(world: World) -> bytes:
    return post("/model/v1/messages?beta=true", REQUEST, f"x-api-key: {world.token}", "X-Own: Value")


async def test_bytes_pass_both_ways(world: World):
    async with Http2Provider(streamed).serving() as provider:
        use(world, provider.url)
        head, body = dechunked(await raw(world.port, sent(world)))

    assert body == STREAM
    assert b"request-id: req_1" in head
    (asked,) = provider.asked
    assert bytes(asked.body) == REQUEST
    assert dict(asked.headers) == {
        b":method": b"POST",
        b":authority": provider.url.removeprefix("http://").encode(),
        b":scheme": b"http",
        b":path": b"/v1/messages?beta=true",
        b"x-own": b"Value",
        b"x-api-key": CREDENTIAL.encode(),
        b"content-length": str(len(REQUEST)).encode(),
    }
    page = await world.page()
    assert (page.ending, page.usage.counters.output) == ("complete", 7)
    assert world.body(page, Kind.RESPONSE_BODY) == STREAM


async def test_two_hundred_calls_share_a_few_connections(world: World):
    async with Http2Provider(streamed).serving() as provider:
        use(world, provider.url)
        answers = await asyncio.gather(*(raw(world.port, sent(world)) for _ in range(200)))

    assert {dechunked(answer)[1] for answer in answers} == {STREAM}
    assert len(provider.connections) <= 4


async def test_tls_with_alpn(world: World, tmp_path, monkeypatch):
    context, chain = certificate(tmp_path, alpn=["h2", "http/1.1"])
    monkeypatch.setenv("SSL_CERT_FILE", str(chain))
    async with Http2Provider(streamed).serving(context) as provider:
        use(world, provider.url)

        assert dechunked(await raw(world.port, sent(world)))[1] == STREAM


@pytest.mark.parametrize("trusted", [True, False])
async def test_a_provider_without_http2_or_with_a_foreign_certificate_gets_nothing(
    world: World, tmp_path, monkeypatch, trusted: bool
):
    context, chain = certificate(tmp_path, alpn=["http/1.1"] if trusted else ["h2"])
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(chain))
    async with Http2Provider(streamed).serving(context) as provider:
        use(world, provider.url)
        answered = await raw(world.port, sent(world))

    assert answered.startswith(b"HTTP/1.1 502 ")
    assert provider.asked == []
    page = await world.page()
    assert page.ending == "upstream_unreachable"
    assert ("HTTP/2" in page.message) is trusted


async def test_a_reset_stream_is_a_cut_answer_and_the_connection_goes_on(world: World):
    async def half_then_reset(call: Call) -> None:
        if len(call.connection.provider.asked) > 1:
            return await streamed(call)
        await call.answer(STREAM[:400], end=False)
        await asyncio.sleep(0.1)
        call.connection.h2.reset_stream(call.number)
        return call.connection.flush()

    async with Http2Provider(half_then_reset).serving() as provider:
        use(world, provider.url)
        first = await raw(world.port, sent(world))
        second = await raw(world.port, sent(world))

    with pytest.raises((AssertionError, ValueError)):
        dechunked(first)
    assert dechunked(second)[1] == STREAM
    assert len(provider.connections) == 1
    assert [page.ending for page in await world.pages(2)] == ["upstream_cut", "complete"]


async def test_a_lost_connection_cuts_its_calls_and_the_next_makes_another(world: World):
    async def lost(call: Call) -> None:
        if len(call.connection.provider.asked) > 1:
            return await streamed(call)
        return call.connection.abort()

    async with Http2Provider(lost).serving() as provider:
        use(world, provider.url)
        first, second = await raw(world.port, sent(world)), await raw(world.port, sent(world))

    assert first.startswith(b"HTTP/1.1 502 ")
    assert dechunked(second)[1] == STREAM
    assert len(provider.connections) == 2


async def test_a_provider_that_goes_away_in_order_ends_what_it_has_begun(world: World):
    async def last(call: Call) -> None:
        assert call.connection.transport
        await call.answer(STREAM[:300], end=False)
        number = call.number.to_bytes(4, "big")
        call.connection.transport.write(b"\0\0\x08\x07\0\0\0\0\0" + number + b"\0\0\0\0")
        await asyncio.sleep(0.05)
        await call.send(STREAM[300:], end=True)

    async with Http2Provider(last).serving() as provider:
        use(world, provider.url)
        answers = [await raw(world.port, sent(world)) for _ in range(2)]

    assert [dechunked(answer)[1] for answer in answers] == [STREAM, STREAM]
    assert len(provider.connections) == 2


@pytest.mark.parametrize("frame", [b"\xff\xff\xff\0\0\0\0\0\0", b"\0\0\x01\0\0\0\0\0\0x", b"\0\0\0\x09\0\0\0\0\x01"])
async def test_a_provider_that_breaks_the_protocol_cuts_its_calls_only(world: World, frame: bytes):
    async def broken(call: Call) -> None:
        if len(call.connection.provider.asked) > 1:
            return await streamed(call)
        assert call.connection.transport
        call.connection.transport.write(frame)
        return None

    async with Http2Provider(broken).serving() as provider:
        use(world, provider.url)
        first, second = await raw(world.port, sent(world)), await raw(world.port, sent(world))

    assert first.startswith(b"HTTP/1.1 502 ")
    assert dechunked(second)[1] == STREAM


async def test_a_slow_agent_stops_its_own_stream_and_no_other(world: World):
    progress: dict[int, int] = {}

    async def long(call: Call) -> None:
        if b"x-slow" not in dict(call.headers):
            return await streamed(call)
        await call.answer(b"", end=False)
        for _ in range(400):
            await call.send(b": " + b"x" * 65533 + b"\n\n", end=False)
            progress[call.number] = progress.get(call.number, 0) + 65536
        return await call.send(STREAM, end=True)

    async with Http2Provider(long).serving() as provider:
        use(world, provider.url)
        reader, writer = await asyncio.open_connection("127.0.0.1", world.port, limit=1024)
        writer.write(post("/model/v1/messages", REQUEST, f"x-api-key: {world.token}", "X-Slow: 1"))
        await reader.read(100)
        await asyncio.sleep(0.5)
        stalled = sum(progress.values())
        assert dechunked(await raw(world.port, sent(world)))[1] == STREAM
        assert stalled < 20_000_000
        while await reader.read(65536):
            pass
        writer.close()

    pages = await world.pages(2)
    assert {page.ending for page in pages} == {"complete"}
    assert len(provider.connections) == 1


async def test_a_call_that_is_given_up_resets_its_stream_only(world: World, tmp_path):
    started = asyncio.Event()

    async def endless(call: Call) -> None:
        if b"x-slow" not in dict(call.headers):
            return await streamed(call)
        await call.answer(STREAM[:300], end=False)
        started.set()
        return None

    async with Http2Provider(endless).serving() as provider:
        use(world, provider.url)
        _, writer = await asyncio.open_connection("127.0.0.1", world.port)
        writer.write(post("/model/v1/messages", REQUEST, f"x-api-key: {world.token}", "X-Slow: 1"))
        await started.wait()
        writer.transport.abort()
        (page,) = await world.pages(1)
        assert page.ending == "client_gone"
        assert dechunked(await raw(world.port, sent(world)))[1] == STREAM
        assert provider.asked[0].was_reset
        assert len(provider.connections) == 1


async def test_a_request_that_is_refused_before_it_is_whole(world: World):
    async with RawProvider(whole(b"not http/2")).serving() as provider:
        use(world, provider.url)

        assert (await raw(world.port, sent(world))).startswith(b"HTTP/1.1 502 ")


async def test_calls_that_are_given_up_unread_leave_the_window_to_the_others():
    async def half(call: Call) -> None:
        await call.answer(b"x" * 200_000, end=b"whole" in dict(call.headers))

    pool = Pool(5)
    async with Http2Provider(half).serving() as provider:
        for _ in range(100):  # more than a connection's window all together
            given_up = await pool.send(provider.url, "/", [], b"")
            await asyncio.sleep(0.005)
            given_up.close()
        stream = await pool.send(provider.url, "/", [(b"whole", b"1")], b"")
        received = 0
        async with asyncio.timeout(5):
            while chunk := await stream.read():
                received += len(chunk)
        pool.close()

    assert received == 200_000
    assert len(provider.connections) == 1


async def test_calls_share_an_attempt_to_connect_and_its_failure(monkeypatch):
    attempts = []

    async def never(*_: object, **__: object) -> None:
        attempts.append(1)
        await asyncio.sleep(60)

    monkeypatch.setattr(asyncio.get_running_loop(), "create_connection", never)
    pool = Pool(0.2)
    found = await asyncio.gather(
        *(pool.send("http://127.0.0.1:1", "/", [], b"") for _ in range(10)), return_exceptions=True
    )

    assert {type(each) for each in found} == {Unreachable}
    assert len(attempts) == 1


async def test_a_call_that_is_given_up_while_connecting_takes_the_connection_from_nobody():
    async with Http2Provider(streamed).serving() as provider:
        pool = Pool(5)
        first = asyncio.create_task(pool.send(provider.url, "/", [], b""))
        second = asyncio.create_task(pool.send(provider.url, "/", [], b""))
        await asyncio.sleep(0)
        first.cancel()

        assert (await second).status == 200
        assert len(provider.connections) == 1
        pool.close()
