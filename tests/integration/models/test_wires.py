"""Whole sessions with the scripted provider on every wire: what it says it used is what the journal says."""

import json

import aiohttp
import pytest

from fairtrial.scripted import parse_script, serve
from tests.integration.models.world import MODEL, World

SCRIPT = parse_script(
    {
        "plain": "Hello — 東京 🎉 " * 20,
        "steps": [{"say": "Done."}],
        "usage": {"uncachedInput": 100, "cachedInput": 30, "cacheWrite": 0, "output": 50, "reasoning": 20},
    }
)
MESSAGES = {"model": MODEL, "messages": [{"role": "user", "content": "Hi"}]}
CALLS = {
    ("anthropicMessages", False): ("/v1/messages", MESSAGES | {"max_tokens": 100}),
    ("anthropicMessages", True): ("/v1/messages", MESSAGES | {"max_tokens": 100, "stream": True}),
    ("openaiChat", False): ("/v1/chat/completions", MESSAGES),
    ("openaiChat", True): (
        "/v1/chat/completions",
        MESSAGES | {"stream": True, "stream_options": {"include_usage": True}},
    ),
    ("openaiResponses", False): ("/v1/responses", {"model": MODEL, "input": "Hi"}),
    ("openaiResponses", True): ("/v1/responses", {"model": MODEL, "input": "Hi", "stream": True}),
    ("gemini", False): (f"/v1beta/models/{MODEL}:generateContent", {"contents": [{"parts": [{"text": "Hi"}]}]}),
    ("gemini", True): (
        f"/v1beta/models/{MODEL}:streamGenerateContent?alt=sse",
        {"contents": [{"parts": [{"text": "Hi"}]}]},
    ),
}


@pytest.mark.parametrize(("wire", "streamed"), CALLS)
async def test_usage_is_the_providers_own(world: World, session: aiohttp.ClientSession, wire: str, streamed: bool):
    path, body = CALLS[wire, streamed]
    async with serve(SCRIPT) as provider:
        world.kubernetes.provider(provider.url, wire)
        async with session.post(provider.url + path, data=json.dumps(body)) as answer:
            direct = await answer.read()
        provider.forget()
        headers = {"Authorization": f"Bearer {world.token}"}
        async with session.post(f"{world.url}/model{path}", data=json.dumps(body), headers=headers) as answer:
            assert answer.status == 200
            assert len(await answer.read()) == len(direct)
        page = await world.page()

    counters = page.usage.counters
    assert (page.ending, page.usage.state, page.streamed) == ("complete", "complete", streamed)
    assert (counters.uncached_input, counters.cached_input, counters.reasoning) == (100, 30, 20)
    assert counters.output == (30 if wire == "gemini" else 50)
    assert page.answered_model == MODEL and page.response_id and page.first_usable


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ({"kind": "status", "status": 429, "retryAfter": 3}, ("complete", 429, "not_applicable")),
        ({"kind": "truncated_stream", "afterEvents": 3}, ("upstream_cut", 200, "incomplete")),
        ({"kind": "no_usage"}, ("complete", 200, "incomplete")),
        ({"kind": "wrong_model", "model": "model-2"}, ("complete", 200, "complete")),
        ({"kind": "gzip"}, ("complete", 200, "complete")),
        ({"kind": "split_utf8"}, ("complete", 200, "complete")),
        ({"kind": "echo", "text": "canary", "form": "split"}, ("complete", 200, "complete")),
    ],
    ids=lambda value: value["kind"] if isinstance(value, dict) else "",
)
async def test_faults_of_a_provider_are_told_as_they_are(world: World, session, fault, expected):
    script = parse_script({"plain": "Hello 🎉 " * 20, "steps": [{"say": "x"}], "faults": [fault | {"step": "plain"}]})
    path, body = CALLS["anthropicMessages", True]
    async with serve(script) as provider:
        world.kubernetes.provider(provider.url, "anthropicMessages")
        try:
            async with session.post(
                f"{world.url}/model{path}", data=json.dumps(body), headers={"x-api-key": world.token}
            ) as answer:
                await answer.read()
                if fault.get("retryAfter"):
                    assert answer.headers["Retry-After"] == "3"
        except aiohttp.ClientPayloadError:
            assert fault["kind"] == "truncated_stream"
        page = await world.page()

    assert (page.ending, page.status) == expected[:2]
    # What came before a reset may be lost in the kernel, so that a cut stream may show nothing at all.
    cut_or_none = fault["kind"] in ("no_usage", "truncated_stream")
    assert page.usage.state == expected[2] or (cut_or_none and page.usage.state == "absent")
    if fault["kind"] == "wrong_model":
        assert (page.requested_model, page.answered_model) == (MODEL, "model-2")
