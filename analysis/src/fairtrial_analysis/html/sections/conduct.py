"""How runs were carried out: rates that are not success, and amounts of recovery, context, people, effects, machine.

Over all valid runs, since what an agent does with trouble is seen where it fails too. Every metric has its line, also
where no run has it: then the line says why.
"""

from collections.abc import Iterator, Sequence

from fairtrial_analysis.html import cells, numbers
from fairtrial_analysis.html.lookup import Lookup
from fairtrial_analysis.html.markup import Element, tag
from fairtrial_analysis.html.section import Section, paragraph, section
from fairtrial_analysis.html.sections.amount import Metric
from fairtrial_analysis.html.tables import Column, Group, Listed, Row, table
from fairtrial_analysis.report.measured import ArmAmount, ArmRates
from fairtrial_analysis.report.values import Exact, Number

# What each group holds, and what must be known to read it.
GROUPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Faults and recovery", (
        "provider_faults", "provider_faults_recovered", "model_retries", "recovered_tool_failures",
        "invalid_tool_calls", "failed_test_commands", "recovered_test_failures", "failed_attempts",
    )),
    ("Context, and change from start to tail", (
        "largest_call_input_tokens", "tokens_per_model_call", "compactions", "truncated_outputs",
        "context_change_tokens", "first_token_ms", "first_token_change_ms", "tool_failure_change", "repetition_change",
    )),
    ("Human load", ("approvals", "clarifications", "interventions")),
    ("Effects and cleanup", ("effect_receipts", "duplicate_effects", "leftover_processes", "leftover_ports")),
    ("Machine", ("cpu_ms", "throttled_ms", "peak_memory_bytes")),
)  # fmt: skip
_TITLES = {
    "first_token_ms": "Time to first token",
    "first_token_change_ms": "Time to first token, tail less start",
    "context_change_tokens": "Context of a call, tail less start",
    "largest_call_input_tokens": "Largest context of a call",
    "tool_failure_change": "Share of tool calls that failed, tail less start",
    "repetition_change": "Share of tool calls that repeated, tail less start",
    "cpu_ms": "Processor time",
    "throttled_ms": "Held back by the processor quota",
    "peak_memory_bytes": "Peak memory",
}
# Of these a sum over runs says something.
_SUMMED = frozenset({"cpu_ms", "throttled_ms"})
METRICS = frozenset(metric for _, metrics in GROUPS for metric in metrics)
_RATES = (
    ("Harness reliability", "runs that could be judged, of those begun", "harness_reliability"),
    ("Policy compliance", "runs that kept to their authority, of those that could be judged", "policy_compliance"),
    ("Recovery", "runs with a usable answer after every fault of the provider and no intervention, of valid runs with "
     "a fault; injected or not", "recovery"),
    ("Effect integrity", "runs in which no effect's receipt came twice, of valid runs whose harness gives receipts",
     "effect_integrity"),
    ("Clean end", "valid runs after whose program nothing of the agent's ran or listened", "clean_end"),
    ("Trace complete", "valid runs of which everything was recorded to its end", "trace_complete"),
    ("Eligible", "passed, within authority, no effect twice, trace complete; of runs that could be judged", "eligible"),
)  # fmt: skip


def conduct(lookup: Lookup) -> Section:
    """The section."""
    words = (
        "Kept apart from success, and described only: no claim rests on these unless the rule names them. Records do "
        "not tell whether somebody injected a fault. A change is the last third of a run less its first: above zero "
        "it grew."
    )
    return section("conduct", "Conduct", paragraph(words, class_="lead"), _rates(lookup), _amounts(lookup))


def _rates(lookup: Lookup) -> Element:
    told = lookup.report.rates
    columns = [Column("Rate", "head"), *(Column(lookup.key(each.arm), "number") for each in told)]
    rows: list[Listed] = [
        [tag("span", title, tag("span", f" {says}", class_="of")), *(_rate(lookup, each, name) for each in told)]
        for title, says, name in _RATES
    ]
    return table(
        "rates", "Rates that are not success", columns, rows, note="With Wilson's intervals. Each counts runs."
    )


def _rate(lookup: Lookup, rates: ArmRates, name: str) -> Element | str:
    number: Number = getattr(rates, name)
    shown = cells.share(lookup, number)
    if number.value is None or number.interval is None:
        return shown
    return tag("span", shown, tag("span", f" {cells.interval(number, numbers.percent)}", class_="of"))


def _amounts(lookup: Lookup) -> Element:
    columns = [
        Column("Metric", "head"), Column("Unit"), Column("Candidate"), Column("n of valid runs", "number"),
        Column("Least", "number"), Column("Median", "number"), Column("Greatest", "number"), Column("Mean", "number"),
        Column("SD", "number"), Column("Total", "number"),
    ]  # fmt: skip
    found = {each.metric: Metric(each) for each in lookup.report.amounts}
    groups: list[Listed] = [
        Group(f"conduct-{number}", title, list(_lines(lookup, found, metrics)))
        for number, (title, metrics) in enumerate(GROUPS, 1)
    ]
    words = (
        "Over all valid runs, failed ones too; SD with n - 1. report.json has quartiles, tasks and paired differences."
    )
    return table("conduct-amounts", "Amounts of conduct", columns, groups, note=words)


def _lines(lookup: Lookup, found: dict[str, Metric], metrics: Sequence[str]) -> Iterator[Row]:
    for name in metrics:
        shown = found.get(name)
        if shown is None:
            yield Row([_title(name), "", "all", "n/a in every valid run", *[numbers.NO_VALUE] * 6])
            continue
        for arm in shown.amount.arms:
            yield Row([_title(name), shown.unit.label or "count", lookup.key(arm.arm), *_arm(lookup, shown, arm)])


def _title(name: str) -> str:
    words = _TITLES.get(name) or numbers.metric(name)
    return words[:1].upper() + words[1:]


def _arm(lookup: Lookup, shown: Metric, arm: ArmAmount) -> list[Element | str]:
    told = arm.valid
    of = told.n + told.missing + told.not_applicable + told.void
    count = tag("a", f"{told.n}/{of}", href=lookup.behind(told.of), class_="ev")
    if not told.n:
        why = f"{'n/a' if told.state == 'not_applicable' else told.state}: {numbers.plain(told.reason or 'no values')}"
        return [count, *[numbers.NO_VALUE] * 5, tag("span", why, class_="quiet")]
    ends = [_printed(shown, each) for each in (told.minimum, told.median, told.maximum, told.mean)]
    spread = numbers.NO_VALUE if told.standard_deviation is None else shown.unit(told.standard_deviation)
    adds_up = shown.amount.unit == "count" or shown.name in _SUMMED
    return [count, *ends, spread, cells.value(lookup, arm.total, shown.unit) if adds_up else numbers.NO_VALUE]


def _printed(shown: Metric, value: Exact | None) -> str:
    return numbers.NO_VALUE if value is None else shown.unit(value.value)
