"""Construction cost and runtime come from documents that a gate named before; break-even is never made up."""

import hashlib
import json
from typing import Any

import pytest
from fairtrial_analysis.examples import CONTROL, TREATMENT, Came, example
from fairtrial_analysis.load.results import load
from fairtrial_analysis.report.compute import Made, compute
from fairtrial_analysis.report.model import Report

RUNTIME = {
    "schemaVersion": 1,
    "kind": "RuntimeResults",
    "metrics": {"cold_start_ms": {TREATMENT: ["41.2", "40.8", "45"], CONTROL: ["38"]}},
}


def log(*sessions: dict[str, Any]) -> dict[str, Any]:
    named = [{"id": str(number)} | session for number, session in enumerate(sessions)]
    return {"schemaVersion": 1, "kind": "ConstructionLog", "main": ["framework"], "sessions": named}


def saving(_task: int, arm: str, _repetition: int, _attempt: int) -> Came:
    return Came(tokens=700 if arm == TREATMENT else 1000)


def report(story: Any = saving, *, named: bool = True, stored: bool = True, **documents: Any) -> Report:
    """The report of a cohort with these documents beside its records: `construction={…}`."""
    data = {f"{name}.json": json.dumps(held).encode() for name, held in documents.items()}
    evidence = [
        {"uri": f"s3://evidence/{name}", "sha256": hashlib.sha256(found).hexdigest()} for name, found in data.items()
    ]
    gates = [{"name": "inputs", "says": "They were fixed before.", "evidence": evidence if named else []}]
    made = example(story, tasks=2, gates=gates)
    for name, found in data.items():
        if stored:
            made.store.put(f"{made.layout.cohort(*made.address).base}/{name}", found)
    return compute(load(made.source()), Made("1"))


FRAMEWORK = {"part": "framework", "spent": {"tokens": "30000"}}
PLAIN = {"part": "plain_application", "spent": {"tokens": "5000"}}
OTHERS = [
    {"part": part, "spent": {"tokens": "0"}}
    for part in ("framework_application", "shared_acceptance", "benchmark_infrastructure")
]


def test_break_even_is_what_was_spent_over_what_a_task_saves():
    unit = report(construction=log(FRAMEWORK, PLAIN, *OTHERS)).construction.units[0]

    assert (unit.main.value, unit.inclusive.value) == (30_000, 35_000)
    assert (unit.control_median.value, unit.treatment_median.value) == (1000, 700)
    assert unit.break_even.value == 100
    assert unit.tasks_needed == 100
    assert unit.break_even_inclusive.exact == "350/3"


def test_no_saving_is_no_break_even():
    unit = report(lambda *_: Came(tokens=500), construction=log(FRAMEWORK)).construction.units[0]

    assert (unit.break_even.state, unit.break_even.value) == ("not_applicable", None)
    assert unit.break_even.reason == "no_saving"


def test_a_session_that_was_not_measured_makes_its_part_unavailable():
    lost = {"part": "framework", "spent": {"tokens": None}}
    unit = report(construction=log(FRAMEWORK, lost)).construction.units[0]

    assert unit.main.value is None
    assert unit.break_even.state == "missing"


@pytest.mark.parametrize(
    ("named", "stored", "why"), [(False, True, "no_gate_names_it"), (True, False, "named_but_not_stored")]
)
def test_a_document_that_nobody_named_or_stored_is_not_there(named: bool, stored: bool, why: str):
    made = report(named=named, stored=stored, construction=log(FRAMEWORK), runtime=RUNTIME)

    assert (made.construction.state, made.construction.reason) == ("missing", why)
    assert (made.runtime.state, made.runtime.reason) == ("missing", why)
    assert made.integrity == []


@pytest.mark.parametrize("name", ["construction", "runtime"])
def test_a_document_that_is_not_the_one_that_a_gate_names_is_an_error_and_not_used(name: str):
    held = {"construction": log(FRAMEWORK), "runtime": RUNTIME}[name]
    named = {"uri": f"s3://evidence/{name}.json", "sha256": "9" * 64}
    made = example(saving, tasks=2, gates=[{"name": "inputs", "says": "They were fixed before.", "evidence": [named]}])
    made.store.put(f"{made.layout.cohort(*made.address).base}/{name}.json", json.dumps(held).encode())

    told = compute(load(made.source()), Made("1"))

    section = told.construction if name == "construction" else told.runtime
    assert (section.state, section.reason) == ("missing", "unfit")
    assert [one.code for one in told.integrity] == ["DOCUMENT_UNFIT"]
    assert told.executive.verdict == "INCONCLUSIVE"


def test_break_even_is_computed_in_each_unit_by_itself():
    spent = {"tokens": "30000", "USD": "9", "seconds": "5400"}
    units = {
        unit.unit: unit for unit in report(construction=log({"part": "framework", "spent": spent})).construction.units
    }

    assert units["tokens"].break_even.value == 100
    assert units["USD"].control_median.value == pytest.approx(0.0042)  # 1000 tokens by the snapshot's prices
    assert units["USD"].break_even.value == pytest.approx(9 / (0.0042 - 0.00294))
    assert units["seconds"].break_even.value is None
    assert units["seconds"].control_median.reason == "no_metric_in_this_unit"


def test_runtime_stands_apart_with_its_own_samples():
    runtime = report(runtime=RUNTIME).runtime
    mine = next(one for one in runtime.metrics if one.arm == TREATMENT)

    assert mine.summary.n == 3
    assert mine.summary.median is not None
    assert mine.summary.median.value == 41.2
    assert mine.p95_interpolated


@pytest.mark.parametrize("number", ["1e999999999", "nan", "1/3", "--1", " 1"])
def test_a_number_that_is_no_decimal_is_an_error_and_no_result(number: str):
    made = report(construction=log({"part": "framework", "spent": {"tokens": number}}))

    assert [one.code for one in made.integrity] == ["DOCUMENT_UNFIT"]
    assert made.construction.state == "missing"


def test_costs_of_lost_runs_are_part_of_what_the_cohort_cost():
    def losing(_task: int, arm: str, repetition: int, attempt: int) -> Came:
        lost = (arm, repetition, attempt) == (TREATMENT, 1, 0)
        return Came("invalid" if lost else "passed", tokens=1_000_000)

    made = report(losing)

    assert made.money.totals[0].n == 12
    assert made.money.totals[1].n == 10
    assert made.money.totals[0].value == pytest.approx(12 / 10 * (made.money.totals[1].value or 0))
    assert made.money.snapshots[0].snapshot == "prices-2026-01"
    assert made.money.snapshots[0].arms == [TREATMENT, CONTROL]
