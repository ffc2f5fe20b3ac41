"""Anthropic's messages: `/v1/messages` and its token count.

Usage comes in two parts on a stream: `message_start` has the input, `message_delta` the running and at last the final
output (sums, not steps, so the last one counts). Cached tokens are counted outside `input_tokens`, if the provider
declares what Anthropic does.
"""

from typing import Any

from fairtrial.usage.counters import NOT_IN_WIRE, Reported, count
from fairtrial.wires import body, reading
from fairtrial.wires.base import ANTHROPIC
from fairtrial.wires.common import SERVER_ERROR, BodyWire

_RENAMED = {
    "thinking.type": "thinking",
    "thinking.budget_tokens": "thinking_budget",
    "output_config.effort": "reasoning_effort",
}
_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


class _Account:
    def __init__(self) -> None:
        self.seen = reading.Seen()

    def wants(self, name: str, _data: str) -> bool:
        return name not in {"ping", "content_block_stop"} and not (
            self.seen.first_usable and name in {"content_block_delta", "content_block_start"}
        )

    def event(self, name: str, value: dict[str, Any]) -> None:
        seen, kind = self.seen, value.get("type") or name
        if kind == "message_start":
            self._message(body.child(value, "message"))
        elif kind == "content_block_start":
            block = body.child(value, "content_block")
            seen.first_usable |= str(block.get("type")).endswith("tool_use") or bool(block.get("text"))
        elif kind == "content_block_delta":
            delta = body.child(value, "delta")
            seen.first_usable |= any(delta.get(part) for part in ("text", "thinking", "partial_json"))
        elif kind == "message_delta":
            self._delta(value)
        elif kind == "message_stop":
            seen.ended = seen.first_usable = True
        elif kind == "error":
            seen.note(error_type=body.child(value, "error").get("type") or "error")

    def whole(self, value: dict[str, Any]) -> None:
        if value.get("type") == "error" or "error" in value:
            self.seen.note(error_type=body.child(value, "error").get("type") or "error")
        elif isinstance(value.get("content"), list):
            self._message(value)
            self.seen.first_usable = self.seen.ended = self.seen.final = True

    def reported(self) -> Reported:
        usage = self.seen.usage
        return Reported(
            input=count(usage.get("input_tokens")),
            cached=count(usage.get("cache_read_input_tokens")),
            cache_write=count(usage.get("cache_creation_input_tokens")),
            output=count(usage.get("output_tokens")),
            reasoning=count(body.child(usage, "output_tokens_details").get("thinking_tokens")),
            total=NOT_IN_WIRE,
            unpriced=tuple(_unpriced(usage)),
        )

    def _message(self, message: dict[str, Any]) -> None:
        self.seen.note(
            response_id=message.get("id"), model=message.get("model"), stop_reason=message.get("stop_reason")
        )
        self._usage(message.get("usage"))

    def _delta(self, value: dict[str, Any]) -> None:
        stop = body.child(value, "delta").get("stop_reason")
        self.seen.note(stop_reason=stop)
        had = self._usage(value.get("usage"))
        self.seen.final |= had and isinstance(stop, str)

    def _usage(self, usage: Any) -> bool:
        if isinstance(usage, dict):
            self.seen.note(service_tier=usage.get("service_tier"))
        return self.seen.merge(usage)


def _unpriced(usage: dict[str, Any]) -> list[str]:
    """What a price of a million tokens of each kind does not cover."""
    found = []
    if any(isinstance(used, int) and used for used in body.child(usage, "server_tool_use").values()):
        found.append("server_tool_use")
    if body.child(usage, "cache_creation").get("ephemeral_1h_input_tokens"):
        found.append("cache_write_1h")
    if len(body.items(usage, "iterations")) > 1:  # their sum is what is billed, and the counts above leave some out
        found.append("iterations")
    return found


def _error(status: int, kind: str, message: str) -> dict[str, Any]:
    fallback = "invalid_request_error" if status < SERVER_ERROR else "api_error"
    return {"type": "error", "error": {"type": _ERRORS.get(status, fallback), "message": f"{kind}: {message}"}}


WIRE = BodyWire(
    ANTHROPIC, {"/v1/messages": "generate", "/v1/messages/count_tokens": "count_tokens"}, _RENAMED, _Account, _error
)
