"""What `derive` gives: one document of counts, each measured or with the reason why it is not. Data only."""

from dataclasses import dataclass, field
from typing import Any, Literal

LISTED_MOST = 1000  # of each list in the document; the counts go on


@dataclass(frozen=True)
class Measure:
    """A value, or why there is none: `not_applicable` if the harness does not tell, `missing` if nothing was read."""

    state: Literal["measured", "missing", "not_applicable"]
    value: Any = None
    reason: str | None = None


def measured(value: Any) -> Measure:
    """It was observed."""
    return Measure("measured", value)


@dataclass(frozen=True)
class TestCommand:
    """One start of a test runner, and how it ended as far as the harness tells."""

    __test__ = False  # for pytest: no class of tests

    sequence: int  # of the event that it was called with
    runner: str
    scope: str
    exit_code: int | None
    exit_reason: str | None  # why there is no exit code
    duration_ms: int | None
    raw_event_ref: str


@dataclass(frozen=True)
class Path:
    """One file, how often and through what."""

    path: str
    times: int
    by: list[str]  # inspected: direct_read, search_result, diagnostic, other; modified: capabilities of the tools


@dataclass(frozen=True)
class Repetition:
    """A call that repeats one that had failed."""

    sequence: int
    after: int  # the result that it failed with
    capability: str
    target: str


@dataclass(frozen=True)
class Interaction:
    """What an agent did, as far as its harness tells."""

    adapter: str
    tool_calls: Measure  # total, byCapability, byTool
    failed_tool_calls: Measure  # total, byStatus
    unfinished_tool_calls: Measure  # without a result
    invalid_tool_calls: Measure
    retries: Measure
    repeats_after_change: Measure  # a command run again after a failure and a change: no retry
    recovered_tool_failures: Measure
    test_failures: Measure  # failed, recovered, attempts: failed after a change
    failure_course: Measure  # calls, part: how many a third is, start, tail: how many of each failed
    repetition_course: Measure  # the same of calls that repeat one shortly before
    truncated_outputs: Measure  # results of which the model was given less than there was
    effect_receipts: Measure  # given, absent, unique, duplicates
    model_retries: Measure  # the harness's own, of requests to the model
    test_commands: Measure  # total, passed, failed, unknown
    files_inspected: Measure  # unique, repeats, unattributed, source, by, outputBytes
    files_modified: Measure  # unique, unattributed
    turns: Measure
    compactions: Measure
    approvals: Measure  # requested, granted, denied
    interventions: Measure
    time_to_first_useful_action_ms: Measure
    time_to_first_verifiable_outcome_ms: Measure
    agent_usage: Measure  # the harness's own counts; the gateway's are what counts
    context_size: Measure  # last, largest
    session_end: Measure  # status, reason
    tests: list[TestCommand] = field(default_factory=list)
    inspected: list[Path] = field(default_factory=list)
    modified: list[Path] = field(default_factory=list)
    repetitions: list[Repetition] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)  # that were read
    records: int = 0
    events: int = 0
    unknown_records: int = 0
    unknown_refs: list[str] = field(default_factory=list)
    unreadable_records: int = 0
    unpaired_results: int = 0
    stopped: str = ""  # why not everything was read
    time_source: str = "not_applicable"
    schema_version: int = 1
