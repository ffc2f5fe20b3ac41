"""Who may call, what may be asked, how much: each refusal in the shape that the agent's client expects, journalled."""

import asyncio
import json
import time
from typing import Any

import aiohttp
import pytest
from fairtrial_gateway.models import replicas
from fairtrial_gateway.refusals import LISTED

from fairtrial import documents
from fairtrial.journal.frames import Kind
from fairtrial.journal.refusals import RefusalPage, RefusedCalls
from tests.integration.models.world import (
    AGENT_UID,
    MODEL,
    RawProvider,
    World,
    chunked,
    claims_of,
    post,
    raw,
    sse,
    whole,
)
from tests.integration.models.world import (
    world as make_world,
)

GOOD = {"model": MODEL, "max_tokens": 1, "messages": []}
USED = {"input_tokens": 30, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "output_tokens": 20}
ANSWER = json.dumps(
    {"id": "m", "type": "message", "model": MODEL, "content": [], "stop_reason": "end_turn", "usage": USED}
).encode()


async def call(
    world: World,
    session: aiohttp.ClientSession,
    body: Any = None,
    path: str = "/v1/messages",
    token: str | None = None,
    **headers: str,
) -> tuple[int, Any, Any]:
    data = body if isinstance(body, bytes) else json.dumps(GOOD if body is None else body)
    sent = {"x-api-key": world.token if token is None else token} | headers
    async with session.post(f"{world.url}/model{path}", data=data, headers=sent) as answer:
        text = await answer.read()
        return answer.status, json.loads(text), answer.headers


async def noted(world: World) -> list[RefusedCalls]:
    """What the gateway has stored of refusals without a journal."""
    await world.gateway.refusals.flush()
    pages = [data for key, data in sorted(world.store.objects.items()) if key.startswith("refusals/")]
    return [each for data in pages for each in documents.load(RefusalPage, data).refused]


@pytest.fixture
async def provider(world: World):
    async with RawProvider(whole(ANSWER)).serving() as provider:
        world.kubernetes.provider(provider.url, "anthropicMessages")
        yield provider


# --- who --------------------------------------------------------------------------------------------------------------
async def test_only_the_agent_pod_with_its_own_audience_may_call(world, session, provider):
    kubernetes = world.kubernetes
    tokens = {
        "wrong audience": (403, kubernetes.token("r1-agent", AGENT_UID, "fairtrial/record")),
        "an evaluator": (403, kubernetes.token("r1-evaluator", AGENT_UID)),
        "another pod of the name": (403, kubernetes.token("r1-agent", "other-uid")),
        "another run": (403, kubernetes.token("r2-agent", AGENT_UID)),
        "foreign": (401, "a.b.c"),
        "changed": (401, kubernetes.token("r1-agent", AGENT_UID) + "x"),
        "expired": (401, kubernetes.token("r1-agent", AGENT_UID, lifetime=-1)),
        "none": (401, ""),
    }
    for what, (status, token) in tokens.items():
        answered, body, _ = await call(world, session, token=token)

        assert answered == status, what
        assert body["type"] == "error" and body["error"]["message"], what
    assert provider.asked == []
    page = await world.page()  # what is proven to come from the run's own pod is in its journal
    assert (page.ending, page.refusal, page.status, page.run.name) == ("refused", "wrong_audience", 403, "r1")
    found = {(each.cause, each.status, each.namespace, each.pod, each.run): each.count for each in await noted(world)}
    assert found == {
        ("agents_only", 403, "team", "r1-evaluator", ""): 1,
        ("wrong_pod", 403, "team", "r1-agent", ""): 1,
        ("no_such_run", 403, "team", "r2-agent", ""): 1,
        ("unauthenticated", 401, "", "", ""): 4,
    }


async def test_a_token_that_was_good_ends_with_its_time_however_it_was_kept(world, session, provider):
    token = world.kubernetes.token("r1-agent", AGENT_UID, lifetime=2)
    assert (await call(world, session, token=token))[0] == 200
    assert (await call(world, session, token=token))[0] == 200, "what is kept is used meanwhile"
    await asyncio.sleep(claims_of(token)["exp"] - time.time() + 0.05)

    status, body, _ = await call(world, session, token=token)

    assert (status, body["type"]) == (401, "error")
    assert len(provider.asked) == 2


async def test_a_flood_of_foreign_tokens_fills_neither_store_nor_memory(world, session, provider):
    for number in range(300):
        world.gateway.refusals.note("unauthenticated", 401, f"10.0.{number // 256}.{number % 256}")
    await call(world, session, token="a.b.c")
    await world.gateway.refusals.flush()

    (key,) = [key for key in world.store.objects if key.startswith("refusals/")]
    page = documents.load(RefusalPage, world.store.objects[key])
    assert (len(page.refused), page.not_listed) == (LISTED, {"unauthenticated": 300 + 1 - LISTED})
    assert (await call(world, session))[0] == 200


async def test_what_the_store_does_not_take_is_counted_on(world, session, provider):
    world.store.away = True
    await call(world, session, token="a.b.c")
    await world.gateway.refusals.flush()
    await call(world, session, token="a.b.c")
    world.store.away = False

    (refused,) = await noted(world)

    assert (refused.cause, refused.count, refused.peer) == ("unauthenticated", 2, "127.0.0.1")
    assert await noted(world) == [refused]  # nothing is stored twice


async def test_nothing_that_a_stranger_sent_is_kept(world, session, provider):
    await call(world, session, path="/v1/messages?key=sk-secret-in-the-path", token="e30.sk-secret-token.x")
    await raw(world.port, post("/model/v1/messages", b"{}", f"X-Api-Key: sk-secret-{'x' * 20_000}"))

    assert {each.cause for each in await noted(world)} == {"unauthenticated", "head_too_large"}
    assert not any(b"sk-secret" in data for data in world.store.objects.values())


async def test_a_stranger_at_the_other_doors_is_noted_as_well(world, session, provider):
    agent = {"Authorization": f"Bearer {world.token}"}
    async with session.put(f"{world.url}/v1/artifacts/agent/x.json", data=b"x", headers=agent) as answer:
        assert answer.status == 403
    async with session.get(f"{world.url}/v1/bundles/{'a' * 64}") as answer:
        assert answer.status == 401

    assert {(each.cause, each.run) for each in await noted(world)} == {
        ("wrong_audience", "r1"),
        ("unauthenticated", ""),
    }


async def test_wrong_tokens_of_a_runs_pod_without_end_fill_no_store(tmp_path, session):
    async with make_world(tmp_path, recorded_refusals=3) as world, RawProvider(whole(ANSWER)).serving() as provider:
        world.kubernetes.provider(provider.url, "anthropicMessages")
        token = world.kubernetes.token("r1-agent", AGENT_UID, "fairtrial/record")

        assert [(await call(world, session, token=token))[0] for _ in range(8)] == [403] * 8

        assert len(await world.pages(3)) == 3
        (rest,) = await noted(world)
        assert (rest.cause, rest.run, rest.count) == ("wrong_audience", "r1", 5)


async def test_a_token_is_worth_nothing_once_its_run_has_its_record(world, session, provider):
    assert (await call(world, session))[0] == 200
    await world.page()
    world.kubernetes.run(record={"uri": "s3://b/k", "sha256": "a" * 64})
    await asyncio.sleep(0.02)

    status, body, _ = await call(world, session)

    assert status == 403
    assert "record" in body["error"]["message"]
    assert len(provider.asked) == 1
    (refused,) = await noted(world)
    assert (refused.cause, refused.run, refused.pod) == ("run_ended", "r1", "r1-agent")
    assert len(await world.pages()) == 1  # nothing is added to a run that is over


async def test_two_different_keys_are_refused(world, session, provider):
    status, _, _ = await call(world, session, Authorization="Bearer another")

    assert status == 401


async def test_an_api_server_that_is_away_is_503_with_a_time_to_come_back(world, session, provider):
    world.kubernetes.away = True

    status, _, headers = await call(world, session, token=world.kubernetes.token("r1-agent", AGENT_UID))

    assert status == 503
    assert int(headers["Retry-After"]) > 0


async def test_a_provider_that_was_made_again_is_not_the_runs(world, session, provider):
    world.kubernetes.run(provider={"uid": "another-uid"})
    await asyncio.sleep(0.02)

    status, body, _ = await call(world, session)

    assert status == 400
    assert "not the one" in body["error"]["message"]


async def test_a_missing_secret_is_our_fault_not_the_agents(world, session, provider):
    del world.kubernetes.objects["secrets/secret"]

    status, body, _ = await call(world, session)

    assert status == 503
    assert "provider_unusable" in body["error"]["message"]
    page = await world.page()
    assert (page.ending, page.refusal, page.wire, page.leak_scan) == (
        "refused",
        "provider_unusable",
        "anthropicMessages",
        "done",
    )
    assert page.usage.state == "not_applicable"


async def test_an_agent_that_calls_an_unusable_provider_without_end_fills_no_store(tmp_path, session):
    async with make_world(tmp_path, recorded_refusals=3) as world, RawProvider(whole(ANSWER)).serving() as provider:
        world.kubernetes.provider(provider.url, "anthropicMessages")
        del world.kubernetes.objects["secrets/secret"]

        answers = [(await call(world, session))[0] for _ in range(8)]

        assert answers == [503] * 8
        assert len(await world.pages(3)) == 3


# --- what -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("body", "path", "status", "refusal"),
    [
        (GOOD | {"model": "model-2"}, "/v1/messages", 400, "wrong_model"),
        (GOOD | {"model": "model-2"}, "/v1/messages/count_tokens", 400, "wrong_model"),
        (GOOD | {"temperature": 0.3}, "/v1/messages", 400, "wrong_parameter"),
        (b"{not json", "/v1/messages", 400, "bad_request"),
        (b"", "/v1/messages", 400, "bad_request"),
        (b'{"model":"model-2","model":"model-1"}', "/v1/messages", 400, "bad_request"),
        (GOOD, "/v1/chat/completions", 400, "wrong_wire"),
        (GOOD, "/v1/embeddings", 404, "unknown_path"),
    ],
)
async def test_what_may_not_be_asked_is_refused_in_the_callers_dialect_and_journalled(
    world, session, provider, body, path, status, refusal
):
    world.kubernetes.provider(
        provider.url, "anthropicMessages", model={"id": MODEL, "parameters": {"temperature": "unset"}}
    )
    answered, told, _ = await call(world, session, body, path)

    assert answered == status
    assert told["error"]["message"]
    page = await world.page()
    assert (page.ending, page.refusal, page.status) == ("refused", refusal, status)
    assert page.usage.state == "not_applicable"
    assert json.loads(world.body(page, Kind.RESPONSE_BODY)) == told
    assert provider.asked == []


async def test_a_content_coding_is_read_from_all_its_lines(world, provider):
    codings = ("Content-Encoding: identity", "Content-Encoding: br")
    sent = post("/model/v1/messages", json.dumps(GOOD).encode(), f"x-api-key: {world.token}", *codings)

    assert (await raw(world.port, sent)).startswith(b"HTTP/1.1 400 ")
    assert provider.asked == []


async def test_other_methods_are_refused(world, session, provider):
    async with session.get(f"{world.url}/model/v1/messages", headers={"x-api-key": world.token}) as answer:
        assert answer.status == 404
    async with session.head(f"{world.url}/model/api/hello", headers={"x-api-key": world.token}) as answer:
        assert answer.status == 404


async def test_a_body_over_the_limit_is_413_whether_it_says_so_or_not(tmp_path, session):
    async with make_world(tmp_path, max_request_bytes=1000) as world, RawProvider(whole(ANSWER)).serving() as provider:
        world.kubernetes.provider(provider.url, "anthropicMessages")
        status, body, _ = await call(world, session, b"x" * 1001)
        assert (status, body["type"]) == (413, "error")

        async def endless():
            while True:
                yield b"x" * 100

        headers = {"x-api-key": world.token}
        async with session.post(f"{world.url}/model/v1/messages", data=endless(), headers=headers) as answer:
            assert answer.status == 413
        for page in await world.pages(2):
            assert page.refusal == "body_too_large"
        assert provider.asked == []


async def test_a_body_that_does_not_come_is_408(tmp_path):
    async with make_world(tmp_path, request_seconds=0.2) as world, RawProvider(whole(ANSWER)).serving() as provider:
        world.kubernetes.provider(provider.url, "anthropicMessages")
        whole_request = post("/model/v1/messages", json.dumps(GOOD).encode(), f"x-api-key: {world.token}")
        answered = await raw(world.port, whole_request[:-5])

        assert answered.startswith(b"HTTP/1.1 408 ")
        assert (await world.page()).refusal == "too_slow"


@pytest.mark.parametrize(
    "path", ["/model/../v1/artifacts/agent/x.json", "/model//v1/messages", "/model/v1/messages%2f"]
)
async def test_a_path_is_what_its_bytes_say(world, provider, path):
    answered = await raw(world.port, post(path, json.dumps(GOOD).encode(), f"x-api-key: {world.token}"))

    assert answered.startswith((b"HTTP/1.1 404 ", b"HTTP/1.1 405 "))
    assert provider.asked == []


@pytest.mark.parametrize("size", [20_000, 10_000_000])
async def test_a_huge_header_is_refused_and_nobody_else_notices(world, session, provider, size):
    answered = await raw(world.port, post("/model/v1/messages", b"{}", f"X-Huge: {'x' * size}"))

    assert answered[8:13] == b" 431 "
    told = json.loads(answered.partition(b"\r\n\r\n")[2])
    assert told["type"] == "error" and "head_too_large" in told["error"]["message"]
    assert [(each.cause, each.status, each.peer) for each in await noted(world)] == [
        ("head_too_large", 431, "127.0.0.1")
    ]
    assert (await call(world, session))[0] == 200


@pytest.mark.parametrize(
    ("sent", "status", "cause"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 tls\r\n\r\n", b" 400 ", "not_http"),
        (b"POST /model/v1/messages HTTP/1.1\r\nContent-Length: nonsense\r\n\r\n", b" 400 ", "not_http"),
        (
            b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: %s\r\n" % (n, b"x" * 1000) for n in range(10_000)) + b"\r\n",
            b" 431 ",
            "head_too_large",
        ),
        (b"GET /" + b"x" * 20_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", b" 431 ", "head_too_large"),
    ],
)
async def test_what_is_no_request_is_answered_and_noted(world, session, provider, sent, status, cause):
    answered = await raw(world.port, sent)

    assert answered[8:13] == status
    assert [each.cause for each in await noted(world)] == [cause]


# --- how much ---------------------------------------------------------------------------------------------------------
PRICES = {
    "pricing": {
        "snapshot": "2026-01",
        "currency": "USD",
        "effectiveDate": "2026-01-01",
        "perMillionTokens": {"input": "1000", "cachedInput": "0", "cacheWrite": "0", "output": "2000"},
    }
}


@pytest.mark.parametrize(
    ("limits", "refusal", "answered"),
    [
        ({"modelCalls": 2}, "budget_calls", 2),
        ({"modelTokens": 99}, "budget_tokens", 2),
        ({"modelTokens": 100}, "budget_tokens", 2),
        ({"modelTokens": 101}, "budget_tokens", 3),
        ({"modelCost": "0.13"}, "budget_cost", 2),
        ({"modelCost": "0.15"}, "budget_cost", 3),
    ],
)
async def test_a_budget_ends_a_run_with_400_and_the_agent_is_told(world, session, provider, limits, refusal, answered):
    world.kubernetes.provider(provider.url, "anthropicMessages", **PRICES)
    world.kubernetes.run(limits=limits)
    statuses = [(await call(world, session))[0] for _ in range(answered + 1)]
    status, body, _ = await call(world, session)

    assert statuses == [200] * answered + [400]
    assert status == 400
    assert "budget_exhausted" in body["error"]["message"]
    pages = await world.pages(answered + 2)
    assert [page.refusal for page in pages] == [""] * answered + [refusal] * 2
    assert len(provider.asked) == answered


async def test_money_that_cannot_be_counted_is_not_spent(world, session, provider):
    world.kubernetes.run(limits={"modelCost": "1"})

    status, body, _ = await call(world, session)

    assert status == 400
    assert "no prices" in body["error"]["message"]


@pytest.mark.parametrize("limits", [{"modelTokens": 10}, {"modelCost": "1"}, {"modelCalls": 10}])
async def test_where_tokens_are_limited_a_stream_must_tell_its_usage(world, session, limits):
    async with RawProvider(whole(b"data: [DONE]\n\n")).serving() as provider:
        world.kubernetes.provider(provider.url, "openaiChat", **PRICES)
        world.kubernetes.run(limits=limits)
        body = {"model": MODEL, "messages": [], "stream": True}
        headers = {"x-api-key": world.token}
        async with session.post(f"{world.url}/model/v1/chat/completions", json=body, headers=headers) as answer:
            told = await answer.text()
        asks = body | {"stream_options": {"include_usage": True}}
        async with session.post(f"{world.url}/model/v1/chat/completions", json=asks, headers=headers) as asking:
            assert asking.status == 200

    assert answer.status == (200 if "modelCalls" in limits else 400)
    assert "modelCalls" in limits or "include_usage" in told


async def test_a_replica_that_has_not_seen_a_run_asks_the_store(tmp_path, session):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    async with RawProvider(whole(ANSWER)).serving() as provider:
        async with make_world(tmp_path / "one") as first:
            first.kubernetes.provider(provider.url, "anthropicMessages")
            first.kubernetes.run(limits={"modelCalls": 3})
            for _ in range(2):
                assert (await call(first, session))[0] == 200
            assert (await call(first, session, GOOD | {"model": "x"}))[0] == 400
            await first.pages(3)
        async with make_world(tmp_path / "two", first.store) as second:
            second.kubernetes.provider(provider.url, "anthropicMessages")
            second.kubernetes.run(limits={"modelCalls": 3})

            assert [(await call(second, session))[0] for _ in range(2)] == [200, 400]


async def test_without_the_store_no_budget_is_known_and_nothing_is_spent(world, session, provider):
    world.kubernetes.run(limits={"modelCalls": 3})
    world.store.away = True

    status, _, headers = await call(world, session)

    assert (status, headers["Retry-After"]) == (503, "5")
    assert provider.asked == []


async def test_a_rate_that_is_used_up_is_429_with_the_time_to_come_back(world, session, provider):
    world.kubernetes.provider(provider.url, "anthropicMessages", requestsPerMinute=1)
    assert (await call(world, session))[0] == 200

    status, body, headers = await call(world, session)

    assert (status, body["error"]["type"]) == (429, "rate_limit_error")
    assert 50 <= int(headers["Retry-After"]) <= 60
    assert (await world.pages(2))[1].refusal == "rate"


async def test_no_more_calls_reach_the_provider_at_once_than_it_takes(world, session):
    busy, most = 0, 0

    async def answer(writer: asyncio.StreamWriter) -> None:
        nonlocal busy, most
        busy += 1
        most = max(most, busy)
        await asyncio.sleep(0.02)
        busy -= 1
        await whole(ANSWER)(writer)

    async with RawProvider(answer).serving() as provider:
        world.kubernetes.provider(provider.url, "anthropicMessages", maxConcurrency=3)
        found = await asyncio.gather(*(call(world, session) for _ in range(12)))

    assert {status for status, _, _ in found} == {200}
    assert most == 3
    assert max(page.queued_ms for page in await world.pages(12)) >= 40


async def test_two_replicas_together_keep_to_the_providers_cap_and_one_alone_uses_all_of_it(
    tmp_path, session, monkeypatch
):
    monkeypatch.setattr(replicas, "PERIOD", 0.05)
    busy, most = 0, 0

    async def answer(writer: asyncio.StreamWriter) -> None:
        nonlocal busy, most
        busy += 1
        most = max(most, busy)
        await asyncio.sleep(0.05)
        busy -= 1
        await whole(ANSWER)(writer)

    async def at_once(*gateways: World) -> int:
        """The most calls that the provider saw at once, with ten through each of these gateways."""
        nonlocal most
        await asyncio.sleep(0.3)  # until each has counted the gateways
        most = 0
        found = await asyncio.gather(*(call(one, session) for one in gateways for _ in range(10)))
        assert {status for status, _, _ in found} == {200}
        return most

    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    live = {"service": "gateway", "namespace": "system"}
    async with (
        RawProvider(answer).serving() as provider,
        make_world(tmp_path / "one", **live) as first,
        make_world(tmp_path / "two", **live) as second,
    ):
        for each in (first, second):
            each.kubernetes.provider(provider.url, "anthropicMessages", maxConcurrency=6)
            each.kubernetes.gateways = ["10.0.0.1", "10.0.0.2"]
        together = await at_once(first, second)
        first.kubernetes.gateways = ["10.0.0.1"]
        alone = await at_once(first)

    assert (together, alone) == (6, 6)


async def test_a_run_that_is_refused_without_end_fills_no_store(tmp_path, session):
    async with make_world(tmp_path, recorded_refusals=2) as world, RawProvider(whole(ANSWER)).serving() as provider:
        world.kubernetes.provider(provider.url, "anthropicMessages")
        statuses = [(await call(world, session, b"{"))[0] for _ in range(4)]

        assert statuses == [400, 400, 429, 429]
        assert len(await world.pages(2)) == 2


async def test_two_hundred_at_once_are_all_served_and_told_apart(world, session):
    stream = sse()
    parts = [stream[at : at + 50] for at in range(0, len(stream), 50)]
    body = GOOD | {"stream": True}
    async with RawProvider(chunked(parts, pause=0.005)).serving() as provider:
        world.kubernetes.provider(provider.url, "anthropicMessages")
        world.kubernetes.objects["benchmarkruns/r1"]["spec"]["limits"] = {}

        async def one(number: int) -> bytes:
            data = json.dumps(body | {"metadata": {"user_id": str(number)}})
            async with session.post(
                f"{world.url}/model/v1/messages", data=data, headers={"x-api-key": world.token}
            ) as answer:
                return await answer.read()

        assert set(await asyncio.gather(*(one(number) for number in range(200)))) == {stream}
        pages = await world.pages(200)

    assert {(page.ending, page.usage.counters.output) for page in pages} == {("complete", 7)}
    asked = {json.loads(world.body(page, Kind.REQUEST_BODY))["metadata"]["user_id"] for page in pages}
    assert asked == {str(number) for number in range(200)}
