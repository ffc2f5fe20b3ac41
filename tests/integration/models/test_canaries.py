"""A canary that an agent says, or a model tells it, is found in every journal, however it is written."""

import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from fairtrial.usage.calls import summarise
from tests.integration.models.test_refusals import ANSWER, GOOD, call
from tests.integration.models.test_tools import page_of, request
from tests.integration.models.world import (
    ANTHROPIC_EVENTS,
    CREDENTIAL,
    RawProvider,
    World,
    chunked,
    raw,
    sse,
    whole,
)
from tests.integration.models.world import (
    world as make_world,
)

CANARY = "the canary: ünlike anything/else+42"
NAMED = json.dumps([{"namespace": "team", "name": "canaries"}])
PERCENT = "".join(f"%{byte:02x}" for byte in CANARY.encode())


def put(world: World, value: str = CANARY) -> None:
    world.kubernetes.put("secrets", "canaries", data={"one": base64.b64encode(value.encode()).decode()})


@asynccontextmanager
async def guarded(folder: Path, provider: RawProvider, **changes: Any) -> AsyncIterator[World]:
    async with provider.serving(), make_world(folder, canary_secrets=NAMED, **changes) as world:
        world.kubernetes.provider(provider.url, "anthropicMessages")
        put(world)
        yield world


@pytest.mark.parametrize(
    "written",
    [
        CANARY,
        base64.b64encode(CANARY.encode()).decode(),
        base64.b64encode(b"x" + CANARY.encode()).decode(),
        quote(CANARY),
        PERCENT,
        CANARY.encode().hex(),
        json.dumps(CANARY),
    ],
)
async def test_what_an_agent_says_of_a_canary_is_found(tmp_path, session, written):
    body = GOOD | {"messages": [{"role": "user", "content": f"I have seen {written} there."}]}
    async with guarded(tmp_path, RawProvider(whole(ANSWER))) as world:
        assert (await call(world, session, body))[0] == 200

        page = await world.page()

    assert {(leak.name, leak.where) for leak in page.leaks} == {("canary:canaries/one", "request_body")}
    assert page.leak_scan == "done"
    summary = summarise({page.exchange: (page, 1, "0" * 64)}, [], provider="p", model="m", prices=None)
    assert [found.leak.name for found in summary.leaks] == ["canary:canaries/one"]  # what withholds it from a package


async def test_a_canary_that_a_model_tells_in_pieces_is_found(tmp_path, session):
    pieces = [CANARY[at : at + 3] for at in range(0, len(CANARY), 3)]
    delta = [
        ("content_block_delta", {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": t}})
        for t in pieces
    ]
    stream = sse([*ANTHROPIC_EVENTS[:2], *delta, *ANTHROPIC_EVENTS[3:]])
    parts = [stream[at : at + 7] for at in range(0, len(stream), 7)]
    async with guarded(tmp_path, RawProvider(chunked(parts, "Content-Type: text/event-stream"))) as world:
        sent = json.dumps(GOOD | {"stream": True}).encode()
        headers = {"x-api-key": world.token}
        async with session.post(f"{world.url}/model/v1/messages", data=sent, headers=headers) as answer:
            await answer.read()

        page = await world.page()

    assert [(leak.name, leak.where) for leak in page.leaks] == [("canary:canaries/one", "response_text")]


async def test_the_credential_is_looked_for_as_well_and_others_are_not_found(tmp_path, session):
    body = GOOD | {"messages": [{"role": "user", "content": f"{CREDENTIAL} and {CANARY[:-3]}"}]}
    async with guarded(tmp_path, RawProvider(whole(ANSWER))) as world:
        await call(world, session, body)

        page = await world.page()

    assert {leak.name for leak in page.leaks} == {"provider-credential"}


async def test_in_calls_of_tools_they_are_found_too(tmp_path):
    server = RawProvider(whole(b"[]"))
    async with (
        server.serving(),
        make_world(tmp_path, canary_secrets=NAMED, tool_servers=json.dumps({"search": server.url})) as world,
    ):
        put(world)
        world.kubernetes.run(task={"toolServers": ["search"]})
        await raw(world.port, request("/tool/search/a", world.token, body=PERCENT.encode()))

        page = await page_of(world)

    assert [(leak.name, leak.encoding) for leak in page.leaks] == [("canary:canaries/one", "percent")]


async def test_what_a_refused_call_says_in_its_head_is_found(tmp_path, session):
    async with guarded(tmp_path, RawProvider(whole(ANSWER))) as world:
        token = world.kubernetes.token("r1-agent", "agent-uid", "fairtrial/record")
        assert (await call(world, session, token=token, **{"x-note": PERCENT}))[0] == 403

        page = await world.page()

    assert [(leak.name, leak.where) for leak in page.leaks] == [("canary:canaries/one", "request_head")]


async def test_without_its_canaries_no_call_is_forwarded(tmp_path, session):
    provider = RawProvider(whole(ANSWER))
    async with guarded(tmp_path, provider) as world:
        del world.kubernetes.objects["secrets/canaries"]

        status, body, _ = await call(world, session)

        page = await world.page()

    assert status == 503 and "canarySecrets" in body["error"]["message"]
    assert (page.refusal, page.leak_scan) == ("provider_unusable", "failed")
    assert provider.asked == []


async def test_no_page_shows_a_canary(tmp_path, session):
    async with guarded(tmp_path, RawProvider(whole(ANSWER))) as world:
        await call(world, session, GOOD | {"messages": [{"role": "user", "content": CANARY}]})
        await world.page()

        shown = b"".join(data for key, data in world.store.objects.items() if key.endswith(".json"))

    assert CANARY.encode() not in shown and CANARY.encode("unicode_escape") not in shown
