"""The metrics of one run, from its record: measured, or why not. Pure; one line per metric says where it comes from.

`accounted_tokens` follows the rule that the cohort froze. A file is modified if its content differs from the fixture's,
so added and deleted ones count. How the run was carried out is in `conduct`.
"""

import re

from fairtrial.evidence import value as recorded
from fairtrial.evidence.record_model import Record
from fairtrial.usage.accounted import RULES, accounted_tokens
from fairtrial.usage.counters import Counters
from fairtrial_analysis.load.conduct import conduct_of
from fairtrial_analysis.load.told import plain, state
from fairtrial_analysis.rule.vocabulary import METRICS
from fairtrial_analysis.stats.value import Value, measured

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
# Every metric that is read from records, in the order in which reports and tables have them.
COLUMNS = tuple(name for name, metric in METRICS.items() if metric.kind != "rate" and not metric.runtime)


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
    found |= conduct_of(record, found["accounted_tokens"])
    return {name: found[name] for name in COLUMNS}


def accounted_of(record: Record, rule: str) -> Value:
    """The sum of counters that the named rule defines; unavailable if any of them is."""
    usage, provider = record.usage, record.configuration.provider.value
    if provider is None:
        return state("not_applicable", "no_model_provider")
    told = {name: getattr(usage, attribute) for name, attribute in _COUNTERS.items()}
    counters = Counters(
        **{name: value.value for name, value in told.items() if value.state == "measured"},
        reasoning_inside_output=provider.usage.reasoning_inside_output,
        reasons={name: value.reason or "" for name, value in told.items() if value.state != "measured"},
    )
    found = accounted_tokens(counters, RULES[rule])
    return state("missing", found.reason) if found.value is None else measured(found.value)


def _cost(value: recorded.Value[str]) -> Value:
    if value.state != "measured" or value.value is None:
        return state(value.state, value.reason or "no_reason")
    return measured(value.value) if DECIMAL.fullmatch(value.value) else state("missing", "not_a_decimal_number")


def _sum(*values: recorded.Value[int]) -> Value:
    lacking = next((each for each in values if each.value is None), None)
    if lacking is not None:
        return plain(lacking)
    total = sum(each.value or 0 for each in values)
    return measured(total) if total <= recorded.INT64_MAX else state("missing", "out_of_range")
