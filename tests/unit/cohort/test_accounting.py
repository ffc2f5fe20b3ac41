"""Everything scheduled is somewhere, once; what does not fit is named."""

import dataclasses
import random
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairtrial.api import BenchmarkRun, Outcome, parse
from fairtrial.api.run import Replaced
from fairtrial.cohort.accounting import Accounting, RunState, account
from fairtrial.cohort.replacement import Evidence, decide
from fairtrial.cohort.runs import replacement_manifest, run_manifest
from fairtrial.cohort.schedule import Entry, make_schedule, replacement_name, schedule_of
from fairtrial.testing import make_cohort

SCHEDULE = make_schedule("c", 1, ["t1", "t2"], ["a", "b"], 2)
SHA = "8" * 64


def state(entry: Entry, outcome: Outcome | None = "passed", **changes: Any) -> RunState:
    made = RunState(entry.run, f"uid-{entry.run}", entry.candidate, entry.repetition, entry.block, outcome, True)
    return dataclasses.replace(made, **changes)


def replacing(entry: Entry, number: int, replaced: RunState, outcome: Outcome | None = "passed") -> RunState:
    name = replacement_name(entry.run, number)
    return state(entry, outcome, name=name, uid=f"uid-{name}", replaces=Replaced(name=replaced.name, uid=replaced.uid))


def counts(made: Accounting) -> dict[str, int]:
    return {name: value for name, value in made.counts.as_json().items() if value}


def test_a_cohort_that_has_not_begun_is_all_pending():
    made = account(SCHEDULE, [])
    assert counts(made) == {"scheduled": 8, "pending": 8}
    assert made.next_index == 1
    assert counts(account(SCHEDULE, [], closed=True)) == {"scheduled": 8, "notRun": 8}


def test_each_run_is_where_it_is():
    outcomes: list[Outcome | None] = ["passed", "failed", "invalid", "void", "cancelled", None]
    states = [state(entry, outcome) for entry, outcome in zip(SCHEDULE.entries, outcomes, strict=False)]
    states[5] = dataclasses.replace(states[5], started=False)

    made = account(SCHEDULE, states)

    assert counts(made) == {
        "scheduled": 8, "passed": 1, "failed": 1, "invalid": 1, "void": 1, "cancelled": 1, "waiting": 1, "pending": 2,
    }  # fmt: skip
    assert made.errors == []
    assert made.next_index == 7
    assert [line.entry.index for line in made.lines if line.awaits_decision] == [3]


def test_a_replacement_stands_beside_what_it_replaces():
    entry = SCHEDULE.entries[0]
    first = state(entry, "invalid")
    second = replacing(entry, 1, first, "invalid")
    third = replacing(entry, 2, second, None)

    made = account(SCHEDULE, [third, first, second])

    assert counts(made) == {"scheduled": 8, "replacements": 2, "invalid": 2, "running": 1, "pending": 7}
    assert made.counts.adds_up
    assert [run.name for run in made.lines[0].chain] == ["c-00001", "c-00001-r1", "c-00001-r2"]
    assert made.replaced_in_cell == {entry.cell: 2}
    assert not made.lines[0].awaits_decision


def test_replacements_are_counted_by_cell_over_all_repetitions():
    cell = SCHEDULE.entries[0].cell
    entries = [entry for entry in SCHEDULE.entries if entry.cell == cell]
    states = [state(entry, "invalid") for entry in entries]
    states += [replacing(entry, 1, old) for entry, old in zip(entries, list(states), strict=True)]
    assert account(SCHEDULE, states).replaced_in_cell == {cell: 2}


# --- what does not fit ------------------------------------------------------------------------------------------------
ENTRY, NEXT = SCHEDULE.entries[0], SCHEDULE.entries[1]
INVALID = state(ENTRY, "invalid")
STRANGE: dict[str, tuple[list[RunState], str]] = {
    "a foreign run": ([state(ENTRY, name="x")], "x: no entry of the schedule leads to it"),
    "another candidate": ([state(ENTRY, candidate="z")], "c-00001: is not the run that the schedule has at 1"),
    "another repetition": ([state(ENTRY, repetition=9)], "c-00001: is not the run that the schedule has at 1"),
    "another block": ([state(ENTRY, block="z")], "c-00001: is not the run that the schedule has at 1"),
    "another index": ([state(ENTRY, index=5)], "c-00001: is not the run that the schedule has at 1"),
    "two of one name": ([state(ENTRY), state(ENTRY, uid="other")], "c-00001: there are two runs of this name"),
    "two outcomes": ([state(ENTRY, "passed"), state(ENTRY, "failed")], "c-00001: is told as passed and as failed"),
    "a replaced failure": (
        [state(ENTRY, "failed"), replacing(ENTRY, 1, state(ENTRY))],
        "c-00001-r1: replaces c-00001, which is failed and not invalid",
    ),
    "a replaced run under way": (
        [state(ENTRY, None), replacing(ENTRY, 1, state(ENTRY))],
        "c-00001-r1: replaces c-00001, which is running and not invalid",
    ),
    "two replacements of one": (
        [INVALID, replacing(ENTRY, 1, INVALID), replacing(ENTRY, 2, INVALID)],
        "c-00001-r2: replaces c-00001, as c-00001-r1 does",
    ),
    "a replacement of nothing": ([replacing(ENTRY, 1, INVALID)], "c-00001-r1: no entry of the schedule leads to it"),
    "a replacement with another identity": (
        [INVALID, dataclasses.replace(replacing(ENTRY, 1, INVALID), candidate="z")],
        "c-00001-r1: is not the run that the schedule has at 1",
    ),
    "a run remade under its name": (
        [dataclasses.replace(INVALID, uid="new"), replacing(ENTRY, 1, INVALID)],
        "c-00001-r1: no entry of the schedule leads to it",
    ),
    "a scheduled run that replaces": (
        [state(ENTRY, "invalid"), state(NEXT, replaces=Replaced(name=ENTRY.run, uid=INVALID.uid))],
        "c-00002: is scheduled and claims to replace c-00001",
    ),
}


@pytest.mark.parametrize("name", STRANGE)
def test_what_does_not_fit_is_named(name: str):
    states, words = STRANGE[name]
    errors = account(SCHEDULE, states).errors
    assert any(error.startswith(words) for error in errors), errors


def test_a_cycle_ends():
    one = state(ENTRY, "invalid", replaces=Replaced(name="c-00001-r1", uid="u"))
    other = state(ENTRY, "invalid", name="c-00001-r1", uid="u", replaces=Replaced(name=ENTRY.run, uid=one.uid))
    assert account(SCHEDULE, [one, other]).errors


def test_a_run_of_another_preregistration_is_named():
    states = [state(ENTRY, preregistration_sha256=SHA), state(NEXT, preregistration_sha256="9" * 64)]
    errors = account(SCHEDULE, states, preregistration_sha256=SHA).errors
    assert errors == [f"c-00002: follows preregistration {'9' * 64}, not {SHA}."]


def test_a_run_that_is_told_by_its_object_and_by_its_record_counts_once():
    for states in ([state(ENTRY, None), state(ENTRY)], [state(ENTRY), state(ENTRY, None)]):
        made = account(SCHEDULE, states)
        assert (made.errors, made.counts.passed, made.counts.running) == ([], 1, 0)


# --- any history ------------------------------------------------------------------------------------------------------
OUTCOMES: Any = st.sampled_from([None, *get_args(Outcome)])


@given(st.data(), st.integers(0, 8), st.booleans())
def test_any_history_within_the_policy_adds_up(data: Any, created: int, closed: bool):
    """Runs are created in order and end in any way; what is invalid may be replaced up to twice in a cell."""
    cohort = make_cohort(repetitions=2, replacement={"reasons": ["host_failure"], "maxPerCell": 2})
    schedule = schedule_of(cohort)
    states: list[RunState] = []
    for entry in schedule.entries[:created]:
        run: RunState | None = state(entry, data.draw(OUTCOMES))
        number = 0
        while run is not None:
            states.append(run)
            used = account(schedule, states).replaced_in_cell.get(entry.cell, 0)
            wanted = data.draw(st.booleans())
            allowed = (
                run.outcome is not None
                and decide(cohort.spec.replacement, Evidence(run.outcome, "host_failure", "evicted"), used).allowed
            )
            number += 1
            run = replacing(entry, number, run, data.draw(OUTCOMES)) if wanted and allowed else None
    random.Random(0).shuffle(states)

    made = account(schedule, states, closed=closed)

    assert made.errors == []
    assert made.counts.adds_up
    assert made.counts.scheduled == len(schedule.entries)
    assert sum(len(line.chain) for line in made.lines) == len(states)
    assert max(made.replaced_in_cell.values(), default=0) <= 2
    if closed:
        assert made.counts.pending == 0


def test_what_the_operator_creates_is_accounted_for():
    cohort = make_cohort()
    schedule = schedule_of(cohort)
    made = [run_manifest(cohort, entry, preregistration_sha256=SHA) for entry in schedule.entries[:3]]
    recorded = {"outcome": "invalid", "record": {"uri": "s3://b/k", "sha256": SHA}}
    runs = [
        parse(BenchmarkRun, one | {"metadata": one["metadata"] | {"uid": f"u{number}"}, "status": recorded})
        for number, one in enumerate(made)
    ]
    first = schedule.entries[0]
    again = replacement_manifest(cohort, first, Replaced(name=first.run, uid="u0"), 1, preregistration_sha256=SHA)
    runs.append(parse(BenchmarkRun, again | {"metadata": again["metadata"] | {"uid": "u9"}}))

    account_ = account(schedule, map(RunState.of_run, runs), preregistration_sha256=SHA)

    assert account_.errors == []
    assert counts(account_) == {"scheduled": 20, "replacements": 1, "invalid": 3, "waiting": 1, "pending": 17}
