"""What each step of a run may use, and how long: told by the recorder alone, known to whichever gateway is asked."""

import asyncio
import json
import time
from typing import Any

import aiohttp
import pytest

from fairtrial import documents
from fairtrial.documents import StepNotice
from fairtrial.journal.frames import Kind
from tests.integration.models.test_refusals import ANSWER, GOOD, call
from tests.integration.models.test_tools import page_of, request, with_search
from tests.integration.models.world import (
    AGENT_UID,
    Answerer,
    RawProvider,
    World,
    chunked,
    post,
    raw,
    sse,
    whole,
)
from tests.integration.models.world import (
    world as make_world,
)

STREAMED = json.dumps(GOOD | {"stream": True}).encode()


@pytest.fixture
async def provider(world: World):
    async with RawProvider(whole(ANSWER)).serving() as provider:
        world.kubernetes.provider(provider.url, "anthropicMessages")
        yield provider


def slowly(seconds: float) -> Answerer:
    """An answer that is long in coming."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(seconds)
        await whole(ANSWER)(writer)

    return answer


def recorder(world: World) -> str:
    return world.kubernetes.token("r1-agent", AGENT_UID, "fairtrial/record")


async def begin(
    world: World,
    session: aiohttp.ClientSession,
    number: int = 1,
    name: str = "one",
    *,
    seconds: int = 600,
    earlier_ms: int = 0,
    token: str | None = None,
) -> tuple[int, Any]:
    headers = {"Authorization": f"Bearer {recorder(world) if token is None else token}"}
    body = documents.dump(StepNotice(name, seconds, earlier_ms))
    async with session.put(f"{world.url}/v1/steps/{number}", data=body, headers=headers) as answer:
        return answer.status, await answer.json()


# --- who ------------------------------------------------------------------------------------------------------------
async def test_an_agent_cannot_tell_that_a_step_begins(world, session, provider):
    kubernetes = world.kubernetes
    for token, expected in {
        world.token: 403,  # the agent container's own
        kubernetes.token("r1-agent", AGENT_UID, "fairtrial/evaluate"): 403,
        kubernetes.token("r1-agent", "other-uid", "fairtrial/record"): 403,
        kubernetes.token("r1-evaluator", AGENT_UID, "fairtrial/record"): 403,
        "a.b.c": 401,
    }.items():
        status, body = await begin(world, session, token=token)

        assert status == expected, body
    assert world.store.objects == {}


async def test_a_steps_note_is_an_artifact_of_its_run(world, session, provider):
    status, body = await begin(world, session)

    (key,) = world.store.objects
    assert status == 200
    assert body["name"] == "agent/steps/01.json" and key.endswith(f"/artifacts/{body['name']}")
    assert body["size"] == len(world.store.objects[key])


async def test_what_is_no_notice_is_refused(world, session, provider):
    headers = {"Authorization": f"Bearer {recorder(world)}"}
    for body, expected in {b"": 400, b"{}": 400, b"x" * 5000: 413}.items():
        async with session.put(f"{world.url}/v1/steps/1", data=body, headers=headers) as answer:
            assert answer.status == expected
    assert world.store.objects == {}


# --- how much -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("each", "refusal"), [({"modelCalls": 1}, "budget_step_calls"), ({"modelTokens": 50}, "budget_step_tokens")]
)
async def test_a_steps_budget_is_its_own(world, session, provider, each, refusal):
    world.kubernetes.run(limits={"perStep": each})
    await begin(world, session, 1, "one")
    first = [await call(world, session) for _ in range(2)]
    await begin(world, session, 2, "two")
    second = [await call(world, session) for _ in range(2)]

    assert [status for status, _, _ in first + second] == [200, 400, 200, 400]
    assert "budget_exhausted: step one" in first[1][1]["error"]["message"]
    pages = await world.pages(4)
    assert [(page.step, page.refusal) for page in pages] == [
        ("one", ""),
        ("one", refusal),
        ("two", ""),
        ("two", refusal),
    ]


async def test_calls_wait_for_the_first_step_where_steps_have_limits(world, session, provider):
    world.kubernetes.run(limits={"perStep": {"modelCalls": 1}})

    status, body, headers = await call(world, session)

    assert (status, headers["Retry-After"]) == (503, "1")
    assert "none has begun" in body["error"]["message"]
    assert (await world.page()).refusal == "no_step"
    assert provider.asked == []


async def test_a_second_gateway_knows_the_step_and_what_it_has_used(tmp_path, session):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    limits = {"perStep": {"modelCalls": 2}}
    async with RawProvider(whole(ANSWER)).serving() as provider:
        async with make_world(tmp_path / "one") as first:
            first.kubernetes.provider(provider.url, "anthropicMessages")
            first.kubernetes.run(limits=limits)
            await begin(first, session, 1, "one")
            assert (await call(first, session))[0] == 200
            await begin(first, session, 2, "two")
            assert (await call(first, session))[0] == 200
            await first.pages(2)
        async with make_world(tmp_path / "two", first.store) as second:
            second.kubernetes.provider(provider.url, "anthropicMessages")
            second.kubernetes.run(limits=limits)

            assert [(await call(second, session))[0] for _ in range(2)] == [200, 400]
            assert (await begin(second, session, 1, "another"))[0] == 409


async def test_a_gateway_that_was_not_told_of_the_next_step_looks_before_it_refuses(tmp_path, session):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    limits = {"perStep": {"modelCalls": 1}}
    async with (
        RawProvider(whole(ANSWER)).serving() as provider,
        make_world(tmp_path / "one") as one,
        make_world(tmp_path / "two", one.store) as two,
    ):
        for world in (one, two):
            world.kubernetes.provider(provider.url, "anthropicMessages")
            world.kubernetes.run(limits=limits)
        await begin(one, session, 1, "one")
        assert (await call(two, session))[0] == 200
        await begin(one, session, 2, "two")
        await asyncio.sleep(1.1)

        assert (await call(two, session))[0] == 200
        assert [page.step for page in await two.pages(2)] == ["one", "two"]


# --- how long -------------------------------------------------------------------------------------------------------
async def test_after_a_steps_time_no_call_is_answered(world, session, provider):
    await begin(world, session, seconds=1)
    assert (await call(world, session))[0] == 200
    await asyncio.sleep(1.1)

    status, body, _ = await call(world, session)

    assert status == 400
    assert "budget_exhausted: step one of this run may use 1 s" in body["error"]["message"]
    assert [page.refusal for page in await world.pages(2)] == ["", "budget_step_wall"]
    assert len(provider.asked) == 1


async def test_the_runs_time_counts_the_steps_before(world, session, provider):
    world.kubernetes.run(limits={"wallSeconds": 60})
    await begin(world, session, 1, "one", seconds=30)
    assert (await call(world, session))[0] == 200
    await begin(world, session, 2, "two", seconds=30, earlier_ms=60_000)

    status, body, _ = await call(world, session)

    assert status == 400
    assert "budget_exhausted: this run may use 60 s" in body["error"]["message"]
    assert (await world.pages(2))[1].refusal == "budget_wall"


async def test_a_call_that_waits_for_its_answer_is_told_when_the_time_is_over(world, session):
    async with RawProvider(slowly(2)).serving() as provider:
        world.kubernetes.provider(provider.url, "anthropicMessages")
        await begin(world, session, seconds=1)
        began = time.monotonic()
        status, body, _ = await call(world, session)
        took = time.monotonic() - began

        assert status == 400
        assert "budget_exhausted" in body["error"]["message"]
        assert took < 1.8
        page = await world.page()
        assert (page.ending, page.refusal, page.status) == ("gateway_cut", "budget_step_wall", 200)
        assert (page.usage.state, page.usage.counters.output) == ("complete", 20)  # the answer was read on for it
        assert b"budget_step_wall" in [frame.payload for frame in world.frames(page) if frame.kind == Kind.NOTE]


async def test_an_answer_is_cut_when_the_time_is_over_and_read_on_for_its_usage(world, session):
    stream = sse()
    parts = [stream[at : at + 200] for at in range(0, len(stream), 200)]
    async with RawProvider(chunked(parts, "Content-Type: text/event-stream", pause=0.4)).serving() as provider:
        world.kubernetes.provider(provider.url, "anthropicMessages")
        await begin(world, session, seconds=1)

        answered = await raw(world.port, post("/model/v1/messages", STREAMED, f"x-api-key: {world.token}"))

        assert answered.startswith(b"HTTP/1.1 200 ") and not answered.endswith(b"0\r\n\r\n")
        page = await world.page()
        assert (page.ending, page.refusal) == ("gateway_cut", "budget_step_wall")
        assert (page.usage.state, page.usage.counters.output) == ("complete", 7)
        assert world.body(page, Kind.RESPONSE_BODY) == stream


async def test_a_call_that_waits_for_its_turn_is_told_when_the_time_is_over(world, session):
    async with RawProvider(slowly(2)).serving() as provider:
        world.kubernetes.provider(provider.url, "anthropicMessages", maxConcurrency=1)
        await begin(world, session, seconds=1)
        began = time.monotonic()
        answers = await asyncio.gather(*(call(world, session) for _ in range(2)))
        took = time.monotonic() - began

        assert [status for status, _, _ in answers] == [400, 400]
        assert all("budget_exhausted" in body["error"]["message"] for _, body, _ in answers)
        assert took < 1.8
        assert sorted(page.ending for page in await world.pages(2)) == ["gateway_cut", "refused"]
        assert len(provider.asked) == 1


async def test_tools_end_with_the_step_as_well(tmp_path, session):
    async with with_search(tmp_path) as (world, server):
        world.kubernetes.run(task={"toolServers": ["search"]})
        await begin(world, session, seconds=1)
        await asyncio.sleep(1.1)

        answered = await raw(world.port, request("/tool/search/a", world.token))

        assert answered.startswith(b"HTTP/1.1 400 ")
        assert b"budget_exhausted" in answered
        page = await page_of(world)
        assert (page.step, page.refusal) == ("one", "budget_step_wall")
        assert server.asked == []
