"""Requests of each wire, read into one form."""

import json
from typing import Any

import pytest

from fairtrial.scripted.conversation import BadRequest, Wire, read
from tests.unit.scripted.agents import TOOLS, asked, request

WIRES: list[Wire] = ["chat", "messages", "responses", "gemini"]


def of(wire: Wire, data: Any, **more: Any) -> Any:
    return read(wire, json.dumps(data).encode(), model="m-1" if wire == "gemini" else "", **more)


@pytest.mark.parametrize("wire", WIRES)
def test_every_wire_tells_the_same_things(wire: Wire) -> None:
    seen = of(wire, request(wire, TOOLS["pi"], results=3, last="the end"))

    assert (seen.wire, seen.model, seen.stream, seen.results) == (wire, "m-1", False, 3)
    assert seen.last_results == ("the end",)
    names = [tool.name for tool in seen.tools if tool.name in TOOLS["pi"]]
    assert names == ["read", "bash", "edit", "write"]
    assert seen.tools[0].properties == {"path": {"type": "string"}} and seen.tools[0].required == ("path",)
    assert [message.text for message in seen.messages if message.kind == "user"][-1] == "Fix it."
    assert any(message.kind == "system" and "You help." in message.text for message in seen.messages)


@pytest.mark.parametrize("wire", WIRES)
def test_no_tools_and_no_results_are_none(wire: Wire) -> None:
    seen = of(wire, request(wire, {}))

    assert (seen.tools, seen.results, seen.last_results) == ((), 0, ())


def test_results_of_calls_made_at_once_are_all_last_results() -> None:
    body = request("messages", TOOLS["claude"], results=1)
    body["messages"][-1]["content"] += [{"type": "tool_result", "tool_use_id": "t9", "content": "second"}]

    assert asked("claude", results=2).last_results == ("ok",)
    assert of("messages", body).last_results == ("ok", "second")


def test_grouped_tools_keep_their_group() -> None:
    assert {tool.name: tool.namespace for tool in asked("codex").tools}["spawn_agent"] == "multi_agent_v1"


def test_streaming_is_told_by_the_body_and_for_gemini_by_the_path() -> None:
    assert of("chat", {**request("chat", {}), "stream": True}).stream
    assert not of("gemini", {**request("gemini", {}), "stream": True}).stream
    assert of("gemini", request("gemini", {}), stream=True).stream


def test_only_chat_must_be_asked_for_usage() -> None:
    body = request("chat", {})

    assert not of("chat", body).wants_usage
    assert of("chat", {**body, "stream_options": {"include_usage": True}}).wants_usage
    assert of("messages", request("messages", {})).wants_usage


def test_input_may_be_a_text() -> None:
    seen = of("responses", {"model": "m", "input": "Hello."})

    assert [(message.kind, message.text) for message in seen.messages] == [("user", "Hello.")]


@pytest.mark.parametrize(
    ("wire", "body", "said"),
    [
        ("chat", b"{", "not JSON"),
        ("chat", b"[" * 100_000, "not JSON"),
        ("chat", b"\xff", "not JSON"),
        ("chat", b"[]", "must be a JSON object"),
        ("chat", b'{"messages": []}', "model: must be a text"),
        ("chat", b'{"model": 7, "messages": []}', "model: must be a text"),
        ("chat", b'{"model": "m"}', "messages: must be an array"),
        ("chat", b'{"model": "m", "messages": ["x"]}', "messages: must be an array of objects"),
        ("chat", b'{"model": "m", "messages": [{"role": "boss"}]}', r"messages\[0\].role: 'boss' is none of"),
        ("chat", b'{"model": "m", "messages": [], "tools": {}}', "tools: must be an array"),
        ("messages", b'{"model": "m", "messages": 1}', "messages: must be an array"),
        ("responses", b'{"model": "m", "input": 1}', "input: must be an array"),
        ("responses", b'{"model": "m", "input": "x", "previous_response_id": "r"}', "nothing is kept between requests"),
        ("gemini", b'{"contents": 1}', "contents: must be an array"),
    ],
)
def test_what_is_no_request_is_refused_by_its_field(wire: Wire, body: bytes, said: str) -> None:
    with pytest.raises(BadRequest, match=said):
        read(wire, body, model="m" if wire == "gemini" else "")


@pytest.mark.parametrize("content", [None, "", 7, [], ["x", 7, None, {"type": "image"}], {"text": "x"}, [[["x"]]]])
@pytest.mark.parametrize("wire", ["chat", "messages"])
def test_content_of_any_shape_is_survived(wire: Wire, content: Any) -> None:
    read(wire, json.dumps({"model": "m", "messages": [{"role": "user", "content": content}]}).encode())
