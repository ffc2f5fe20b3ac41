"""How a run was carried out, from its record: recovery, context, human load, effects, the machine. Pure.

Protocol 4 §5 and §7, and protocol 0's failed attempts. What is counted, and how, is said where it is counted: faults,
first tokens and contexts in `fairtrial.usage.course`, failures of tools and tests, repetition and receipts in
`fairtrial.events.course`, processor and memory in `fairtrial.process.consumption`. A change is the tail less the start:
above zero it grew. Nothing here says whether a fault was injected: a record can't.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from fairtrial.documents import Leftovers
from fairtrial.evidence.record_model import Record
from fairtrial_analysis.load.told import plain, state, told
from fairtrial_analysis.stats.value import Value, measured

# Metrics that the candidate's adapter counted: key, and key inside the value where it has parts.
TOLD = {
    "failed_tool_calls": ("failedToolCalls", "total"),
    "recovered_tool_failures": ("recoveredToolFailures", ""),
    "invalid_tool_calls": ("invalidToolCalls", ""),
    "retries": ("retries", ""),
    "model_retries": ("modelRetries", ""),
    "test_commands": ("testCommands", "total"),
    "failed_test_commands": ("testFailures", "failed"),
    "recovered_test_failures": ("testFailures", "recovered"),
    "failed_attempts": ("testFailures", "attempts"),
    "files_inspected": ("filesInspected", "unique"),
    "compactions": ("compactions", ""),
    "truncated_outputs": ("truncatedOutputs", ""),
    "approvals": ("approvals", "requested"),
    "interventions": ("interventions", ""),
    "effect_receipts": ("effectReceipts", "given"),
    "duplicate_effects": ("effectReceipts", "duplicates"),
    "time_to_first_useful_action_ms": ("timeToFirstUsefulActionMs", ""),
    "time_to_first_verifiable_outcome_ms": ("timeToFirstVerifiableOutcomeMs", ""),
}
_COURSES = {"tool_failure_change": "failureCourse", "repetition_change": "repetitionCourse"}
ASKING = "ask_user"  # the capability of tools by which an agent asks a person


def conduct_of(record: Record, accounted: Value) -> dict[str, Value]:
    """Every metric of this module; `accounted` are the run's accounted tokens."""
    course, used, like = record.usage.course, record.consumption, record.interaction.assistant_turns
    metrics = record.interaction.metrics
    found = {name: told(metrics, key, part, like) for name, (key, part) in TOLD.items()}
    found |= {name: _share_change(metrics, key, like) for name, key in _COURSES.items()}
    return found | {
        "clarifications": _clarifications(metrics, like),
        "provider_faults": plain(course.faults),
        "provider_faults_recovered": plain(course.recovered_faults),
        "first_token_ms": plain(course.first_token_ms),
        "first_token_change_ms": _change(plain(course.start_first_token_ms), plain(course.tail_first_token_ms)),
        "largest_call_input_tokens": plain(course.largest_input_tokens),
        "context_change_tokens": _change(plain(course.start_input_tokens), plain(course.tail_input_tokens)),
        "tokens_per_model_call": _per_call(accounted, plain(record.usage.model_calls)),
        "leftover_processes": _left(record, lambda left: left.processes_swept),
        "leftover_ports": _left(record, lambda left: len(left.listening_ports)),
        "cpu_ms": plain(used.cpu_ms),
        "throttled_ms": plain(used.throttled_ms),
        "peak_memory_bytes": plain(used.memory_peak_bytes),
    }


def trace_gaps(record: Record) -> tuple[str, ...]:
    """Why the trace of a run is not complete (protocol 4 §7, "trace_complete"); nothing where it is.

    It is complete if launch told its end, no stream was cut, the adapter, where there is one, read all of it, the end
    of every model call was recorded, and there is a snapshot of the workspace.
    """
    interaction, usage, snapshot = record.interaction, record.usage, record.patch.snapshot
    metrics = interaction.metrics
    found = {
        "end_not_told": interaction.ending.value in (None, "launch_lost", "recorder_error"),
        "stream_cut": any(stream.truncated for stream in interaction.streams),
        "events_missing": not metrics and interaction.assistant_turns.state == "missing",
        "events_not_all_read": bool(metrics.get("stopped") or metrics.get("unreadableRecords")),
        "calls_not_collected": usage.model_calls.state == "missing",
        "call_unfinished": bool(usage.course.unfinished_calls.value),
        "snapshot_missing": snapshot is None or snapshot.state != "measured",
    }
    return tuple(name for name, holds in found.items() if holds)


def _change(start: Value, tail: Value) -> Value:
    lacking = next((each for each in (start, tail) if each.value is None), None)
    return lacking or measured(Fraction(tail.value or 0) - Fraction(start.value or 0))


def _per_call(tokens: Value, calls: Value) -> Value:
    lacking = next((each for each in (tokens, calls) if each.value is None), None)
    if lacking is not None:
        return lacking
    return measured(Fraction(tokens.value or 0) / calls.value) if calls.value else state("not_applicable", "no_call")


def _share_change(metrics: dict[str, Any], key: str, like: Any) -> Value:
    """The share of calls in the tail less that at the start; both are parts of one size."""
    start, tail, size = (told(metrics, key, part, like) for part in ("start", "tail", "part"))
    changed = _change(start, tail)
    if changed.value is None:
        return changed
    return measured(Fraction(changed.value) / size.value) if size.value else state("missing", "not_told")


def _clarifications(metrics: dict[str, Any], like: Any) -> Value:
    """Calls of tools by which the agent asked a person."""
    total = told(metrics, "toolCalls", "total", like)
    by = (metrics.get("toolCalls") or {}).get("value") if total.value is not None else None
    asked = by.get("byCapability") if isinstance(by, dict) else None
    if total.value is None:
        return total
    number = asked.get(ASKING, 0) if isinstance(asked, dict) else None
    return measured(number) if type(number) is int else state("missing", "not_told")  # true is an int too


def _left(record: Record, counted: Callable[[Leftovers], int]) -> Value:
    left = record.leftovers
    return state(left.state, left.reason or "no_reason") if left.value is None else measured(counted(left.value))
