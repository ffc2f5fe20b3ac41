"""What a script intends, in terms of the tools that the agent at hand offers.

An agent that has no tool for an intent gets the same effect through its shell; one that has no shell either cannot
follow the script, and is told so. Arguments are named by the tool's own schema, so that agents which call the same
thing `path`, `filePath` or `file_path` need no code of their own.
"""

import posixpath
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fairtrial.scripted.conversation import BadRequest, Conversation, Tool
from fairtrial.scripted.script import Call, Edit, Write

TOOLS = {
    "read": ("read", "Read", "read_file"),
    "edit": ("edit", "Edit", "replace"),
    "write": ("write", "Write", "write_file"),
    "run": ("bash", "Bash", "exec_command", "run_shell_command", "shell_command", "shell"),
}
CODEX_SHELLS = {"exec_command", "shell_command", "shell"}  # these turn `apply_patch <<EOF` into a change of files
FINISH_MARKER = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"  # mini-swe-agent ends when a command prints this, alone
_RELATIVE, _ABSOLUTE = ("path",), ("file_path", "filePath", "absolute_path")
_OLD, _NEW = ("oldText", "oldString", "old_string"), ("newText", "newString", "new_string")
_TEXT, _COMMAND = ("content", "text"), ("command", "cmd")


@dataclass(frozen=True)
class Chosen:
    """A tool and what it is called with."""

    name: str
    arguments: Mapping[str, Any]
    namespace: str = ""


def chosen(call: Call, tools: tuple[Tool, ...], project: str, why: str) -> Chosen:
    """The offered tool that does what `call` intends. Raises BadRequest if there is none. `why` fills in descriptions
    that a tool demands."""
    if call.tool:
        offered = next((tool for tool in tools if tool.name == call.tool.name), None)
        return Chosen(call.tool.name, call.tool.arguments, offered.namespace if offered else "")
    if call.run:
        return _shell(call.run, tools, why)
    own = _own_tool(call, tools, project)
    if own is None:
        return _shell(_command(call, tools), tools, why)
    tool, arguments = own
    return Chosen(tool.name, _described(tool, arguments, why), tool.namespace)


def finishing(conversation: Conversation) -> str | None:
    """The command that an agent wants to see at the end, instead of a last word; None for nearly all agents."""
    asked = any(FINISH_MARKER in one.text for one in conversation.messages if one.kind in {"system", "user"})
    return f"echo {FINISH_MARKER}" if asked and conversation.tools else None


def _own_tool(call: Call, tools: tuple[Tool, ...], project: str) -> tuple[Tool, dict[str, Any]] | None:
    tool = _offered(call.intents()[0], tools)
    if tool is None:
        return None
    if call.read:
        return tool, _place(tool, call.read, project)
    if call.write:
        return tool, {**_place(tool, call.write.file, project), _named(tool, _TEXT): call.write.text}
    assert call.edit
    place = _place(tool, call.edit.file, project)
    if "edits" in tool.properties:
        one = tool.properties["edits"]
        inner = Tool("", one.get("items", {}).get("properties", {}) if isinstance(one, dict) else {})
        return tool, {**place, "edits": [{_named(inner, _OLD): call.edit.old, _named(inner, _NEW): call.edit.new}]}
    return tool, {**place, _named(tool, _OLD): call.edit.old, _named(tool, _NEW): call.edit.new}


def _shell(command: str, tools: tuple[Tool, ...], why: str) -> Chosen:
    tool = _offered("run", tools)
    if tool is None:
        names = ", ".join(one.name for one in tools) or "none"
        raise BadRequest(f"The script needs a tool that this agent does not offer, nor a shell. Offered: {names}.")
    name = _named(tool, _COMMAND)
    schema = tool.properties.get(name)
    as_array = isinstance(schema, dict) and schema.get("type") == "array"
    arguments: dict[str, Any] = {name: ["bash", "-lc", command] if as_array else command}
    return Chosen(tool.name, _described(tool, arguments, why), tool.namespace)


def _command(call: Call, tools: tuple[Tool, ...]) -> str:
    shell = _offered("run", tools)
    patches = shell is not None and shell.name in CODEX_SHELLS
    if call.read:
        return f"cat {shlex.quote(call.read)}"
    if call.edit:
        return _patch(_update(call.edit)) if patches else _replace(call.edit)
    assert call.write
    if patches and call.write.text.endswith("\n"):
        added = "".join(f"+{line}\n" for line in call.write.text.removesuffix("\n").split("\n"))
        return _patch(f"*** Add File: {call.write.file}\n{added}")
    return _printed(call.write)


def _update(edit: Edit) -> str:
    old, new = edit.old.removesuffix("\n").split("\n"), edit.new.removesuffix("\n").split("\n") if edit.new else []
    lines = [*(f"-{line}" for line in old), *(f"+{line}" for line in new)]
    return f"*** Update File: {edit.file}\n@@\n" + "".join(f"{line}\n" for line in lines)


def _patch(text: str) -> str:
    # Every line of a patch begins with a mark, so none can be taken for the end of the heredoc.
    return f"apply_patch <<'EOF'\n*** Begin Patch\n{text}*** End Patch\nEOF"


def _replace(edit: Edit) -> str:
    return f"""python3 - <<'EOF'
from pathlib import Path
file, old, new = Path({edit.file!r}), {edit.old!r}.encode(), {edit.new!r}.encode()
data = file.read_bytes()
assert data.count(old) == 1, f"found {{data.count(old)}} times"
file.write_bytes(data.replace(old, new))
EOF"""


def _printed(write: Write) -> str:
    folder = posixpath.dirname(write.file)
    make = f"mkdir -p {shlex.quote(folder)} && " if folder else ""
    return f"{make}printf %s {shlex.quote(write.text)} > {shlex.quote(write.file)}"


def _offered(intent: str, tools: tuple[Tool, ...]) -> Tool | None:
    for name in TOOLS[intent]:
        for tool in tools:
            if tool.name == name and not tool.namespace:
                return tool
    return None


def _place(tool: Tool, path: str, project: str) -> dict[str, Any]:
    name = _named(tool, (*_ABSOLUTE, *_RELATIVE))
    if name in _ABSOLUTE:  # agents that call it so refuse or misread what is relative
        path = posixpath.normpath(posixpath.join(project, path))
    return {name: path}


def _named(tool: Tool, names: tuple[str, ...]) -> str:
    return next((name for name in names if name in tool.properties), names[0])


def _described(tool: Tool, arguments: dict[str, Any], why: str) -> dict[str, Any]:
    """Fill whatever text a tool demands that the script does not know of, such as a description for people."""
    missing = [name for name in tool.required if name not in arguments]
    texts = {
        name for name in missing if isinstance(one := tool.properties.get(name), dict) and one.get("type") == "string"
    }
    return {**arguments, **{name: why for name in missing if name in texts}}
