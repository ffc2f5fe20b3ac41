"""What each fault makes of an answer, before anything is sent."""

import base64
import json
import zlib
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

import pytest

from fairtrial.scripted.choose import choose
from fairtrial.scripted.delivery import Delivery, deliver
from fairtrial.scripted.faults import Fault
from fairtrial.scripted.script import Pace, parse_script
from tests.unit.scripted.agents import asked

CANARY = "fairtrial-canary-0123456789abcdef"
SCRIPT = parse_script(
    {"steps": [{"say": "I look at the file first.", "edit": {"file": "a", "old": "b", "new": "c"}}, {"say": "Done."}]}
)
AGENTS = ["pi", "claude", "codex", "gemini"]  # one of each wire


def sent(
    agent: str, fault: dict[str, Any] | None = None, *, stream: bool = True, results: int = 0, **pace: Any
) -> Delivery:
    conversation = asked(agent, results, stream=stream)
    if agent == "pi":
        conversation = replace(conversation, wants_usage=True)
    answer = choose(SCRIPT, conversation).answer
    headers = {"authorization": f"Bearer {CANARY}"}
    return deliver(conversation, answer, Fault.model_validate(fault) if fault else None, Pace(**pace), headers)


def text(delivery: Delivery) -> str:
    return b"".join(delivery.chunks).decode()


def arguments(agent: str, kind: str) -> str:
    """The arguments of the call, put together again from a stream."""
    found = ""
    for line in text(sent(agent, {"kind": kind})).splitlines():
        if not line.startswith("data: {"):
            continue
        data = json.loads(line.removeprefix("data: "))
        for choice in data.get("choices", []):
            found += "".join(call["function"]["arguments"] for call in choice["delta"].get("tool_calls", []))
        found += data["delta"].get("partial_json", "") if isinstance(data.get("delta"), dict) else ""
        if data.get("type") == "response.function_call_arguments.delta":
            found += data["delta"]
    return found


@pytest.mark.parametrize("agent", ["pi", "claude", "codex"])
def test_truncated_arguments_are_no_json_any_more(agent: str) -> None:
    found = arguments(agent, "truncated_tool_json")

    assert found.startswith("{")
    with pytest.raises(ValueError, match=r"Expecting|Unterminated"):
        json.loads(found)


def test_where_arguments_are_an_object_truncated_ones_are_said_as_the_wire_can() -> None:
    last = json.loads(sent("gemini", {"kind": "truncated_tool_json"}).chunks[-1].removeprefix(b"data: "))
    whole = json.loads(text(sent("claude", {"kind": "truncated_tool_json"}, stream=False)))

    assert last["candidates"][0]["finishReason"] == "MALFORMED_FUNCTION_CALL"
    assert last["candidates"][0]["content"]["parts"] == []
    assert whole["content"][-1]["input"] == {}


@pytest.mark.parametrize("agent", ["pi", "claude", "codex"])
def test_extra_arguments_and_wrong_types(agent: str) -> None:
    right = json.loads(arguments(agent, "no_usage"))
    extra, wrong = json.loads(arguments(agent, "extra_arguments")), json.loads(arguments(agent, "wrong_types"))

    assert extra.pop("unexpected_argument") and extra == right
    assert wrong.keys() == right.keys()
    assert all(type(wrong[name]) is not type(right[name]) for name in right)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("agent", AGENTS)
def test_a_status_is_an_error_body_with_retry_after_only_if_said(agent: str, stream: bool) -> None:
    plain = sent(agent, {"kind": "status", "status": 429, "message": "Slowly."}, stream=stream)
    later = sent(agent, {"kind": "status", "status": 429, "retryAfter": 0}, stream=stream)

    assert plain.status == 429 and "Retry-After" not in plain.headers and not plain.chunked
    assert json.loads(text(plain))["error"]["message"] == "Slowly."
    assert later.headers["Retry-After"] == "0"


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("agent", AGENTS)
def test_an_empty_answer_keeps_its_form_and_an_empty_body_has_none(agent: str, stream: bool) -> None:
    empty = sent(agent, {"kind": "empty_answer"}, stream=stream)

    assert empty.status == 200 and empty.chunks and "I look" not in text(empty)
    assert sent(agent, {"kind": "empty_body"}, stream=stream).chunks == ()


@pytest.mark.parametrize("agent", AGENTS)
def test_a_malformed_body_is_no_json(agent: str) -> None:
    with pytest.raises(ValueError, match=r"Expecting|Unterminated"):
        json.loads(text(sent(agent, {"kind": "malformed_body"}, stream=False)))
    lines = [line for line in text(sent(agent, {"kind": "malformed_body"})).splitlines() if line.startswith("data: {")]
    broken = [line for line in lines if not line.endswith("}")]
    assert len(broken) == 1


@pytest.mark.parametrize("agent", AGENTS)
def test_a_cut_lies_in_the_middle_or_where_it_is_said(agent: str) -> None:
    whole = sent(agent)

    assert sent(agent, {"kind": "truncated_stream"}).cut_at == len(whole.chunks) // 2
    assert sent(agent, {"kind": "truncated_stream", "afterEvents": 0}).cut_at == 0
    assert sent(agent, {"kind": "truncated_stream", "afterEvents": 999}).cut_at == len(whole.chunks)
    body = sent(agent, {"kind": "truncated_stream"}, stream=False)
    assert body.cut_at == 1 and int(body.headers["Content-Length"]) == len(b"".join(body.chunks))


def test_a_silence_is_before_the_headers_unless_events_come_first() -> None:
    assert (sent("pi", {"kind": "silence"}).pause_at, sent("pi", {"kind": "silence"}).pause_seconds) == (-1, 3600)
    assert sent("pi", {"kind": "silence", "afterEvents": 2, "seconds": 0.5}).pause_at == 2


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("agent", AGENTS)
def test_a_wrong_model_is_named_and_missing_usage_is_missing(agent: str, stream: bool) -> None:
    right, wrong = (
        text(sent(agent, stream=stream)),
        text(sent(agent, {"kind": "wrong_model", "model": "m-2"}, stream=stream)),
    )

    assert '"m-1"' in right and '"m-1"' not in wrong and '"m-2"' in wrong
    assert "oken" not in text(sent(agent, {"kind": "no_usage"}, stream=stream))


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("agent", AGENTS)
def test_a_header_is_echoed_in_each_form(agent: str, stream: bool) -> None:
    def echoed(form: str) -> str:
        return text(sent(agent, {"kind": "echo", "header": "authorization", "form": form}, stream=stream, chars=10_000))

    assert CANARY in echoed("plain")
    assert base64.b64encode(f"Bearer {CANARY}".encode()).decode() in echoed("base64")
    assert CANARY in unquote(echoed("percent")) and CANARY not in echoed("percent")


def test_a_split_canary_is_in_no_chunk_yet_in_the_text() -> None:
    delivery = sent("pi", {"kind": "echo", "text": CANARY, "form": "split"})

    pieces = [
        choice["delta"].get("content", "")
        for chunk in delivery.chunks
        if chunk.startswith(b"data: {")
        for choice in json.loads(chunk.removeprefix(b"data: "))["choices"]
    ]
    assert CANARY in "".join(pieces)
    assert max(map(len, pieces)) <= 7


@pytest.mark.parametrize("results", [0, 1])
@pytest.mark.parametrize("agent", AGENTS)
def test_an_endless_stream_says_its_last_text_for_ever_and_a_long_one_so_many_bytes(agent: str, results: int) -> None:
    endless, long = (
        sent(agent, {"kind": "endless", "ms": 5}, results=results),
        sent(agent, {"kind": "long", "bytes": 4000}),
    )

    assert endless.repeat and (endless.repeat.times, endless.repeat.ms) == (None, 5)
    assert endless.repeat.chunk == endless.chunks[endless.repeat.index]
    assert "and so on" in endless.repeat.chunk.decode()
    assert long.repeat and long.repeat.times == 100 and "and so on" in long.repeat.chunk.decode()


def test_a_long_body_is_still_json() -> None:
    long = sent("pi", {"kind": "long", "bytes": 5000}, stream=False)

    assert long.repeat and long.repeat.times
    whole = long.chunks[0] + long.repeat.chunk * long.repeat.times + long.chunks[1]
    assert len(whole) > 5000 and json.loads(whole)["object"] == "chat.completion"


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("agent", AGENTS)
def test_a_compressed_answer_can_be_read_as_it_comes(agent: str, stream: bool) -> None:
    delivery, plain = sent(agent, {"kind": "gzip"}, stream=stream), sent(agent, stream=stream)

    reader = zlib.decompressobj(wbits=31)
    read = [reader.decompress(chunk) for chunk in delivery.chunks]
    assert delivery.headers["Content-Encoding"] == "gzip"
    assert tuple(read[: len(plain.chunks)]) == plain.chunks and reader.eof


@pytest.mark.parametrize("stream", [True, False])
def test_a_bomb_is_small_on_the_wire_and_the_answer_is_behind_it(stream: bool) -> None:
    delivery = sent("pi", {"kind": "gzip_bomb", "bytes": 5_000_000}, stream=stream)

    wire = delivery.chunks[0] + delivery.padding * delivery.padding_times + b"".join(delivery.chunks[1:])
    plain, rest = b"", wire
    while rest:
        reader = zlib.decompressobj(wbits=31)
        plain, rest = plain + reader.decompress(rest), reader.unused_data
    assert len(wire) < 20_000 and len(plain) > 5_000_000
    assert plain.endswith(b"".join(sent("pi", stream=stream).chunks))
    if not stream:
        assert json.loads(plain)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("agent", AGENTS)
def test_split_characters_come_whole_when_put_together(agent: str, stream: bool) -> None:
    delivery = sent(agent, {"kind": "split_utf8"}, stream=stream)

    assert any(mark in text(delivery) for mark in ("déjà", "日本"))
    for chunk in delivery.chunks[:-1]:
        with pytest.raises(UnicodeDecodeError):
            chunk.decode()


def test_a_huge_header() -> None:
    assert len(sent("pi", {"kind": "huge_header", "bytes": 70_000}).headers["X-Padding"]) == 70_000


@pytest.mark.parametrize("agent", AGENTS)
def test_pace_cuts_text_and_waits(agent: str) -> None:
    slow, fast = sent(agent, chars=3, ms=7, first_ms=11), sent(agent)

    assert len(slow.chunks) > len(fast.chunks) + 5
    assert (slow.ms, slow.first_ms) == (7, 11) and (fast.ms, fast.first_ms) == (0, 0)
