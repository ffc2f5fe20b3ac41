"""The normalized event and its words.

An event has the fields that every harness must give, each with a value or `not_applicable`; `detail` holds what the
counts are made from: the call's ID, its paths, its command. `raw_event_ref` says which bytes of which recorded stream
the event was read from: `agent/streams/stdout#1024+80`.
"""

import dataclasses
import json
from dataclasses import dataclass, field
from typing import Any, Literal

NOT_APPLICABLE: Literal["not_applicable"] = "not_applicable"
PREVIEW_CHARACTERS = 200
REDACTED = "redacted"

# What an event is. `ignore` and `tool_progress` are kinds of rules only: the line is known, and makes no event.
IGNORE, TOOL_PROGRESS, UNREADABLE = "ignore", "tool_progress", "unreadable"
KINDS = (
    "session_start", "session_end", "turn_start", "turn_end", "user_message", "assistant_message", "reasoning",
    "tool_call", "tool_result", "invalid_tool_call", "approval_request", "approval_decision", "intervention",
    "compaction", "model_retry", "subagent", "usage", "context", "error", "notice", "output",
)  # fmt: skip
RULE_KINDS = (*KINDS, TOOL_PROGRESS, IGNORE)
EVENT_KINDS = (*KINDS, UNREADABLE)

# What a tool is for. A run_command whose command is a test by the configured runners becomes run_tests.
RUN_COMMAND, RUN_TESTS, OTHER = "run_command", "run_tests", "other"
CAPABILITIES = (
    "read_file", "edit_file", "write_file", RUN_COMMAND, RUN_TESTS, "search", "list_files", "web", "subagent", "plan",
    "ask_user", "diagnostics", OTHER,
)  # fmt: skip

# How it went. `unknown`: the line has a status that the adapter's table does not.
FAILED = ("error", "retryable_error", "denied", "cancelled", "timeout", "invalid")
STATUSES = ("started", "ok", *FAILED, "unknown", NOT_APPLICABLE)

Maybe = Literal["not_applicable"]


@dataclass(frozen=True)
class Trial:
    """What all events of one run share: which trial, what was compared, which model it used."""

    trial_id: str = NOT_APPLICABLE
    candidate: dict[str, str] | None = None  # harness, version, config_hash
    model: dict[str, str] | None = None  # provider, id, parameters_hash


@dataclass(frozen=True)
class Detail:
    """What counting needs beyond the common fields. Only what the line said is set."""

    rule: str = ""
    call_id: str = ""
    parent: str = ""  # the call that this one was made on behalf of
    agent: str = ""  # the sub-agent that did it
    tool: str = ""
    paths: tuple[str, ...] = ()
    command: str = ""
    command_cut: bool = False
    exit_code: int | None = None
    paired: bool | None = None  # of a result: whether its call was seen
    output_bytes: int | None = None
    output_lines: int | None = None
    truncated: bool = False  # the model was given less of the output than there was
    cited: tuple[str, ...] = ()  # paths of which the output shows lines
    usage: dict[str, Any] = field(default_factory=dict)
    context_size: int | None = None
    reason: str = ""


@dataclass(frozen=True)
class Event:
    """One thing that happened, as far as the stream tells."""

    sequence: int
    kind: str
    capability: str = NOT_APPLICABLE
    monotonic_ms: int | Maybe = NOT_APPLICABLE
    status: str = NOT_APPLICABLE
    input_hash: str = NOT_APPLICABLE
    output_preview: str = NOT_APPLICABLE
    effect_receipt: str | None = NOT_APPLICABLE  # None: the harness gives receipts, and gave none here
    raw_event_ref: str = ""
    detail: Detail = field(default_factory=Detail)


_FIELDS = tuple(f.name for f in dataclasses.fields(Event) if f.name != "detail")
_DETAIL = tuple(f.name for f in dataclasses.fields(Detail))


def as_json(event: Event, trial: Trial) -> dict[str, Any]:
    """The event as it is stored. Its keys are snake_case, since the schema is the published one."""
    return {
        "trial_id": trial.trial_id,
        "candidate": trial.candidate or NOT_APPLICABLE,
        "model": trial.model or NOT_APPLICABLE,
        "event": {name: getattr(event, name) for name in _FIELDS},
        "detail": detail_json(event.detail),
    }


def detail_json(detail: Detail) -> dict[str, Any]:
    """What is set of a detail."""
    made: dict[str, Any] = {}
    for name in _DETAIL:
        value = getattr(detail, name)
        if value is None or value in ("", (), {}) or (isinstance(value, bool) and name != "paired" and not value):
            continue
        made[name] = list(value) if isinstance(value, tuple) else value
    return made


def line(event: Event, trial: Trial) -> bytes:
    """One line of `agent/events.jsonl`: same facts, same bytes."""
    text = json.dumps(as_json(event, trial), separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "replace") + b"\n"
