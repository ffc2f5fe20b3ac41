"""Counts of what an agent did, from its normalized events. Pure: the same events give the same counts.

The rules, since a count is worth what its rule says:

Tool calls. Every `tool_call` event is one, whatever its command does. It failed if its result has one of the statuses
error, retryable_error, denied, cancelled, timeout, invalid; a command whose exit code is not 0 has failed.

Retries. Each call has an aim: its capability and its target, which is its command with spaces collapsed, or else its
paths, or else its input's hash. A call is a retry if a result with the same aim has failed before it was made, and none
has succeeded since. A command or test that is run again is a retry only if no call has modified a file since the
failure; otherwise it is a repeat after a change.

Test commands. See `programs.TEST_RUNNERS`. A runner's exit code is known if the command line's is, and must be its own.
A result with status error and without a code has failed, if the code must be the runner's own.

Files inspected. Of calls with a result that did not fail: the paths of read_file (direct_read); the files that
well-known programs print (direct_read, or search_result for grep and its like); the paths that a search's output shows
lines of (search_result). Of commands, also of those that failed: the paths that the output names with a line
(diagnostic). A read that surely showed a file
but names none is unattributed. Listings do not count, and neither do edits.

Files modified. Of the same calls: the paths of edit_file and write_file, and the files that well-known programs write.
What really changed is in the diff; this is what the agent did on its way.

What was made of failures, start and tail, effect receipts: see `course`.

First useful action: the first result that did not fail of a call that reads, searches, edits or runs something.
First verifiable outcome: the first end of a test command of which it is known whether it passed.

What an adapter has no rule for is not applicable; what it can't tell for a reason of its own, it says in `lacks`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from fairtrial import documents
from fairtrial.events import model, programs, rules
from fairtrial.events.course import LEAST_CALLS, Course, Receipts, Tests
from fairtrial.events.looked import EDITS, Looked
from fairtrial.events.measures import LISTED_MOST, Interaction, Measure, TestCommand, measured
from fairtrial.events.model import FAILED, NOT_APPLICABLE, Event
from fairtrial.events.normalize import Counts
from fairtrial.events.repeated import Repeated
from fairtrial.events.rules import Adapter

_OPEN_MOST, _NAMES_MOST = 5000, 500
_USEFUL = ("read_file", "search", *EDITS, model.RUN_COMMAND, model.RUN_TESTS, "web", "diagnostics", "subagent")
_SUMMED = ("input", "cached_input", "cache_write", "output", "reasoning", "total")


def derive(events: Iterable[Event], adapter: Adapter, counts: Counts) -> Interaction:
    """The counts of all events; `counts` is the normalizer's, and is read once the events are through."""
    taken = Interactions(adapter)
    for event in events:
        taken.add(event)
    return taken.result(counts)


class Interactions:
    """Takes events one after another, in bounded memory; `result` is asked for at the end."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter
        self._kinds: Counter[str] = Counter()
        self._capabilities: Counter[str] = Counter()
        self._tools: Counter[str] = Counter()
        self._decisions: Counter[str] = Counter()
        self._open: dict[tuple[str, str], Event] = {}
        self._unfinished = 0
        self._looked, self._repeated = Looked(), Repeated()
        self._course, self._failing, self._receipts = Course(), Tests(), Receipts()
        self._tests: list[TestCommand] = []
        self._outcomes: Counter[str] = Counter()
        self._first: dict[str, int] = {}
        self._happened: set[str] = set()
        self._summed: Counter[str] = Counter()
        self._reported: dict[str, Any] = {}
        self._context: dict[str, int] = {}
        self._end: Event | None = None

    def add(self, event: Event) -> None:
        """Take the next event."""
        self._kinds[event.kind] += 1
        if event.kind == "tool_call":
            self._called(event)
        elif event.kind == "tool_result":
            self._returned(event)
        elif event.kind == "approval_decision":
            word = "granted" if event.status == "ok" else "denied" if event.status in FAILED else "unknown"
            self._decisions[word] += 1
        elif event.kind == "session_end":
            self._end = event
        self._kinds["invalid"] += event.kind == "invalid_tool_call" or event.status == "invalid"
        if event.detail.usage:
            self._used(event.detail.usage)
        size = event.detail.context_size
        if size is not None:
            self._context = {"last": size, "largest": max(size, self._context.get("largest", 0))}

    def _called(self, event: Event) -> None:
        key = _call_key(event)
        self._unfinished += key in self._open
        self._open[key] = event
        if len(self._open) > _OPEN_MOST:
            self._open.pop(next(iter(self._open)))
            self._unfinished += 1
        self._capabilities[event.capability] += 1
        tool = event.detail.tool or NOT_APPLICABLE
        self._tools[tool if tool in self._tools or len(self._tools) < _NAMES_MOST else "(others)"] += 1
        self._repeated.called(event, self._looked.changes)
        self._course.called(key, event, self._looked.changes)

    def _returned(self, event: Event) -> None:
        call, changes = self._open.pop(_call_key(event), None), self._looked.changes
        self._repeated.returned(event, changes)
        self._course.returned(_call_key(event), event)
        self._receipts.returned(event)
        self._kinds["truncated"] += event.detail.truncated
        if event.status not in FAILED:
            self._looked.returned(event)
            if event.capability in _USEFUL:
                self._at("useful", event)
        elif not programs.searches(event.detail.command):
            self._looked.diagnosed(event)
        if event.capability == model.RUN_TESTS:
            self._tested(event, call or event, changes)

    def _tested(self, event: Event, call: Event, changes: int) -> None:
        for run in programs.test_runs(event.detail.command, self._adapter.test_commands):
            code, why = _exit(event, run.exit)
            outcome = ("failed" if why == _NO_CODE else "unknown") if code is None else "failed" if code else "passed"
            self._outcomes[outcome] += 1
            self._failing.ended(run.runner, run.scope, outcome, changes)
            if outcome != "unknown":
                self._at("verifiable", event)
            if len(self._tests) < LISTED_MOST:
                made = TestCommand(
                    call.sequence, run.runner, run.scope, code, why, _between(call, event), event.raw_event_ref
                )
                self._tests.append(made)

    def _at(self, what: str, event: Event) -> None:
        self._happened.add(what)
        if isinstance(event.monotonic_ms, int):
            self._first.setdefault(what, event.monotonic_ms)

    def _used(self, usage: dict[str, Any]) -> None:
        if usage["scope"] != "increment":
            self._reported = usage
            return
        for name in _SUMMED:
            if name in usage:
                self._summed[name] += usage[name]

    # --- the result ---------------------------------------------------------------------------------------------------
    def result(self, counts: Counts) -> Interaction:
        """Everything counted, and for everything else the reason."""
        calls, kinds, looked, repeated = self._capabilities, self._kinds, self._looked, self._repeated
        by = {"byCapability": dict(sorted(calls.items())), "byTool": dict(sorted(self._tools.items()))}
        failed = {"total": repeated.failed.total(), "byStatus": dict(sorted(repeated.failed.items()))}
        decided = self._adapter.makes("approval_decision", counts.sources)
        asked = {word: self._decisions[word] if decided else None for word in _DECISIONS}
        tests = {"total": self._outcomes.total(), **{word: self._outcomes[word] for word in _OUTCOMES}}
        usage = {"summed": _camel(self._summed), "reported": _camel(self._reported)}
        values: dict[str, Any] = {
            "tool_calls": {"total": calls.total(), **by},
            "failed_tool_calls": failed,
            "unfinished_tool_calls": self._unfinished + len(self._open),
            "invalid_tool_calls": kinds["invalid"],
            "retries": repeated.retries,
            "repeats_after_change": repeated.after_change,
            "recovered_tool_failures": repeated.recovered,
            "test_failures": self._failing.counts(),
            "failure_course": self._course.failures(),
            "repetition_course": self._course.repetitions(),
            "truncated_outputs": kinds["truncated"],
            "effect_receipts": self._receipts.counts(),
            "model_retries": kinds["model_retry"],
            "test_commands": tests,
            "files_inspected": looked.inspected.counts() | {"outputBytes": looked.bytes_shown},
            "files_modified": looked.modified.counts(),
            "turns": kinds["turn_start"] or kinds["turn_end"],
            "compactions": kinds["compaction"],
            "approvals": {"requested": kinds["approval_request"], **asked},
            "interventions": kinds["intervention"],
            "time_to_first_useful_action_ms": self._first.get("useful"),
            "time_to_first_verifiable_outcome_ms": self._first.get("verifiable"),
            "agent_usage": {name: value for name, value in usage.items() if value} or None,
            "context_size": self._context or None,
            "session_end": self._end and {"status": self._end.status, "reason": self._end.detail.reason},
        }
        told: dict[str, Any] = {name: self._measure(name, value, counts) for name, value in values.items()}
        return Interaction(
            adapter=self._adapter.name,
            **told,
            tests=self._tests,
            inspected=looked.inspected.listed(),
            modified=looked.modified.listed(),
            repetitions=repeated.listed,
            sources=counts.sources,
            records=counts.records,
            events=counts.events,
            unknown_records=counts.unknown,
            unknown_refs=counts.unknown_refs,
            unreadable_records=counts.unreadable,
            unpaired_results=counts.unpaired_results,
            stopped=counts.stopped,
            time_source=counts.time_source,
        )

    def _measure(self, name: str, value: Any, counts: Counts) -> Measure:
        adapter = self._adapter
        for lacking in (name, rules.MADE_FROM.get(name, "")):
            if lacking in adapter.lacks:
                return Measure("not_applicable", reason=adapter.lacks[lacking])
        if not adapter.tells(name, counts.sources or [source.name for source in adapter.sources]):
            return Measure("not_applicable", reason=f"No rule of {adapter.name} for what was read tells it.")
        if not counts.records:
            return Measure("missing", reason="The harness wrote nothing that could be read.")
        if value is None and name in _MOMENTS:
            happened = _MOMENTS[name] in self._happened
            why = "Neither the recorder nor the harness tells when." if happened else "The events show none."
            return Measure("not_applicable", reason=why)
        if name == "test_failures" and (unknown := self._failing.unknown):
            why = f"How {unknown} of {self._outcomes.total()} test commands ended is not known."
            return Measure("missing", reason=why)
        if value is None and name in ("failure_course", "repetition_course"):
            return Measure("not_applicable", reason=f"Fewer than {LEAST_CALLS} tool calls have no start and no tail.")
        if value is None:
            many = name == "effect_receipts"
            return Measure(
                "missing", reason="There are more receipts than are kept." if many else "The stream has none."
            )
        return measured(value)


_MOMENTS = {
    "time_to_first_useful_action_ms": "useful",
    "time_to_first_verifiable_outcome_ms": "verifiable",
}
_DECISIONS = ("granted", "denied", "unknown")
_OUTCOMES = ("passed", "failed", "unknown")


def _camel(values: Mapping[str, Any]) -> dict[str, Any]:
    return {documents.camel(name): value for name, value in sorted(values.items())}


def _call_key(event: Event) -> tuple[str, str]:
    return event.raw_event_ref.partition("#")[0], event.detail.call_id


_NO_CODE = "The harness tells that it failed, but not the code."


def _exit(event: Event, whose: str) -> tuple[int | None, str | None]:
    """A test runner's exit code from its command line's, and why it is not known."""
    code = event.detail.exit_code
    if code is None:
        failed = event.status == "error" and whose == "own"
        return None, _NO_CODE if failed else "The harness does not tell the exit code."
    if whose == "own" or (whose == "if_zero" and code == 0):
        return code, None
    return None, "The command line's exit code may be another program's."


def _between(call: Event, result: Event) -> int | None:
    """How long a call took; not known where one moment stands for both, since both were read from one record."""
    if not (isinstance(call.monotonic_ms, int) and isinstance(result.monotonic_ms, int)):
        return None
    lasted = result.monotonic_ms - call.monotonic_ms
    return lasted if lasted or call.raw_event_ref != result.raw_event_ref else None
