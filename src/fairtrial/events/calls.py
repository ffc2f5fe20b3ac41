"""Tool calls between their beginning and their result, so that a result knows what it is the result of."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from fairtrial.events import fields, model, paths, programs, rules
from fairtrial.events.model import NOT_APPLICABLE
from fairtrial.events.rules import Rule


@dataclass(frozen=True)
class Call:
    """What is known of a tool call."""

    tool: str = ""
    capability: str = NOT_APPLICABLE
    paths: tuple[str, ...] = ()
    command: str = ""
    command_cut: bool = False
    input_hash: str = NOT_APPLICABLE
    exit_code: int | None = None
    parent: str = ""
    agent: str = ""
    announced: bool = False  # whether there was an event of it


@dataclass(frozen=True)
class Found:
    """What one record says of a call. `new` is False where it only adds to what is known, and makes no event."""

    call: Call
    new: bool = True
    paired: bool | None = None  # of a result


class Calls:
    """The open calls of one stream, at most `most`: the oldest goes first.

    A call without an ID is closed by the next result without one.
    """

    def __init__(self, adapter: rules.Adapter, most: int) -> None:
        self._adapter, self._most = adapter, most
        self._open: dict[str, Call] = {}

    def told(self, rule: Rule, ident: str, record: Any, item: Any, roots: Sequence[str]) -> Found:
        """Take what a rule found in a record."""
        before = self._open.get(ident)
        if rule.kind == "tool_result":
            self._open.pop(ident, None)
            paired = before is not None and before.announced
            return Found(self._with(before or Call(), rule, record, item, roots), paired=paired)
        if rule.kind not in ("tool_call", model.TOOL_PROGRESS):
            return Found(self._with((rule.id and before) or Call(), rule, record, item, roots))
        call = self._with((ident and before) or Call(), rule, record, item, roots)
        new = rule.kind == "tool_call" and not call.announced
        self._open[ident] = replace(call, announced=True) if new else call
        if len(self._open) > self._most:
            self._open.pop(next(iter(self._open)))
        return Found(call, new=new)

    def _with(self, call: Call, rule: Rule, record: Any, item: Any, roots: Sequence[str]) -> Call:
        """`call` with what this record adds to it."""
        changes: dict[str, Any] = {}
        if tool := fields.word(paths.first(rule.tool, record, item)):
            changes |= {"tool": tool, "capability": self._adapter.capabilities.get(tool, model.OTHER)}
        if (given := paths.first(rule.input, record, item)) is not None:
            changes["input_hash"] = fields.digest(given)
        if located := fields.located(paths.values(rule.paths, record, item), roots):
            changes["paths"] = located
        line, cut = fields.command(paths.first(rule.command, record, item))
        if line:
            changes |= {"command": line, "command_cut": cut}
        if (code := fields.integer(paths.first(rule.exit_code, record, item))) is not None:
            changes["exit_code"] = code
        for name in ("parent", "agent"):
            if text := fields.word(paths.first(getattr(rule, name), record, item)):
                changes[name] = text
        call = replace(call, **changes) if changes else call
        if call.capability == model.RUN_COMMAND and programs.test_runs(call.command, self._adapter.test_commands):
            call = replace(call, capability=model.RUN_TESTS)
        return call
