"""OpenAI's chat completions, and the many providers that speak it.

A stream tells its usage only if asked to (`stream_options.include_usage`), in a last chunk with no choices; some
providers tell a running one in every chunk, so that only what comes with or after the end of the choices is final.
"""

from typing import Any

from fairtrial.usage.counters import Reported
from fairtrial.wires import body as bodies
from fairtrial.wires import openai, reading
from fairtrial.wires.base import CHAT
from fairtrial.wires.common import BodyWire

_RENAMED = {
    "max_completion_tokens": "max_tokens",
    "reasoning.effort": "reasoning_effort",
    "thinking.type": "thinking",
    "stream_options.include_usage": "include_usage",
}
_TOKENS = ("content", "reasoning_content", "reasoning", "refusal", "tool_calls", "function_call", "audio")


class _Account:
    def __init__(self) -> None:
        self.seen = reading.Seen()
        self._finished = False  # a choice has told why it ended

    def wants(self, _name: str, data: str) -> bool:
        """Once a token was seen, not what only goes on. Within a text its quotes are escaped, so keys are keys."""
        goes_on = '"finish_reason":null' in data and ('"usage":null' in data or '"usage"' not in data)
        return not (self.seen.first_usable and goes_on and '"error"' not in data)

    def event(self, name: str, value: dict[str, Any]) -> None:
        seen = self.seen
        if name == "[DONE]":
            seen.ended = True
            seen.final = bool(seen.usage)
            return
        self._object(value, "delta")
        if value.get("error"):
            seen.note(error_type=openai.error_type(value))
        elif seen.merge(value.get("usage")):
            seen.final = self._finished or value.get("choices") == []

    def whole(self, value: dict[str, Any]) -> None:
        if value.get("error") or "choices" not in value:
            self.seen.note(error_type=openai.error_type(value))
            return
        self._object(value, "message")
        self.seen.merge(value.get("usage"))
        self.seen.first_usable = bool(bodies.items(value, "choices"))
        self.seen.ended = self.seen.final = True

    def reported(self) -> Reported:
        return openai.reported(self.seen.usage, "prompt", "completion")

    def _object(self, value: dict[str, Any], part: str) -> None:
        seen = self.seen
        seen.note(response_id=value.get("id"), model=value.get("model"), service_tier=value.get("service_tier"))
        for choice in bodies.items(value, "choices"):
            delta = bodies.child(choice, part)
            seen.first_usable |= any(delta.get(name) for name in _TOKENS)
            if isinstance(choice.get("finish_reason"), str):
                self._finished = True
                seen.note(stop_reason=choice["finish_reason"])


WIRE = BodyWire(
    CHAT, {"/v1/chat/completions": "generate"}, _RENAMED, _Account, openai.error, usage_flag="include_usage"
)
