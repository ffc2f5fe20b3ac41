"""Whole answers read through a wire, at once or in pieces."""

import json
from typing import Any

import pytest

from fairtrial.usage.counters import Semantics
from fairtrial.wires import BY_NAME, find
from fairtrial.wires.base import ResponseFacts

PATHS = {
    "anthropicMessages": "/v1/messages",
    "openaiChat": "/v1/chat/completions",
    "openaiResponses": "/v1/responses",
    "gemini": "/v1beta/models/m-1:streamGenerateContent?alt=sse",
}
SEMANTICS = {
    "anthropicMessages": Semantics(cached_inside_input=False, reasoning_inside_output=True),
    "openaiChat": Semantics(cached_inside_input=True, reasoning_inside_output=True),
    "openaiResponses": Semantics(cached_inside_input=True, reasoning_inside_output=True),
    "gemini": Semantics(cached_inside_input=True, reasoning_inside_output=False),
}


def sse(*events: Any, named: bool = True) -> bytes:
    """Events as a provider sends them: objects under the name of their type, text as it is."""
    lines = []
    for event in events:
        if isinstance(event, dict) and named and "type" in event:
            lines.append(f"event: {event['type']}\n")
        lines.append(f"data: {event if isinstance(event, str) else json.dumps(event, ensure_ascii=False)}\n\n")
    return "".join(lines).encode()


class Answers:
    """Reads answers. Each is read at once and byte by byte, and the facts must agree."""

    def read(
        self,
        wire: str,
        data: bytes,
        *,
        status: int = 200,
        request: bytes | None = None,
        path: str = "",
        semantics: Semantics | None = None,
    ) -> ResponseFacts:
        found = find("POST", path or PATHS[wire])
        assert found is not None
        call = found[1]
        body = request or b'{"model": "m-1", "stream": true, "stream_options": {"include_usage": true}}'
        asked = BY_NAME[wire].read_request(call, body)
        facts = []
        for size in (len(data) or 1, 1, 7):
            reader = BY_NAME[wire].reader(asked, semantics or SEMANTICS[wire], status)
            for start in range(0, len(data), size):
                reader.feed(data[start : start + size])
            facts.append(reader.finish())
        assert facts[0] == facts[1] == facts[2]
        return facts[0]


@pytest.fixture
def answers() -> Answers:
    return Answers()
