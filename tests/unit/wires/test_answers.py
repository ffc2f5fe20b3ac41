"""What each wire's answers say, in the shapes that providers send."""

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fairtrial.usage.counters import CUT, NO_FINAL, Semantics
from fairtrial.wires import BY_NAME, find, reading

from .conftest import PATHS, SEMANTICS, Answers, sse

MESSAGE_START = {
    "type": "message_start",
    "message": {
        "id": "msg_01",
        "type": "message",
        "role": "assistant",
        "model": "m-1",
        "content": [],
        "stop_reason": None,
        "usage": {
            "input_tokens": 25,
            "cache_creation_input_tokens": 300,
            "cache_read_input_tokens": 4000,
            "output_tokens": 1,
            "service_tier": "standard",
        },
    },
}
TEXT = {
    "type": "content_block_delta",
    "index": 0,
    "delta": {"type": "text_delta", "text": "Gr\N{LATIN SMALL LETTER U WITH DIAERESIS}n"},
}
MESSAGE_DELTA = {
    "type": "message_delta",
    "delta": {"stop_reason": "tool_use", "stop_sequence": None},
    "usage": {"output_tokens": 87, "cache_read_input_tokens": None},
}
ANTHROPIC = [
    MESSAGE_START,
    {"type": "ping"},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    TEXT,
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "t", "name": "Read"}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{}"}},
    MESSAGE_DELTA,
    {"type": "message_stop"},
]


def _chunk(**facts: Any) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m-1", **facts}


CHAT_USAGE = {
    "prompt_tokens": 100,
    "completion_tokens": 50,
    "total_tokens": 150,
    "prompt_tokens_details": {"cached_tokens": 64, "audio_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 32, "audio_tokens": 0},
}
CHAT = [
    _chunk(choices=[{"index": 0, "delta": {"role": "assistant", "content": ""}}], usage=None),
    _chunk(choices=[{"index": 0, "delta": {"content": "Hi"}}], usage=None),
    _chunk(choices=[{"index": 0, "delta": {}, "finish_reason": "stop"}], usage=None, service_tier="default"),
    _chunk(choices=[], usage=CHAT_USAGE),
    "[DONE]",
]
RESPONSE = {"id": "resp_1", "object": "response", "model": "m-1", "status": "in_progress", "usage": None}
RESPONSES_USAGE = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 64},
    "output_tokens": 50,
    "output_tokens_details": {"reasoning_tokens": 32},
    "total_tokens": 150,
}
RESPONSES = [
    {"type": "response.created", "response": RESPONSE},
    {"type": "response.in_progress", "response": RESPONSE},
    {"type": "response.output_item.added", "item": {"type": "message", "content": []}},
    {"type": "response.output_text.delta", "delta": "Hi"},
    {"type": "response.output_item.done", "item": {"type": "message"}},
    {"type": "response.completed", "response": {**RESPONSE, "status": "completed", "usage": RESPONSES_USAGE}},
]
GEMINI_USAGE = {
    "promptTokenCount": 100,
    "cachedContentTokenCount": 64,
    "candidatesTokenCount": 18,
    "thoughtsTokenCount": 32,
    "totalTokenCount": 150,
}


def _part(text: str = "", **facts: Any) -> dict[str, Any]:
    content = {"role": "model", "parts": [{"text": text}]} if text else {}
    return {"candidates": [{"content": content, "index": 0, **facts}], "modelVersion": "m-1", "responseId": "r1"}


GEMINI = [
    {**_part("Hel"), "usageMetadata": {"promptTokenCount": 100, "thoughtsTokenCount": 32, "totalTokenCount": 132}},
    {**_part("lo", finishReason="STOP"), "usageMetadata": GEMINI_USAGE},
]
STREAMS = {
    "anthropicMessages": ANTHROPIC,
    "openaiChat": CHAT,
    "openaiResponses": RESPONSES,
    "gemini": GEMINI,
}
# all_input, uncached_input, cached_input, cache_write, output, reasoning, total
EXPECTED = {
    "anthropicMessages": (4325, 25, 4000, 300, 87, None, None),
    "openaiChat": (100, 36, 64, None, 50, 32, 150),
    "openaiResponses": (100, 36, 64, None, 50, 32, 150),
    "gemini": (100, 36, 64, None, 18, 32, 150),
}
WHOLE = {
    "anthropicMessages": {**MESSAGE_START["message"], "stop_reason": "end_turn", "content": [{"type": "text"}]},
    "openaiChat": {
        "id": "chatcmpl-1",
        "model": "m-1",
        "choices": [{"index": 0, "message": {"content": "Hi"}, "finish_reason": "stop"}],
        "usage": CHAT_USAGE,
    },
    "openaiResponses": {**RESPONSE, "status": "completed", "output": [{"type": "message"}], "usage": RESPONSES_USAGE},
    "gemini": GEMINI[-1],
}


def _counts(usage: Any) -> tuple[int | None, ...]:
    c = usage.counters
    return c.all_input, c.uncached_input, c.cached_input, c.cache_write, c.output, c.reasoning, c.total


@pytest.mark.parametrize("wire", STREAMS)
def test_a_whole_stream_has_complete_usage(wire: str, answers: Answers):
    facts = answers.read(wire, sse(*STREAMS[wire]))
    assert (facts.usage.state, facts.usage.reason, facts.problem) == ("complete", "", "")
    assert _counts(facts.usage) == EXPECTED[wire]
    assert facts.response_id
    assert facts.model == "m-1"
    assert facts.first_usable
    assert facts.ended
    assert facts.stop_reason in {"tool_use", "stop", "completed", "STOP"}
    assert not facts.error_type


@pytest.mark.parametrize("wire", STREAMS)
def test_carriage_returns_make_no_difference(wire: str, answers: Answers):
    stream = sse(*STREAMS[wire])
    assert answers.read(wire, stream.replace(b"\n", b"\r\n")) == answers.read(wire, stream)
    assert answers.read(wire, stream.replace(b"\n", b"\r")) == answers.read(wire, stream)


@pytest.mark.parametrize("wire", WHOLE)
def test_an_answer_in_one_piece_has_complete_usage(wire: str, answers: Answers):
    facts = answers.read(wire, json.dumps(WHOLE[wire], indent=1).encode(), request=b'{"model": "m-1"}')
    assert (facts.usage.state, facts.problem, facts.first_usable, facts.ended) == ("complete", "", True, True)
    expected = list(EXPECTED[wire])
    if wire == "anthropicMessages":
        expected[4] = 1
    assert _counts(facts.usage) == tuple(expected)
    assert facts.response_id
    assert facts.stop_reason


@pytest.mark.parametrize(
    ("wire", "events", "usable", "state", "reason", "output"),
    [
        ("anthropicMessages", ANTHROPIC[:1], False, "incomplete", CUT, 1),
        ("anthropicMessages", ANTHROPIC[:3], False, "incomplete", CUT, 1),
        ("anthropicMessages", ANTHROPIC[:4], True, "incomplete", CUT, 1),
        ("anthropicMessages", ANTHROPIC[:8], True, "complete", "", 87),  # the final usage came before the cut
        ("openaiChat", CHAT[:1], False, "absent", "cut_before_usage", None),
        ("openaiChat", CHAT[:3], True, "absent", "cut_before_usage", None),
        ("openaiChat", CHAT[:4], True, "complete", "", 50),
        ("openaiResponses", RESPONSES[:3], False, "absent", "cut_before_usage", None),
        ("openaiResponses", RESPONSES[:4], True, "absent", "cut_before_usage", None),
        ("gemini", GEMINI[:1], True, "incomplete", CUT, None),
        ("gemini", [{**_part("a", finishReason="STOP")}], True, "absent", "not_reported", None),
        ("gemini", [GEMINI[0], _part("a", finishReason="STOP")], True, "incomplete", NO_FINAL, None),
    ],
)
def test_a_cut_stream_keeps_what_was_last_seen(
    wire: str, events: list, usable: bool, state: str, reason: str, output: int | None, answers: Answers
):
    facts = answers.read(wire, sse(*events))
    assert (facts.first_usable, facts.usage.state, facts.usage.reason) == (usable, state, reason)
    assert facts.usage.counters.output == output
    # Cut within the next event, as sockets are.
    assert answers.read(wire, sse(*events) + b'data: {"usage": {"outp') == facts


def test_a_running_usage_is_final_only_with_the_end(answers: Answers):
    running = [
        _chunk(choices=[{"delta": {"content": "a"}}], usage={**CHAT_USAGE, "completion_tokens": n}) for n in (1, 2)
    ]
    cut = answers.read("openaiChat", sse(*running))
    assert (cut.usage.state, cut.usage.counters.output) == ("incomplete", 2)
    whole = answers.read("openaiChat", sse(*running, "[DONE]"))
    assert (whole.usage.state, whole.usage.counters.output) == ("complete", 2)


def test_a_usage_without_choices_is_final(answers: Answers):
    facts = answers.read("openaiChat", sse(CHAT[1], CHAT[3]))
    assert (facts.usage.state, facts.usage.counters.output) == ("complete", 50)


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
def test_what_only_goes_on_hides_nothing(separators: tuple[str, str], answers: Answers):
    text = 'it said "finish_reason":null,"usage":null'
    events = [
        _chunk(choices=[{"delta": {"content": text}, "finish_reason": None}], usage=None),
        _chunk(choices=[{"delta": {"content": text}, "finish_reason": None}]),
        _chunk(choices=[{"delta": {"content": text}, "finish_reason": None}], usage=CHAT_USAGE),
        _chunk(choices=[{"delta": {"content": text}, "finish_reason": "length"}]),
    ]
    compact = [json.dumps(each, separators=separators) for each in events]
    facts = answers.read("openaiChat", sse(*compact))
    assert (facts.stop_reason, facts.usage.counters.output) == ("length", 50)
    error = json.dumps({**events[0], "error": {"code": "server_error"}}, separators=separators)
    assert answers.read("openaiChat", sse(*compact, error)).error_type == "server_error"


def test_after_a_first_token_items_are_not_read(answers: Answers):
    damaged = 'not JSON\n\nevent: response.output_item.done\ndata: {"type": '
    stream = sse(*RESPONSES[:4]) + b"event: response.output_item.done\ndata: " + damaged.encode() + b"\n\n"
    facts = answers.read("openaiResponses", stream + sse(RESPONSES[-1]))
    assert (facts.problem, facts.usage.state) == ("", "complete")


def test_a_usage_of_any_size_is_kept_small(answers: Answers):
    usage = {**CHAT_USAGE, **{f"field_{n}": "x" * 1000 for n in range(500)}, "deep": [[[[[[[1]]]]]]], "big": 2**70}
    facts = answers.read("openaiChat", json.dumps({**WHOLE["openaiChat"], "usage": usage}).encode())
    assert facts.usage.counters.output == 50
    assert len(json.dumps(facts.usage.raw)) < 20_000


def test_output_is_a_sum_and_the_last_one_counts(answers: Answers):
    delta = {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 40}}
    facts = answers.read("anthropicMessages", sse(MESSAGE_START, TEXT, delta, MESSAGE_DELTA, {"type": "message_stop"}))
    assert facts.usage.counters.output == 87
    early = answers.read("anthropicMessages", sse(MESSAGE_START, TEXT, delta))
    assert (early.usage.state, early.usage.counters.output) == ("incomplete", 40)


def test_a_stream_that_was_not_asked_for_usage_says_so(answers: Answers):
    facts = answers.read("openaiChat", sse(*CHAT[:3], "[DONE]"), request=b'{"model": "m-1", "stream": true}')
    assert (facts.usage.state, facts.usage.reason, facts.ended) == ("absent", "not_requested", True)
    assert facts.usage.counters.reason("output") == "not_requested"


def test_gemini_streams_an_array_without_alt_sse(answers: Answers):
    path = "/v1beta/models/m-1:streamGenerateContent"
    facts = answers.read("gemini", json.dumps(GEMINI, indent=2).encode(), path=path)
    assert facts == answers.read("gemini", sse(*GEMINI))
    error = json.dumps([{"error": {"code": 503, "status": "UNAVAILABLE"}}]).encode()
    assert answers.read("gemini", error, path=path, status=503).error_type == "UNAVAILABLE"


@pytest.mark.parametrize("declared", [False, True])
def test_zeros_that_are_left_out_are_zeros_only_if_declared(declared: bool, answers: Answers):
    usage = {"promptTokenCount": 100, "candidatesTokenCount": 18, "totalTokenCount": 118}
    semantics = Semantics(cached_inside_input=True, reasoning_inside_output=False, zero_left_out=declared)
    facts = answers.read(
        "gemini", sse({**_part("a", finishReason="STOP"), "usageMetadata": usage}), semantics=semantics
    )
    zero = 0 if declared else None
    assert _counts(facts.usage) == (100, 100 if declared else None, zero, None, 18, zero, 118)
    assert facts.usage.counters.reason("cached_input") == ("" if declared else "not_reported")


def test_what_tools_fed_back_is_input_too(answers: Answers):
    usage = {**GEMINI_USAGE, "toolUsePromptTokenCount": 7, "totalTokenCount": 157}
    facts = answers.read("gemini", sse({**_part("a", finishReason="STOP"), "usageMetadata": usage}))
    assert (facts.usage.counters.all_input, facts.usage.counters.uncached_input) == (107, 43)


ERRORS = [
    (
        "anthropicMessages",
        529,
        {"type": "error", "error": {"type": "overloaded_error", "message": "x"}},
        "overloaded_error",
    ),
    ("anthropicMessages", 400, {"type": "error", "error": {"type": "invalid_request_error"}}, "invalid_request_error"),
    (
        "openaiChat",
        429,
        {"error": {"message": "x", "type": "requests", "code": "rate_limit_exceeded"}},
        "rate_limit_exceeded",
    ),
    ("openaiChat", 500, {"error": {"message": "x", "type": "server_error", "code": None}}, "server_error"),
    ("openaiChat", 500, {"error": "boom"}, "error"),
    (
        "openaiResponses",
        401,
        {"error": {"type": "invalid_request_error", "code": "invalid_api_key"}},
        "invalid_api_key",
    ),
    ("gemini", 429, {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "x"}}, "RESOURCE_EXHAUSTED"),
]


@pytest.mark.parametrize(("wire", "status", "error", "kind"), ERRORS)
def test_an_error_answer_has_a_type_and_no_usage(wire: str, status: int, error: dict, kind: str, answers: Answers):
    facts = answers.read(wire, json.dumps(error).encode(), status=status)
    assert (facts.error_type, facts.first_usable, facts.ended) == (kind, False, False)
    assert (facts.usage.state, facts.usage.reason) == ("not_applicable", "error_answer")


@pytest.mark.parametrize(
    ("wire", "events", "kind"),
    [
        (
            "anthropicMessages",
            [*ANTHROPIC[:4], {"type": "error", "error": {"type": "overloaded_error"}}],
            "overloaded_error",
        ),
        ("openaiChat", [*CHAT[:2], {"error": {"code": "server_error"}}], "server_error"),
        (
            "openaiResponses",
            [*RESPONSES[:4], {"type": "error", "code": "server_error", "message": "x"}],
            "server_error",
        ),
        (
            "openaiResponses",
            [
                *RESPONSES[:4],
                {
                    "type": "response.failed",
                    "response": {**RESPONSE, "status": "failed", "error": {"code": "server_error"}},
                },
            ],
            "server_error",
        ),
        ("gemini", [GEMINI[0], {"error": {"code": 503, "status": "UNAVAILABLE"}}], "UNAVAILABLE"),
    ],
)
def test_an_error_within_a_stream_is_told(wire: str, events: list, kind: str, answers: Answers):
    facts = answers.read(wire, sse(*events))
    assert (facts.error_type, facts.first_usable) == (kind, True)
    assert facts.usage.state in {"absent", "incomplete"}


def test_a_response_that_ended_early_keeps_its_usage(answers: Answers):
    last = {
        **RESPONSE,
        "status": "incomplete",
        "incomplete_details": {"reason": "max_output_tokens"},
        "usage": RESPONSES_USAGE,
    }
    facts = answers.read("openaiResponses", sse(*RESPONSES[:4], {"type": "response.incomplete", "response": last}))
    assert (facts.stop_reason, facts.usage.state, facts.ended) == ("max_output_tokens", "complete", True)


def test_a_blocked_prompt_is_an_end(answers: Answers):
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 9}}
    facts = answers.read("gemini", sse(blocked))
    assert (facts.stop_reason, facts.ended, facts.first_usable) == ("SAFETY", True, False)
    assert (facts.usage.state, facts.usage.reason) == ("incomplete", "output_not_reported")


def test_a_token_count_is_no_usage(answers: Answers):
    facts = answers.read("anthropicMessages", b'{"input_tokens": 2095}', path="/v1/messages/count_tokens")
    assert (facts.usage.state, facts.usage.reason) == ("not_applicable", "count_tokens")
    path = "/v1beta/models/m-1:countTokens"
    facts = answers.read("gemini", b'{"totalTokens": 31}', path=path, request=b'{"contents": []}')
    assert facts.usage.state == "not_applicable"


@pytest.mark.parametrize(
    ("usage", "unpriced"),
    [
        ({"server_tool_use": {"web_search_requests": 2}}, ["server_tool_use"]),
        ({"server_tool_use": {"web_search_requests": 0}}, []),
        ({"cache_creation": {"ephemeral_5m_input_tokens": 9, "ephemeral_1h_input_tokens": 0}}, []),
        ({"cache_creation": {"ephemeral_1h_input_tokens": 9}}, ["cache_write_1h"]),
        ({"iterations": [{"type": "compaction"}, {"type": "message"}]}, ["iterations"]),
    ],
)
def test_what_has_a_price_of_its_own_is_told(usage: dict, unpriced: list[str], answers: Answers):
    message = {**MESSAGE_START["message"], "content": [], "usage": {"input_tokens": 1, "output_tokens": 1, **usage}}
    facts = answers.read("anthropicMessages", json.dumps(message).encode())
    assert facts.usage.counters.unpriced == unpriced


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "not_reported"),
        ("12", "not_a_count"),
        (1.5, "not_a_count"),
        (True, "not_a_count"),
        (-1, "not_a_count"),
        (2**63, "out_of_range"),
        ([1], "not_a_count"),
    ],
)
def test_what_is_no_count_is_missing_with_a_reason(value: Any, reason: str, answers: Answers):
    whole = {**WHOLE["openaiChat"], "usage": {**CHAT_USAGE, "completion_tokens": value}}
    facts = answers.read("openaiChat", json.dumps(whole).encode())
    assert (facts.usage.state, facts.usage.reason) == ("incomplete", f"output_{reason}")
    assert facts.usage.counters.reason("output") == reason
    assert facts.usage.counters.uncached_input == 36


def test_semantics_that_cannot_be_are_told(answers: Answers):
    wrong = Semantics(cached_inside_input=True, reasoning_inside_output=True)
    facts = answers.read("anthropicMessages", sse(*ANTHROPIC), semantics=wrong)
    assert facts.usage.counters.reason("uncached_input") == "contradicts_declared_semantics"


@pytest.mark.parametrize("wire", STREAMS)
@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "empty"),
        (b" \n", "empty"),
        (b"<html>Bad gateway</html>", "neither JSON"),
        (b"upstream connect error", "neither JSON"),
        (b'{"id": ', "not JSON"),
        (b'{"a": ' * 100_000, "nested too deep"),
        (b'{"a": ' + b"9" * 5000 + b"}", "number"),
        (b'{"a": "\xff"}', "UTF-8"),
        (b"data: {not json}\n\n", "not JSON"),
        (b"data: 7\n\n", "not a JSON object"),
    ],
)
def test_what_cannot_be_read_is_a_problem_and_no_exception(wire: str, data: bytes, problem: str, answers: Answers):
    reader = BY_NAME[wire].reader(BY_NAME[wire].read_request(find("POST", PATHS[wire])[1], b"{}"), SEMANTICS[wire])
    reader.feed(data)
    facts = reader.finish()
    assert problem in facts.problem
    assert facts.usage.state == "absent"
    assert not facts.first_usable


@pytest.mark.parametrize("wire", STREAMS)
def test_a_stream_is_usable_from_its_first_token_on_and_not_before(wire: str):
    reader = BY_NAME[wire].reader(BY_NAME[wire].read_request(find("POST", PATHS[wire])[1], b"{}"), SEMANTICS[wire])
    seen = []
    for event in STREAMS[wire]:
        seen.append(reader.usable)
        reader.feed(sse(event))
    assert not seen[0]
    assert seen[-1], "before the last event it had something to use"
    assert reader.usable


def test_an_answer_that_does_not_stream_is_usable_at_its_end():
    wire = BY_NAME["openaiChat"]
    reader = wire.reader(wire.read_request(find("POST", PATHS["openaiChat"])[1], b"{}"), SEMANTICS["openaiChat"])
    reader.feed(b'{"id": "1", "model": "m-1", "choices": [{"message": {"content": "hello"}}]}')
    assert not reader.usable
    assert reader.finish().first_usable


def test_a_whole_answer_over_the_limit_is_not_kept(monkeypatch: pytest.MonkeyPatch, answers: Answers):
    monkeypatch.setattr(reading, "MAX_BODY", 1000)
    wire = BY_NAME["openaiChat"]
    reader = wire.reader(
        wire.read_request(find("POST", PATHS["openaiChat"])[1], b'{"model": "m"}'), SEMANTICS["openaiChat"]
    )
    reader.feed(b"{")
    for _ in range(50):
        reader.feed(b" " * 100)
        assert len(reader._whole) <= 1000
    facts = reader.finish()
    assert facts.problem == "the answer is too large to read"
    assert facts.usage.reason == "too_large_to_read"


_WORDS = """
type id model usage error message choices delta content finish_reason response output status candidates code
usageMetadata promptTokenCount prompt_tokens prompt_tokens_details input_tokens stream thinking parts item
stop_reason server_tool_use iterations promptFeedback generationConfig thinkingConfig reasoning
"""
_KEYS = st.sampled_from(_WORDS.split())
_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["", "m", "response.completed", "error"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_KEYS, inner, max_size=4),
    max_leaves=10,
)


@settings(max_examples=60, deadline=None)
@example(values=[{"output": None, "status": []}], status=200)
@given(
    values=st.lists(st.dictionaries(_KEYS, _ANY, max_size=5), min_size=1, max_size=3),
    status=st.sampled_from([200, 500]),
)
def test_nothing_that_a_peer_sends_raises(values: list, status: int):
    for name, wire in BY_NAME.items():
        request = wire.read_request(find("POST", PATHS[name])[1], json.dumps(values[0]).encode())
        for data in (sse(*values, named=False), json.dumps(values[0]).encode(), json.dumps(values).encode()):
            reader = wire.reader(request, SEMANTICS[name], status)
            reader.feed(data)
            reader.finish()
