"""How a candidate's output is read: a built-in adapter by name, or the candidate's own rules.

The models say what people may write, in the bounds that the API server needs; what the words mean is in
`fairtrial.events.rules`, which checks the paths as well. No rule here is CEL but the outermost: the API server sums up
what every rule may cost at most, and lists in lists of rules would cost too much.
"""

import functools
import json
from collections.abc import Mapping
from importlib import resources
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from fairtrial.api.base import Model, Rule
from fairtrial.errors import InvalidInput
from fairtrial.events import rules as event_rules

PLAN_MAX_BYTES = 32 * 1024  # of an adapter in a run's plan, which travels in an environment variable
_BUILT_IN = resources.files("fairtrial.events") / "adapters"
BUILT_IN = tuple(sorted(file.name.removesuffix(".yaml") for file in _BUILT_IN.iterdir() if file.name.endswith(".yaml")))

Path = Annotated[str, Field(max_length=256)]
Text = Annotated[str, Field(max_length=256)]
Label = Annotated[str, Field(min_length=1, max_length=63)]
# A pattern and no CEL rule: it costs nothing in the API server's sum.
Word = Annotated[str, Field(min_length=1, max_length=63, pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$")]
Kind = Literal[
    "session_start", "session_end", "turn_start", "turn_end", "user_message", "assistant_message", "reasoning",
    "tool_call", "tool_result", "invalid_tool_call", "approval_request", "approval_decision", "intervention",
    "compaction", "model_retry", "subagent", "usage", "context", "error", "notice", "output", "tool_progress", "ignore",
]  # fmt: skip
Capability = Literal[
    "read_file", "edit_file", "write_file", "run_command", "run_tests", "search", "list_files", "web", "subagent",
    "plan", "ask_user", "diagnostics", "other",
]  # fmt: skip
Status = Literal[
    "started", "ok", "error", "retryable_error", "denied", "cancelled", "timeout", "invalid", "unknown",
    "not_applicable",
]  # fmt: skip
Capabilities = Annotated[dict[Text, Capability], Field(max_length=128)]
TestCommands = Annotated[tuple[Text, ...], Field(max_length=32)]


class AdapterCondition(Model):
    """What must hold of the value at a path. Everything that is set must hold."""

    path: Annotated[str, Field(min_length=1, max_length=256)]
    """Path of the value."""
    equals: Text | None = None
    """The value as JSON writes it, without quotes: true, 12, text."""
    one_of: Annotated[tuple[Text, ...], Field(max_length=32)] = ()
    """The value is one of these."""
    none_of: Annotated[tuple[Text, ...], Field(max_length=32)] = ()
    """The value is none of these; a value that is not there is none of them."""
    starts_with: Text | None = None
    """How the value begins."""
    exists: bool | None = None
    """Whether there is a value other than null."""


class AdapterStatus(Model):
    """How the harness's own word for how it went becomes ours."""

    always: Status | None = None
    """The same for each such line; instead of a path."""
    path: Path = ""
    """Path of the harness's word."""
    values: Annotated[dict[Text, Status], Field(max_length=32)] = Field(default_factory=dict)
    """Our status for each of its words."""
    absent: Status = "not_applicable"
    """Status where there is no word."""
    otherwise: Status = "unknown"
    """Status for a word that is not among the values."""


class AdapterUsage(Model):
    """Where the harness's own token counts are. They are reported beside the gateway's, never instead of them."""

    scope: Literal["increment", "total", "last_request"]
    """What one such line counts: what is new, everything so far, or the last request."""
    input: Path = ""
    """Input tokens."""
    cached_input: Path = ""
    """Input tokens read from a cache."""
    cache_write: Path = ""
    """Input tokens written into a cache."""
    output: Path = ""
    """Output tokens."""
    reasoning: Path = ""
    """Reasoning tokens."""
    total: Path = ""
    """All tokens, as the harness adds them up."""
    cost: Path = ""
    """Money, as the harness believes."""
    input_includes_cached: Literal["yes", "no", "unknown"] = "unknown"
    """Whether input counts cached tokens as well."""


class AdapterTime(Model):
    """Where the harness's own time is. The recorder's clock goes first, where it has seen the line come."""

    path: Annotated[str, Field(min_length=1, max_length=256)]
    """Path of the time."""
    unit: Literal["iso8601", "s", "ms", "us", "ns"]
    """How it is written."""


class AdapterRule(Model):
    """What one kind of line means. Every rule whose conditions hold makes an event."""

    name: Label
    """Name of the rule; events carry it."""
    kind: Kind
    """What the line is. ignore: it is known, and no event; tool_progress: it adds to a tool call, and is no event."""
    when: Annotated[tuple[AdapterCondition, ...], Field(max_length=8)] = ()
    """Conditions that must all hold."""
    line: Annotated[str, Field(max_length=512)] = ""
    """For text: the whole line, with named gaps: Applied edit to {path}. The gaps are the paths."""
    each: Path = ""
    """Path of a list: one event for each item, which other paths reach by @."""
    at: Literal["record", "end"] = "record"
    """For a JSON document: end stands for the document without its records."""
    once: bool = False
    """Only the first line with the same id."""
    merge: bool = False
    """One event of several such lines that follow one another, if they have the same id."""
    id: Path = ""
    """The tool call's ID, which its result repeats; or the message's."""
    parent: Path = ""
    """ID of the call on behalf of which this one is made."""
    agent: Path = ""
    """Name of the sub-agent that does it."""
    tool: Path = ""
    """The tool's name."""
    input: Path = ""
    """The tool's input, of which the event holds the hash."""
    output: Path = ""
    """The text that the line brings: a result's output, a message."""
    paths: Path = ""
    """The files that the tool is told to work on."""
    command: Path = ""
    """The command line, or the list of arguments, that the tool is told to run."""
    exit_code: Path = ""
    """The exit code of a command."""
    effect_receipt: Path = ""
    """The receipt that the harness gives for an effect: of tool results, those that come again are told."""
    truncated: Path = ""
    """`true` where the harness gave the model less of a tool's output than there was."""
    context_size: Path = ""
    """Tokens in the context."""
    reason: Path = ""
    """Why."""
    cwd: Path = ""
    """The agent's working folder: paths below it are shown relative to it."""
    status: AdapterStatus | None = None
    """How it went."""
    usage: AdapterUsage | None = None
    """The harness's own token counts."""
    time: AdapterTime | None = None
    """The line's time, where it differs from the stream's."""


class AdapterSource(Model):
    """One stream of the harness."""

    name: Word = "events"
    """Name of the stream."""
    read: Literal["stdout", "stderr", "file"] = "stdout"
    """Where it is."""
    file: Annotated[str, Field(max_length=256)] = ""
    """For a file: a pattern for the names of collected files; of several, the first by name."""
    format: Literal["jsonLines", "jsonDocument", "text"] = "jsonLines"
    """How it is cut into records."""
    records: Annotated[tuple[Path, ...], Field(max_length=4)] = ()
    """For a JSON document: paths of the lists whose items are the records, ending in []."""
    time: AdapterTime | None = None
    """The records' own time."""
    ok_means_exit_zero: bool = False
    """Whether a command whose result is ok has ended with exit code 0."""
    entries: Annotated[tuple[AdapterRule, ...], Field(alias="rules", min_length=1, max_length=64)]
    """What the records mean."""


class AdapterRules(Model):
    """Everything about one harness's output, as data."""

    name: Word
    """Name of the adapter, which results show."""
    description: Annotated[str, Field(max_length=1024)] = ""
    """Which harness, started how, in which version this was tried with."""
    capabilities: Capabilities = Field(default_factory=dict)
    """What each tool is for, by its name; a tool that is not here is for other things."""
    lacks: Annotated[dict[Label, Annotated[str, Field(min_length=1, max_length=256)]], Field(max_length=32)] = Field(
        default_factory=dict
    )
    """Metrics that the harness can't give although rules seem to, with the reason."""
    test_commands: TestCommands = ()
    """Command lines that count as test runs, beside the known test runners: make check, python3 run_tests.py."""
    sources: Annotated[tuple[AdapterSource, ...], Field(min_length=1, max_length=4)]
    """The streams, in the order in which their events are numbered."""

    def to_plan(self) -> dict[str, Any]:
        """The adapter as the recorder gets it, checked to the last path."""
        plan: dict[str, Any] = self.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude_none=True)
        event_rules.load(plan, name=self.name)
        return plan


class Adapter(Model):
    """How the candidate's output becomes normalized events: by a built-in adapter, or by rules of its own."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.name) != has(self.rules)",
            "adapter needs `name` of a built-in adapter or `rules` of its own, and not both.",
            lambda made: (made.name is None) != (made.own is None),
        ),
    )

    name: (
        Annotated[
            str,
            Field(max_length=63),
            Rule(
                f"self in {json.dumps(BUILT_IN)}",
                f"adapter.name is none of the built-in adapters: {', '.join(BUILT_IN)}.",
                lambda name: name in BUILT_IN,
            ),
        ]
        | None
    ) = None
    """A built-in adapter."""
    own: Annotated[AdapterRules | None, Field(alias="rules")] = None
    """Rules of the candidate's own; see docs/adapters.md."""
    capabilities: Capabilities = Field(default_factory=dict)
    """More tools, beside those that the adapter knows."""
    test_commands: TestCommands = ()
    """More command lines that count as test runs."""
    redact_previews: bool = False
    """Whether events are stored without the beginnings of outputs."""

    def to_plan(self, trial: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """What `AgentPlan.adapter` holds. `trial` is what every event repeats: trialId, candidate, model."""
        found = self.own or built_in(self.name or "")
        plan = found.to_plan()
        more = {
            "capabilities": dict(found.capabilities) | dict(self.capabilities),
            "testCommands": [*found.test_commands, *self.test_commands],
            "redactPreviews": self.redact_previews,
            "trial": dict(trial or {}),
        }
        plan.pop("description", None)
        plan |= {name: value for name, value in more.items() if value}
        size = len(json.dumps(plan, separators=(",", ":")).encode())
        if size > PLAN_MAX_BYTES:
            raise InvalidInput(
                f"adapter {found.name}: its rules make {size} bytes; {PLAN_MAX_BYTES} fit.",
                next_move="Leave out rules for lines that no count needs: lines that no rule knows are only counted.",
            )
        return plan


def trial(trial_id: str, candidate: Mapping[str, str] | None, of_model: Mapping[str, str] | None) -> dict[str, Any]:
    """What events repeat. Of a candidate: harness, version, config_hash; of a model: provider, id, parameters_hash."""
    return {
        "trialId": trial_id,
        "candidate": dict(candidate) if candidate else None,
        "model": dict(of_model) if of_model else None,
    }


@functools.cache
def built_in(name: str) -> AdapterRules:
    """A built-in adapter; InvalidInput if there is none of this name."""
    if name not in BUILT_IN:
        raise InvalidInput(f"adapter {name!r} is none of the built-in ones: {', '.join(BUILT_IN)}.")
    import yaml  # not needed to know the models

    return AdapterRules.model_validate(yaml.safe_load(built_in_text(name)))


def built_in_text(name: str) -> str:
    """A built-in adapter as it was written."""
    return (_BUILT_IN / f"{name}.yaml").read_text(encoding="utf-8")
