"""Samples of a measurement check: one process after another, none judged by how long it took. Pure.

A process that fails has no sample, and with one missing the check has failed: what is left would be a choice.
"""

import json
from collections.abc import Iterable

from fairtrial.documents import Measurement
from fairtrial.task.packed import Check
from fairtrial_evaluator.judge import Judgement, ending, failed, process_fault
from fairtrial_evaluator.protocol import Outcome

PRINTED_MAX = 1000  # samples that one process may write
SAMPLE_MAX = 2**53


def judge_measurement(check: Check, outcomes: Iterable[Outcome]) -> Judgement:
    """The raw samples, in their order; a failure where a process could not be measured. Stops at the first."""
    samples: list[int] = []
    for number, outcome in enumerate(outcomes):
        if fault := process_fault(outcome):
            return fault
        if outcome.raw.end != "exited" or outcome.raw.exit_code not in check.expect_exit:
            return failed(f"not_measured: {outcome.raw.label}: {ending(outcome)}")
        taken = _taken(check, outcome)
        if isinstance(taken, str):
            return failed(f"not_measured: {outcome.raw.label}: {taken}")
        samples += taken if number >= check.warm_up else []
    unit = "bytes" if check.metric.endswith("_bytes") else "ns"
    return Judgement("passed", measurement=Measurement(check.metric, unit, samples, check.warm_up))  # type: ignore[arg-type]


def _taken(check: Check, outcome: Outcome) -> list[int] | str:
    """The samples of one process, or why there are none."""
    if check.measure == "wall":
        return [outcome.raw.duration_ns]
    if outcome.raw.results != "read":
        return f"results_{outcome.raw.results}"
    try:
        found = json.loads(outcome.results)
    except (ValueError, RecursionError):
        return "its results are not JSON"
    if not isinstance(found, list) or not 1 <= len(found) <= PRINTED_MAX:
        return f"its results are not a list of 1 to {PRINTED_MAX} numbers"
    whole = all(type(one) is int and 0 <= one < SAMPLE_MAX for one in found)
    return found if whole else "its results are not whole numbers of nanoseconds or bytes"
