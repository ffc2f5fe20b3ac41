"""Measurement checks: raw samples in their order, warm-up left out, and nothing chosen from what is left of them."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest
from fairtrial_evaluator.measure import PRINTED_MAX, judge_measurement
from fairtrial_evaluator.plan import Planner
from fairtrial_evaluator.protocol import Outcome, RawResult

from fairtrial.task.packed import Check, Evaluation, worst_case_seconds

CHECK = Check("start", "measurement", "framework_defect", metric="cold_start_ms", argv=["true"], warm_up=2, samples=3)
PRINTED = dataclasses.replace(CHECK, metric="warm_dispatch_ms", measure="results", warm_up=1, argv=["x", "{results}"])


def ended(results: bytes | None = None, **facts: Any) -> Outcome:
    state = "unused" if results is None else "read"
    raw = RawResult("label", ["tool"], "exited", exit_code=0, results=state)  # type: ignore[arg-type]
    return Outcome(dataclasses.replace(raw, **facts), results=results or b"")


UNWRITTEN = Outcome(dataclasses.replace(ended().raw, results="missing"))


def test_samples_are_kept_as_they_came_and_warm_up_counts_for_nothing():
    found = judge_measurement(CHECK, [ended(duration_ns=ns) for ns in (900, 800, 30, 10, 20)])

    assert found.state == "passed"
    assert found.measurement is not None
    assert dataclasses.astuple(found.measurement) == ("cold_start_ms", "ns", [30, 10, 20], 2)


def test_memory_is_in_bytes():
    memory = dataclasses.replace(PRINTED, metric="peak_bytes", warm_up=0)

    found = judge_measurement(memory, [ended(b"[5]"), ended(b"[6]")])

    assert found.measurement is not None
    assert (found.measurement.unit, found.measurement.samples) == ("bytes", [5, 6])


def test_a_process_that_times_itself_may_give_many_samples():
    found = judge_measurement(PRINTED, [ended(b"[9, 9]"), ended(b"[1, 2]"), ended(b"[3]"), ended(b"[4]")])

    assert found.measurement is not None
    assert found.measurement.samples == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("check", "last", "reason"),
    [
        (CHECK, ended(exit_code=1), "not_measured: label: exit code 1"),
        (CHECK, ended(timed_out=True), "timed_out"),
        (PRINTED, UNWRITTEN, "results_missing"),
        (PRINTED, ended(b"{"), "its results are not JSON"),
        (PRINTED, ended(b"[" * 100_000), "its results are not JSON"),
        (PRINTED, ended(b"[]"), "not a list of 1 to 1000 numbers"),
        (PRINTED, ended(str([1] * (PRINTED_MAX + 1)).encode()), "not a list of 1 to 1000 numbers"),
        (PRINTED, ended(b"[1.5]"), "not whole numbers"),
        (PRINTED, ended(b"[true]"), "not whole numbers"),
        (PRINTED, ended(b"[-1]"), "not whole numbers"),
        (PRINTED, ended(b"[99999999999999999999]"), "not whole numbers"),
    ],
)
def test_with_one_sample_missing_there_is_no_measurement(check: Check, last: Outcome, reason: str):
    good = ended(b"[1]") if check is PRINTED else ended(duration_ns=1)

    found = judge_measurement(check, [good, last])

    assert (found.state, found.measurement) == ("failed", None)
    assert reason in found.reason


def test_it_stops_at_the_first_that_fails():
    def outcomes() -> Iterator[Outcome]:
        yield ended(exit_code=1)
        raise AssertionError("a second process was started")

    assert judge_measurement(CHECK, outcomes()).state == "failed"


def test_every_sample_is_a_process_of_its_own_and_has_its_time():
    planner = Planner(Evaluation(["tool"], [CHECK]), ["/bin/tool"], "token")

    labels = [planned.invocation.label for planned in planner.measured_runs(CHECK, "submission")]

    assert labels == [f"submission-{name}" for name in ("warm-up-0", "warm-up-1", "sample-0", "sample-1", "sample-2")]
    assert worst_case_seconds(Evaluation(["tool"], [CHECK])) == 5 * CHECK.timeout_seconds
