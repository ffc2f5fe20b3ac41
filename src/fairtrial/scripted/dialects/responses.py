"""OpenAI responses, in the full form: some clients need only the finished items, others every step towards them."""

from typing import Any

from fairtrial.scripted.choose import Answer, ToolCall
from fairtrial.scripted.dialects.events import CREATED, Event, named_event, pieces
from fairtrial.scripted.usage import Counts


def body(answer: Answer) -> dict[str, Any]:
    """A finished response."""
    return _response(answer, "completed", _items(answer), answer.usage)


def events(answer: Answer, chars: int) -> list[Event]:
    """The response's start, each item with its parts, its end. Each event has the next sequence number."""
    plain: list[tuple[dict[str, Any], bool]] = []

    def add(kind: str, *, is_text: bool = False, **fields: Any) -> None:
        plain.append(({"type": kind, "sequence_number": len(plain), **fields}, is_text))

    begun = _response(answer, "in_progress", [], None)
    add("response.created", response=begun)
    add("response.in_progress", response=begun)
    index = 0
    if answer.text:
        place: dict[str, Any] = {"item_id": f"msg_{answer.id}", "output_index": 0, "content_index": 0}
        add("response.output_item.added", output_index=0, item=_message(answer, "in_progress", []))
        add("response.content_part.added", **place, part=_part(""))
        for piece in pieces(answer.text, chars):
            add("response.output_text.delta", is_text=True, **place, delta=piece, logprobs=[])
        add("response.output_text.done", **place, text=answer.text, logprobs=[])
        add("response.content_part.done", **place, part=_part(answer.text))
        add("response.output_item.done", output_index=0, item=_message(answer, "completed", [_part(answer.text)]))
        index = 1
    for index, call in enumerate(answer.calls, index):  # noqa: B020 — counts on from the message
        at: dict[str, Any] = {"item_id": f"fc_{call.id}", "output_index": index}
        add("response.output_item.added", output_index=index, item=_call(call, "in_progress", ""))
        for piece in pieces(call.arguments, chars):
            add("response.function_call_arguments.delta", **at, delta=piece)
        add("response.function_call_arguments.done", **at, name=call.name, arguments=call.arguments)
        add("response.output_item.done", output_index=index, item=_call(call, "completed", call.arguments))
    add("response.completed", response=_response(answer, "completed", _items(answer), answer.usage))
    return [named_event(value, is_text=is_text) for value, is_text in plain]


def error(status: int, message: str) -> dict[str, Any]:
    """An error body: the same as of chat completions."""
    from fairtrial.scripted.dialects import chat

    return chat.error(status, message)


def _response(answer: Answer, status: str, output: list[dict[str, Any]], counts: Counts | None) -> dict[str, Any]:
    return {
        "id": f"resp_{answer.id}",
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": answer.model,
        "output": output,
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": _usage(counts) if counts else None,
    }


def _items(answer: Answer) -> list[dict[str, Any]]:
    message = [_message(answer, "completed", [_part(answer.text)])] if answer.text else []
    return [*message, *(_call(call, "completed", call.arguments) for call in answer.calls)]


def _message(answer: Answer, status: str, content: list[dict[str, Any]]) -> dict[str, Any]:
    return {"id": f"msg_{answer.id}", "type": "message", "status": status, "role": "assistant", "content": content}


def _part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _call(call: ToolCall, status: str, arguments: str) -> dict[str, Any]:
    group = {"namespace": call.namespace} if call.namespace else {}
    return {
        "id": f"fc_{call.id}",
        "type": "function_call",
        "status": status,
        "call_id": call.id,
        "name": call.name,
        "arguments": arguments,
        **group,
    }


def _usage(counts: Counts) -> dict[str, Any]:
    details = {"cached_tokens": counts.cached_input}
    if counts.cache_write:
        details["cache_write_tokens"] = counts.cache_write
    return {
        "input_tokens": counts.input,
        "input_tokens_details": details,
        "output_tokens": counts.output,
        "output_tokens_details": {"reasoning_tokens": counts.reasoning},
        "total_tokens": counts.input + counts.output,
    }
