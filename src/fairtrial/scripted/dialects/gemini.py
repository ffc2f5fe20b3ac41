"""Gemini generateContent and streamGenerateContent."""

from typing import Any

from fairtrial.scripted.choose import Answer, ToolCall
from fairtrial.scripted.dialects.events import Event, data_event, encoded, parsed, pieces
from fairtrial.scripted.usage import Counts


def body(answer: Answer) -> dict[str, Any]:
    """A whole answer. Arguments are an object here; what is none any more is said as MALFORMED_FUNCTION_CALL."""
    parts = [{"text": answer.text}] if answer.text else []
    return _response(answer, [*parts, *_calls(answer)], _reason(answer), answer.usage)


def events(answer: Answer, chars: int, *, framed: bool) -> list[Event]:
    """Chunks of text, then one with the calls, the reason for the end and usage. Not framed: one JSON array."""
    chunks = [(_response(answer, [{"text": piece}], None, None), True) for piece in pieces(answer.text, chars)]
    chunks.append((_response(answer, _calls(answer), _reason(answer), answer.usage), False))
    if framed:
        return [data_event(chunk, is_text=is_text) for chunk, is_text in chunks]
    found = [
        Event((b",\r\n" if number else b"[") + encoded(chunk), is_text and number > 0)
        for number, (chunk, is_text) in enumerate(chunks)
    ]
    return [*found, Event(b"]")]


def error(status: int, message: str) -> dict[str, Any]:
    """An error body."""
    names = {
        400: "INVALID_ARGUMENT",
        401: "UNAUTHENTICATED",
        403: "PERMISSION_DENIED",
        404: "NOT_FOUND",
        429: "RESOURCE_EXHAUSTED",
        503: "UNAVAILABLE",
    }
    return {"error": {"code": status, "message": message, "status": names.get(status, "INTERNAL")}}


def _response(answer: Answer, parts: list[dict[str, Any]], reason: str | None, counts: Counts | None) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    if reason:
        candidate["finishReason"] = reason
    usage = {"usageMetadata": _usage(counts)} if counts else {}
    return {"candidates": [candidate], **usage, "modelVersion": answer.model, "responseId": answer.id}


def _calls(answer: Answer) -> list[dict[str, Any]]:
    return [
        {"functionCall": {"id": call.id, "name": call.name, "args": parsed(call.arguments)}}
        for call in answer.calls
        if _sayable(call)
    ]


def _reason(answer: Answer) -> str:
    return "STOP" if all(_sayable(call) for call in answer.calls) else "MALFORMED_FUNCTION_CALL"


def _sayable(call: ToolCall) -> bool:
    return parsed(call.arguments) is not None


def _usage(counts: Counts) -> dict[str, Any]:
    usage: dict[str, Any] = {
        "promptTokenCount": counts.input,
        "candidatesTokenCount": counts.output - counts.reasoning,  # thoughts are counted beside the answer
        "totalTokenCount": counts.input + counts.output,
    }
    if counts.cached_input:
        usage["cachedContentTokenCount"] = counts.cached_input
    if counts.reasoning:
        usage["thoughtsTokenCount"] = counts.reasoning
    return usage
