"""Answers in each dialect: the shapes that clients were seen to need, and one set of counts said in four ways."""

import json
from dataclasses import replace
from typing import Any

import pytest

from fairtrial.scripted import dialects
from fairtrial.scripted.choose import Answer, ToolCall
from fairtrial.scripted.conversation import Conversation, Wire
from fairtrial.scripted.usage import Counts

COUNTS = Counts(uncached_input=100, cached_input=30, cache_write=7, output=50, reasoning=20)
CALLS = (
    ToolCall("call_1", "read", '{"path": "a.py"}'),
    ToolCall("call_2", "spawn", '{"x": 1}', namespace="group"),
)
ANSWER = Answer("1_abc", "m-1", "Grüße, 日本.", CALLS, COUNTS)
WORD = replace(ANSWER, calls=())


def told(wire: Wire, *, wants_usage: bool = True, framed: bool = True) -> Conversation:
    return Conversation(wire, "m-1", True, (), (), wants_usage=wants_usage, framed=framed)


def body(wire: Wire, answer: Answer = ANSWER) -> Any:
    return json.loads(dialects.body(told(wire), answer))


def events(wire: Wire, answer: Answer = ANSWER, chars: int = 5, **more: Any) -> list[dict[str, Any]]:
    """The data of each event; a name, where there is one, must be the type of the data."""
    found = []
    for event in dialects.events(told(wire, **more), answer, chars):
        *names, data, blank, end = event.data.decode().split("\n")
        assert (blank, end) == ("", "")
        if data == "data: [DONE]":
            continue
        found.append(json.loads(data.removeprefix("data: ")))
        assert names == ([f"event: {found[-1]['type']}"] if "type" in found[-1] else [])
    return found


# --- chat -------------------------------------------------------------------------------------------------------------
CHAT_USAGE = {
    "prompt_tokens": 137,
    "completion_tokens": 50,
    "total_tokens": 187,
    "prompt_tokens_details": {"cached_tokens": 30, "cache_write_tokens": 7},
    "completion_tokens_details": {"reasoning_tokens": 20},
}


def test_a_chat_completion() -> None:
    found = body("chat")

    (choice,) = found["choices"]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["content"] == ANSWER.text
    assert choice["message"]["tool_calls"][0] == {
        "id": "call_1",
        "type": "function",
        "function": {"name": "read", "arguments": '{"path": "a.py"}'},
    }
    assert (found["object"], found["model"], found["usage"]) == ("chat.completion", "m-1", CHAT_USAGE)
    assert body("chat", WORD)["choices"][0]["finish_reason"] == "stop"
    assert "tool_calls" not in body("chat", WORD)["choices"][0]["message"]


def test_chat_chunks_add_up_to_the_answer_and_end_with_usage_and_done() -> None:
    found = events("chat")

    deltas = [chunk["choices"][0]["delta"] for chunk in found[:-1]]
    assert "".join(delta.get("content", "") for delta in deltas) == ANSWER.text
    parts = [part for delta in deltas for part in delta.get("tool_calls", [])]
    for index, call in enumerate(CALLS):
        mine = [part for part in parts if part["index"] == index]
        assert (mine[0]["id"], mine[0]["function"]["name"]) == (call.id, call.name)
        assert "".join(part["function"]["arguments"] for part in mine) == call.arguments
    reasons = [chunk["choices"][0]["finish_reason"] for chunk in found[:-1]]
    assert reasons == [None] * (len(reasons) - 1) + ["tool_calls"]
    assert (found[-1]["choices"], found[-1]["usage"]) == ([], CHAT_USAGE)
    assert dialects.events(told("chat"), ANSWER, 5)[-1].data == b"data: [DONE]\n\n"


def test_chat_streams_no_usage_unless_asked() -> None:
    assert not any("usage" in chunk for chunk in events("chat", wants_usage=False))


# --- messages ---------------------------------------------------------------------------------------------------------
MESSAGES_USAGE = {
    "input_tokens": 100,
    "cache_creation_input_tokens": 7,
    "cache_read_input_tokens": 30,
    "output_tokens": 50,
    "output_tokens_details": {"thinking_tokens": 20},
}


def test_a_message() -> None:
    found = body("messages")

    assert found["content"] == [
        {"type": "text", "text": ANSWER.text},
        {"type": "tool_use", "id": "call_1", "name": "read", "input": {"path": "a.py"}},
        {"type": "tool_use", "id": "call_2", "name": "spawn", "input": {"x": 1}},
    ]
    assert (found["type"], found["role"], found["stop_reason"]) == ("message", "assistant", "tool_use")
    assert found["usage"] == MESSAGES_USAGE
    assert body("messages", WORD)["stop_reason"] == "end_turn"


def test_a_message_is_streamed_block_by_block() -> None:
    found = events("messages")

    assert [event["type"] for event in found if "delta" not in event["type"]] == [
        "message_start",
        "ping",
        *["content_block_start", "content_block_stop"] * 3,
        "message_stop",
    ]
    start = found[0]["message"]
    assert (start["role"], start["content"], start["stop_reason"]) == ("assistant", [], None)
    assert start["usage"] == {
        **{k: v for k, v in MESSAGES_USAGE.items() if k != "output_tokens_details"},
        "output_tokens": 1,
    }
    for index, text in enumerate([ANSWER.text, *(call.arguments for call in CALLS)]):
        deltas = [event["delta"] for event in found if event.get("index") == index and "delta" in event]
        assert {delta["type"] for delta in deltas} == {"input_json_delta" if index else "text_delta"}
        assert "".join(delta.get("text", "") + delta.get("partial_json", "") for delta in deltas) == text
    assert found[-2] == {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use", "stop_sequence": None},
        "usage": MESSAGES_USAGE,
    }


def test_counted_tokens_are_all_input() -> None:
    assert body("count_tokens") == {"input_tokens": 137}


# --- responses --------------------------------------------------------------------------------------------------------
RESPONSES_USAGE = {
    "input_tokens": 137,
    "input_tokens_details": {"cached_tokens": 30, "cache_write_tokens": 7},
    "output_tokens": 50,
    "output_tokens_details": {"reasoning_tokens": 20},
    "total_tokens": 187,
}


def test_a_response() -> None:
    found = body("responses")

    message, call, grouped = found["output"]
    assert message["content"][0]["text"] == ANSWER.text
    assert (call["type"], call["call_id"], call["name"], call["arguments"]) == (
        "function_call",
        "call_1",
        "read",
        '{"path": "a.py"}',
    )
    assert "namespace" not in call and grouped["namespace"] == "group"
    assert (found["status"], found["usage"]) == ("completed", RESPONSES_USAGE)


def test_a_response_is_streamed_in_full_form() -> None:
    found = events("responses", chars=1000)

    assert [event["type"].removeprefix("response.") for event in found] == [
        "created",
        "in_progress",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        *["output_item.added", "function_call_arguments.delta", "function_call_arguments.done", "output_item.done"] * 2,
        "completed",
    ]
    assert [event["sequence_number"] for event in found] == list(range(len(found)))
    assert [event["output_index"] for event in found if event["type"].endswith("item.added")] == [0, 1, 2]
    done = [event["item"] for event in found if event["type"].endswith("item.done")]
    assert found[-1]["response"] == body("responses") and found[-1]["response"]["output"] == done
    added = [event["item"] for event in found if event["type"].endswith("item.added")]
    assert [item["id"] for item in added] == [item["id"] for item in done]
    assert found[0]["response"]["id"] == found[-1]["response"]["id"] and found[0]["response"]["usage"] is None


def test_response_deltas_add_up() -> None:
    found = events("responses", chars=3)

    for index, text in enumerate([ANSWER.text, *(call.arguments for call in CALLS)]):
        deltas = [e["delta"] for e in found if e.get("output_index") == index and e["type"].endswith("delta")]
        assert len(deltas) > 1 and "".join(deltas) == text


# --- Gemini -----------------------------------------------------------------------------------------------------------
GEMINI_USAGE = {
    "promptTokenCount": 137,
    "cachedContentTokenCount": 30,
    "candidatesTokenCount": 30,
    "thoughtsTokenCount": 20,
    "totalTokenCount": 187,
}


def test_a_gemini_answer() -> None:
    found = body("gemini")

    (candidate,) = found["candidates"]
    assert candidate["content"] == {
        "role": "model",
        "parts": [
            {"text": ANSWER.text},
            {"functionCall": {"id": "call_1", "name": "read", "args": {"path": "a.py"}}},
            {"functionCall": {"id": "call_2", "name": "spawn", "args": {"x": 1}}},
        ],
    }
    assert (candidate["finishReason"], found["usageMetadata"], found["modelVersion"]) == ("STOP", GEMINI_USAGE, "m-1")


def test_gemini_chunks_hold_text_then_calls_the_reason_and_usage() -> None:
    found = events("gemini")

    parts = [part for chunk in found for part in chunk["candidates"][0]["content"]["parts"]]
    assert "".join(part.get("text", "") for part in parts) == ANSWER.text
    assert [part["functionCall"]["name"] for part in parts if "functionCall" in part] == ["read", "spawn"]
    assert [chunk["candidates"][0].get("finishReason") for chunk in found] == [None] * (len(found) - 1) + ["STOP"]
    assert ["usageMetadata" in chunk for chunk in found] == [False] * (len(found) - 1) + [True]


@pytest.mark.parametrize("answer", [ANSWER, WORD, replace(WORD, text="")])
def test_gemini_without_events_streams_one_array(answer: Answer) -> None:
    whole = b"".join(event.data for event in dialects.events(told("gemini", framed=False), answer, 5))

    assert json.loads(whole) == events("gemini", answer)


# --- all --------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("wire", ["chat", "messages", "responses", "gemini"])
def test_an_answer_without_usage_says_none(wire: Wire) -> None:
    answer = replace(ANSWER, usage=None)

    assert not body(wire, answer).get("usage") and "usageMetadata" not in body(wire, answer)
    for event in events(wire, answer):
        assert "usageMetadata" not in event and not event.get("usage")
        assert not event.get("message", {}).get("usage") and not event.get("response", {}).get("usage")


@pytest.mark.parametrize("wire", ["chat", "messages", "responses", "gemini"])
def test_an_empty_answer_can_be_said(wire: Wire) -> None:
    empty = replace(ANSWER, text="", calls=())

    assert events(wire, empty) and not any(event.is_text for event in dialects.events(told(wire), empty, 5))
    assert body(wire, empty)


@pytest.mark.parametrize(
    ("wire", "expected"),
    [
        ("chat", {"error": {"message": "No.", "type": "rate_limit_error", "param": None, "code": None}}),
        ("responses", {"error": {"message": "No.", "type": "rate_limit_error", "param": None, "code": None}}),
        ("messages", {"type": "error", "error": {"type": "rate_limit_error", "message": "No."}}),
        ("count_tokens", {"type": "error", "error": {"type": "rate_limit_error", "message": "No."}}),
        ("gemini", {"error": {"code": 429, "message": "No.", "status": "RESOURCE_EXHAUSTED"}}),
    ],
)
def test_errors_in_each_dialect(wire: str, expected: Any) -> None:
    assert json.loads(dialects.error(wire, 429, "No.")) == expected
