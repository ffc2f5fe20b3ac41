"""Stored evidence of which the truth is known, from its bytes to its verdict, and what the report says of it."""

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from fairtrial_analysis.examples import CONTROL, TREATMENT, Came, example, number
from fairtrial_analysis.load.results import load
from fairtrial_analysis.report.compute import Made, compute
from fairtrial_analysis.report.model import Report

Story = Callable[[int, str, int, int], Came]


def report(story: Story, **spec: Any) -> Report:
    return compute(load(example(story, **spec).source()), Made("0.1.0"))


known = cache(report)  # of the stories that more than one test asks


def size(task: int, repetition: int) -> int:
    """A task's own size, with a spread between repetitions."""
    return 1000 * task + 37 * task * repetition


def effect(task: int, arm: str, repetition: int, _attempt: int) -> Came:
    """About 30 % fewer tokens, in every task."""
    return Came(tokens=size(task, repetition) * (70 + task % 3 if arm == TREATMENT else 100) // 100)


def null(task: int, arm: str, repetition: int, _attempt: int) -> Came:
    """Half of the tasks a little lower, half a little higher."""
    return Came(tokens=size(task, repetition) * (95 + 10 * (task % 2) if arm == TREATMENT else 100) // 100)


def simpson(task: int, arm: str, repetition: int, _attempt: int) -> Came:
    """The treatment takes more in every task; but it only succeeds in small tasks, and the control in large ones."""
    small = task <= 5
    passes = repetition <= (5 if small == (arm == TREATMENT) else 2)
    tokens = (1000 if small else 50_000) + 10 * repetition
    return Came("passed" if passes else "failed", tokens * 11 // 10 if arm == TREATMENT else tokens)


def all_fail(task: int, arm: str, repetition: int, attempt: int) -> Came:
    came = effect(task, arm, repetition, attempt)
    return Came("failed", came.tokens)


def silent(task: int, arm: str, repetition: int, attempt: int) -> Came:
    """The provider reports no tokens for a tenth of the runs."""
    lost = number(f"{task}/{arm}/{repetition}", 10) == 0
    return Came(tokens=None if lost else effect(task, arm, repetition, attempt).tokens)


def same_arm_twice(task: int, arm: str, repetition: int, _attempt: int) -> Came:
    """A/A: both arms are drawn alike, and differ by chance alone."""
    label = f"{task}/{arm}/{repetition}"
    tokens = size(task, repetition) * (70 + number(f"{label}/tokens", 60)) // 100
    return Came("passed" if number(f"{label}/outcome", 5) else "failed", tokens)


def worse(task: int, arm: str, repetition: int, attempt: int) -> Came:
    """Fewer tokens, and fewer successes."""
    came = effect(task, arm, repetition, attempt)
    return Came("failed" if arm == TREATMENT and repetition > 2 else "passed", came.tokens)


def severe(task: int, arm: str, repetition: int, attempt: int) -> Came:
    """An effect, and one failure of security that the control does not have."""
    came = effect(task, arm, repetition, attempt)
    bad = (task, arm, repetition) == (4, TREATMENT, 1)
    return Came("failed" if bad else "passed", came.tokens, "security_regression")


@pytest.mark.parametrize(
    ("story", "verdict", "because"),
    [
        (effect, "SUPPORTED", None),
        (null, "NOT SUPPORTED", "seven-of-ten"),
        (simpson, "NOT SUPPORTED", "seven-of-ten"),
        (all_fail, "NOT SUPPORTED", "seven-of-ten"),
        (silent, "INCONCLUSIVE", "telemetry"),
        (same_arm_twice, "NOT SUPPORTED", "task-normalised-tokens-lower"),
        (worse, "NOT SUPPORTED", "success-not-worse"),
        (severe, "NOT SUPPORTED", "no-critical-regression"),
    ],
)
def test_a_known_truth_gets_its_verdict(story: Story, verdict: str, because: str | None):
    made = known(story)

    assert made.executive.verdict == verdict
    assert because is None or because in made.executive.because
    assert made.integrity == []
    assert all(flow.balanced for flow in made.flow)


def test_pooled_medians_that_contradict_every_task_are_a_warning():
    made = known(simpson)
    tokens = next(one for one in made.amounts if one.metric == "accounted_tokens")

    assert tokens.pooled_ratio.value is not None
    assert tokens.pooled_ratio.value < 1
    assert all(one.ratio.value is None or one.ratio.value > 1 for one in tokens.tasks)
    assert tokens.contradiction
    assert "CONTRADICTION" in {one.code for one in made.executive.warnings}


def test_where_all_fail_there_are_rates_and_no_efficiency():
    made = known(all_fail)
    tokens = next(one for one in made.amounts if one.metric == "accounted_tokens")

    assert [rate.value for rate in made.success.rates] == [0, 0]
    assert tokens.arms[0].passed.state == "missing"
    assert tokens.arms[0].passed.median is None
    assert tokens.arms[0].valid.n == 50
    assert tokens.arms[0].per_success.reason == "no_success"
    assert tokens.pooled_ratio.value is None


def test_losing_one_arms_runs_is_a_headline():
    """The treatment loses every fourth run, and is tried again; the control loses none."""

    def lossy(task: int, arm: str, repetition: int, attempt: int) -> Came:
        lost = arm == TREATMENT and attempt == 0 and (task + repetition) % 4 == 0
        return Came("invalid") if lost else effect(task, arm, repetition, attempt)

    made = report(lossy)

    assert made.sensitivity is not None
    assert made.sensitivity.unequal
    warning = next(one for one in made.executive.warnings if one.code == "UNEQUAL_LOSS")
    assert len(warning.runs) == 12
    assert made.flow[1].replacements == 12


def test_a_pilot_supports_nothing():
    made = report(effect, stage="pilot")

    assert made.executive.verdict == "INCONCLUSIVE"
    assert made.executive.because == ["confirmatory"]
    assert "NOT_CONFIRMATORY" in {one.code for one in made.executive.warnings}


def test_a_gate_without_evidence_leaves_it_open():
    gates = [{"name": name, "says": "It is shown.", "needed": "verdict"} for name in
             ("isolation", "behavioural-equivalence", "measurement-reliability", "model-immutable")]  # fmt: skip
    made = report(effect, gates=gates)

    assert made.executive.verdict == "INCONCLUSIVE"
    assert set(made.executive.because) == {"behavioural-equivalence", "measurement-reliability"}
    assert {gate.name: gate.state for gate in made.gates}["isolation"] == "pass"


def test_a_model_that_changes_behind_its_name_is_told():
    def drifting(task: int, arm: str, repetition: int, attempt: int) -> Came:
        came = effect(task, arm, repetition, attempt)
        return Came(tokens=came.tokens, model="model-2026-01-01" if repetition < 4 else "model-2026-02-01")

    made = report(drifting)

    assert made.executive.verdict == "INCONCLUSIVE"
    assert "model-immutable" in made.executive.because
    assert [one.code for one in made.executive.warnings].count("SEVERAL_MODELS") == 2
    assert CONTROL in made.design.arms
