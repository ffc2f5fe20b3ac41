"""What each agent offers and says, cut down to what decides an answer. Shapes as the agents send them."""

import json
from typing import Any

from fairtrial.scripted.conversation import Conversation, read


def schema(*names: str, array: str = "", required: tuple[str, ...] = ()) -> dict[str, Any]:
    kinds = {name: {"type": "array" if name == array else "string"} for name in names}
    return {"type": "object", "properties": kinds, "required": list(required or names)}


EDITS = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "edits": {"type": "array", "items": schema("oldText", "newText")},
    },
    "required": ["path", "edits"],
}
TOOLS: dict[str, dict[str, dict[str, Any]]] = {
    "pi": {"read": schema("path"), "bash": schema("command"), "edit": EDITS, "write": schema("path", "content")},
    "claude": {
        "Agent": schema("prompt"),
        "Bash": schema("command", "description", required=("command",)),
        "Edit": schema("file_path", "old_string", "new_string"),
        "Read": schema("file_path"),
        "Write": schema("file_path", "content"),
    },
    "claude-bare": {
        "Bash": schema("command", "description", required=("command",)),
        "Edit": schema("file_path", "old_string", "new_string"),
        "Read": schema("file_path"),
    },
    "codex": {"exec_command": schema("cmd"), "write_stdin": schema("session_id"), "view_image": schema("path")},
    "codex-shell": {"shell": schema("command", array="command")},
    "opencode": {
        "bash": schema("command", "description"),
        "edit": schema("filePath", "oldString", "newString"),
        "read": schema("filePath"),
        "write": schema("filePath", "content"),
    },
    "gemini": {
        "read_file": schema("file_path"),
        "replace": schema("file_path", "instruction", "old_string", "new_string"),
        "write_file": schema("file_path", "content"),
        "run_shell_command": schema("command", "description", required=("command",)),
    },
    "mini": {"bash": schema("command")},
    "none": {},
}
WIRES = {"claude": "messages", "claude-bare": "messages", "codex": "responses", "codex-shell": "responses"}


def wire_of(agent: str) -> str:
    return WIRES.get(agent, "gemini" if agent == "gemini" else "chat")


def request(
    wire: str, tools: dict[str, dict[str, Any]], results: int = 0, prompt: str = "Fix it.", last: str = "ok"
) -> dict[str, Any]:
    """A request of `wire` after `results` calls that were answered; the last of them with `last`."""
    told = ["done"] * (results - 1) + [last] * (results > 0)
    return {"chat": chat, "messages": messages, "responses": responses, "gemini": gemini}[wire](tools, told, prompt)


def chat(tools: dict[str, dict[str, Any]], told: list[str], prompt: str) -> dict[str, Any]:
    said: list[dict[str, Any]] = [{"role": "system", "content": "You help."}, {"role": "user", "content": prompt}]
    for number, text in enumerate(told):
        call = {"id": f"c{number}", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
        said.append({"role": "assistant", "content": None, "tool_calls": [call]})
        said.append({"role": "tool", "tool_call_id": f"c{number}", "content": text})
    offered = [{"type": "function", "function": {"name": name, "parameters": one}} for name, one in tools.items()]
    return {"model": "m-1", "messages": said, **({"tools": offered} if offered else {})}


def messages(tools: dict[str, dict[str, Any]], told: list[str], prompt: str) -> dict[str, Any]:
    said: list[dict[str, Any]] = [
        {"role": "user", "content": [{"type": "text", "text": prompt}]},
        {"role": "system", "content": [{"type": "text", "text": "A system role inside the messages."}]},
    ]
    for number, text in enumerate(told):
        call = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {}}
        answer = {"type": "tool_result", "tool_use_id": f"t{number}", "content": [{"type": "text", "text": text}]}
        said += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [answer]}]
    offered = [{"name": name, "input_schema": one} for name, one in tools.items()]
    server_side = {"type": "web_search_20250305", "name": "web_search"}  # has no schema of its own
    return {
        "model": "m-1",
        "max_tokens": 100,
        "system": [{"type": "text", "text": "You help."}],
        "messages": said,
        **({"tools": [*offered, server_side]} if offered else {}),
    }


def responses(tools: dict[str, dict[str, Any]], told: list[str], prompt: str) -> dict[str, Any]:
    items: list[dict[str, Any]] = [
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "You help."}]},
        {"role": "user", "content": [{"type": "input_text", "text": prompt}]},
    ]
    for number, text in enumerate(told):
        items.append({"type": "function_call", "call_id": f"c{number}", "name": "exec_command", "arguments": "{}"})
        items.append({"type": "function_call_output", "call_id": f"c{number}", "output": text})
    offered: list[dict[str, Any]] = [{"type": "function", "name": n, "parameters": one} for n, one in tools.items()]
    if offered:
        spawn = {"type": "function", "name": "spawn_agent", "parameters": schema("message")}
        offered += [{"type": "web_search"}, {"type": "namespace", "name": "multi_agent_v1", "tools": [spawn]}]
    return {"model": "m-1", "input": items, "store": False, **({"tools": offered} if offered else {})}


def gemini(tools: dict[str, dict[str, Any]], told: list[str], prompt: str) -> dict[str, Any]:
    contents: list[dict[str, Any]] = [{"role": "user", "parts": [{"text": "Context."}, {"text": prompt}]}]
    for number, text in enumerate(told):
        call = {"functionCall": {"id": f"c{number}", "name": "read_file", "args": {}}}
        answer = {"functionResponse": {"id": f"c{number}", "name": "read_file", "response": {"output": text}}}
        contents += [{"role": "model", "parts": [call]}, {"role": "user", "parts": [answer]}]
    offered = [{"name": name, "parametersJsonSchema": one} for name, one in tools.items()]
    return {
        "contents": contents,
        "systemInstruction": {"role": "user", "parts": [{"text": "You help."}]},
        **({"tools": [{"functionDeclarations": offered}]} if offered else {}),
    }


def asked(
    agent: str, results: int = 0, *, prompt: str = "Fix it.", last: str = "ok", stream: bool = False
) -> Conversation:
    """A request as `agent` makes it."""
    wire = wire_of(agent)
    body = request(wire, TOOLS[agent], results, prompt, last)
    if stream and wire != "gemini":
        body["stream"] = True
    data = json.dumps(body).encode()
    return read(wire, data, model="m-1" if wire == "gemini" else "", stream=stream)  # type: ignore[arg-type]
