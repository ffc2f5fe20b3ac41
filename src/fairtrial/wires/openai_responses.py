"""OpenAI's responses. Usage is in the one last event: `response.completed`, `.incomplete` or `.failed`."""

from typing import Any

from fairtrial.usage.counters import Reported
from fairtrial.wires import body as bodies
from fairtrial.wires import openai, reading
from fairtrial.wires.base import RESPONSES
from fairtrial.wires.common import BodyWire

_RENAMED = {
    "max_output_tokens": "max_tokens",
    "reasoning.effort": "reasoning_effort",
    "reasoning.summary": "reasoning_summary",
    "text.verbosity": "verbosity",
}
_LAST = {"response.completed", "response.incomplete", "response.failed"}


class _Account:
    def __init__(self) -> None:
        self.seen = reading.Seen()

    def wants(self, name: str, _data: str) -> bool:
        """Once a token was seen, only what begins and ends a response: items can be large."""
        return not self.seen.first_usable or name.count(".") < 2  # noqa: PLR2004 — "response.completed"

    def event(self, name: str, value: dict[str, Any]) -> None:
        seen, kind = self.seen, bodies.text(value.get("type")) or name
        if kind in _LAST:
            self._response(bodies.child(value, "response"))
            seen.ended = True
            seen.final = bool(seen.usage)
            seen.first_usable |= kind != "response.failed"
        elif kind in {"response.created", "response.in_progress", "response.queued"}:
            self._response(bodies.child(value, "response"))
        elif kind == "error" or (not kind and "error" in value):
            seen.note(error_type=openai.error_type(value))
        elif kind.endswith(".delta"):
            seen.first_usable |= bool(value.get("delta"))
        elif kind in {"response.output_item.added", "response.output_item.done"}:
            is_call = str(bodies.child(value, "item").get("type")).endswith("_call")
            seen.first_usable |= is_call or kind.endswith("done")

    def whole(self, value: dict[str, Any]) -> None:
        if "output" not in value:
            self.seen.note(error_type=openai.error_type(value))
            return
        self._response(value)
        self.seen.first_usable |= isinstance(value["output"], list) and value.get("status") != "failed"
        self.seen.ended = self.seen.final = True

    def reported(self) -> Reported:
        return openai.reported(self.seen.usage, "input", "output")

    def _response(self, response: dict[str, Any]) -> None:
        seen = self.seen
        tier, status = response.get("service_tier"), bodies.text(response.get("status"))
        seen.note(response_id=response.get("id"), model=response.get("model"), service_tier=tier)
        if status not in {"in_progress", "queued"}:
            seen.note(stop_reason=bodies.child(response, "incomplete_details").get("reason") or status)
        if response.get("error"):
            seen.note(error_type=openai.error_type(response))
        seen.merge(response.get("usage"))


WIRE = BodyWire(RESPONSES, {"/v1/responses": "generate"}, _RENAMED, _Account, openai.error)
