"""How a run was carried out, again from its record: recovery, context, people, effects, the machine. Pure.

A change is the tail of a run less its start. One line per metric says where it comes from.
"""

from collections.abc import Mapping
from typing import Any

from fairtrial.audit.numbers.told import Value, measured, plain, told

JsonObject = dict[str, Any]
# What the candidate's adapter counted: its key, and the part of its value.
TOLD = {
    "failed_tool_calls": ("failedToolCalls", "total"),
    "retries": ("retries", ""),
    "test_commands": ("testCommands", "total"),
    "files_inspected": ("filesInspected", "unique"),
    "interventions": ("interventions", ""),
    "approvals": ("approvals", "requested"),
    "model_retries": ("modelRetries", ""),
    "invalid_tool_calls": ("invalidToolCalls", ""),
    "recovered_tool_failures": ("recoveredToolFailures", ""),
    "failed_test_commands": ("testFailures", "failed"),
    "recovered_test_failures": ("testFailures", "recovered"),
    "failed_attempts": ("testFailures", "attempts"),
    "compactions": ("compactions", ""),
    "truncated_outputs": ("truncatedOutputs", ""),
    "effect_receipts": ("effectReceipts", "given"),
    "duplicate_effects": ("effectReceipts", "duplicates"),
    "time_to_first_useful_action_ms": ("timeToFirstUsefulActionMs", ""),
    "time_to_first_verifiable_outcome_ms": ("timeToFirstVerifiableOutcomeMs", ""),
}
_COURSE = {
    "provider_faults": "faults", "provider_faults_recovered": "recoveredFaults", "first_token_ms": "firstTokenMs",
    "largest_call_input_tokens": "largestInputTokens",
}  # fmt: skip
_CONSUMPTION = {"cpu_ms": "cpuMs", "throttled_ms": "throttledMs", "peak_memory_bytes": "memoryPeakBytes"}
CHANGES = ("first_token_change_ms", "context_change_tokens", "tool_failure_change", "repetition_change")


def conduct(record: JsonObject, accounted: Value) -> dict[str, Value]:
    """Every metric of this module."""
    course, metrics = record["usage"]["course"], record["interaction"]["metrics"]
    turns = record["interaction"]["assistantTurns"]
    made = {name: told(metrics, key, part, turns) for name, (key, part) in TOLD.items()}
    made |= {name: plain(course[key]) for name, key in _COURSE.items()}
    made |= {name: plain(record["consumption"][key]) for name, key in _CONSUMPTION.items()}
    made["first_token_change_ms"] = _less(plain(course["startFirstTokenMs"]), plain(course["tailFirstTokenMs"]))
    made["context_change_tokens"] = _less(plain(course["startInputTokens"]), plain(course["tailInputTokens"]))
    made["tool_failure_change"] = _shares(metrics, "failureCourse", turns)
    made["repetition_change"] = _shares(metrics, "repetitionCourse", turns)
    made["tokens_per_model_call"] = _per_call(accounted, plain(record["usage"]["modelCalls"]))
    made["clarifications"] = _asked(metrics, turns)
    left = record["leftovers"]
    for name, key in (("leftover_processes", "processesSwept"), ("leftover_ports", "listeningPorts")):
        said = (left.get("value") or {}).get(key, 0)
        made[name] = measured(len(said) if isinstance(said, list) else said) if left.get("value") else plain(left)
    return made


def _less(start: Value, tail: Value) -> Value:
    if start.number is None or tail.number is None:
        return start if start.number is None else tail
    return measured(tail.number - start.number)


def _shares(metrics: JsonObject, key: str, turns: JsonObject) -> Value:
    """How much larger a share the tail has than the start, both of as many calls."""
    start, tail, size = (told(metrics, key, part, turns) for part in ("start", "tail", "part"))
    change = _less(start, tail)
    if change.number is None:
        return change
    return measured(change.number / size.number) if size.number else Value("missing", None, "not_told")


def _per_call(tokens: Value, calls: Value) -> Value:
    if tokens.number is None or calls.number is None:
        return tokens if tokens.number is None else calls
    return measured(tokens.number / calls.number) if calls.number else Value("not_applicable", None, "no_call")


def _asked(metrics: JsonObject, turns: JsonObject) -> Value:
    total = told(metrics, "toolCalls", "total", turns)
    if total.number is None:
        return total
    by = metrics["toolCalls"]["value"].get("byCapability")
    asked = by.get("ask_user", 0) if isinstance(by, dict) else None
    return measured(asked) if isinstance(asked, int) else Value("missing", None, "not_told")


def recovered(values: Mapping[str, Value]) -> bool | None:
    """Whether a usable answer followed every fault and nobody intervened; None where no fault was counted."""
    faults, ended, by_hand = (
        values.get(name, Value("missing")).number
        for name in ("provider_faults", "provider_faults_recovered", "interventions")
    )
    return None if not faults or ended is None else ended >= faults and not by_hand


def trace_gaps(record: JsonObject) -> list[str]:
    """Why the trace of a run is not complete."""
    interaction, usage = record["interaction"], record["usage"]
    metrics, snapshot = interaction["metrics"], record["patch"].get("snapshot") or {}
    found = {
        "end_not_told": interaction["ending"].get("value") in (None, "launch_lost", "recorder_error"),
        "stream_cut": any(stream["truncated"] for stream in interaction["streams"]),
        "events_missing": not metrics and interaction["assistantTurns"]["state"] == "missing",
        "events_not_all_read": bool(metrics.get("stopped") or metrics.get("unreadableRecords")),
        "calls_not_collected": usage["modelCalls"]["state"] == "missing",
        "call_unfinished": bool(usage["course"]["unfinishedCalls"].get("value")),
        "snapshot_missing": snapshot.get("state") != "measured",
    }
    return [name for name, holds in found.items() if holds]
