"""Synthetic cohorts of which the truth is known, and the verdict that each must give by the shipped rule."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from fairtrial_analysis.rule.evaluate import Decision, evaluate
from fairtrial_analysis.rule.results import Design, GateEvidence, Outcome, Results, Trial
from fairtrial_analysis.rule.shipped import paired_rule
from fairtrial_analysis.rule.stability import stability
from fairtrial_analysis.rule.truths import Truth, cohorts
from fairtrial_analysis.stats.resampling.seeds import generator
from fairtrial_analysis.stats.value import Value, measured, missing

TASKS = tuple(f"task-{number:02}" for number in range(1, 11))
RULE = paired_rule("framework", "plain")
DESIGN = Design(TASKS, ("framework", "plain"), 5)
SHOWN = {name: GateEvidence("pass", (f"sha256:{name}",)) for name in RULE.gates}

Outcomes = Callable[[int, str, int], Outcome]
Tokens = Callable[[int, str, int], Value]


def passes(_task: int, _arm: str, _repetition: int) -> Outcome:
    return "passed"


def tokens_of(task: int, repetition: int, percent: int = 100) -> Value:
    """A task's own size, a spread between repetitions, and a percentage of it."""
    return measured((1000 * task + 37 * task * repetition) * percent // 100)


def cohort(outcome: Outcomes, tokens: Tokens, **fields: Any) -> Results:
    trials = [
        Trial(
            f"{task}-{arm}-{number}",
            task,
            arm,
            number,
            outcome(t, arm, number),
            {"accounted_tokens": tokens(t, arm, number)},
        )
        for t, task in enumerate(TASKS, start=1)
        for arm in DESIGN.arms
        for number in range(1, 6)
    ]
    return replace(Results(DESIGN, tuple(trials), gates=SHOWN), **fields)


def lower(percent: int) -> Tokens:
    """The treatment takes so many percent of what the control takes, a little more or less by task."""
    return lambda t, arm, n: tokens_of(t, n, percent + t % 3 if arm == "framework" else 100)


def same(t: int, _arm: str, n: int) -> Value:
    return tokens_of(t, n)


def decide(results: Results) -> Decision:
    return evaluate(RULE, results)


def states(decision: Decision) -> dict[str, str]:
    return {line.name: line.state for line in decision.lines}


def test_an_effect_is_supported():
    decision = decide(cohort(passes, lower(70)))

    assert decision.verdict == "SUPPORTED"
    assert set(states(decision).values()) == {"pass"}
    assert set(decision.because) == {condition.name for condition in RULE.conditions}


def test_no_effect_is_not_supported():
    """Half of the tasks a little lower, half a little higher."""
    decision = decide(
        cohort(passes, lambda t, arm, n: tokens_of(t, n, 95 + 10 * (t % 2) if arm == "framework" else 100))
    )

    assert decision.verdict == "NOT SUPPORTED"
    assert "seven-of-ten" in decision.because


def test_the_same_arm_twice_is_not_supported():
    decision = decide(cohort(passes, same))

    assert decision.verdict == "NOT SUPPORTED"
    wins = next(line for line in decision.lines if line.name == "seven-of-ten")
    assert (wins.observed, wins.state) == (0, "fail")  # equal is not lower


def test_an_effect_against_the_treatment_is_not_supported():
    assert decide(cohort(passes, lower(130))).verdict == "NOT SUPPORTED"


def test_a_pooled_median_that_contradicts_the_tasks_supports_nothing():
    """Every task takes the treatment more; it succeeds in the small ones only, so its pooled median is far lower."""

    def outcome(t: int, arm: str, n: int) -> Outcome:
        small = t <= 5
        always = small == (arm == "framework")
        return "passed" if always or n == 1 else "failed"

    results = cohort(
        outcome, lambda t, arm, n: tokens_of(t if t <= 5 else 20 * t, n, 110 if arm == "framework" else 100)
    )
    decision = decide(results)

    assert decision.verdict == "NOT SUPPORTED"
    assert states(decision)["pooled-tokens-lower"] == "pass"
    assert states(decision)["seven-of-ten"] == "fail"
    assert states(decision)["task-normalised-tokens-lower"] in ("fail", "unknown")


def test_if_all_fail_nothing_is_supported():
    decision = decide(cohort(lambda *_: "failed", lower(70)))

    assert decision.verdict == "NOT SUPPORTED"
    assert states(decision)["pooled-tokens-lower"] == "unknown"
    assert states(decision)["seven-of-ten"] == "fail"


def test_if_all_pass_the_success_condition_still_has_a_width():
    line = next(line for line in decide(cohort(passes, lower(70))).lines if line.name == "success-not-worse")

    assert line.observed == 0
    assert line.interval is not None
    assert line.interval[0] == pytest.approx(-0.0713, abs=1e-3)


def test_fewer_tokens_do_not_make_up_for_lost_success():
    def outcome(_t: int, arm: str, n: int) -> Outcome:
        return "failed" if arm == "framework" and n <= 2 else "passed"

    decision = decide(cohort(outcome, lower(50)))

    assert (decision.verdict, decision.because) == ("NOT SUPPORTED", ("success-not-worse",))


def test_one_critical_regression_is_enough():
    results = cohort(lambda t, arm, n: "failed" if (t, arm, n) == (7, "framework", 3) else "passed", lower(60))
    trials = tuple(
        replace(trial, category="hidden_regression", tags=("security_regression",))
        if trial.outcome == "failed"
        else trial
        for trial in results.trials
    )
    decision = decide(replace(results, trials=trials))

    assert (decision.verdict, decision.because) == ("NOT SUPPORTED", ("no-critical-regression",))


@pytest.mark.parametrize("arm", DESIGN.arms)
def test_missing_telemetry_is_inconclusive_and_never_zero(arm: str):
    full = lower(70)
    results = cohort(passes, lambda t, a, n: missing("not_reported") if a == arm and n == 2 else full(t, a, n))
    decision = decide(results)

    assert (decision.verdict, decision.because) == ("INCONCLUSIVE", ("telemetry",))
    coverage = next(line for line in decision.lines if line.name == "telemetry")
    assert coverage.observed == pytest.approx(0.8)


def test_what_missing_telemetry_might_have_decided_is_unknown():
    """Without the gate the verdict must not be made by which values happen to be there."""
    rule = replace(RULE, data_gates=[])
    full = lower(70)
    results = cohort(passes, lambda t, a, n: missing("not_reported") if t <= 4 else full(t, a, n))
    decision = evaluate(rule, results)

    assert states(decision)["seven-of-ten"] == "unknown"
    assert decision.verdict == "INCONCLUSIVE"


def test_a_cell_with_too_few_valid_runs_is_inconclusive():
    results = cohort(lambda t, arm, n: "invalid" if (t, arm, n) == (3, "plain", 5) else "passed", lower(70))
    decision = decide(results)

    assert (decision.verdict, decision.because) == ("INCONCLUSIVE", ("valid-runs",))
    line = next(line for line in decision.lines if line.name == "valid-runs")
    assert (line.observed, line.reason) == (4, "task-03/plain: 4")


@pytest.mark.parametrize("losing", DESIGN.arms)
def test_lost_runs_are_counted_in_the_arm_that_lost_more(losing: str):
    results = cohort(lambda t, arm, n: "invalid" if arm == losing and n == 5 and t <= 4 else "passed", lower(70))
    decision = evaluate(replace(RULE, min_valid_per_cell=4), results)
    line = next(line for line in decision.lines if line.name == "judged")

    assert (line.observed, line.state) == (Fraction(4, 50), "fail")
    assert (decision.verdict, decision.because) == ("INCONCLUSIVE", ("judged",))


def test_a_replacement_fills_the_cell():
    results = cohort(lambda t, arm, n: "invalid" if (t, arm, n) == (3, "plain", 5) else "passed", lower(70))
    made = Trial("r", "task-03", "plain", 5, "passed", {"accounted_tokens": measured(3000)}, replaces="task-03-plain-5")
    decision = decide(replace(results, trials=(*results.trials, made)))

    assert decision.verdict == "SUPPORTED"


@pytest.mark.parametrize("stage", ["smoke", "pilot"])
def test_smoke_and_pilot_runs_support_nothing(stage: str):
    decision = decide(cohort(passes, lower(70), stage=stage))

    assert (decision.verdict, decision.because) == ("INCONCLUSIVE", ("confirmatory",))


@pytest.mark.parametrize("state", ["fail", "unknown", None])
def test_a_gate_that_is_not_shown_is_inconclusive(state: str | None):
    gates = {name: shown for name, shown in SHOWN.items() if name != "isolation"}
    if state:
        gates["isolation"] = GateEvidence(state)  # type: ignore[arg-type]
    decision = decide(cohort(passes, lower(130), gates=gates))

    assert (decision.verdict, decision.because) == ("INCONCLUSIVE", ("isolation",))


def test_the_order_of_records_changes_nothing():
    results = cohort(lambda t, arm, n: "failed" if (t * n) % 4 == 0 else "passed", lower(80))

    assert decide(results) == decide(replace(results, trials=tuple(reversed(results.trials))))


# --- integrity -------------------------------------------------------------------------------------------------------
def broken(results: Results, kind: str) -> Results:
    first = results.trials[0]
    extra = {
        "twice": (first,),
        "foreign": (replace(first, run="x", task="task-99"),),
        "beyond": (replace(first, run="x", repetition=6),),
        "second_valid": (replace(first, run="x"),),
        "replaces_valid": (replace(first, run="x", outcome="invalid", replaces=first.run),),
        "replaces_nothing": (replace(first, run="x", outcome="invalid", replaces="y"),),
    }.get(kind, ())
    trials = results.trials[1:] if kind == "lost" else (*results.trials, *extra)
    return replace(results, trials=trials, integrity_errors=("record x: bad digest",) if kind == "record" else ())


KINDS = ["twice", "foreign", "beyond", "second_valid", "replaces_valid", "replaces_nothing", "lost", "record"]


@pytest.mark.parametrize("kind", KINDS)
def test_an_integrity_error_stops_the_verdict_and_is_told(kind: str):
    decision = decide(broken(cohort(passes, lower(70)), kind))
    line = next(line for line in decision.lines if line.name == "integrity")

    assert decision.verdict == "INCONCLUSIVE"
    assert line.state == "fail"
    assert {"second_valid": "several valid runs", "twice": "2 records of one run"}.get(kind, "") in line.reason
    assert line.reason


# --- drawn at random -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("truth", "verdict"),
    [
        (Truth("effect", ratio=0.4, control_rate=0.9, treatment_rate=0.95, within_log_sd=0.2), "SUPPORTED"),
        (Truth("null"), "NOT SUPPORTED"),
        (Truth("worse", ratio=0.5, treatment_rate=0.4), "NOT SUPPORTED"),
        (Truth("all_fail", control_rate=0, treatment_rate=0), "NOT SUPPORTED"),
        (Truth("all_pass", control_rate=1, treatment_rate=1, ratio=0.5), "SUPPORTED"),
        (Truth("lost_telemetry", ratio=0.4, missing_rate=0.3), "INCONCLUSIVE"),
        (Truth("lost_runs", ratio=0.4, invalid_rate=0.4), "INCONCLUSIVE"),
    ],
    ids=lambda value: value.name if isinstance(value, Truth) else value,
)
def test_cohorts_drawn_from_a_truth_get_its_verdict(truth: Truth, verdict: str):
    drawn = cohorts(truth, RULE, DESIGN, generator(20260101, truth.name), 10)

    verdicts = [decide(results).verdict for results in drawn]

    assert verdicts.count(verdict) >= 9  # type: ignore[arg-type]


# --- other readings of the same records ------------------------------------------------------------------------------
def test_a_clear_effect_is_stable():
    found = stability(RULE, cohort(passes, lower(50)))

    assert [each.name for each in found if each.changed] == []
    assert sum(each.name.startswith("without_task") for each in found) == 10


def test_the_only_task_is_not_left_out():
    every = cohort(passes, lower(50))
    one = replace(
        every,
        design=replace(DESIGN, tasks=TASKS[:1]),
        trials=tuple(each for each in every.trials if each.task == TASKS[0]),
    )

    assert not [each.name for each in stability(RULE, one) if each.name.startswith("without_task")]


def test_unjudged_runs_that_carry_the_verdict_are_shown():
    """One task won by the treatment hangs on runs that nobody judged."""
    rule = replace(RULE, min_valid_per_cell=1, data_gates=[])

    def outcome(t: int, arm: str, n: int) -> Outcome:
        return "invalid" if arm == "framework" and n >= 3 and t <= 8 else "passed"

    found = {each.name: each for each in stability(rule, cohort(outcome, lower(50)))}

    assert found["unjudged_against"].verdict == "NOT SUPPORTED"
    assert found["unjudged_against"].changed
    assert found["unjudged_against"].because == ("success-not-worse",)
    assert not found["unjudged_for"].changed


def test_missing_values_that_carry_the_verdict_are_shown():
    rule = replace(RULE, data_gates=[])
    full = lower(99)

    def tokens(t: int, arm: str, n: int) -> Value:
        return missing("not_reported") if arm == "framework" and n in (3, 4, 5) else full(t, arm, n)

    found = {each.name: each for each in stability(rule, cohort(passes, tokens))}

    assert found["missing_accounted_tokens_against"].verdict == "NOT SUPPORTED"


def test_a_missing_value_is_taken_at_its_worst_in_both_arms():
    rule = replace(RULE, data_gates=[])
    spread = {1: 10, 2: 20, 3: 30, 4: 40, 5: 50}

    def tokens(t: int, arm: str, n: int) -> Value:
        gone = arm == "plain" and n >= 3
        return missing("not_reported") if gone else measured(t * spread[n] + (arm == "plain") * 40 * t)

    found = {each.name: each for each in stability(rule, cohort(passes, tokens))}

    assert found["missing_accounted_tokens_for"].verdict == "SUPPORTED"
    assert found["missing_accounted_tokens_against"].verdict == "NOT SUPPORTED"


def test_a_half_holds_both_arms_of_the_same_blocks():
    """In blocks that the treatment began both arms take much, and it takes less; in the others both take little."""
    size = {("framework", 1): 900, ("plain", 1): 1000, ("framework", 0): 110, ("plain", 0): 100}
    results = cohort(passes, lambda t, arm, n: measured(t * size[arm, n % 2]))
    trials = tuple(
        replace(trial, first_in_block=(trial.repetition % 2 == 1) == (trial.arm == "framework"))
        for trial in results.trials
    )
    found = {each.name: each.verdict for each in stability(RULE, replace(results, trials=trials))}

    assert (found["treatment_first"], found["treatment_second"]) == ("SUPPORTED", "NOT SUPPORTED")


def test_more_runs_than_the_rule_needs_are_compared_with_the_first_ones():
    rule = replace(RULE, min_valid_per_cell=3)

    def tokens(t: int, arm: str, n: int) -> Value:
        return measured(t * (200 if n > 3 else 50) if arm == "framework" else t * 100)

    found = {each.name: each.verdict for each in stability(rule, cohort(passes, tokens))}

    assert found["first_scheduled"] == "SUPPORTED"


def test_replacements_that_carry_the_verdict_are_shown():
    results = cohort(lambda t, arm, n: "invalid" if n >= 2 and arm == "framework" else "passed", lower(101))
    made = tuple(
        replace(
            trial, run=f"{trial.run}-r", outcome="passed", replaces=trial.run, values={"accounted_tokens": measured(9)}
        )
        for trial in results.trials
        if trial.outcome == "invalid"
    )
    whole = replace(results, trials=(*results.trials, *made))

    assert decide(whole).verdict == "SUPPORTED"
    assert {each.name: each.verdict for each in stability(RULE, whole)}["without_replacements"] == "NOT SUPPORTED"


def test_halves_by_order_are_compared():
    def tokens(t: int, arm: str, n: int) -> Value:
        """All of the advantage is in the blocks where the treatment ran second."""
        return tokens_of(t, n, 50 if arm == "framework" and n % 2 == 0 else 101 if arm == "framework" else 100)

    results = cohort(passes, tokens)
    ordered = tuple(
        replace(trial, first_in_block=(trial.repetition % 2 == 1) == (trial.arm == "framework"))
        for trial in results.trials
    )
    rule = replace(RULE, data_gates=[])
    found = {each.name: each for each in stability(rule, replace(results, trials=ordered))}

    assert found["treatment_first"].verdict == "NOT SUPPORTED"
    assert found["treatment_second"].verdict == "SUPPORTED"
