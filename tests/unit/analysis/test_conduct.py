"""How runs were carried out: each metric from its record, the rates that are kept apart from success, their display."""

import dataclasses
from fractions import Fraction
from functools import cache
from typing import Any

import pytest
from fairtrial_analysis.examples import CONTROL, TREATMENT, Came, example, usual
from fairtrial_analysis.html.page import render
from fairtrial_analysis.html.sections.conduct import GROUPS, _title
from fairtrial_analysis.load.conduct import trace_gaps
from fairtrial_analysis.load.results import load
from fairtrial_analysis.load.values import values_of
from fairtrial_analysis.report.compute import Made, compute
from fairtrial_analysis.report.model import Report
from fairtrial_analysis.rule.lint import lint
from fairtrial_analysis.rule.model import Condition
from fairtrial_analysis.rule.recovery import recovered
from fairtrial_analysis.rule.results import Design
from fairtrial_analysis.rule.shipped import paired_rule
from fairtrial_analysis.rule.vocabulary import METRICS
from fairtrial_analysis.stats.location.summary import summary
from fairtrial_analysis.stats.value import Value, measured, missing, not_applicable

from fairtrial.documents import Consumption, Interaction, Leftovers, Snapshot
from fairtrial.evidence.record import assemble
from fairtrial.evidence.record_model import Record
from fairtrial.testing import agent_report, call_course, evaluation_report, interaction_summary, make_finished_run
from fairtrial.usage.calls import ModelCalls
from fairtrial.usage.counters import Counters, Total
from fairtrial.usage.money import Cost

PROVIDER = {
    "uid": "p-uid",
    "wire": "openaiChat",
    "model": {"id": "model-1"},
    "usage": {"cachedInsideInput": True, "reasoningInsideOutput": True},
}
ADAPTED = Interaction("measured", "pi", summary=interaction_summary(11))


def record(calls: dict[str, Any] | None = None, **agent: Any) -> Record:
    """A run with a provider whose number is 11."""
    good = {"interaction": ADAPTED, "leftovers": Leftovers(processes_swept=2, listening_ports=[80, 81])}
    run = make_finished_run(network={"modelProviderRef": {"name": "p"}}, status={"provider": PROVIDER})
    total = Total(4, Counters(all_input=900, output=100, reasoning=0), {})
    made = ModelCalls(
        "p", "model-1", [], 4, 4, {}, [], total, Cost(reason="no_pricing_snapshot"), ["model-1"],
        course=call_course(11),
    )  # fmt: skip
    made = dataclasses.replace(made, **(calls or {}))
    return assemble(run, agent_report(**good | agent), evaluation_report(), (), made)


# --- from a record ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("provider_faults", 2),
        ("provider_faults_recovered", 1),
        ("first_token_ms", 311),
        ("first_token_change_ms", 277 - 261),
        ("largest_call_input_tokens", 9110),
        ("context_change_tokens", 6143 - 1000),
        ("tokens_per_model_call", 250),
        ("failed_tool_calls", 3),
        ("recovered_tool_failures", 1),
        ("invalid_tool_calls", 2),
        ("failed_test_commands", 3),
        ("recovered_test_failures", 1),
        ("failed_attempts", 1),
        ("tool_failure_change", Fraction(2 - 2, 7)),
        ("repetition_change", Fraction(1 - 1, 7)),
        ("compactions", 2),
        ("truncated_outputs", 1),
        ("approvals", 2),
        ("clarifications", 1),
        ("interventions", 1),
        ("effect_receipts", 3),
        ("duplicate_effects", 0),
        ("leftover_processes", 2),
        ("leftover_ports", 2),
        ("cpu_ms", 41_000),
        ("throttled_ms", 900),
        ("peak_memory_bytes", 268_435_456),
    ],
)
def test_a_metric_is_what_the_record_says(metric: str, expected: int | Fraction) -> None:
    assert values_of(record(), "all_tokens")[metric] == measured(expected)


@pytest.mark.parametrize("number", [True, "1", None, 1.5])
def test_a_count_that_is_no_number_is_missing_and_no_crash(number: Any) -> None:
    calls = {"state": "measured", "value": {"total": 3, "byCapability": {"ask_user": number}}}
    odd = dataclasses.replace(ADAPTED, summary=ADAPTED.summary | {"toolCalls": calls})

    assert values_of(record(interaction=odd), "all_tokens")["clarifications"] == missing("not_told")


def test_a_change_of_shares_is_exact_and_may_be_below_zero() -> None:
    course = {"state": "measured", "value": {"calls": 11, "part": 3, "start": 2, "tail": 1}}
    changed = dataclasses.replace(ADAPTED, summary=ADAPTED.summary | {"failureCourse": course})

    found = values_of(record(interaction=changed), "all_tokens")

    assert found["tool_failure_change"] == measured(Fraction(-1, 3))


@pytest.mark.parametrize(
    ("agent", "calls", "expected"),
    [
        (
            {"interaction": Interaction("not_applicable", reason="no_adapter")},
            {},
            {name: not_applicable("no_adapter") for name in ("failed_attempts", "clarifications", "duplicate_effects")},
        ),
        (
            {"interaction": Interaction("missing", "pi", reason="too slow")},
            {},
            {name: missing("too slow") for name in ("compactions", "tool_failure_change", "approvals")},
        ),
        (
            {"consumption": Consumption(cpu_us=5000)},
            {},
            {"cpu_ms": measured(5), "throttled_ms": missing("not_told_by_the_kernel")},
        ),
        ({"consumption": None}, {}, {"peak_memory_bytes": missing("not_reached")}),
        ({"leftovers": None}, {}, {"leftover_processes": missing("not_reached")}),
        ({}, {"forwarded": 0}, {"tokens_per_model_call": not_applicable("no_call")}),
        (
            {},
            {"total": Total(4, Counters(output=1, reasons={"all_input": "cut"}), {})},
            {"tokens_per_model_call": missing("all_input: cut")},
        ),
    ],
    ids=["no adapter", "adapter failed", "old kernel", "launch lost", "no inventory", "no call", "tokens lost"],
)
def test_what_nobody_saw_has_a_reason_and_no_zero(
    agent: dict[str, Any], calls: dict[str, Any], expected: dict[str, Value]
) -> None:
    found = values_of(record(calls, **agent), "all_tokens")

    assert {name: found[name] for name in expected} == expected


def test_without_a_provider_there_are_no_faults_and_no_first_tokens() -> None:
    found = values_of(assemble(make_finished_run(), agent_report(), evaluation_report()), "all_tokens")

    assert found["provider_faults"] == found["first_token_change_ms"] == not_applicable("no_model_provider")


# --- whether the trace is complete ------------------------------------------------------------------------------------
def with_summary(**changes: Any) -> Interaction:
    return dataclasses.replace(ADAPTED, summary=ADAPTED.summary | changes)


@pytest.mark.parametrize(
    ("agent", "calls", "gaps"),
    [
        ({}, {}, ()),
        ({"interaction": Interaction("not_applicable", reason="no_adapter")}, {}, ()),  # nothing was to be read
        ({"ending": "launch_lost"}, {}, ("end_not_told",)),
        ({"streams": [dataclasses.replace(agent_report().streams[0], truncated=True)]}, {}, ("stream_cut",)),
        ({"interaction": Interaction("missing", "pi", reason="too slow")}, {}, ("events_missing",)),
        ({"interaction": with_summary(stopped="too_many_events")}, {}, ("events_not_all_read",)),
        ({"interaction": with_summary(unreadableRecords=1)}, {}, ("events_not_all_read",)),
        ({}, {"unfinished": ["a"]}, ("call_unfinished",)),
        ({"snapshot": Snapshot("missing", reason="too large")}, {}, ("snapshot_missing",)),
    ],
)
def test_a_trace_is_complete_or_says_what_is_missing(
    agent: dict[str, Any], calls: dict[str, Any], gaps: tuple[str, ...]
) -> None:
    assert trace_gaps(record(calls, **agent)) == gaps


def test_calls_that_nobody_collected_are_a_gap() -> None:
    run = make_finished_run(network={"modelProviderRef": {"name": "p"}}, status={"provider": PROVIDER})

    assert trace_gaps(assemble(run, agent_report(), evaluation_report())) == ("calls_not_collected",)


# --- recovery ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("faults", "ended", "interventions", "expected"),
    [
        (measured(2), measured(2), measured(0), True),
        (measured(2), measured(1), measured(0), False),
        (measured(2), measured(2), measured(1), False),  # somebody helped
        (measured(2), measured(2), not_applicable("none can be"), True),
        (measured(0), measured(0), measured(0), None),
        (missing("not_collected"), missing("not_collected"), measured(0), None),
        (not_applicable("no_model_provider"), not_applicable("no_model_provider"), measured(0), None),
    ],
)
def test_a_run_has_recovered_if_every_fault_was_followed_by_an_answer_and_nobody_intervened(
    faults: Value, ended: Value, interventions: Value, expected: bool | None
) -> None:
    values = {"provider_faults": faults, "provider_faults_recovered": ended, "interventions": interventions}

    assert recovered(values) is expected


# --- in the report ----------------------------------------------------------------------------------------------------
def trouble(task: int, arm: str, repetition: int, attempt: int) -> Came:
    """As usual; in the treatment's first task every run meets a fault, and recovers in the odd repetitions."""
    came = usual(task, arm, repetition, attempt)
    count = lambda value: {"state": "measured", "value": value}  # noqa: E731
    met = task == 1 and arm == TREATMENT
    return dataclasses.replace(
        came,
        fields={
            "usage.course.faults": count(int(met)),
            "usage.course.recoveredFaults": count(int(met and repetition % 2)),
            "usage.course.startFirstTokenMs": count(100),
            "usage.course.tailFirstTokenMs": count(100 + 10 * repetition if arm == TREATMENT else 90),
        }
        | ({"interaction.ending": count("launch_lost")} if (task, arm, repetition) == (2, CONTROL, 1) else {}),
    )


@cache
def report() -> Report:
    return compute(load(example(trouble).source()), Made("0.1.0", None, "development"))


def rate(arm: str, name: str) -> tuple[int | None, int | None, int | None, str]:
    found = getattr(next(each for each in report().rates if each.arm == arm), name)
    return found.numerator, found.denominator, found.scheduled, found.reason or found.state


def test_recovery_counts_runs_that_met_a_fault() -> None:
    assert rate(TREATMENT, "recovery") == (3, 5, 50, "measured")
    assert rate(CONTROL, "recovery") == (0, 0, 50, "no_fault_was_observed")


def test_a_harness_without_receipts_is_in_no_rate_of_effects() -> None:
    assert rate(TREATMENT, "effect_integrity") == (0, 0, 50, "no_harness_gave_receipts")


def test_a_gap_in_the_trace_takes_a_passed_run_out_of_the_eligible_ones() -> None:
    runs = [run for run in report().runs if run.arm == CONTROL and run.outcome in ("passed", "failed")]
    whole = [run for run in runs if not run.trace_gaps]

    assert len(whole) == len(runs) - 1
    assert rate(CONTROL, "trace_complete")[:2] == (len(whole), len(runs))
    assert rate(CONTROL, "eligible")[:2] == (sum(run.outcome == "passed" for run in whole), len(runs))


def test_a_change_has_differences_and_no_ratio() -> None:
    found = next(each for each in report().amounts if each.metric == "first_token_change_ms")

    assert found.arms[1].valid.median is not None
    assert found.arms[1].valid.median.value == -10
    assert found.paired.median_of_differences.value is not None
    assert found.paired.median_of_differences.value > 0
    assert found.ratios.higher.value == 10
    ratios = [
        found.ratios.geometric_mean, found.ratios.median, found.ratios.without_one_low, found.pooled_ratio,
        found.all_runs_ratio, found.per_success_ratio, *(task.ratio for task in found.tasks),
    ]  # fmt: skip
    assert {(each.state, each.reason) for each in ratios} == {("not_applicable", "a_change_has_no_ratio")}
    assert found.contradiction is None


def test_a_rule_may_not_ask_for_the_ratio_of_a_change() -> None:
    rule = paired_rule(TREATMENT, CONTROL)
    design = Design(("a", "b"), (TREATMENT, CONTROL), 5)
    asked = Condition("c", "first_token_change_ms", "ratio", "below", "1", "point")
    allowed = dataclasses.replace(asked, statistic="difference", threshold="0")

    codes = [
        {one.code for one in lint(dataclasses.replace(rule, conditions=[each]), design) if one.severity == "error"}
        for each in (asked, allowed)
    ]

    assert "statistic_does_not_apply" in codes[0]
    assert "statistic_does_not_apply" not in codes[1]


def test_every_metric_of_conduct_has_its_line_with_how_many_runs_have_it_or_why_none_has() -> None:
    page = render(report()).decode()

    section = page[page.index('id="conduct"') : page.index('id="failures"')]
    for _, metrics in GROUPS:
        for metric in metrics:
            assert section.count(f'scope="row">{_title(metric)}<') in (1, 2), metric  # one line, or one per candidate
    assert "3/5" in section
    assert "n/a in every valid run" in section
    assert {metric for _, metrics in GROUPS for metric in metrics} <= set(METRICS)


# --- spread -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("values", "mean", "deviation"),
    [
        ([2, 4, 4, 4, 5, 5, 7, 9], Fraction(5), 2.138089935299395),
        ([1, 2], Fraction(3, 2), 0.7071067811865476),
        ([7], Fraction(7), None),
        ([10**15, 10**15 + 1, 10**15 + 2], Fraction(10**15 + 1), 1.0),  # floats would lose it
        ([Fraction(1, 3), Fraction(-1, 3)], Fraction(0), 0.47140452079103168),
    ],
)
def test_mean_and_standard_deviation(values: list[Any], mean: Fraction, deviation: float | None) -> None:
    found = summary([measured(each) for each in values])

    assert found.mean == mean
    assert found.deviation == (None if deviation is None else pytest.approx(deviation, rel=1e-14))


def test_of_no_values_there_is_no_mean() -> None:
    found = summary([missing("cut")])

    assert (found.n, found.mean, found.deviation) == (0, None, None)
