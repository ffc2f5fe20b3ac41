"""OpenAI chat completions."""

from typing import Any

from fairtrial.scripted.choose import Answer, ToolCall
from fairtrial.scripted.dialects.events import CREATED, Event, data_event, pieces
from fairtrial.scripted.usage import Counts


def body(answer: Answer) -> dict[str, Any]:
    """A chat completion."""
    message: dict[str, Any] = {"role": "assistant", "content": answer.text or None}
    if answer.calls:
        message["tool_calls"] = [_call(call, call.arguments) for call in answer.calls]
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _reason(answer)}
    return {**_head(answer, "chat.completion"), "choices": [choice], **_usage(answer.usage)}


def events(answer: Answer, chars: int, *, wants_usage: bool) -> list[Event]:
    """Chunks: role, text, calls, the reason for the end, and usage if it was asked for."""
    head = _head(answer, "chat.completion.chunk")

    def chunk(delta: dict[str, Any], reason: str | None = None, *, is_text: bool = False) -> Event:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return data_event({**head, "choices": [choice]}, is_text=is_text)

    found = [chunk({"role": "assistant", "content": ""})]
    found += [chunk({"content": piece}, is_text=True) for piece in pieces(answer.text, chars)]
    for index, call in enumerate(answer.calls):
        found.append(chunk({"tool_calls": [{"index": index, **_call(call, "")}]}))
        for piece in pieces(call.arguments, chars):
            found.append(chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}))
    found.append(chunk({}, _reason(answer)))
    if wants_usage and answer.usage:
        found.append(data_event({**head, "choices": [], **_usage(answer.usage)}))
    return [*found, Event(b"data: [DONE]\n\n")]


def error(status: int, message: str) -> dict[str, Any]:
    """An error body."""
    kinds = {401: "authentication_error", 429: "rate_limit_error"}
    kind = kinds.get(status, "invalid_request_error" if status < 500 else "server_error")  # noqa: PLR2004
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}


def _head(answer: Answer, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{answer.id}", "object": kind, "created": CREATED, "model": answer.model}


def _reason(answer: Answer) -> str:
    return "tool_calls" if answer.calls else "stop"


def _call(call: ToolCall, arguments: str) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _usage(counts: Counts | None) -> dict[str, Any]:
    if counts is None:
        return {}
    prompt = {"cached_tokens": counts.cached_input}
    if counts.cache_write:
        prompt["cache_write_tokens"] = counts.cache_write
    return {
        "usage": {
            "prompt_tokens": counts.input,
            "completion_tokens": counts.output,
            "total_tokens": counts.input + counts.output,
            "prompt_tokens_details": prompt,
            "completion_tokens_details": {"reasoning_tokens": counts.reasoning},
        }
    }
