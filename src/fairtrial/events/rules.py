"""An adapter as data, and what its rules say about one line. Pure.

A line that no rule knows is counted, never guessed at. Every rule whose conditions hold makes its events, in the order
of the rules; `each` makes one for every item of a list. The data is what `fairtrial.api.adapter` lets people write;
this module loads it strictly, because the recorder gets it in its plan.
"""

import functools
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Literal

from fairtrial import documents
from fairtrial.errors import InvalidInput
from fairtrial.events import model, paths, templates

MAX_ITEMS = 10_000  # of one `each` on one line

Format = Literal["jsonLines", "jsonDocument", "text"]
Unit = Literal["iso8601", "s", "ms", "us", "ns"]


@dataclass(frozen=True)
class Condition:
    """What must hold of the value at `path`. Everything that is set must hold."""

    path: str
    equals: str | None = None
    one_of: list[str] = field(default_factory=list)
    none_of: list[str] = field(default_factory=list)
    starts_with: str | None = None
    exists: bool | None = None

    def holds(self, record: Any, item: Any) -> bool:
        """Whether it holds. Scalars are compared as JSON writes them: true, 12, text."""
        value = paths.first(self.path, record, item)
        if self.exists is not None and self.exists != (value is not None):
            return False
        text = paths.text_of(value)
        if self.equals is not None and text != self.equals:
            return False
        if self.one_of and text not in self.one_of:
            return False
        if self.none_of and text in self.none_of:
            return False
        return self.starts_with is None or (text is not None and text.startswith(self.starts_with))


@dataclass(frozen=True)
class Status:
    """How the line's own word becomes one of `model.STATUSES`."""

    always: str = ""
    path: str = ""
    values: dict[str, str] = field(default_factory=dict)
    absent: str = model.NOT_APPLICABLE
    otherwise: str = "unknown"

    @property
    def words(self) -> tuple[str, ...]:
        """Every status that it can give."""
        return (self.always,) if self.always else (self.absent, self.otherwise, *self.values.values())

    def of(self, record: Any, item: Any) -> str:
        """The status that the line tells."""
        if self.always:
            return self.always
        text = paths.text_of(paths.first(self.path, record, item))
        return self.absent if text is None else self.values.get(text, self.otherwise)


@dataclass(frozen=True)
class Usage:
    """Where the harness's own token counts are, and what they count."""

    scope: Literal["increment", "total", "last_request"]
    input: str = ""
    cached_input: str = ""
    cache_write: str = ""
    output: str = ""
    reasoning: str = ""
    total: str = ""
    cost: str = ""
    input_includes_cached: Literal["yes", "no", "unknown"] = "unknown"


@dataclass(frozen=True)
class Time:
    """Where the line's own time is."""

    path: str
    unit: Unit


@dataclass(frozen=True)
class Rule:
    """What one kind of line means."""

    name: str
    kind: str
    when: list[Condition] = field(default_factory=list)
    line: str = ""  # format text: the template that the whole line must match; its gaps are the paths
    each: str = ""  # path of a list: one event for each item; @ in other paths is the item
    at: Literal["record", "end"] = "record"  # end: once, on a JSON document without its records
    once: bool = False  # only the first of several with the same `id`
    merge: bool = False  # with the line before, if that was the same rule's and has the same `id`
    id: str = ""
    parent: str = ""
    agent: str = ""
    tool: str = ""
    input: str = ""
    output: str = ""
    paths: str = ""
    command: str = ""
    exit_code: str = ""
    effect_receipt: str = ""
    truncated: str = ""
    context_size: str = ""
    reason: str = ""
    cwd: str = ""
    status: Status | None = None
    usage: Usage | None = None
    time: Time | None = None

    @functools.cached_property
    def _on_record(self) -> list[Condition]:
        return [one for one in self.when if not one.path.startswith("@")]

    def holds(self, record: Any) -> bool:
        """Whether the conditions on the record itself hold."""
        return all(one.holds(record, None) for one in self._on_record)  # asked of every rule on every line

    def holds_of_item(self, record: Any, item: Any) -> bool:
        """Whether the conditions on an item of `each` hold."""
        return all(one.holds(record, item) for one in self.when if one.path.startswith("@"))


@dataclass(frozen=True)
class Source:
    """One stream of the harness: where it is, how it is cut into records, what they mean."""

    rules: list[Rule]
    name: str = "events"
    read: Literal["stdout", "stderr", "file"] = "stdout"
    file: str = ""  # for `file`: a glob of collected files
    format: Format = "jsonLines"
    records: list[str] = field(default_factory=list)  # for jsonDocument: paths of the lists whose items are the records
    time: Time | None = None
    ok_means_exit_zero: bool = False  # a command whose result is ok has ended with exit code 0


@dataclass(frozen=True)
class Adapter:
    """All that is known about one harness's output."""

    name: str
    sources: list[Source]
    description: str = ""
    capabilities: dict[str, str] = field(default_factory=dict)  # tool's name → one of model.CAPABILITIES
    lacks: dict[str, str] = field(default_factory=dict)  # a metric of derive → why the harness does not give it
    test_commands: list[str] = field(default_factory=list)  # beyond the known runners: `make check`, `./run-tests`
    redact_previews: bool = False
    trial: model.Trial = field(default_factory=model.Trial)

    def tells(self, metric: str, read: Collection[str]) -> bool:
        """Whether a rule of the sources that were read gives what `metric` of `measures.Interaction` is made from."""
        here = [rule for source in self.sources if source.name in read for rule in source.rules]
        if metric == "agent_usage":
            return any(rule.usage for rule in here)
        if metric == "context_size":
            return any(rule.context_size for rule in here)
        if metric in ("test_commands", "test_failures"):
            return any(rule.command for rule in here)
        if metric == "truncated_outputs":
            return any(rule.truncated for rule in here)
        if metric == "effect_receipts":
            return any(rule.effect_receipt for rule in here)
        if metric == "invalid_tool_calls" and any(rule.status and "invalid" in rule.status.words for rule in here):
            return True
        return any(rule.kind in METRIC_KINDS[metric] for rule in here)

    def makes(self, kind: str, read: Collection[str]) -> bool:
        """Whether a rule of the sources that were read makes events of this kind."""
        return any(rule.kind == kind for source in self.sources if source.name in read for rule in source.rules)


_CALLS, _RESULTS = frozenset({"tool_call"}), frozenset({"tool_result"})
# A metric that is made from another one's facts is lacking where that one is, for the same reason.
MADE_FROM = {
    "recovered_tool_failures": "failed_tool_calls",
    "failure_course": "failed_tool_calls",
    "repetition_course": "tool_calls",
    "test_failures": "test_commands",
}
# For each metric, the kinds of rules of which one is needed to tell it.
METRIC_KINDS: dict[str, frozenset[str]] = {
    "tool_calls": _CALLS,
    "failed_tool_calls": _RESULTS,
    "unfinished_tool_calls": _RESULTS,
    "invalid_tool_calls": frozenset({"invalid_tool_call"}),
    "retries": _RESULTS,
    "repeats_after_change": _RESULTS,
    "recovered_tool_failures": _RESULTS,
    "test_failures": _RESULTS,
    "failure_course": _RESULTS,
    "repetition_course": _CALLS,
    "truncated_outputs": _RESULTS,
    "effect_receipts": _RESULTS,
    "model_retries": frozenset({"model_retry"}),
    "test_commands": _RESULTS,
    "files_inspected": _RESULTS,
    "files_modified": _RESULTS,
    "turns": frozenset({"turn_start", "turn_end"}),
    "compactions": frozenset({"compaction"}),
    "approvals": frozenset({"approval_request", "approval_decision"}),
    "interventions": frozenset({"intervention"}),
    "time_to_first_useful_action_ms": _RESULTS,
    "time_to_first_verifiable_outcome_ms": _RESULTS,
    "agent_usage": frozenset({"usage"}),
    "context_size": frozenset({"context"}),
    "session_end": frozenset({"session_end"}),
}


def load(raw: Any, *, name: str = "adapter") -> Adapter:
    """An adapter from its JSON form, checked to the last path; InvalidInput names the field that is wrong."""
    adapter: Adapter = documents.from_json(Adapter, raw, name)
    _require(bool(adapter.sources), f"{name}.sources", "is empty; name at least one stream")
    for tool, capability in adapter.capabilities.items():
        _word(capability, model.CAPABILITIES, f"{name}.capabilities[{tool}]")
    for metric in adapter.lacks:
        _word(metric, tuple(METRIC_KINDS), f"{name}.lacks")
    for number, source in enumerate(adapter.sources):
        _check_source(source, f"{name}.sources[{number}]")
    names = [source.name for source in adapter.sources]
    _require(len(set(names)) == len(names), f"{name}.sources", "share a name")
    return adapter


def _check_source(source: Source, where: str) -> None:
    document, text = source.format == "jsonDocument", source.format == "text"
    _require(bool(source.rules), f"{where}.rules", "is empty; a stream without rules says nothing")
    _require(bool(source.file) == (source.read == "file"), f"{where}.file", "goes with `read: file`, and only with it")
    _require(bool(source.records) == document, f"{where}.records", "goes with `format: jsonDocument`, and only with it")
    for path in source.records:
        steps = _path(path, f"{where}.records")[0].steps
        plain = all(isinstance(step, paths.Key) or step == paths.Every() for step in steps)
        _require(
            plain and steps[-1:] == (paths.Every(),), f"{where}.records", f"{path!r} must be keys and [], ending in []"
        )
    _check_time(source.time, f"{where}.time")
    for rule in source.rules:
        at = f"{where}.rules[{rule.name}]"
        _require(bool(rule.line) == text, f"{at}.line", "goes with `format: text`, and only with it")
        _require(rule.at == "record" or document, f"{at}.at", "can be `end` in a JSON document only")
        _check_rule(rule, at)


def _check_rule(rule: Rule, at: str) -> None:
    _word(rule.kind, model.RULE_KINDS, f"{at}.kind")
    if rule.line:
        templates.compiled(rule.line)
    for name in _PATHS:
        if text := getattr(rule, name):
            _path(text, f"{at}.{name}")
    for condition in rule.when:
        _path(condition.path, f"{at}.when")
        _require(rule.each != "" or not condition.path.startswith("@"), f"{at}.when", "uses @ without `each`")
    if rule.usage:
        for name in USAGE_FIELDS:
            if text := getattr(rule.usage, name):
                _path(text, f"{at}.usage.{name}")
    _check_time(rule.time, f"{at}.time")
    _require(rule.id != "" or not rule.once, f"{at}.once", "needs `id`")
    _require(rule.kind != "usage" or rule.usage is not None, f"{at}.usage", "is missing")
    if rule.status:
        for word in rule.status.words:
            _word(word, model.STATUSES, f"{at}.status")
        _require(
            bool(rule.status.always) != bool(rule.status.path), f"{at}.status", "needs `path` or `always`, not both"
        )


_PATHS = (
    "each", "id", "parent", "agent", "tool", "input", "output", "paths", "command", "exit_code", "effect_receipt",
    "truncated",    "context_size", "reason", "cwd",
)  # fmt: skip
USAGE_FIELDS = ("input", "cached_input", "cache_write", "output", "reasoning", "total", "cost")


def _check_time(time: Time | None, where: str) -> None:
    if time is not None:
        _path(time.path, where)


def _path(text: str, where: str) -> tuple[paths.Path, ...]:
    try:
        return paths.compiled(text)
    except InvalidInput as error:
        raise InvalidInput(f"{where}: {error}") from error


def _word(word: str, allowed: tuple[str, ...], where: str) -> None:
    _require(word in allowed, where, f"{word!r} is not one of {', '.join(allowed)}")


def _require(holds: bool, where: str, why: str) -> None:
    if not holds:
        raise InvalidInput(f"{where}: {why}.")
