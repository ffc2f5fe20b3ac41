"""The metrics of one run, from its record: measured, or why not. Pure; one line per metric says where it comes from.

`accounted_tokens` follows the rule that the cohort froze. A file is modified if its content differs from the fixture's,
so added and deleted ones count. What no record holds, such as injected faults, is not applicable.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from fairtrial.evidence import value as recorded
from fairtrial.evidence.record_model import Record
from fairtrial.usage.accounted import RULES, accounted_tokens
from fairtrial.usage.counters import Counters
from fairtrial_analysis.rule.vocabulary import METRICS
from fairtrial_analysis.stats.value import Value, measured, missing, not_applicable, void

DECIMAL = re.compile(r"-?[0-9]{1,40}(?:\.[0-9]{1,40})?")
_COUNTERS = {
    "all_input": "all_input_tokens",
    "uncached_input": "uncached_input_tokens",
    "cached_input": "cached_input_tokens",
    "cache_write": "cache_write_tokens",
    "output": "output_tokens",
    "reasoning": "reasoning_tokens",
    "total": "total_tokens",
}
# Metrics of the interaction that the adapter counted: key, and key inside the value where it has parts.
_TOLD = {
    "failed_tool_calls": ("failedToolCalls", "total"),
    "retries": ("retries", ""),
    "test_commands": ("testCommands", "total"),
    "files_inspected": ("filesInspected", "unique"),
    "interventions": ("interventions", ""),
    "time_to_first_useful_action_ms": ("timeToFirstUsefulActionMs", ""),
    "time_to_first_verifiable_outcome_ms": ("timeToFirstVerifiableOutcomeMs", ""),
}
_STATES: dict[str, Callable[[str], Value]] = {
    "missing": lru_cache(missing),  # thousands of runs share a few reasons
    "not_applicable": lru_cache(not_applicable),
    "void": lru_cache(void),
}
# Every metric that is read from records, in the order in which reports and tables have them.
COLUMNS = tuple(name for name, metric in METRICS.items() if metric.kind == "amount" and not metric.runtime)


def values_of(record: Record, accounted: str) -> dict[str, Value]:
    """Every metric of `COLUMNS`. `accounted` names the rule of accounted_tokens."""
    usage, interaction, patch = record.usage, record.interaction, record.patch
    found: dict[str, Value] = {"accounted_tokens": accounted_of(record, accounted)}
    for name in _COUNTERS.values():
        found[name] = plain(getattr(usage, name))
    found["cost"] = _cost(usage.cost)
    found["model_calls"] = plain(usage.model_calls)
    found["duration_ms"] = plain(interaction.wall_ms)
    found["assistant_turns"] = plain(interaction.assistant_turns)
    found["tool_calls"] = plain(interaction.tool_calls)
    found["files_modified"] = _sum(patch.files_added, patch.files_modified, patch.files_deleted)
    found["lines_added"] = plain(patch.lines_added)
    found["lines_deleted"] = plain(patch.lines_deleted)
    for name, (key, part) in _TOLD.items():
        found[name] = _told(interaction.metrics, key, part, interaction.assistant_turns)
    return {name: found[name] for name in COLUMNS}


def plain(value: recorded.Value[Any]) -> Value:
    """A record's value as statistics have it."""
    if value.state == "measured":
        return measured(value.value) if isinstance(value.value, int) else _state("missing", "not_a_number")
    return _state(value.state, value.reason or "no_reason")


def accounted_of(record: Record, rule: str) -> Value:
    """The sum of counters that the named rule defines; unavailable if any of them is."""
    usage, provider = record.usage, record.configuration.provider.value
    if provider is None:
        return _state("not_applicable", "no_model_provider")
    told = {name: getattr(usage, attribute) for name, attribute in _COUNTERS.items()}
    counters = Counters(
        **{name: value.value for name, value in told.items() if value.state == "measured"},
        reasoning_inside_output=provider.usage.reasoning_inside_output,
        reasons={name: value.reason or "" for name, value in told.items() if value.state != "measured"},
    )
    found = accounted_tokens(counters, RULES[rule])
    return _state("missing", found.reason) if found.value is None else measured(found.value)


def _state(state: str, reason: str) -> Value:
    return _STATES[state](reason)


def _cost(value: recorded.Value[str]) -> Value:
    if value.state != "measured" or value.value is None:
        return _state(value.state, value.reason or "no_reason")
    return measured(value.value) if DECIMAL.fullmatch(value.value) else _state("missing", "not_a_decimal_number")


def _sum(*values: recorded.Value[int]) -> Value:
    lacking = next((each for each in values if each.value is None), None)
    if lacking is not None:
        return plain(lacking)
    total = sum(each.value or 0 for each in values)
    return measured(total) if total <= recorded.INT64_MAX else _state("missing", "out_of_range")


def _told(metrics: dict[str, Any], key: str, part: str, like: recorded.Value[int]) -> Value:
    """A metric that the candidate's adapter counted; without any, for the reason that holds for its turns."""
    found = metrics.get(key)
    if not isinstance(found, dict) or found.get("state") not in ("measured", *_STATES):
        return plain(like) if like.state != "measured" else _state("missing", "not_told")
    if found["state"] != "measured":
        return _state(found["state"], str(found.get("reason") or "not_told"))
    number = found.get("value")
    number = number.get(part) if part and isinstance(number, dict) else number
    if isinstance(number, bool) or not isinstance(number, int):
        return _state("missing", "not_told")
    return measured(number)
