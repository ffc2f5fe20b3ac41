"""The report holds what was asked for, and every number in it says what it is."""

import copy
import dataclasses
import json
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import jsonschema
import pytest
from fairtrial_analysis.examples import CONTROL, TREATMENT, Came, example, usual
from fairtrial_analysis.load.inputs import Wrong
from fairtrial_analysis.load.loaded import Loaded
from fairtrial_analysis.load.results import load
from fairtrial_analysis.report.canonical import to_bytes, to_json
from fairtrial_analysis.report.compute import Made, compute
from fairtrial_analysis.report.model import Report
from fairtrial_analysis.report.numbers import number, real, share, text
from fairtrial_analysis.report.schema import report_schema
from fairtrial_analysis.report.values import INTERVALS, METHODS, Number, Of, Summary

from fairtrial.cohort.ledger import LedgerEntry
from fairtrial.evidence.correction import Change, Correction, Shown, Superseded

MADE = Made("0.1.0", None, "development")


@cache
def loaded() -> Loaded:
    return load(example().source())


@cache
def report() -> Report:
    return compute(loaded(), MADE)


def numbers(value: Any) -> Iterator[Number]:
    """Every number in the report."""
    if isinstance(value, Number):
        yield value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from numbers(getattr(value, field.name))
    elif isinstance(value, list):
        for item in value:
            yield from numbers(item)


def intervals(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key in ("interval", "audit"):
            if key in value:
                yield value[key]["method"]
        for item in value.values():
            yield from intervals(item)
    elif isinstance(value, list):
        for item in value:
            yield from intervals(item)


# --- what every number says -------------------------------------------------------------------------------------------
def test_every_number_has_a_known_method_and_a_value_or_a_reason():
    found = list(numbers(report()))

    assert len(found) > 700
    for one in found:
        assert one.method in METHODS
        assert (one.state == "measured") == (one.value is not None) == (one.reason is None), one
    assert set(intervals(to_json(report()))) <= set(INTERVALS)


def test_every_method_is_explained_in_the_report():
    assert {one.method for one in numbers(report())} <= set(report().methods)


def test_an_exact_number_stands_beside_its_rounded_one():
    rate = report().success.rates[0]

    assert rate.exact is not None
    assert Fraction(rate.exact) == Fraction(rate.numerator or 0, rate.denominator or 1)
    assert rate.scheduled == 50


@pytest.mark.parametrize(
    ("value", "as_json", "exact"),
    [
        (Fraction(37, 50), 0.74, "37/50"),
        (Fraction(6, 2), 3, None),
        (2**53, 9.00719925474e15, str(2**53)),
        (2**53 - 1, 2**53 - 1, None),
        (Fraction(1, 3), 0.333333333333, "1/3"),
        (0.1 + 0.2, 0.3, None),
    ],
)
def test_numbers_are_written_exactly_or_to_twelve_digits(value: Any, as_json: Any, exact: str | None):
    assert (real(value), text(value)) == (as_json, exact)


def test_nothing_is_never_zero():
    none = number(None, "sum", Of("valid", "cost"), reason="not_reported")
    assert to_json(none) == {
        "state": "missing", "method": "sum", "of": {"among": "valid", "metric": "cost"}, "reason": "not_reported",
    }  # fmt: skip
    assert share(0, 0, Of("valid")).value is None


def test_all_and_none_get_the_exact_interval_beside_wilsons():
    assert share(0, 5, Of("valid")).audit is not None
    assert share(5, 5, Of("valid")).audit is not None
    assert share(3, 5, Of("valid")).audit is None


# --- what is in it ----------------------------------------------------------------------------------------------------
def test_everything_scheduled_is_accounted_for():
    everything, ours, theirs = report().flow

    assert everything.balanced
    assert (everything.scheduled, everything.replacements, everything.invalid) == (100, 2, 2)
    assert [(one.name, one.count) for one in everything.invalid_by] == [("host_failure", 2)]
    assert ours.scheduled + theirs.scheduled == 100


def test_lost_runs_are_listed_with_what_was_decided():
    lost = report().lost_runs

    assert len(lost) == 2
    for one in lost:
        assert one.code == "host_failure"
        assert one.decision == "allowed"
        assert one.replaced_by == f"{one.run}-r1"


def test_every_failure_has_its_category_and_is_listed():
    failed = [run for run in report().runs if run.outcome == "failed"]
    counted = sum(one.count for arm in report().failures for one in arm.primary)

    assert counted == len(failed) == len(report().failed_runs)
    assert all(len(arm.primary) >= 13 for arm in report().failures)


def test_missing_tokens_are_counted_by_arm_with_the_reason():
    missing = next(one for one in report().missingness if (one.field, one.arm) == ("accounted_tokens", CONTROL))

    assert (missing.n, missing.present, missing.missing) == (50, 49, 1)
    assert missing.reasons[0].count == 1
    arm = next(one for one in amount("accounted_tokens").arms if one.arm == CONTROL)
    assert arm.total.value is None
    assert arm.per_success.value is None
    assert arm.passed.n + arm.passed.missing == sum(r.outcome == "passed" and r.arm == CONTROL for r in report().runs)


def amount(metric: str) -> Any:
    return next(one for one in report().amounts if one.metric == metric)


def test_a_runs_values_are_those_of_its_record():
    rows = {row.run: row for row in loaded().rows}
    for run in report().runs:
        for metric, value in rows[run.run].values.items():
            told = run.values.get(metric)
            assert (Fraction(told) if told is not None else None) == value.value
    assert {one.metric for one in report().runs[0].absent}.isdisjoint(report().runs[0].values)


def test_medians_are_those_of_the_runs():
    mine = next(one for one in amount("accounted_tokens").arms if one.arm == TREATMENT)
    values = sorted(
        run.values["accounted_tokens"] for run in report().runs if run.arm == TREATMENT and run.outcome == "passed"
    )
    middle = (values[len(values) // 2] + values[(len(values) - 1) // 2]) / 2

    assert mine.passed.median.value == middle
    assert (mine.passed.minimum.value, mine.passed.maximum.value) == (values[0], values[-1])


def test_blocks_without_both_arms_are_listed_and_not_compared():
    paired = amount("accounted_tokens").paired

    assert paired.pairs + len(paired.incomplete) == 50
    assert paired.lower + paired.equal + paired.higher == paired.pairs
    won = Counter(run.block for run in report().runs if run.outcome == "passed" and "accounted_tokens" in run.values)
    assert paired.pairs == sum(both == 2 for both in won.values())
    assert paired.pairs < 50
    outcomes = report().success.blocks
    assert outcomes.both_passed + outcomes.only_treatment + outcomes.only_control + outcomes.neither == 50


def test_reliability_curves_go_down_for_all_and_up_for_one():
    for arm in report().reliability:
        at = [point.pass_at_k.value for point in arm.suite]
        hat = [point.pass_hat_k.value for point in arm.suite]
        assert at == sorted(at)  # type: ignore[type-var]
        assert hat == sorted(hat, reverse=True)  # type: ignore[type-var]
        assert at[0] == hat[0]


def test_a_run_far_out_is_flagged_and_kept():
    def far(task: int, arm: str, repetition: int, attempt: int) -> Came:
        tokens = 1_000_000 if (task, arm, repetition) == (1, TREATMENT, 1) else 1000 + repetition
        return Came(tokens=tokens)

    made = compute(load(example(far, tasks=2).source()), MADE)
    tokens = next(one for one in made.amounts if one.metric == "accounted_tokens")

    assert [(one.task, one.arm, one.value.value) for one in tokens.outliers] == [("task-01", TREATMENT, 1_000_000)]
    assert tokens.arms[0].valid.n == 10


def test_the_verdict_table_says_what_was_observed_and_what_was_asked_for():
    lines = {line.name: line for line in report().verdict_table}

    assert lines["seven-of-ten"].observed is not None
    assert lines["seven-of-ten"].threshold is not None
    assert lines["seven-of-ten"].threshold.value == 7
    assert lines["success-not-worse"].interval is not None
    assert lines["success-not-worse"].bound == "lower95"
    assert lines["isolation"].evidence[0].uri == "records"
    assert lines["behavioural-equivalence"].evidence[0].sha256 == "9" * 64
    assert {line.name for line in lines.values() if line.decided} == set(report().executive.because)


def test_each_reading_that_changes_the_verdict_is_a_warning():
    changed = [one.name for one in report().stability if one.changed]
    warned = {one.code: one.says for one in report().executive.warnings}

    assert bool(changed) == ("UNSTABLE" in warned)
    assert "DEVELOPMENT_KEYS" in warned


def test_places_in_blocks_add_up():
    order = report().order
    assert order is not None
    assert order.treatment_first + order.control_first == order.complete == 50
    assert sum(place.rate.denominator or 0 for place in order.places) == 100


def test_a_correction_is_shown_with_what_it_did_to_the_verdict():
    row = next(row for row in loaded().rows if row.valid)
    void = Correction(
        1, "void", *loaded().plan.cohort, loaded().plan.sha256, "", "solution_accessed", "It read the solution.",
        "auditor", "2026-01-03T00:00:00Z", Superseded(row.run, row.uid, row.record_sha256, row.index),
    )  # fmt: skip
    deviation = Correction(
        2, "deviation", *loaded().plan.cohort, loaded().plan.sha256, void.sha256, "protocol_deviation",
        "A node was replaced.", "operator", "2026-01-03T00:00:00Z",
    )  # fmt: skip
    made = compute(load(example(corrections=[void, deviation]).source()), MADE)

    assert made.executive.verdict == "INCONCLUSIVE"
    assert [(one.kind, one.verdict_without, one.changes_verdict) for one in made.corrections] == [
        ("void", "SUPPORTED", True),
        ("deviation", None, None),
    ]
    assert next(one for one in made.lost_runs if one.run == row.run).reason == "solution_accessed"
    assert {one.code for one in made.deviations} == {"CELLS_SHORT", "TOLD_2"}
    assert next(one for one in made.stability if one.name == "without_corrections").changed


def test_a_corrected_field_is_shown_before_and_after_with_what_it_supersedes_and_shows_it():
    row = next(row for row in loaded().rows if row.valid)
    wall = int(row.values["duration_ms"].value or 0)
    one = Correction(
        1, "correction", *loaded().plan.cohort, loaded().plan.sha256, "", "wrong_measurement", "The clock was wrong.",
        "auditor", "2026-01-03T00:00:00Z", Superseded(row.run, row.uid, row.record_sha256, row.index),
        [Change("interaction.wallMs.value", wall, wall + 1)], [Shown("file:clock.txt", "c" * 64)],
    )  # fmt: skip
    (made,) = compute(load(example(corrections=[one]).source()), MADE).corrections

    assert [(field.field, field.before, field.after) for field in made.fields] == [
        ("interaction.wallMs.value", str(wall), str(wall + 1))
    ]
    assert (made.run, made.reason, made.says) == (row.run, "wrong_measurement", "The clock was wrong.")
    assert (made.supersedes, made.evidence) == (row.record_sha256, [f"file:clock.txt sha256:{'c' * 64}"])
    assert (made.verdict_without, made.changes_verdict) == ("SUPPORTED", False)


# --- what a reader must know before the numbers -----------------------------------------------------------------------
def told(made: Report) -> dict[str, list[str]]:
    """Warnings and deviations by code, with the runs that they name."""
    return {one.code: one.runs for one in (*made.executive.warnings, *made.deviations)}


def test_a_cohort_as_planned_has_no_deviation():
    assert report().deviations == []
    assert not {"LEAKS", "NOT_COMPARABLE", "INTEGRITY"} & set(told(report()))


def test_a_cohort_that_was_given_up_says_so_and_which_runs_never_were():
    ledger, last = copy.copy(loaded().ledger), loaded().rows[-1]
    ledger.cancelled = LedgerEntry("cancelled", reason="Enough.")
    rows = (*loaded().rows[:-1], dataclasses.replace(last, outcome="not_run"))

    found = told(compute(dataclasses.replace(loaded(), ledger=ledger, rows=rows), MADE))

    assert (found["COHORT_CANCELLED"], found["NOT_RUN"]) == ([], [last.run])
    assert "CELLS_SHORT" in found


def test_integrity_errors_missing_signatures_and_limits_of_the_design_are_told():
    wrong = (Wrong("RECORD_DIGEST", loaded().rows[0].run, "has another SHA-256."),)
    made = compute(dataclasses.replace(loaded(), wrong=wrong), Made("0.1.0", None, "none"))
    limits = {one.code: one.source for one in made.limitations}

    assert told(made)["INTEGRITY"] == [loaded().rows[0].run]
    assert [(one.code, one.where) for one in made.integrity] == [("RECORD_DIGEST", loaded().rows[0].run)]
    assert "UNSIGNED" in told(made)
    assert {"UNSIGNED", "FEW_TASKS", "FEW_REPETITIONS", "THESE_TASKS", "SELECTED_BY_SUCCESS"} <= set(limits)
    assert limits["POPULATION"] == "declared"


def test_another_analysis_than_the_one_that_was_sealed_is_a_deviation():
    image = loaded().plan.spec["analysis"]["image"]

    assert set(told(compute(loaded(), Made("0.2.0", f"other@sha256:{'e' * 64}", "production")))) >= {
        "OTHER_ANALYSIS_VERSION", "OTHER_ANALYSIS_IMAGE",
    }  # fmt: skip
    assert compute(loaded(), Made("0.1.0", image, "production")).deviations == []


def test_what_differs_in_a_block_and_a_credential_that_was_stored_are_warnings():
    def odd(task: int, arm: str, repetition: int, attempt: int) -> Came:
        first = (task, arm, repetition) == (1, TREATMENT, 1)
        return Came(
            fields={"environment.initialStateSha256": {"state": "measured", "value": "3" * 64}} if first else {}
        )

    held = load(example(odd, tasks=2).source())
    leaking = dataclasses.replace(held.rows[0], leaks=1)

    made = compute(dataclasses.replace(held, rows=(leaking, *held.rows[1:])), MADE)

    assert told(made)["LEAKS"] == [leaking.run]
    assert len(told(made)["NOT_COMPARABLE"]) == 2
    assert [(one.where, one.what) for one in made.comparability] == [("task-01-0001", "initialState")]


def test_a_cohort_that_amends_another_says_which_and_why():
    amends = {"name": "first", "reason": "A task was wrong.", "preregistrationSha256": "5" * 64}
    made = compute(load(example(usual, 2, stage="pilot", amends=amends).source()), MADE)

    assert made.cohort.amends == "first: A task was wrong."
    assert report().cohort.amends is None


def test_a_cohort_without_roles_has_rates_and_no_comparison():
    arm = {"version": "1.0", "image": f"registry.example/agent@sha256:{'d' * 64}", "argv": ["/bin/agent", "{prompt}"]}
    spec = {
        "stage": "pilot", "mode": "endToEnd", "decisionRule": None, "treatment": None,
        "candidates": [arm | {"name": CONTROL}, arm | {"name": TREATMENT}],
    }  # fmt: skip
    made = compute(load(example(usual, 2, **spec).source()), MADE)

    assert made.executive.verdict is None
    assert [rate.state for rate in made.success.rates] == ["measured", "measured"]
    assert made.success.pooled.state == "not_applicable"
    assert {one.state for one in numbers(made.amounts[0].ratios)} == {"not_applicable"}


# --- its bytes --------------------------------------------------------------------------------------------------------
def test_the_bytes_are_canonical_json_of_the_report():
    data = to_bytes(report())
    held = json.loads(data)

    assert data == to_bytes(held)
    assert held["executive"]["verdict"] == "SUPPORTED"
    assert b"NaN" not in data
    assert b": " not in data[:1000]


def test_a_hostile_name_does_not_stop_the_report():
    assert to_bytes({"name": "a\ud800b"}) == b'{"name":"a?b"}'
    with pytest.raises(ValueError, match=r".*"):
        to_bytes({"x": float("nan")})


def test_summaries_say_how_many_values_there_are_not():
    states = Counter(one.state for each in report().amounts for arm in each.arms for one in (arm.passed, arm.valid))
    assert states["measured"] > 10
    assert isinstance(report().amounts[0].arms[0].passed, Summary)


def test_the_published_schema_describes_the_report():
    jsonschema.Draft202012Validator(report_schema()).validate(json.loads(to_bytes(report())))


def test_the_first_sentences_say_how_many_runs_of_how_many_and_what_came_of_them():
    says = compute(load(example(tasks=3).source()), MADE).executive.says

    assert (
        says[1] == "30 valid runs of 30 that were scheduled, and 1 replacement: 3 tasks, 2 candidates, 5 repetitions."
    )
    assert says[-1].startswith("Accounted tokens: 0.")
