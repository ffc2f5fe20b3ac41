"""What keeps a cohort from being sealed, each with the field and the difference by name."""

from typing import Any, get_args

import pytest
from fairtrial_analysis.rule.model import rule_of_spec
from fairtrial_analysis.rule.vocabulary import METRICS, STATISTICS
from hypothesis import given
from hypothesis import strategies as st

from fairtrial.api import BenchmarkCohort, parse
from fairtrial.api.decision import Metric, Statistic, Step
from fairtrial.cohort.acceptance import problems
from fairtrial.cohort.differences import SHOWN_MAX, told_apart
from fairtrial.errors import InvalidInput
from fairtrial.testing import CANDIDATE_IMAGE, confirmatory, make_cohort

ARM = {"version": "1.0", "image": CANDIDATE_IMAGE, "argv": ["/bin/agent"]}
OTHER_IMAGE = f"registry.example/other@sha256:{'1' * 64}"
ON, OFF = ARM | {"name": "on", "role": "treatment"}, ARM | {"name": "off", "role": "control"}
DIGEST = "a" * 64


def said(cohort: BenchmarkCohort) -> list[str]:
    return [str(problem) for problem in problems(cohort)]


def two(on: Any = None, off: Any = None, **spec: Any) -> BenchmarkCohort:
    """A cohort of two candidates that are alike, besides what is given."""
    candidates = [ON | dict(on or {}), OFF | dict(off or {})]
    return make_cohort(**{"candidates": candidates, "treatment": {"says": "nothing", "parts": []}} | spec)


def test_good_cohorts_are_accepted():
    assert said(make_cohort()) == []
    assert said(make_cohort(**confirmatory())) == []
    assert said(two()) == []  # the same arm twice: the cheapest proof that nothing makes an effect by itself
    assert said(make_cohort(stage="smoke", candidates=[ON], treatment={"parts": []})) == []


# --- mechanism --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("aspect", "change"),
    [
        ("model", {"modelProviderRef": {"name": "other"}}),
        ("protocol", {"under": {"protocol": "text blocks"}}),
        ("authority", {"under": {"authority": "may use the network"}}),
        ("tools", {"under": {"tools": ["bash", "edit"]}}),
        ("surface", {"under": {"surface": "server"}}),
        ("layer", {"under": {"layer": "orchestrator"}}),
        ("innerRuntime", {"under": {"innerRuntime": "pi 1.0"}}),
    ],
)
def test_a_mechanism_comparison_refuses_other_circumstances_by_name(aspect: str, change: Any):
    (one,) = said(two(on=change))
    assert one.startswith(f"spec.candidates: a mechanism comparison needs one {aspect} for all candidates")
    assert "on: " in one
    assert "off: " in one


def test_a_mechanism_comparison_refuses_another_fixture():
    variant = {"candidate": "on", "name": "task-1-framework", "publicSha256": "1" * 64, "sealedSha256": "2" * 64}
    task = {"name": "task-1", "publicSha256": DIGEST, "sealedSha256": DIGEST, "variants": [variant]}
    (one,) = said(two(tasks=[task]))
    assert one.startswith("spec.tasks: a mechanism comparison needs one fixture for all candidates")


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("image", {"image": OTHER_IMAGE}),
        ("image", {"version": "2.0"}),
        ("argv", {"argv": ["/bin/agent", "-x"]}),
        ("env", {"env": [{"name": "A", "value": "1"}]}),
        ("stdin", {"stdin": "prompt"}),
        ("files", {"files": {"a": "x"}}),
        ("homeFiles", {"homeFiles": {".a": "x"}}),
        ("collect", {"collect": ["**"]}),
    ],
)
def test_a_mechanism_comparison_differs_in_the_treatment_only(part: str, change: Any):
    (one,) = said(two(on=change))
    assert one.startswith("spec.treatment.parts: a mechanism comparison may differ in the treatment only")
    assert f"candidates differ in {part} (" in one
    assert said(two(on=change, treatment={"says": "It.", "parts": [part]})) == []


def test_of_a_long_part_what_differs_is_shown():
    common = ["python3", "/opt/agent/of/a/name/that/is/long/enough/agent.py", "{projectDir}"]
    (one,) = said(two(on={"argv": [*common[:2], "--twice", common[2]]}, off={"argv": common}))
    assert "candidates differ in argv (on: …--twice …; off: …)" in one
    (one,) = said(two(on={"files": {"prompt": f"{'Think. ' * 99}Twice."}}, off={"files": {"prompt": "Think. " * 99}}))
    assert "Twice." in one


@given(st.lists(st.text("ab ,", max_size=150), min_size=2, max_size=4), st.text("ab ,", max_size=99), st.text("ab"))
def test_what_differs_is_told_apart_in_few_words(middles: list[str], before: str, after: str):
    texts = {str(number): f"{before}{middle}{after}" for number, middle in enumerate(middles)}
    told = told_apart(texts)
    assert all((told[a] == told[b]) == (texts[a] == texts[b]) for a in texts for b in texts)
    assert max(map(len, told.values())) <= SHOWN_MAX + 2


def test_a_treatment_that_is_not_there_is_no_treatment():
    (one,) = said(two(treatment={"says": "It.", "parts": ["argv"]}))
    assert one.startswith("spec.treatment.parts[0]: argv does not differ")


def test_the_order_of_tools_is_no_difference():
    on, off = ({"under": {"tools": tools}} for tools in (["bash", "edit"], ["edit", "bash"]))
    assert said(two(on=on, off=off)) == []


# --- end to end -------------------------------------------------------------------------------------------------------
SYSTEM = {"says": "The whole system.", "parts": ["image"]}


def test_an_end_to_end_comparison_declares_its_confounders():
    cohort = two(mode="endToEnd", on={"image": OTHER_IMAGE}, treatment=SYSTEM)
    (one,) = said(cohort)
    assert one.startswith("spec.constitution.confounders: an endToEnd comparison must declare its confounders")


def test_each_difference_of_an_end_to_end_comparison_is_declared_by_name():
    on = {"image": OTHER_IMAGE, "under": {"protocol": "text blocks"}, "modelProviderRef": {"name": "m"}}
    confounders = [{"aspect": "protocol", "says": "Text blocks against tool calls."}]
    cohort = two(mode="endToEnd", on=on, treatment=SYSTEM, constitution={"confounders": confounders})
    (one,) = said(cohort)
    assert one.startswith("spec.constitution.confounders: candidates differ in model (on: 'm'; off: 'none')")
    confounders.append({"aspect": "model", "says": "Their own."})
    assert said(two(mode="endToEnd", on=on, treatment=SYSTEM, constitution={"confounders": confounders})) == []


def test_fixtures_of_their_own_are_a_confounder():
    variant = {"candidate": "on", "name": "framework", "publicSha256": "1" * 64, "sealedSha256": "2" * 64}
    task = {"name": "task-1", "publicSha256": DIGEST, "sealedSha256": DIGEST, "variants": [variant]}
    confounders = [{"aspect": "fixture", "says": "Equivalent applications."}]
    assert "fixture" in said(two(mode="endToEnd", tasks=[task], treatment={"parts": []}))[0]
    assert said(two(mode="endToEnd", tasks=[task], constitution={"confounders": confounders})) == []


# --- composition ------------------------------------------------------------------------------------------------------
RUNTIME = {"under": {"innerRuntime": "pi 1.0 sha256:1"}}
ORCHESTRATED = {"says": "An orchestrator around it.", "parts": ["argv"]}


def composition(on: Any = None, off: Any = None, **spec: Any) -> BenchmarkCohort:
    on, off = {"argv": ["/bin/orchestrator"]} | RUNTIME | dict(on or {}), RUNTIME | dict(off or {})
    return two(on=on, off=off, **{"mode": "composition", "treatment": ORCHESTRATED} | spec)


def test_a_composition_holds_its_inner_runtime_fixed():
    assert said(composition()) == []
    (one,) = said(composition(on={"under": {"innerRuntime": "pi 2.0 sha256:2"}}))
    assert one.startswith(
        "spec.candidates: a composition holds its inner runtime fixed, but candidates differ in inner"
    )
    assert "pi 2.0" in one
    missing = said(composition(off={"under": {}}))
    assert missing[0].startswith("spec.candidates[1].under.innerRuntime: a composition needs the inner runtime")


def test_a_composition_needs_the_treatment_on_and_off():
    (one,) = said(composition(on={"role": None}))
    assert "needs the treatment on and off" in one


def test_a_composition_says_what_its_treatment_is():
    (one,) = said(composition(on={"argv": ["/bin/agent"]}, treatment=None))
    assert one.startswith("spec.treatment: a composition asks what its treatment adds")


@pytest.mark.parametrize("change", [{"modelProviderRef": {"name": "m"}}])
def test_a_composition_holds_the_model_fixed(change: Any):
    assert "candidates differ in model" in said(composition(on=change))[0]


def test_a_composition_holds_the_fixture_fixed_though_it_is_declared():
    variant = {"candidate": "on", "name": "framework", "publicSha256": "1" * 64, "sealedSha256": "2" * 64}
    task = {"name": "task-1", "publicSha256": DIGEST, "sealedSha256": DIGEST, "variants": [variant]}
    confounders = [{"aspect": "fixture", "says": "Equivalent applications."}]

    (one,) = said(composition(tasks=[task], constitution={"confounders": confounders}))

    assert one.startswith("spec.tasks: a composition holds its inner runtime fixed, but candidates differ in fixture")


def test_what_else_a_composition_changes_is_declared():
    assert (
        "declare it among the confounders"
        in said(composition(on=RUNTIME | {"under": {"innerRuntime": "pi 1.0 sha256:1", "tools": ["spawn"]}}))[0]
    )


# --- the rest ---------------------------------------------------------------------------------------------------------
def test_a_task_counts_once():
    tasks = [{"name": name, "publicSha256": DIGEST, "sealedSha256": DIGEST} for name in ("a", "b")]
    assert said(make_cohort(tasks=tasks)) == [
        "spec.tasks[1].publicSha256: b and a are the same archive; a task would count twice."
    ]


def test_variants_are_of_candidates_that_exist_once():
    variants = [
        {"candidate": name, "name": "v", "publicSha256": "1" * 64, "sealedSha256": DIGEST} for name in ("x", "on", "on")
    ]
    task = {"name": "t", "publicSha256": DIGEST, "sealedSha256": DIGEST, "variants": variants}
    found = said(two(mode="endToEnd", tasks=[task], constitution={"confounders": [{"aspect": "fixture", "says": "."}]}))
    assert found == [
        "spec.tasks[0].variants[0].candidate: there is no candidate 'x' in this cohort.",
        "spec.tasks[0].variants[2].candidate: 'on' has two variants of t; leave one.",
    ]


def changed(**changes: Any) -> list[str]:
    return said(make_cohort(**confirmatory() | changes))


def test_a_confirmatory_cohort_rests_on_gates_with_evidence():
    gate = {"name": "equivalence", "says": "Equal."}
    assert changed(gates=[gate])[0].startswith("spec.gates[0].evidence: gate equivalence has no evidence")
    assert changed(gates=[gate | {"needed": "verdict"}]) == []
    found = changed(gates=[])
    assert found[0].startswith("spec.gates: a confirmatory cohort rests on")
    assert found[1] == "spec.decisionRule.gates[0]: there is no gate 'equivalence' among spec.gates."


def rule(**condition: Any) -> dict[str, Any]:
    good = confirmatory()["decisionRule"]
    return good | {"conditions": [good["conditions"][0] | condition]}


@pytest.mark.parametrize(
    ("condition", "field", "words"),
    [
        ({"metric": "tool_calls"}, "metric", "not among spec.constitution.primaryMetrics"),
        ({"statistic": "tasksLower"}, "bound", "no interval"),
        ({"statistic": "tasksLower", "bound": "point", "threshold": "3"}, "threshold", "there are 2; 3 is none"),
        ({"statistic": "tasksHigher", "bound": "point", "threshold": "1.5"}, "threshold", "number of tasks"),
        ({"statistic": "pooledMedianRatio"}, "threshold", "a ratio is never negative"),
        ({"statistic": "ratio"}, "threshold", "a ratio is never negative"),
    ],
)
def test_a_condition_makes_sense(condition: Any, field: str, words: str):
    found = [
        one
        for one in changed(decisionRule=rule(**condition))
        if one.startswith(f"spec.decisionRule.conditions[0].{field}:")
    ]
    assert len(found) == 1
    assert words in found[0]


def test_a_rule_asks_for_no_more_runs_than_there_are():
    found = changed(decisionRule=rule() | {"minValidPerCell": 6})
    assert found[0].startswith("spec.decisionRule.minValidPerCell: asks for 6 valid runs")


def test_a_rule_reads_gates_and_conditions_once_each_and_has_the_budgets_that_it_requires():
    assert changed(decisionRule=rule() | {"order": ["gates", "gates"]})[0].startswith("spec.decisionRule.order:")
    assert changed(decisionRule=rule() | {"runtimeRequired": True})[0].startswith("spec.decisionRule.budgets:")


def test_the_analysis_knows_every_word_of_a_rule_and_no_other():
    assert set(get_args(Metric)) == METRICS.keys()
    assert set(get_args(Statistic)) == STATISTICS.keys()
    spec = make_cohort(**confirmatory()).spec
    read = rule_of_spec(spec.as_json()["decisionRule"], "twice", "once")
    assert [condition.name for condition in read.conditions] == ["success-not-worse"]
    assert (list(read.order), read.critical_categories) == (
        list(get_args(Step)),
        ["security_regression", "data_migration_error"],
    )


def test_a_rule_knows_treatment_and_control():
    candidates = [ON | {"role": None, "argv": ["a"]}, ON | {"name": "b", "argv": ["b"]}]
    found = changed(candidates=candidates)
    assert found == [
        "spec.candidates: the decision rule compares with a control; give one candidate that role.",
        "spec.candidates[0].role: on is neither treatment nor control, so the decision rule can't place it; say which.",
    ]
    both = changed(candidates=[OFF | {"argv": ["a"]}, OFF | {"name": "b", "argv": ["b"]}])
    assert both == ["spec.candidates: off and b are both the control; a comparison has one, and treatments."]


def test_a_policy_of_replacement_says_something():
    assert said(make_cohort(replacement={"maxPerCell": 0}))[0].startswith("spec.replacement.maxPerCell: is 0")
    doubled = make_cohort(replacement={"reasons": ["host_failure", "host_failure"]})
    assert said(doubled) == ["spec.replacement.reasons: a reason stands there twice."]


def test_metrics_stand_once():
    cohort = make_cohort(constitution={"primaryMetrics": ["cost", "cost"]})
    assert said(cohort) == ["spec.constitution.primaryMetrics: cost stands there twice."]


def test_metrics_that_are_reported_besides_are_metrics():
    (one,) = said(make_cohort(constitution={"secondaryMetrics": ["duration_ms", "happiness"]}))
    assert one.startswith("spec.constitution.secondaryMetrics[1]: happiness is no metric")
    assert said(make_cohort(constitution={"secondaryMetrics": list(get_args(Metric))})) == []


def test_a_cohort_does_not_amend_itself():
    assert said(make_cohort(amends={"name": "cohort-1", "reason": "A typo."}))[0].startswith("spec.amends.name:")
    assert said(make_cohort(amends={"name": "cohort-0", "reason": "A typo."})) == []


def test_candidates_could_begin():
    needs = two(on={"env": [{"name": "URL", "value": "{modelUrl}"}]}, treatment={"says": ".", "parts": ["env"]})
    assert said(needs)[0].startswith("spec.candidates[0].modelProviderRef: on uses {modelUrl}")
    network = {"resourceClassName": "small", "network": {"modelProviderRef": {"name": "p"}}}
    argv = ["a", "{modelToken}"]
    leaks = two(on={"argv": argv}, off={"argv": argv}, execution=network)
    assert [one.split(":")[0] for one in said(leaks)] == ["spec.candidates[0].argv", "spec.candidates[1].argv"]


# --- what the models refuse already -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"schedule": {"seed": "7"}}, "spec.schedule.seed: Input should be a valid integer"),
        ({"schedule": {"seed": 7.5}}, "spec.schedule.seed: Input should be a valid integer"),
        ({"candidates": []}, "spec.candidates: candidates must hold at least one candidate"),
        ({"tasks": []}, "spec.tasks: tasks must hold at least one task"),
        ({"candidates": [ON, ON]}, "spec.candidates: two candidates share a name"),
        ({"tasks": [{"name": "t", "publicSha256": n * 64, "sealedSha256": DIGEST} for n in "12"]}, "two tasks share a"),
        ({"candidates": [ON | {"argv": []}]}, "spec.candidates[0].argv: argv must not be empty"),
        ({"repetitions": 0}, "spec.repetitions"),
        ({"mode": "paired"}, "spec.mode: Input should be 'mechanism', 'endToEnd' or 'composition'"),
        ({"constitution": {"primaryMetrics": ["happiness"]}}, "spec.constitution.primaryMetrics[0]: Input should be"),
        ({"replacement": {"reasons": ["unknown"]}}, "spec.replacement.reasons[0]: Input should be"),
        ({"schedule": {"algorithm": "mersenne"}}, "spec.schedule.algorithm"),
        ({"repetitions": 1000, "candidates": [ON | {"name": f"c{n}"} for n in range(11)]}, "at most 20000 runs"),
        ({"metadata": {"name": "c" * 253}}, "metadata.name must have at most 63 characters"),
        (confirmatory() | {"repetitions": 1}, "repetitions must be at least 5 if stage is confirmatory"),
        (confirmatory() | {"candidates": [ON]}, "candidates must be at least two if stage is confirmatory"),
        (confirmatory() | {"decisionRule": rule(metric="happiness")}, "spec.decisionRule.conditions[0].metric: Input"),
        (confirmatory() | {"decisionRule": {"name": "r", "conditions": []}}, "must hold at least one condition"),
        (confirmatory() | {"controls": {}}, "controls.tokenBudget must be stated"),
        (confirmatory() | {"constitution": {}}, "constitution.hardFailures must be stated"),
        ({"gates": [{"name": "g", "says": ".", "evidence": [{"uri": "here", "sha256": DIGEST}]}]}, "uri must be an"),
    ],
)  # fmt: skip
def test_what_one_field_decides_is_refused_when_it_is_read(changes: dict[str, Any], words: str):
    with pytest.raises(InvalidInput) as caught:
        make_cohort(**changes)
    assert words in str(caught.value)


# Written down once more, so that none can leave the models unseen. Of items 3, 4, 8 and 9 a part is in other fields.
TEN_ITEMS = {
    1: ("question", "permittedClaim"),
    2: ("taskPopulation", "sampling"),
    3: ("surface",),
    4: ("modelAccess",),
    5: ("authority",),
    6: ("budgets",),
    7: ("primaryMetrics", "hardFailures"),
    8: ("exclusions",),
    9: ("intervals",),
    10: ("artifacts",),
}
EIGHT_CONTROLS = (
    "taskFixture", "model", "modelParameters", "startingState", "toolAuthority", "networkPolicy", "timeBudget",
    "tokenBudget",
)  # fmt: skip


@pytest.mark.parametrize(
    ("part", "field"),
    [("constitution", field) for fields in TEN_ITEMS.values() for field in fields]
    + [("controls", field) for field in EIGHT_CONTROLS],
)
def test_a_confirmatory_cohort_states_each_item_and_each_control(part: str, field: str):
    raw = make_cohort(**confirmatory()).as_json()
    del raw["spec"][part][field]
    with pytest.raises(InvalidInput) as caught:
        parse(BenchmarkCohort, raw)
    assert str(caught.value).count("must be stated") == 1
    assert f"{part}.{field} must be stated if stage is confirmatory" in str(caught.value)
    raw["spec"]["stage"] = "pilot"
    parse(BenchmarkCohort, raw)


@pytest.mark.parametrize("field", ["decisionRule", "analysis"])
def test_a_confirmatory_cohort_has_both_a_rule_and_an_analysis(field: str):
    with pytest.raises(InvalidInput, match="decisionRule and analysis must be set if stage is confirmatory"):
        make_cohort(**confirmatory() | {field: None})


def test_everything_that_a_confirmatory_cohort_must_state_is_listed_at_once():
    raw = make_cohort().as_json()
    raw["spec"]["stage"] = "confirmatory"
    with pytest.raises(InvalidInput) as caught:
        parse(BenchmarkCohort, raw)
    stated = str(caught.value).count("must be stated")
    assert stated == 11 + 8  # what the constitution lacks (question and metrics are there), and the controls
