"""A secret that a model says in pieces is found in the joined text."""

import pytest

from fairtrial.secrets.scan import scan
from fairtrial.wires.said import Said

from .conftest import sse

CANARY = "canary-0123-4567"
PIECES = [CANARY[start : start + 3] for start in range(0, len(CANARY), 3)]
EVENTS = {
    "anthropic text": lambda p: {"type": "content_block_delta", "delta": {"type": "text_delta", "text": p}},
    "anthropic tool": lambda p: {
        "type": "content_block_delta",
        "delta": {"type": "input_json_delta", "partial_json": p},
    },
    "chat text": lambda p: {"choices": [{"index": 0, "delta": {"content": p}, "finish_reason": None}]},
    "chat tool": lambda p: {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": p}}]}}]},
    "responses": lambda p: {"type": "response.output_text.delta", "item_id": "i", "delta": p},
    "gemini": lambda p: {"candidates": [{"content": {"role": "model", "parts": [{"text": p}]}, "index": 0}]},
}


@pytest.mark.parametrize("shape", EVENTS)
def test_pieces_are_joined(shape: str):
    stream = sse(*[EVENTS[shape](piece) for piece in PIECES], "[DONE]", "damaged {")
    secrets = {"canary": CANARY.encode()}
    assert scan([stream], secrets) == []
    said = Said()
    text = [said.feed(stream[:50]), said.feed(stream[50:]), said.finish()]
    assert [each.name for each in scan(text, secrets)] == ["canary"]


@pytest.mark.parametrize(
    "data", [b"", b'{"text": "whole"}', b"<html>", b"data: " + b"[" * 100_000 + b"\n\n", b"data: 7\n\n"]
)
def test_what_is_no_event_stream_says_nothing(data: bytes):
    said = Said()
    assert said.feed(data) + said.finish() == b""
