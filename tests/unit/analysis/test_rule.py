"""The rule as data: read strictly, checked before use, said in English, and simulated before it is frozen."""

import itertools
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

import pytest
from fairtrial_analysis.rule.english import english
from fairtrial_analysis.rule.evaluate import compare, evaluate
from fairtrial_analysis.rule.lint import lint
from fairtrial_analysis.rule.model import ORDER, Budget, Condition, DecisionRule, load_rule, rule_of_spec
from fairtrial_analysis.rule.observe import Observed, observe
from fairtrial_analysis.rule.results import Design, Results
from fairtrial_analysis.rule.shipped import paired_rule
from fairtrial_analysis.rule.simulate import GRID, RUNS_MAX, plan, simulate
from fairtrial_analysis.rule.truths import Truth, cohorts
from fairtrial_analysis.rule.verdict import conclude
from fairtrial_analysis.rule.view import View
from fairtrial_analysis.rule.vocabulary import METRICS, STATISTICS
from fairtrial_analysis.stats.resampling.seeds import generator
from fairtrial_analysis.stats.value import measured, missing

from fairtrial.api.decision import DecisionRule as SpecRule
from fairtrial.api.decision import Metric, Statistic
from fairtrial.errors import InvalidInput

RULE = paired_rule("framework", "plain")
DESIGN = Design(tuple(f"task-{number:02}" for number in range(1, 11)), ("framework", "plain"), 5)
SEVEN = Condition("seven", "accounted_tokens", "tasksLower", "atLeast", "7")


def drawn(truth: Truth, rule: DecisionRule = RULE) -> Results:
    return next(cohorts(truth, rule, DESIGN, generator(1, truth.name), 1))


# --- the document ---
def test_a_rule_has_a_digest_that_changes_with_any_field():
    assert load_rule(RULE.to_bytes()) == RULE
    assert load_rule(RULE.to_bytes()).sha256 == RULE.sha256
    changed = replace(RULE, conditions=[replace(RULE.conditions[0], threshold="-0.21"), *RULE.conditions[1:]])
    assert changed.sha256 != RULE.sha256


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"treatmant": "x"}, "unknown field"),
        ({"order": ["whatever"]}, "not one of"),
        ({"minValidPerCell": "5"}, "not int"),
        ({"conditions": [{"name": "x"}]}, "lacks field"),
        ({"schemaVersion": 2}, "not one of"),
    ],
)
def test_a_document_that_does_not_fit_is_refused_with_its_path(change: dict[str, Any], message: str):
    document = json.loads(RULE.to_bytes()) | change
    with pytest.raises(InvalidInput, match=message):
        load_rule(json.dumps(document))


def test_a_cohorts_rule_is_read_with_the_same_words():
    spec = SpecRule.model_validate(
        {
            "name": "r",
            "gates": ["isolation"],
            "conditions": [
                {
                    "name": "seven",
                    "metric": "accounted_tokens",
                    "statistic": "tasksLower",
                    "comparison": "atLeast",
                    "threshold": "7",
                }
            ],
        }
    )
    rule = rule_of_spec(spec.as_json(), "framework", "plain")

    assert (rule.gates, rule.min_valid_per_cell, rule.accounted_tokens) == (["isolation"], 5, "all_tokens")
    assert rule.conditions == [SEVEN]


def test_every_word_of_a_cohorts_rule_is_known():
    assert set(get_args(Metric)) == set(METRICS)
    assert set(get_args(Statistic)) == set(STATISTICS)


def test_the_page_about_rules_lists_every_statistic_as_it_is():
    page = Path("docs/rules.md").read_text("utf-8")
    words = {"rate": "rates", "amount": "amounts", "change": "changes"}
    for name, one in STATISTICS.items():
        kinds = ", ".join(words[kind] for kind in one.kinds)
        assert f"| `{name}` | {kinds} | {one.title} | {one.interval or '—'} |" in page
    for name, metric in METRICS.items():
        assert metric.kind == "amount" or f"`{name}`" in page


# --- what it looks at ---
@pytest.mark.parametrize("bound", ["point", "lower95", "upper95"])
@pytest.mark.parametrize("statistic", STATISTICS)
def test_every_statistic_of_every_kind_of_metric_is_a_number_or_a_reason(statistic: str, bound: str):
    for metric in (
        "success_rate",
        "harness_reliability",
        "policy_compliance",
        "recovery_rate",
        "accounted_tokens",
        "cost",
    ):
        if METRICS[metric].kind not in STATISTICS[statistic].kinds:
            continue
        condition = Condition("c", metric, statistic, "above", "0.5", bound)  # type: ignore[arg-type]
        rule = replace(RULE, conditions=[condition])
        for truth in (
            Truth("usual", invalid_rate=0.1, missing_rate=0.1),
            Truth("none", control_rate=0, treatment_rate=0),
        ):
            found = observe(condition, View(rule, drawn(truth, rule)))
            state, reason = compare(found, condition)
            assert (state == "unknown") == bool(reason)
            low, high = STATISTICS[statistic].values(METRICS[metric].kind)
            if found.value is not None:
                assert low is None or low <= found.value
                assert high is None or found.value <= high


def test_an_interval_lies_around_its_value():
    for statistic, metric in [
        ("difference", "success_rate"),
        ("ratio", "accounted_tokens"),
        ("treatmentValue", "cost"),
    ]:
        condition = Condition("c", metric, statistic, "above", "0", "lower95")
        rule = replace(RULE, conditions=[condition])
        found = observe(condition, View(rule, drawn(Truth("usual"), rule)))
        assert found.value is not None
        assert found.low is not None
        assert found.high is not None
        assert found.low < found.value < found.high


@pytest.mark.parametrize("place", ["conditions", "data_gates"])
def test_a_pooled_interval_is_drawn_only_if_a_condition_or_a_gate_reads_it(place: str):
    condition = Condition("c", "accounted_tokens", "pooledMedianRatio", "below", "1")
    plain = observe(condition, View(replace(RULE, conditions=[condition]), drawn(Truth("usual"))))
    with_bound = replace(condition, bound="upper95")
    bare = replace(RULE, conditions=[SEVEN], data_gates=[])
    rule = replace(bare, **{place: [with_bound]})  # type: ignore[arg-type]
    bounded = observe(with_bound, View(rule, drawn(Truth("usual"))))
    assert plain.high is None
    assert bounded.high is not None
    assert plain.value == bounded.value


@pytest.mark.parametrize(
    ("comparison", "value", "state"),
    [
        ("below", Fraction(1), "fail"),
        ("below", Fraction(999_999_999_999, 1_000_000_000_000), "pass"),
        ("atMost", 1, "pass"),
        ("above", 1.0, "fail"),
        ("above", 1.0000000000000002, "pass"),
        ("atLeast", 1, "pass"),
    ],
)
def test_comparisons_are_exact(comparison: str, value: Any, state: str):
    condition = Condition("c", "cost", "ratio", comparison, "1.0")  # type: ignore[arg-type]
    assert compare(Observed(value), condition) == (state, "")


def test_what_missing_values_could_turn_is_unknown():
    assert compare(Observed(6, at_most=8), SEVEN) == ("unknown", "missing_values_could_decide_it")
    assert compare(Observed(7, at_most=8), SEVEN) == ("pass", "")
    assert compare(Observed(4, at_most=6), SEVEN) == ("fail", "")
    assert compare(Observed(None, reason="why"), SEVEN) == ("unknown", "why")


# --- the verdict ---
def test_the_order_of_evaluation_is_the_rules():
    table = {
        (("pass",), (True, True)): "SUPPORTED",
        (("pass",), (True, False)): "NOT SUPPORTED",
        (("pass",), (True, None)): "INCONCLUSIVE",
        (("pass",), (False, None)): "NOT SUPPORTED",
        (("fail",), (True, False)): "INCONCLUSIVE",
        (("unknown",), (False, False)): "INCONCLUSIVE",
        ((), ()): "INCONCLUSIVE",
    }
    for (gates, conditions), verdict in table.items():
        assert conclude(gates, conditions) == verdict
    other = ("falseConditions", "gates", "undecidedConditions")
    assert conclude(["fail"], [False], other) == "NOT SUPPORTED"  # type: ignore[arg-type]
    assert conclude(["pass"], [False, None], ("undecidedConditions", "falseConditions", "gates")) == "INCONCLUSIVE"


def test_nothing_but_all_true_is_supported():
    states = ["pass", "fail", "unknown"]
    for gate, one, two in itertools.product(states, [True, False, None], [True, False, None]):
        for order in itertools.permutations(ORDER):
            assert (conclude([gate], [one, two], order) == "SUPPORTED") == (gate == "pass" and one is two is True)


def test_budgets_decide_like_conditions():
    rule = replace(RULE, budgets=[Budget("cold", "cold_start_ms", "250")], runtime_required=True)
    results = drawn(Truth("effect", ratio=0.3, control_rate=1, treatment_rate=1, within_log_sd=0.2), rule)
    verdicts = {
        limit: evaluate(rule, replace(results, runtime={"cold_start_ms": value})).verdict
        for limit, value in (("in", measured(250)), ("over", measured("250.1")), ("lost", missing("no_samples")))
    }

    assert verdicts == {"in": "SUPPORTED", "over": "NOT SUPPORTED", "lost": "INCONCLUSIVE"}
    assert evaluate(replace(rule, budgets=[]), results).because == ("runtime-budgets-fixed",)


def test_a_decision_names_what_it_was_made_by():
    decision = evaluate(RULE, drawn(Truth("usual")))
    condition = next(line for line in decision.lines if line.name == "seven-of-ten")

    assert decision.rule_sha256 == RULE.sha256
    assert len(condition.evidence) == 100
    assert condition.threshold == 7


# --- lint ---
def codes(rule: DecisionRule, design: Design = DESIGN) -> set[str]:
    return {each.code for each in lint(rule, design) if each.severity == "error"}


def warnings(rule: DecisionRule, design: Design = DESIGN) -> set[str]:
    return {each.code for each in lint(rule, design) if each.severity == "warning"}


def with_condition(*conditions: Condition) -> DecisionRule:
    return replace(RULE, conditions=list(conditions))


def test_the_shipped_rule_has_one_warning_that_it_answers_itself():
    assert {(each.code, each.field) for each in lint(RULE, DESIGN)} == {("likely_by_chance", "conditions[2].threshold")}


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        (with_condition(), "no_conditions"),
        (replace(RULE, control="framework"), "same_arm"),
        (replace(RULE, control="nobody"), "unknown_arm"),
        (replace(RULE, accounted_tokens="characters"), "unknown_token_rule"),
        (replace(RULE, min_valid_per_cell=6), "impossible_cell_size"),
        (replace(RULE, min_valid_per_cell=0), "impossible_cell_size"),
        (replace(RULE, order=["gates"]), "bad_order"),
        (replace(RULE, critical_categories=["sad"]), "unknown_category"),
        (replace(RULE, runtime_required=True), "no_budgets"),
        (replace(RULE, budgets=[Budget("b", "tokens", "5")]), "unknown_metric"),
        (replace(RULE, budgets=[Budget("b", "cold_start_ms", "0")]), "impossible_threshold"),
        (replace(RULE, budgets=[Budget("b", "cold_start_ms", "fast")]), "not_a_number"),
        (replace(RULE, gates=["telemetry"]), "duplicate_name"),
        (with_condition(replace(SEVEN, metric="happiness")), "unknown_metric"),
        (with_condition(replace(SEVEN, statistic="vibes")), "unknown_statistic"),
        (with_condition(replace(SEVEN, threshold="many")), "not_a_number"),
        (with_condition(replace(SEVEN, threshold="6.5")), "fraction_of_a_count"),
        (with_condition(replace(SEVEN, threshold="11")), "impossible_threshold"),
        (with_condition(replace(SEVEN, threshold="0")), "empty_condition"),
        (with_condition(replace(SEVEN, bound="lower95")), "no_interval"),
        (
            with_condition(replace(SEVEN, metric="success_rate", statistic="pooledMedianRatio")),
            "statistic_does_not_apply",
        ),
        (with_condition(Condition("d", "success_rate", "difference", "above", "1")), "impossible_threshold"),
        (with_condition(Condition("d", "success_rate", "difference", "above", "-1.1")), "empty_condition"),
        (with_condition(Condition("r", "cost", "ratio", "below", "0")), "impossible_threshold"),
        (with_condition(SEVEN, replace(SEVEN, name="less", comparison="below", threshold="7")), "contradiction"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_rule_that_cannot_be_right_is_found(rule: DecisionRule, code: str):
    assert code in codes(rule)


@pytest.mark.parametrize(
    ("conditions", "code"),
    [
        ([Condition("d", "success_rate", "difference", "atLeast", "0")], "coin_flip"),
        ([Condition("d", "success_rate", "difference", "above", "-0.05", "lower95")], "margin_out_of_reach"),
        ([Condition("d", "success_rate", "difference", "above", "-0.15", "lower95")], "margin_hard_to_show"),
        ([Condition("d", "success_rate", "difference", "below", "0.2", "upper95")], "upper_limit_of_success"),
        ([SEVEN], "no_success_condition"),
        ([SEVEN], "count_alone"),
        ([SEVEN], "likely_by_chance"),
        ([Condition("c", "cost", "ratio", "below", "1")], "no_coverage_gate"),
        ([Condition("c", "retries", "ratio", "below", "1")], "zeros_leave_the_ratio"),
        ([Condition("c", "cost", "pooledMedianRatio", "below", "1", "upper95")], "pooled_interval"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_rule_that_is_unwise_is_told_so(conditions: list[Condition], code: str):
    rule = with_condition(*conditions)
    assert codes(rule) == set()
    assert code in warnings(rule)


def test_nine_of_ten_is_hardly_met_by_chance():
    assert "likely_by_chance" not in warnings(with_condition(replace(SEVEN, threshold="9")))
    assert "one_task" in warnings(with_condition(replace(SEVEN, threshold="1")), replace(DESIGN, tasks=("t",)))


# --- English ---
def test_the_rule_in_english_names_everything_that_decides():
    rule = replace(RULE, budgets=[Budget("cold", "cold_start_ms", "250")], runtime_required=True)
    text = english(rule, DESIGN)

    for line in evaluate(rule, drawn(Truth("usual"), rule)).lines:
        assert f"{line.name}:" in text
    for condition in (*rule.conditions, *rule.data_gates):
        assert condition.threshold in text
    assert rule.sha256 in text
    assert "10 tasks, 5 repetitions, 100 scheduled runs" in text
    assert text.isprintable() or "\n" in text
    assert english(replace(rule, order=["falseConditions", "gates", "undecidedConditions"]), DESIGN) != text


# --- operating characteristics ---
def test_a_simulation_is_reproduced_by_its_seed_and_by_nothing_else():
    one = plan(RULE, DESIGN, 7, GRID[:2], replicates=10)
    assert one == plan(RULE, DESIGN, 7, GRID[:2], replicates=10)
    assert one.characteristics[1] == plan(RULE, DESIGN, 7, GRID[1:2], replicates=10).characteristics[0]
    assert one != plan(RULE, DESIGN, 8, GRID[:2], replicates=10)
    assert simulate(RULE, DESIGN, Truth("a"), 7, 30).passed != simulate(RULE, DESIGN, Truth("b"), 7, 30).passed


def test_only_the_treatment_regresses_critically():
    results = drawn(Truth("bad", critical_rate=1))
    arms = {trial.arm for trial in results.trials if trial.category == "security_regression"}
    assert arms == {"framework"}


def test_the_simulated_rule_behaves_as_is_known_of_it():
    """Known for ten tasks of five repetitions, p = .8, log-sd .5: seven of ten by chance .17, at ratio .7 .87."""
    null, effect = (simulate(RULE, DESIGN, Truth(str(ratio), ratio=ratio), 11, 150) for ratio in (1.0, 0.7))
    met = [float(dict(each.passed)["seven-of-ten"].value or 0) for each in (null, effect)]

    assert met[0] == pytest.approx(0.17, abs=0.08)
    assert met[1] == pytest.approx(0.88, abs=0.08)
    assert null.supported.value is not None
    assert null.supported.value < Fraction(1, 20)
    assert effect.supported.value is not None
    assert effect.supported.value > null.supported.value
    assert null.supported.numerator + null.not_supported.numerator + null.inconclusive.numerator == 150


def test_more_repetitions_do_not_lower_the_chance_of_seven_of_ten():
    few, many = plan(with_condition(SEVEN), DESIGN, 3, GRID[:1], repetitions=(5, 10), replicates=120).characteristics
    assert few.supported.value is not None
    assert many.supported.value is not None
    assert abs(few.supported.value - many.supported.value) < Fraction(1, 8)
    assert many.supported.value > Fraction(8, 100)


def test_a_plan_says_what_more_repetitions_cannot_buy():
    found = plan(RULE, DESIGN, 3, GRID[1:2], replicates=2)
    (limits,) = found.limits

    assert limits.chance == (("seven-of-ten", Fraction(176, 1024)),)
    assert limits.log_ratio.floor == pytest.approx(0.3 / 10**0.5)
    assert limits.log_ratio.standard_error > limits.log_ratio.floor
    assert limits.attainable.smallest_p_over_tasks == Fraction(1, 512)


def test_expected_replacements_and_their_gate():
    lossy = simulate(RULE, DESIGN, Truth("lossy", invalid_rate=0.3, ratio=0.3), 5, 20)
    assert lossy.expected_replacements == 30
    assert lossy.inconclusive.numerator >= 19  # a run that is lost twice leaves its cell short
    assert dict(lossy.passed)["integrity"].numerator == 20
    trials = drawn(Truth("lossy", invalid_rate=0.3)).trials
    lost = {trial.run for trial in trials if trial.outcome == "invalid" and trial.replaces is None}
    assert {trial.replaces for trial in trials if trial.replaces} == lost


def test_conditions_on_what_no_truth_draws_are_named():
    change = Condition("context", "context_change_tokens", "difference", "atMost", "0")
    gate = Condition("recovers", "recovery_rate", "treatmentValue", "atLeast", "0.5")
    found = plan(replace(RULE, conditions=[change], data_gates=[gate]), DESIGN, 1, GRID[:1], replicates=5)

    assert found.undrawn == ("recovers", "context")
    assert found.characteristics[0].inconclusive.value == 1
    assert plan(RULE, DESIGN, 1, GRID[:1], replicates=1).undrawn == ()


def test_a_simulation_has_bounds():
    with pytest.raises(InvalidInput, match="fewer replicates"):
        plan(RULE, DESIGN, 1, replicates=RUNS_MAX)
    for wrong in ({"control_rate": 1.5}, {"ratio": 0}, {"within_log_sd": -1}, {"ratio": float("inf")}):
        with pytest.raises(ValueError, match="truth x"):
            Truth("x", **wrong)  # type: ignore[arg-type]
