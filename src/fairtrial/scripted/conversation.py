"""A request of any wire in one neutral form: what was said so far, which tools are offered, how to answer.

Only what decides the answer is read; everything else in a request is let through unseen, as agents send a lot.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Literal

from fairtrial.errors import FairtrialError

Wire = Literal["messages", "count_tokens", "chat", "responses", "gemini"]
Kind = Literal["system", "user", "assistant", "result"]


class BadRequest(FairtrialError):
    """The request is not one of its wire, or its agent cannot follow the script: 400 in the dialect of the wire."""

    reason = "BadRequest"


@dataclass(frozen=True)
class Tool:
    """A tool that the agent offers. `namespace` is the group that it is in, where a wire has groups."""

    name: str
    properties: Mapping[str, Any] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    namespace: str = ""


@dataclass(frozen=True)
class Message:
    """One thing said, or the result of one tool call."""

    kind: Kind
    text: str


@dataclass(frozen=True)
class Conversation:
    """A request. `size` is the length of its body, from which input tokens are counted."""

    wire: Wire
    model: str
    stream: bool
    tools: tuple[Tool, ...]
    messages: tuple[Message, ...]
    size: int = 0
    wants_usage: bool = True
    framed: bool = True  # Gemini without alt=sse streams one JSON array instead of events

    @property
    def results(self) -> int:
        """How many tool results the conversation holds."""
        return sum(message.kind == "result" for message in self.messages)

    @property
    def last_results(self) -> tuple[str, ...]:
        """The tool results that were added last: those after the last thing that the model said."""
        texts: list[str] = []
        for message in reversed(self.messages):
            if message.kind == "assistant":
                break
            if message.kind == "result":
                texts.insert(0, message.text)
        return tuple(texts)


def read(wire: Wire, body: bytes, *, model: str = "", stream: bool = False, framed: bool = True) -> Conversation:
    """Read a request body; for Gemini, `model` and `stream` come from the path. Raises BadRequest."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"The body is not JSON: {error}") from error
    if not isinstance(data, dict):
        raise BadRequest("The body must be a JSON object.")
    model = model or data.get("model", "")
    if not isinstance(model, str) or not model:
        raise BadRequest("model: must be a text.")
    readers = {"chat": _chat, "responses": _responses, "gemini": _gemini}
    try:
        offered, said = readers.get(wire, _anthropic)(data)
        tools, messages = tuple(offered), tuple(said)
    except RecursionError as error:
        raise BadRequest("The body is nested too deeply.") from error
    options = data.get("stream_options")
    return Conversation(
        wire=wire,
        model=model,
        stream=stream if wire == "gemini" else data.get("stream") is True,
        tools=tools,
        messages=messages,
        size=len(body),
        wants_usage=wire != "chat" or (isinstance(options, dict) and options.get("include_usage") is True),
        framed=framed,
    )


Read = tuple[Iterable[Tool], Iterable[Message]]


def _anthropic(data: Mapping[str, Any]) -> Read:
    messages = [Message("system", _text(data.get("system")))] if data.get("system") else []
    for number, item in enumerate(_objects(data, "messages")):
        kind = _role(item, f"messages[{number}]")
        for block in _blocks(item.get("content")):
            if block.get("type") == "tool_result":
                messages.append(Message("result", _text(block.get("content"))))
            elif block.get("type") == "text":
                messages.append(Message(kind, _text(block)))
            elif kind == "assistant":
                messages.append(Message(kind, ""))
    return [_tool(tool, tool.get("input_schema")) for tool in _objects(data, "tools", optional=True)], messages


def _chat(data: Mapping[str, Any]) -> Read:
    messages = []
    for number, item in enumerate(_objects(data, "messages")):
        if item.get("role") in {"tool", "function"}:
            messages.append(Message("result", _text(item.get("content"))))
        else:
            messages.append(Message(_role(item, f"messages[{number}]"), _text(item.get("content"))))
    functions = (tool.get("function") for tool in _objects(data, "tools", optional=True))
    return [_tool(one, one.get("parameters")) for one in functions if isinstance(one, dict)], messages


def _responses(data: Mapping[str, Any]) -> Read:
    if data.get("previous_response_id"):
        raise BadRequest("previous_response_id: nothing is kept between requests; send the whole conversation.")
    messages = [Message("system", _text(data.get("instructions")))] if data.get("instructions") else []
    if isinstance(data.get("input"), str):
        return _grouped(data), [*messages, Message("user", data["input"])]
    for number, item in enumerate(_objects(data, "input")):
        kind = str(item.get("type", "message"))
        if kind.endswith("_call_output"):
            messages.append(Message("result", _text(item.get("output"))))
        elif kind == "message":
            messages.append(Message(_role(item, f"input[{number}]"), _text(item.get("content"))))
        elif kind.endswith("_call"):
            messages.append(Message("assistant", ""))
    return _grouped(data), messages


def _gemini(data: Mapping[str, Any]) -> Read:
    system = data.get("systemInstruction") or data.get("system_instruction")
    messages = [Message("system", _text(system.get("parts")))] if isinstance(system, dict) else []
    for number, item in enumerate(_objects(data, "contents")):
        kind = _role(item, f"contents[{number}]", default="user")
        for part in _blocks(item.get("parts")):
            if "functionResponse" in part or "function_response" in part:
                answer = part.get("functionResponse") or part.get("function_response")
                said = answer.get("response") if isinstance(answer, dict) else None
                messages.append(Message("result", "\n".join(_leaves(said))))
            elif "text" in part:
                messages.append(Message(kind, str(part["text"])))
            elif kind == "assistant":
                messages.append(Message(kind, ""))
    groups = _objects(data, "tools", optional=True)
    declared = [_blocks(one.get("functionDeclarations") or one.get("function_declarations")) for one in groups]
    tools = [_tool(one, one.get("parametersJsonSchema") or one.get("parameters")) for one in chain(*declared)]
    return tools, messages


def _grouped(data: Mapping[str, Any]) -> Iterator[Tool]:
    for tool in _objects(data, "tools", optional=True):
        if isinstance(tool.get("tools"), list):
            for one in _blocks(tool["tools"]):
                yield _tool(one, one.get("parameters"), namespace=str(tool.get("name", "")))
        elif tool.get("name"):  # the provider's own tools (web search …) have only a type
            yield _tool(tool, tool.get("parameters"))


def _tool(tool: Mapping[str, Any], schema: Any, namespace: str = "") -> Tool:
    schema = schema if isinstance(schema, dict) else {}
    properties, required = schema.get("properties"), schema.get("required")
    return Tool(
        name=str(tool.get("name", "")),
        properties=properties if isinstance(properties, dict) else {},
        required=tuple(str(one) for one in required) if isinstance(required, list) else (),
        namespace=namespace,
    )


def _objects(data: Mapping[str, Any], name: str, *, optional: bool = False) -> list[Mapping[str, Any]]:
    value = data.get(name)
    if value is None and optional:
        return []
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise BadRequest(f"{name}: must be an array of objects.")
    return value


def _role(item: Mapping[str, Any], where: str, default: str = "") -> Kind:
    roles: dict[str, Kind] = {
        "system": "system",
        "developer": "system",
        "user": "user",
        "assistant": "assistant",
        "model": "assistant",
    }
    role = item.get("role", default)
    if role not in roles:
        raise BadRequest(f"{where}.role: {role!r} is none of {', '.join(roles)}.")
    return roles[role]


def _blocks(content: Any) -> list[Mapping[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [one for one in content if isinstance(one, dict)] if isinstance(content, list) else []


def _leaves(value: Any) -> Iterator[str]:
    """All texts in plain data. Gemini's results are objects, with names that each agent chooses."""
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _leaves(one)
    elif value is not None:
        yield str(value)


def _text(content: Any) -> str:
    """All text in a message's content, whichever of the wires' shapes it has."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        return str(content.get("text", ""))
    return "\n".join(_text(one) for one in content) if isinstance(content, list) else ""
