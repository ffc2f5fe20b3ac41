"""Replacement: every reason of the paired experiment's two lists, and attempts to win another try by a bad score."""

import dataclasses
import itertools
import json
import random
from dataclasses import dataclass, field
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairtrial.api import Category, PodFacts
from fairtrial.api.cohort import Replaceable, Replacement
from fairtrial.classify import TABLE, Facts, classify
from fairtrial.classify.facts import AgentAccount, Ending, Setup, Verdict
from fairtrial.classify.pods import OwnLimit, Trouble
from fairtrial.cohort.replacement import INSIDE, OUTSIDE, WRONG_MODEL, Decision, Evidence, decide
from fairtrial.documents import RunIdentity, Snapshot
from fairtrial.evidence.record import Record, assemble
from fairtrial.journal.summary import Exchange
from fairtrial.testing import (
    LATER,
    NOON,
    agent_report,
    check_result,
    container_facts,
    evaluation_report,
    make_finished_run,
    pod_facts,
    step_result,
)
from fairtrial.usage.calls import summarise

ALL = Replacement(reasons=get_args(Replaceable), max_per_cell=1)
NO_SNAPSHOT = {"snapshot": Snapshot("missing", reason="not_reached")}
OK, FAILED = check_result(), check_result("failed", category="acceptance_failure")


# --- records of every reason ------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Case:
    """What was observed of one run; the defaults are those of a run that passed."""

    agent: dict[str, Any] | None = field(default_factory=dict)
    evaluation: dict[str, Any] | None = field(default_factory=dict)
    agent_pod: PodFacts = field(default_factory=pod_facts)
    evaluator_pod: PodFacts | None = field(default_factory=lambda: pod_facts(main="checks"))
    calls: tuple[Exchange, ...] | None = None
    lost: tuple[str, ...] = ()


def call(number: int = 1, **changes: Any) -> Exchange:
    name, run = f"{1767268800000 + number}-0000000a", RunIdentity("trials", "run-1", "uid")
    good = {"status": 200, "answered_model": "model-1", "first_usable": True}
    page = Exchange(name, run, "p", "openaiChat", "/v1/chat/completions", NOON, "complete")
    return dataclasses.replace(page, **good | changes)


def recorded(case: Case, number: int = 0) -> Record:
    """The record of a case. `number` varies what must not matter."""
    status: dict[str, Any] = {
        "agentPod": {"facts": case.agent_pod.as_json(), "node": f"node-{number}"},
        "evaluatorPod": {"facts": case.evaluator_pod.as_json()} if case.evaluator_pod else None,
        "timestamps": {"agentStarted": NOON, "evaluated": LATER if number % 2 else NOON},
    }
    if case.calls is not None:
        usage = {"cachedInsideInput": True, "reasoningInsideOutput": True}
        status["provider"] = {"uid": "u", "wire": "openaiChat", "model": {"id": "model-1"}, "usage": usage}
    network = {"modelProviderRef": {"name": "p"}} if case.calls is not None else {}
    run = make_finished_run(status=status, repetition=number + 1, block=f"task-1-{number:04d}", network=network)
    agent = None if case.agent is None else agent_report(**case.agent)
    evaluation = None if case.evaluation is None else evaluation_report(**case.evaluation)
    calls = None
    if case.calls is not None:
        pages = {page.exchange: (page, 500, "0" * 64) for page in case.calls}
        calls = summarise(pages, case.lost, provider="p", model="model-1", prices=None)
    return assemble(run, agent, evaluation, (), calls)


def unstarted(pod: PodFacts | None = None, **agent: Any) -> Case:
    """The agent was never started; with a report if `agent` says anything."""
    told = NO_SNAPSHOT | {"steps": []} | agent if agent else None
    return Case(agent=told, evaluation=None, evaluator_pod=None, agent_pod=pod or pod_facts(phase="Failed"))


def setup_failed(reason: str) -> PodFacts:
    told = json.dumps({"reason": reason, "during": "setup", "message": "…"})
    return pod_facts(phase="Failed", containers={"record": container_facts(exit_code=1, message=told)})


def unevaluated(pod: PodFacts) -> Case:
    return Case(evaluation=None, evaluator_pod=pod)


def failed(category: str) -> Case:
    checks = [OK, check_result("failed", category=category)]
    return Case(evaluation={"verdict": "failed", "checks": checks})


JUDGED_BADLY = {"verdict": "failed", "checks": [FAILED]}
OVERLOADED = {"status": 529, "first_usable": False, "answered_model": None}
REFUSED = {"ending": "refused", "status": 400, "first_usable": False, "answered_model": None}
EVICTED = pod_facts(phase="Failed", reason="Evicted", disruption="TerminationByKubelet")
DRAINED = pod_facts(phase="Failed", disruption="EvictionByEvictionAPI", deletion_requested=True)
PREEMPTED = pod_facts(phase="Failed", disruption="PreemptionByScheduler")
LOST = pod_facts(phase="Failed", node_lost=True)
MAY_BE_REPLACED: dict[str, list[Case]] = {
    "provider or harness outage before a usable agent response": [
        Case(calls=(call(**OVERLOADED),), evaluation=JUDGED_BADLY),
        Case(calls=(call(**OVERLOADED),)),
        unstarted(setup_failed("GatewayUnavailable")),
    ],
    "corrupted or incomplete raw telemetry artifact": [
        Case(calls=(call(),), lost=("1767268800002-0000000b",)),
        Case(calls=(call(),), lost=("1767268800002-0000000b",), evaluation=JUDGED_BADLY),
        Case(agent={"pod_uid": "another"}),
    ],
    "failure to create the specified fixture": [
        unstarted(ending="preflight_failed"),
        unstarted(setup_failed("DigestMismatch")),
        unstarted(setup_failed("OSError")),
        unstarted(PodFacts(phase="Running", overdue="setup")),
        unstarted(ending="launch_lost", complete=False),
    ],
    "evaluator infrastructure failure reproduced on the untouched fixture": [
        Case(evaluation={"verdict": "error", "negative_control": "failed"}),
        Case(evaluation={"verdict": "failed", "checks": [FAILED], "negative_control": "failed"}),
        Case(evaluation={"negative_control": "failed"}),
    ],
    "accidental access to another run's solution": [unstarted(ending="leak_found", leaks=["a"])],
    "wrong model, instructions, permissions, time limit, or fixture": [
        Case(calls=(call(answered_model="model-2"),)),
        Case(calls=(call(answered_model="model-2"),), evaluation=JUDGED_BADLY),
        unstarted(ending="isolation_not_enforced", isolation="failed"),
    ],
    "host failure that prevents final evaluation": [
        *(unstarted(pod) for pod in (EVICTED, DRAINED, PREEMPTED, LOST)),
        *(unevaluated(pod) for pod in (EVICTED, DRAINED, PREEMPTED, LOST)),
        Case(agent={"ending": "stopped_from_outside"}, evaluation=None, evaluator_pod=None),
    ],
}
MUST_NOT_BE_REPLACED: dict[str, list[Case]] = {
    "timeout while the agent is reasoning or editing": [
        Case(agent={"ending": "deadline"}),
        Case(agent={"ending": "deadline"}, evaluation=JUDGED_BADLY),
        Case(agent={"ending": "deadline"}, evaluation=None),
    ],
    "build, type, test, architecture, or regression failure caused by its patch": [
        failed(category)
        for category in ("test_or_build_damage", "type_error", "acceptance_failure", "architecture_violation")
    ]
    + [failed("hidden_regression")],
    "agent tool misuse": [
        Case(agent={"ending": "launch_lost", "complete": False}),
        Case(agent={"ending": "start_failed", "steps": [step_result(), step_result(name="two", end="not_started")]}),
        failed("agent_operational_error"),
    ],
    "an agent giving up or returning an incorrect answer": [
        failed("incomplete_implementation"),
        failed("incorrect_diagnosis"),
        Case(agent={"steps": [step_result(exit_code=1)]}, evaluation=JUDGED_BADLY),
    ],
    "excessive context use": [
        Case(calls=(call(), call(2, refusal="budget_tokens", **REFUSED)), evaluation=JUDGED_BADLY),
        Case(
            agent={"ending": "launch_lost", "complete": False},
            evaluation=None,
            evaluator_pod=None,
            agent_pod=pod_facts(phase="Failed", containers={"agent": container_facts(reason="OOMKilled")}),
        ),
    ],
    "a stale index produced by normal treatment behavior": [failed("framework_defect")],
    "an agent modifying or bypassing tests in violation of the task": [
        Case(evaluation={"protected_touched": ["tests/conftest.py"]}),
        Case(evaluation={"protected_touched": ["tests/conftest.py"]} | JUDGED_BADLY),
        failed("prohibited_shortcut"),
    ],
}


def ten(reasons: dict[str, list[Case]]) -> list[Any]:
    """Ten records of every reason: each way in which it can be observed, with what must not matter varied."""
    return [
        pytest.param(case, number, id=f"{reason} {number}")
        for reason, cases in reasons.items()
        for number, case in zip(range(10), itertools.cycle(cases), strict=False)
    ]


@pytest.mark.parametrize(("case", "number"), ten(MAY_BE_REPLACED))
def test_a_cause_outside_the_implementation_is_replaced_within_the_policy(case: Case, number: int):
    evidence = Evidence.of_record(recorded(case, number))

    assert decide(ALL, evidence, used=0).code == "allowed"
    assert decide(ALL, evidence, used=1).code == "cell_used_up"
    others = Replacement(reasons=[one for one in get_args(Replaceable) if one != evidence.invalidity], max_per_cell=1)
    assert decide(others, evidence, used=0).code == "not_preregistered"
    assert decide(Replacement(), evidence, used=0).code == "not_preregistered"


@pytest.mark.parametrize(("case", "number"), ten(MUST_NOT_BE_REPLACED))
def test_a_valid_failure_is_never_replaced(case: Case, number: int):
    record = recorded(case, number)

    assert record.classification.outcome == "failed"
    decision = decide(ALL, Evidence.of_record(record), used=0)
    assert (decision.allowed, decision.code) == (False, "not_invalid")


def test_both_lists_are_the_protocols():
    codes = [{recorded(case).classification.invalidity for case in cases} for cases in MAY_BE_REPLACED.values()]
    assert [min(map(str, one)) for one in codes] == list(get_args(Replaceable))
    assert all(len(one) == 1 for one in codes)


# --- agents that would like another try -------------------------------------------------------------------------------
OOM = pod_facts(main="checks", phase="Failed", containers={"checks": container_facts(reason="OOMKilled")})
FULL = 'Usage of EmptyDir volume "{}" exceeds the limit "1Gi". '
TRICKS: dict[str, Case] = {
    "its submission uses up the evaluator's memory": unevaluated(OOM),
    "its submission fills the evaluator's disk": unevaluated(
        pod_facts(main="checks", phase="Failed", reason="Evicted", message=FULL.format("work"))
    ),
    "its submission fills the evaluator's spool": unevaluated(
        pod_facts(main="checks", phase="Failed", reason="Evicted", message=FULL.format("spool"))
    ),
    "its submission hangs the evaluator": unevaluated(PodFacts(phase="Running", overdue="evaluate")),
    "its submission is too large to lay out": unevaluated(PodFacts(phase="Running", overdue="setup")),
    "its submission kills the evaluator": Case(evaluation=None),
    "its submission breaks the checks": Case(evaluation={"verdict": "error", "checks": [check_result("error")]}),
    "its workspace can't be archived": Case(agent=NO_SNAPSHOT, evaluation=None, evaluator_pod=None),
    "it hangs the launcher": unstarted(PodFacts(phase="Running", overdue="snapshot")),
    "it floods the recorder": unstarted(pod_facts(phase="Failed", reason="Evicted", message=FULL.format("spool"))),
    "it brings down the recorder": Case(agent={"ending": "recorder_error"}, evaluation=None, evaluator_pod=None),
    "it asks for other models only": Case(calls=(call(refusal="wrong_model", **REFUSED),)),
    "it can't be started": unstarted(ending="start_failed", steps=[step_result(end="not_started", error="ENOENT")]),
    "a friend deletes its pod": unstarted(pod_facts(phase="Failed", deletion_requested=True)),
    "a friend deletes the evaluator's pod": unevaluated(pod_facts(phase="Failed", deletion_requested=True)),
    "nobody knows what it did": Case(agent=None, evaluation=None, evaluator_pod=None),
}


@pytest.mark.parametrize("name", TRICKS)
def test_an_agent_can_not_win_another_try(name: str):
    record = recorded(TRICKS[name])

    assert record.classification.outcome == "invalid"
    assert decide(ALL, Evidence.of_record(record), used=0).code == "not_outside"


def test_a_cancelled_run_is_not_replaced():
    assert decide(ALL, Evidence("cancelled", None, "cancelled"), used=0).code == "not_invalid"
    assert decide(ALL, Evidence("void", None, "invariant"), used=0).code == "not_invalid"


@pytest.mark.parametrize("outcome", ["passed", "failed", "void", "cancelled"])
def test_no_reason_lets_a_run_be_replaced_that_is_not_invalid(outcome: Any):
    assert decide(ALL, Evidence(outcome, "host_failure", "evicted"), used=0).code == "not_invalid"


# --- for any facts at all ---------------------------------------------------------------------------------------------
many = settings(max_examples=1500, deadline=None)
maybe = st.booleans()


def any_of(**fields: tuple[Any, ...]) -> st.SearchStrategy[Facts]:
    """Facts of which each field is any of these values, evenly: a seed draws them all, in a tenth of the time."""

    def drawn(seed: int) -> Facts:
        chance = random.Random(seed)
        return Facts(**{name: chance.choice(values) for name, values in fields.items()})

    return st.integers(0, 2**64).map(drawn)


def or_none(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """None as often as all of these together."""
    return (None,) * len(values) + values


EITHER = (False, True)
ANY_FACTS = any_of(
    cancelled=EITHER,
    agent_trouble=or_none(get_args(Trouble)),
    agent_own_limit=or_none(get_args(OwnLimit)),
    setup=get_args(Setup),
    agent_report=get_args(AgentAccount),
    ending=or_none(get_args(Ending)),
    program_started=EITHER,
    snapshot=("taken", "missing"),
    evaluator_trouble=or_none(get_args(Trouble)),
    evaluator_own_limit=or_none(get_args(OwnLimit)),
    evaluation=get_args(Verdict),
    negative_control_failed=EITHER,
    tampering=EITHER,
    category=or_none(get_args(Category)),
    wrong_model=EITHER,
    outage_at_once=EITHER,
    calls_lost=EITHER,
    model_budget_used_up=EITHER,
)
# What a run hands over that came to its own end, with nothing wrong outside its pods.
HANDED_OVER = any_of(
    agent_report=("present",),
    ending=("finished", "deadline"),
    program_started=(True,),
    snapshot=("taken",),
    evaluator_trouble=(None, "pod_deleted", "setup_overdue", "snapshot_overdue", "overdue", "recorder_disk_full"),
    evaluator_own_limit=or_none(get_args(OwnLimit)),
    evaluation=get_args(Verdict),
    tampering=EITHER,
    category=or_none(get_args(Category)),
    model_budget_used_up=EITHER,
)


def decision_on(facts: Facts, *, answered: bool) -> Decision:
    found = classify(facts)
    return decide(ALL, Evidence(found.outcome, found.invalidity, found.reason, answered), used=0)


@many
@given(ANY_FACTS, maybe, st.none() | st.sampled_from(get_args(Category)), maybe)
def test_whether_a_run_is_replaced_never_depends_on_its_score(facts: Facts, answered: bool, category: Any, spent: bool):
    """The same run, once with every check passed and once with any of them failed: the same decision."""
    passed = dataclasses.replace(facts, evaluation="passed", category=None, model_budget_used_up=spent)
    lost = dataclasses.replace(facts, evaluation="failed", category=category or "acceptance_failure")
    assert decision_on(passed, answered=answered).allowed == decision_on(lost, answered=answered).allowed


@many
@given(ANY_FACTS, maybe)
def test_a_violation_never_helps(facts: Facts, answered: bool):
    clean, violating = (dataclasses.replace(facts, tampering=tampering) for tampering in (False, True))
    assert decision_on(clean, answered=answered).allowed or not decision_on(violating, answered=answered).allowed


@many
@given(HANDED_OVER)
def test_a_submission_that_brings_its_evaluator_down_is_not_tried_again(facts: Facts):
    assert not decision_on(facts, answered=True).allowed


@many
@given(ANY_FACTS, maybe)
def test_only_invalid_runs_are_replaced(facts: Facts, answered: bool):
    if decision_on(facts, answered=answered).allowed:
        assert classify(facts).outcome == "invalid"


@given(st.sampled_from(get_args(Replaceable)), st.sampled_from(sorted(OUTSIDE)), st.integers(0, 100), st.integers(0, 5))
def test_a_cell_never_has_more_replacements_than_preregistered(code: Any, reason: str, used: int, most: int):
    policy = Replacement(reasons=[code], max_per_cell=most)
    assert decide(policy, Evidence("invalid", code, reason), used).allowed == (used < most)


def test_evidence_has_no_place_for_a_score():
    assert {one.name for one in dataclasses.fields(Evidence)} == {"outcome", "invalidity", "reason", "answered"}


def test_every_way_to_be_invalid_was_thought_about():
    reasons = {row.reason or row.name for row in TABLE if row.outcome == "invalid"}
    assert reasons == OUTSIDE.keys() | INSIDE.keys() | {WRONG_MODEL}
    assert not OUTSIDE.keys() & INSIDE.keys()


def test_a_reason_that_a_newer_table_has_is_not_replaced():
    assert decide(ALL, Evidence("invalid", "host_failure", "struck_by_lightning"), 0).code == "not_outside"


def test_the_status_tells_as_much_as_is_needed_but_whether_a_model_answered():
    run = make_finished_run(
        status={
            "outcome": "invalid",
            "invalidity": "host_failure",
            "reason": "evicted",
            "cause": "evaluation_infra_error",
        }
    )
    assert Evidence.of_status(run.status) == Evidence("invalid", "host_failure", "evicted")
    wrong = make_finished_run(
        status={"outcome": "invalid", "invalidity": "wrong_configuration", "reason": "wrong_model"}
    )
    assert not decide(ALL, Evidence.of_status(wrong.status), 0).allowed
