"""Anthropic messages, and the counting of tokens."""

from dataclasses import replace
from typing import Any

from fairtrial.scripted.choose import Answer
from fairtrial.scripted.dialects.events import Event, named_event, parsed, pieces
from fairtrial.scripted.usage import Counts


def body(answer: Answer) -> dict[str, Any]:
    """A message. Arguments that are no JSON object cannot be said here; they become an empty object."""
    content: list[dict[str, Any]] = [{"type": "text", "text": answer.text}] if answer.text else []
    content += [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": parsed(call.arguments) or {}}
        for call in answer.calls
    ]
    usage = {"usage": _usage(answer.usage)} if answer.usage else {}
    return {**_head(answer), "content": content, "stop_reason": _reason(answer), **usage}


def events(answer: Answer, chars: int) -> list[Event]:
    """The message's start, its blocks, its end."""
    start = {**_head(answer), "content": [], "stop_reason": None}
    if answer.usage:
        start["usage"] = _usage(replace(answer.usage, output=1, reasoning=0))  # real ones don't know yet either
    found = [named_event({"type": "message_start", "message": start}), named_event({"type": "ping"})]
    blocks = 0
    if answer.text:
        found += _block(0, {"type": "text", "text": ""}, "text_delta", "text", answer.text, chars)
        blocks = 1
    for index, call in enumerate(answer.calls, blocks):
        block = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
        found += _block(index, block, "input_json_delta", "partial_json", call.arguments, chars)
    delta: dict[str, Any] = {"type": "message_delta", "delta": {"stop_reason": _reason(answer), "stop_sequence": None}}
    if answer.usage:
        delta["usage"] = _usage(answer.usage)
    return [*found, named_event(delta), named_event({"type": "message_stop"})]


def count(answer: Answer) -> dict[str, Any]:
    """The answer to count_tokens."""
    return {"input_tokens": answer.usage.input if answer.usage else 0}


def error(status: int, message: str) -> dict[str, Any]:
    """An error body."""
    kinds = {
        400: "invalid_request_error",
        401: "authentication_error",
        403: "permission_error",
        404: "not_found_error",
        413: "request_too_large",
        429: "rate_limit_error",
        529: "overloaded_error",
    }
    return {"type": "error", "error": {"type": kinds.get(status, "api_error"), "message": message}}


def _head(answer: Answer) -> dict[str, Any]:
    return {
        "id": f"msg_{answer.id}",
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "stop_sequence": None,
    }


def _reason(answer: Answer) -> str:
    return "tool_use" if answer.calls else "end_turn"


def _block(index: int, block: dict[str, Any], kind: str, name: str, text: str, chars: int) -> list[Event]:
    found = [named_event({"type": "content_block_start", "index": index, "content_block": block})]
    for piece in pieces(text, chars):
        delta = {"type": "content_block_delta", "index": index, "delta": {"type": kind, name: piece}}
        found.append(named_event(delta, is_text=kind == "text_delta"))
    return [*found, named_event({"type": "content_block_stop", "index": index})]


def _usage(counts: Counts) -> dict[str, Any]:
    usage: dict[str, Any] = {
        "input_tokens": counts.uncached_input,
        "cache_creation_input_tokens": counts.cache_write,
        "cache_read_input_tokens": counts.cached_input,
        "output_tokens": counts.output,
    }
    if counts.reasoning:
        usage["output_tokens_details"] = {"thinking_tokens": counts.reasoning}
    return usage
