"""Each run as a row: what the report's tables hold of it, taken from its record. One line per metric. Pure."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from fairtrial.audit.flow import Placed
from fairtrial.audit.ledger import Ledger
from fairtrial.audit.numbers.conduct import conduct
from fairtrial.audit.numbers.told import Value, plain

JsonObject = dict[str, Any]
_DECIMAL, _DECIMAL_MAX = frozenset("0123456789.-"), 82


@dataclass(frozen=True)
class Row:
    """One run, or an entry of the schedule that was never begun."""

    run: str
    uid: str
    index: int
    block: str
    task: str
    arm: str
    repetition: int
    place: int  # in its block, from 1
    number: int  # 0, or which replacement
    outcome: str
    record: JsonObject = field(default_factory=dict)
    replaces: str = ""
    record_sha256: str = ""
    values: Mapping[str, Value] = field(default_factory=dict)
    voided: bool = False  # by a correction, or because the record can't be used: the reason is not the record's

    @property
    def valid(self) -> bool:
        """Whether it counts."""
        return self.outcome in ("passed", "failed")

    @property
    def begun(self) -> bool:
        """Whether there is a record."""
        return self.outcome != "not_run"

    @property
    def end(self) -> JsonObject:
        """The record's classification."""
        found: JsonObject = self.record.get("classification", {})
        return found


def rows(
    places: Mapping[str, Placed],
    ledger: Ledger,
    records: Mapping[str, JsonObject],
    accounted: str,
    spoiled: Collection[str] = (),
) -> list[Row]:
    """In the order of the schedule, each replacement after what it replaces. A spoiled record makes its run void."""
    seen: dict[str, list[int]] = {}
    for place in places.values():
        if not place.number:
            seen.setdefault(place.slot.block, []).append(place.slot.index)
    made = []
    for run, place in places.items():
        slot, entry, record = place.slot, ledger.records.get(run), records.get(run)
        in_block = sorted(seen[slot.block]).index(slot.index) + 1
        identity = (slot.index, slot.block, slot.task, slot.candidate, slot.repetition, in_block, place.number)
        if entry is None:
            if not place.number or run in ledger.tickets:
                made.append(Row(run, "", *identity, "not_run", {}, place.replaces))
            continue
        outcome, has = "void", dict[str, Value]()
        if record is not None:
            has = values(record, accounted)
            outcome = outcome if run in spoiled else record["classification"]["outcome"]
        voided = outcome == "void" and entry["outcome"] != "void"
        ended = (outcome, record or {}, place.replaces, str(entry["sha256"]), has, voided)
        made.append(Row(run, str(entry["uid"]), *identity, *ended))
    return sorted(made, key=lambda row: (row.index, row.number))


# --- metrics ----------------------------------------------------------------------------------------------------------
COLUMNS = (
    "accounted_tokens", "uncached_input_tokens", "cached_input_tokens", "cache_write_tokens", "output_tokens",
    "reasoning_tokens", "total_tokens", "largest_call_input_tokens", "tokens_per_model_call", "cost", "model_calls",
    "assistant_turns", "tool_calls", "failed_tool_calls", "retries", "test_commands", "files_inspected",
    "files_modified", "lines_added", "lines_deleted", "interventions", "approvals", "clarifications",
    "provider_faults", "provider_faults_recovered", "model_retries", "invalid_tool_calls", "recovered_tool_failures",
    "failed_test_commands", "recovered_test_failures", "failed_attempts", "compactions", "truncated_outputs",
    "effect_receipts", "duplicate_effects", "leftover_processes", "leftover_ports", "duration_ms",
    "time_to_first_useful_action_ms", "time_to_first_verifiable_outcome_ms", "first_token_ms", "cpu_ms", "throttled_ms",
    "peak_memory_bytes", "first_token_change_ms", "context_change_tokens", "tool_failure_change", "repetition_change",
)  # fmt: skip
_USAGE = (
    "uncached_input_tokens", "cached_input_tokens", "cache_write_tokens", "output_tokens",
    "reasoning_tokens", "total_tokens", "model_calls",
)  # fmt: skip
_INTERACTION = {"duration_ms": "wallMs", "assistant_turns": "assistantTurns", "tool_calls": "toolCalls"}
_PATCH = {"lines_added": "linesAdded", "lines_deleted": "linesDeleted"}
# accounted_tokens, by the rule that the cohort froze; reasoning counts only where it lies outside the output.
_ACCOUNTED = {
    "all_tokens": ("allInputTokens", "outputTokens", "reasoningTokens"),
    "fresh_tokens": ("uncachedInputTokens", "cacheWriteTokens", "outputTokens", "reasoningTokens"),
}
_UNITS = {
    "_tokens": "tokens", "_model_call": "tokens", "_ms": "ms", "_bytes": "bytes", "_failure_change": "share",
    "repetition_change": "share",
}  # fmt: skip
_INT64_MAX = 2**63 - 1
NOT_IN_WIRE = "not_in_wire"


def values(record: JsonObject, accounted: str) -> dict[str, Value]:
    """Every metric that is read from records."""
    usage, interaction, patch = record["usage"], record["interaction"], record["patch"]
    made = {name: plain(usage[camel(name)]) for name in _USAGE}
    made |= {name: plain(interaction[key]) for name, key in _INTERACTION.items()}
    made |= {name: plain(patch[key]) for name, key in _PATCH.items()}
    made["files_modified"] = _sum([patch["filesAdded"], patch["filesModified"], patch["filesDeleted"]])
    made["cost"] = _cost(usage["cost"])
    made["accounted_tokens"] = _accounted(record, accounted)
    made |= conduct(record, made["accounted_tokens"])
    return {name: made[name] for name in COLUMNS}


def unit(metric: str, found: Iterable[Row]) -> str:
    """What a metric is counted in."""
    if metric != "cost":
        return next((name for ending, name in _UNITS.items() if metric.endswith(ending)), "count")
    providers = [row.record["configuration"]["provider"].get("value") for row in found if row.record]
    currencies = {one["pricing"]["currency"] for one in providers if one and one.get("pricing")}
    return str(currencies.pop()) if len(currencies) == 1 else "money"


def camel(name: str) -> str:
    """`snake_case` as `camelCase`."""
    head, *tail = name.split("_")
    return head + "".join(part.capitalize() for part in tail)


def _sum(parts: list[JsonObject]) -> Value:
    found = [plain(each) for each in parts]
    lacking = next((each for each in found if each.number is None), None)
    return lacking or Value("measured", sum((each.number or Fraction(0) for each in found), Fraction(0)))


def _cost(said: JsonObject) -> Value:
    if said["state"] != "measured":
        return Value(said["state"], None, said.get("reason") or "no_reason")
    text = said["value"]
    if set(text) <= _DECIMAL and len(text) <= _DECIMAL_MAX:
        return Value("measured", Fraction(text))
    return Value("missing", None, "not_a_decimal_number")


def _accounted(record: JsonObject, rule: str) -> Value:
    provider, usage = record["configuration"]["provider"].get("value"), record["usage"]
    if provider is None:
        return Value("not_applicable", None, "no_model_provider")
    total = 0
    for key in _ACCOUNTED[rule]:
        said = usage[key]
        if key == "reasoningTokens" and provider["usage"]["reasoningInsideOutput"]:
            continue
        if said["state"] != "measured":
            if key == "cacheWriteTokens" and said.get("reason") == NOT_IN_WIRE:
                continue
            return Value("missing", None, f"{_counter(key)}: {said.get('reason') or ''}")
        total += said["value"]
    return Value("measured", Fraction(total)) if total <= _INT64_MAX else Value("missing", None, "out_of_range")


def _counter(key: str) -> str:
    name = key.removesuffix("Tokens")
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
