"""One case per row of the table, from raw observations to the outcome; and what must hold for any facts at all."""

import dataclasses
import json
from dataclasses import dataclass, field
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairtrial.api import Category, Cause, Invalidity, Outcome, PodFacts
from fairtrial.classify import TABLE, Classification, Facts, classify, facts_of
from fairtrial.classify.facts import AgentAccount, Ending, Setup, Verdict
from fairtrial.classify.pods import OwnLimit, Trouble
from fairtrial.documents import RunIdentity, Snapshot
from fairtrial.journal.summary import Exchange, Leak
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

PRESSURE = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi."


@dataclass(frozen=True)
class Case:
    """What was observed. `None` for a report means that there is none; the defaults are those of a run that passed."""

    agent: dict[str, Any] | None = field(default_factory=dict)
    evaluation: dict[str, Any] | None = field(default_factory=dict)
    agent_pod: PodFacts = field(default_factory=pod_facts)
    evaluator_pod: PodFacts | None = field(default_factory=lambda: pod_facts(main="checks"))
    cancelled: bool = False
    calls: list[Exchange] | None = None
    lost_calls: tuple[str, ...] = ()


def observed(case: Case) -> Classification:
    timestamps = {"agentStarted": NOON} | ({"cancelled": LATER} if case.cancelled else {})
    status: dict[str, Any] = {"agentPod": {"facts": case.agent_pod.as_json()}, "timestamps": timestamps}
    if case.evaluator_pod is None:
        status["evaluatorPod"] = None
    else:
        status["evaluatorPod"] = {"facts": case.evaluator_pod.as_json()}
    run = make_finished_run(status=status)
    agent = None if case.agent is None else agent_report(**case.agent)
    evaluation = None if case.evaluation is None else evaluation_report(**case.evaluation)
    calls = None
    if case.calls is not None:
        pages = {page.exchange: (page, 500, "0" * 64) for page in case.calls}
        calls = summarise(pages, case.lost_calls, provider="p", model="model-1", prices=None)
    return classify(facts_of(run, agent, evaluation, calls))


def call(number: int = 1, **changes: Any) -> Exchange:
    """A call that went well, unless something else is said."""
    good = {"status": 200, "answered_model": "model-1", "first_usable": True, "ttlb_ms": 5}
    page = Exchange(
        f"{1767268800000 + number}-0000000a",
        RunIdentity("trials", "run-1", "uid"),
        "p",
        "openaiChat",
        "/v1/chat/completions",
        NOON,
        "complete",
    )
    return dataclasses.replace(page, **good | changes)


FAILED = {"verdict": "failed", "checks": [check_result("failed", category="type_error")]}
OVERLOADED = {"status": 529, "first_usable": False, "answered_model": None}
REFUSED = {"ending": "refused", "status": 400, "first_usable": False, "answered_model": None}


def agent_only(pod: PodFacts | None = None, **agent: Any) -> Case:
    """The agent's part went wrong, so there was no evaluation."""
    nothing = {"snapshot": Snapshot("missing", reason="not_reached"), "steps": []}
    return Case(agent=nothing | agent, evaluation=None, evaluator_pod=None, agent_pod=pod or pod_facts(phase="Failed"))


def pod_only(pod: PodFacts) -> Case:
    """The agent pod went wrong so badly that there is no report."""
    return Case(agent=None, evaluation=None, evaluator_pod=None, agent_pod=pod)


def evaluator_pod_only(pod: PodFacts) -> Case:
    return Case(evaluation=None, evaluator_pod=pod)


def waiting(reason: str, container: str = "agent") -> PodFacts:
    return PodFacts(phase="Pending", containers={container: container_facts(exit_code=None, reason=reason)})


def setup_failed(reason: str) -> PodFacts:
    told = json.dumps({"reason": reason, "during": "setup", "message": "…"})
    return pod_facts(phase="Failed", containers={"record": container_facts(exit_code=1, message=told)})


TROUBLED: dict[str, PodFacts] = {
    "evicted": pod_facts(phase="Failed", reason="Evicted", message=PRESSURE, disruption="TerminationByKubelet"),
    "node_drained": pod_facts(phase="Failed", disruption="EvictionByEvictionAPI", deletion_requested=True),
    "preempted": pod_facts(phase="Failed", disruption="PreemptionByScheduler"),
    "node_lost": pod_facts(phase="Failed", disruption="DeletionByTaintManager", node_lost=True),
    "pod_deleted": pod_facts(phase="Failed", deletion_requested=True),
    "node_refused": PodFacts(phase="Failed", reason="UnexpectedAdmissionError", message="Pod was rejected"),
    "no_capacity": PodFacts(phase="Pending", overdue="scheduling"),
    "image_pull_failed": waiting("ImagePullBackOff"),
    "image_invalid": waiting("InvalidImageName"),
    "container_not_created": waiting("CreateContainerConfigError"),
    "setup_overdue": PodFacts(phase="Running", overdue="setup"),
    "snapshot_overdue": PodFacts(phase="Running", overdue="snapshot"),
    "overdue": PodFacts(phase="Running", overdue="agent"),
    "recorder_disk_full": pod_facts(
        phase="Failed", reason="Evicted", message='Usage of EmptyDir volume "spool" exceeds the limit "1Gi". '
    ),
}
DISK_FULL = pod_facts(
    phase="Failed", reason="Evicted", message='Usage of EmptyDir volume "work" exceeds the limit "1Gi". '
)
OOM = pod_facts(phase="Failed", containers={"agent": container_facts(exit_code=137, reason="OOMKilled")})

CASES: dict[str, Case] = {
    "isolation_not_enforced": agent_only(ending="isolation_not_enforced", isolation="failed"),
    "preflight_failed": agent_only(ending="preflight_failed"),
    "leak_found": agent_only(ending="leak_found", leaks=["/home/agent/canary.txt"]),
    "start_failed": agent_only(ending="start_failed", steps=[step_result(end="not_started", error="ENOENT")]),
    "tampering": Case(evaluation={"protected_touched": ["tests/conftest.py"]}),
    "wrong_model": Case(calls=[call(answered_model="model-2")]),
    "model_unavailable": Case(calls=[call(refusal="provider_unusable", **REFUSED)], evaluation=FAILED),
    "provider_outage": Case(calls=[call(**OVERLOADED)], evaluation=FAILED),
    "model_calls_lost": Case(calls=[call()], lost_calls=("1767268800002-0000000b",)),
    "model_budget": Case(calls=[call(), call(2, refusal="budget_tokens", **REFUSED)], evaluation=FAILED),
    "deadline": Case(agent={"ending": "deadline"}),
    "agent_overdue": Case(
        agent={"ending": "launch_lost", "snapshot": Snapshot("missing", reason="not_reached")},
        evaluation=None,
        evaluator_pod=None,
        agent_pod=pod_facts(phase="Failed", reason="DeadlineExceeded"),
    ),
    "cancelled": Case(agent={"ending": "stopped_from_outside"}, evaluation=None, evaluator_pod=None, cancelled=True),
    **{f"agent_pod_{what}": pod_only(pod) for what, pod in TROUBLED.items()},
    "gateway_unavailable": pod_only(setup_failed("GatewayUnavailable")),
    "bundle_refused": pod_only(setup_failed("DigestMismatch")),
    "out_of_memory": Case(
        agent={"ending": "launch_lost", "complete": False}, evaluation=None, evaluator_pod=None, agent_pod=OOM
    ),
    "out_of_disk": pod_only(DISK_FULL),
    "agent_report_missing": pod_only(pod_facts()),
    "agent_report_foreign": Case(agent={"pod_uid": "another"}),
    "launch_lost": Case(agent={"ending": "launch_lost", "complete": False}),
    "launch_crashed": agent_only(ending="launch_lost", complete=False),
    "program_removed": Case(
        agent={"ending": "start_failed", "steps": [step_result(), step_result(name="two", end="not_started")]}
    ),
    "stopped_from_outside": Case(agent={"ending": "stopped_from_outside"}, evaluation=None, evaluator_pod=None),
    "recorder_error": Case(agent={"ending": "recorder_error"}, evaluation=None, evaluator_pod=None),
    "snapshot_missing": Case(
        agent={"snapshot": Snapshot("missing", reason="io_error")}, evaluation=None, evaluator_pod=None
    ),
    **{f"evaluator_pod_{what}": evaluator_pod_only(pod) for what, pod in TROUBLED.items()},
    "evaluator_out_of_resources": evaluator_pod_only(
        pod_facts(main="checks", phase="Failed", containers={"checks": container_facts(reason="OOMKilled")})
    ),
    "evaluation_missing": Case(evaluation=None),
    "evaluation_foreign": Case(evaluation={"snapshot_sha256": "f" * 64}),
    "evaluation_inconsistent": Case(evaluation={"checks": [check_result("failed")]}),
    "evaluation_error": Case(evaluation={"verdict": "error", "checks": [check_result("error")]}),
    "negative_control_failed": Case(evaluation={"verdict": "error", "negative_control": "failed"}),
    "checks_failed": Case(
        evaluation={"verdict": "failed", "checks": [check_result(), check_result("failed", category="type_error")]}
    ),
    "all_checks_passed": Case(),
    "unknown": Case(),  # never reached from observations that hold together: see the test of its own
}


def test_every_row_has_a_case_and_every_case_a_row():
    assert [row.name for row in TABLE if row.name not in CASES] == []
    assert [name for name in CASES if name not in {row.name for row in TABLE}] == []


def test_row_names_are_unique():
    assert len({row.name for row in TABLE}) == len(TABLE)


@pytest.mark.parametrize("row", [row for row in TABLE if row.name != "unknown"], ids=lambda row: row.name)
def test_what_was_observed_leads_to_the_row(row: Any):
    found = observed(CASES[row.name])

    assert found.row == row.name
    assert (found.outcome, found.cause, found.invalidity) == (row.outcome, row.cause, row.invalidity)
    assert found.message.endswith(".")


def test_what_fits_no_rule_is_invalid():
    facts = Facts(agent_report="present", ending=None, snapshot="taken", evaluation="passed")
    assert classify(facts).row == "unknown"
    assert classify(facts).outcome == "invalid"


# --- rules that people get wrong elsewhere ----------------------------------------------------------------------------
FAILED = {"verdict": "failed", "checks": [check_result("failed")]}


def test_a_time_out_with_a_correct_workspace_is_a_failure_whatever_the_evaluator_does():
    assert observed(Case(agent={"ending": "deadline"})).outcome == "failed"
    assert observed(Case(agent={"ending": "deadline"}, evaluation=None)).cause == "budget_exhausted"


def test_the_exit_code_of_an_agent_decides_nothing():
    steps = [step_result(exit_code=137)]
    found = observed(Case(agent={"steps": steps}))
    assert (found.outcome, found.tags) == ("passed", ("exit_nonzero",))


def test_a_child_killed_for_memory_that_the_agent_survived_decides_nothing():
    survived = pod_facts(containers={"agent": container_facts(exit_code=0, reason="OOMKilled")})
    found = observed(Case(agent_pod=survived))
    assert (found.outcome, found.tags) == ("passed", ("oom_killed",))


def test_exit_137_without_the_runtime_saying_so_is_not_called_out_of_memory():
    killed = pod_facts(phase="Failed", containers={"agent": container_facts(exit_code=137, reason="Error")})
    found = observed(Case(agent={"ending": "launch_lost", "complete": False}, agent_pod=killed))
    assert found.row == "launch_lost"


@pytest.mark.parametrize("what", ["evicted", "node_drained", "preempted", "node_lost", "pod_deleted"])
def test_what_happens_to_a_pod_after_its_part_is_done_changes_nothing(what: str):
    assert observed(Case(agent_pod=TROUBLED[what], evaluator_pod=TROUBLED[what])).outcome == "passed"
    assert observed(Case(agent_pod=TROUBLED[what], evaluation=FAILED)).outcome == "failed"


@pytest.mark.parametrize("evaluation", [{}, FAILED])
def test_a_cancellation_after_the_end_changes_nothing(evaluation: dict[str, Any]):
    assert observed(Case(evaluation=evaluation)) == observed(Case(evaluation=evaluation, cancelled=True))


def test_a_cancellation_during_the_evaluation_is_a_cancellation():
    assert observed(Case(evaluation=None, cancelled=True)).outcome == "cancelled"


def test_an_agent_that_fills_its_memory_wins_no_other_try_by_being_cancelled_late():
    case = Case(agent={"ending": "launch_lost"}, evaluation=None, evaluator_pod=None, agent_pod=OOM, cancelled=True)
    assert observed(case).row == "out_of_memory"


def test_memory_used_up_by_the_set_up_is_not_the_agents():
    assert observed(agent_only(OOM, ending="launch_lost", complete=False)).row == "launch_crashed"


def test_an_eviction_without_container_statuses_is_still_told_apart():
    bare = PodFacts(phase="Failed", reason="Evicted", message=PRESSURE, disruption="TerminationByKubelet")
    assert observed(pod_only(bare)).reason == "evicted"
    own = PodFacts(
        phase="Failed", reason="Evicted", message="Pod ephemeral local storage usage exceeds the total limit"
    )
    assert observed(pod_only(own)).reason == "out_of_disk"


def test_forged_results_are_a_violation_even_when_all_is_green():
    forged = check_result("failed", reason="forged_results: a test that must fail did not")
    found = observed(Case(evaluation={"verdict": "failed", "checks": [check_result(), forged]}))
    assert (found.outcome, found.cause, found.category) == ("failed", "policy_violation", "prohibited_shortcut")


def test_what_tools_leave_behind_is_no_tampering():
    touched = ["src/__pycache__/a.cpython-311.pyc", "node_modules/x/package.json"]
    found = observed(Case(evaluation={"protected_touched": touched}))
    assert (found.outcome, found.tags) == ("passed", ("protected_paths_touched",))


def test_a_failed_check_of_an_unknown_category_is_marked_as_ambiguous():
    found = observed(Case(evaluation={"verdict": "failed", "checks": [check_result("failed", category="other")]}))
    assert (found.category, found.tags) == ("acceptance_failure", ("category_ambiguous",))


def test_further_failed_checks_are_secondary():
    checks = [check_result("failed", category="type_error"), check_result("failed", category="hidden_regression")]
    found = observed(Case(evaluation={"verdict": "failed", "checks": checks}))
    assert (found.category, found.tags) == ("type_error", ("also_hidden_regression",))


def test_a_verdict_without_any_check_is_no_verdict():
    assert observed(Case(evaluation={"checks": []})).row == "evaluation_inconsistent"


def test_a_report_of_an_earlier_run_of_the_same_name_does_not_count():
    earlier = RunIdentity("trials", "run-1", "another")
    assert observed(Case(agent={"run": earlier})).row == "agent_report_foreign"
    assert observed(Case(evaluation={"run": earlier})).row == "evaluation_foreign"


def test_an_agent_that_did_nothing_is_flagged():
    report = agent_report()
    silent = [dataclasses.replace(stream, bytes_seen=0) for stream in report.streams]
    diff = dataclasses.replace(report.diff, paths=[])
    assert observed(Case(agent={"streams": silent, "diff": diff})).tags == ("empty_diff", "no_output")


def test_a_green_verdict_with_a_failed_negative_control_is_no_verdict():
    assert observed(Case(evaluation={"negative_control": "failed"})).row == "negative_control_failed"


def test_a_snapshot_with_files_left_out_is_flagged():
    snapshot = dataclasses.replace(agent_report().snapshot, skipped=["big.bin: does not fit"])
    assert observed(Case(agent={"snapshot": snapshot})).tags == ("snapshot_incomplete",)


# --- what holds for any facts -----------------------------------------------------------------------------------------
def choice(kind: Any, *, optional: bool = True) -> st.SearchStrategy[Any]:
    values = list(get_args(kind))
    return st.sampled_from([None, *values] if optional else values)


ANY_FACTS = st.builds(
    Facts,
    cancelled=st.booleans(),
    agent_trouble=choice(Trouble),
    agent_own_limit=choice(OwnLimit),
    setup=choice(Setup, optional=False),
    agent_report=choice(AgentAccount, optional=False),
    ending=choice(Ending),
    program_started=st.booleans(),
    snapshot=st.sampled_from(["taken", "missing"]),
    evaluator_trouble=choice(Trouble),
    evaluator_own_limit=choice(OwnLimit),
    evaluation=choice(Verdict, optional=False),
    negative_control_failed=st.booleans(),
    tampering=st.booleans(),
    category=choice(Category),
)
many = settings(max_examples=200, deadline=None)


@many
@given(ANY_FACTS)
def test_every_outcome_is_defined_and_complete(facts: Facts):
    found = classify(facts)
    assert found.outcome in get_args(Outcome)
    assert found.cause in get_args(Cause)
    assert found.reason
    assert (found.invalidity in get_args(Invalidity)) == (found.outcome == "invalid")
    assert (found.category in get_args(Category)) == (found.outcome == "failed")


@many
@given(ANY_FACTS)
def test_a_run_only_passes_if_everything_went_well(facts: Facts):
    if classify(facts).outcome == "passed":
        assert facts.ending == "finished"
        assert facts.snapshot == "taken"
        assert facts.evaluation == "passed"
        assert not (facts.tampering or facts.negative_control_failed)


@many
@given(ANY_FACTS, st.sampled_from(["missing", "foreign", "inconsistent", "error"]))
def test_no_error_of_the_evaluator_makes_a_failure(facts: Facts, broken: Any):
    """Where it fails without a judgement, it fails with a green one as well: for what the agent did."""
    without = classify(dataclasses.replace(facts, evaluation=broken, tampering=False))
    if without.outcome == "failed":
        assert without.cause in ("agent_failure", "budget_exhausted")
        assert without.category in ("agent_operational_error", "time_limit")
        green = dataclasses.replace(facts, evaluation="passed", negative_control_failed=False, tampering=False)
        assert classify(green).outcome == "failed"


@many
@given(ANY_FACTS)
def test_a_finished_agent_is_never_failed_without_a_judgement(facts: Facts):
    facts = dataclasses.replace(facts, ending="finished", snapshot="taken", agent_report="present", setup="done")
    if not facts.judged:
        assert classify(facts).outcome in ("invalid", "cancelled")


@many
@given(ANY_FACTS)
def test_a_violation_is_never_offset(facts: Facts):
    facts = dataclasses.replace(facts, evaluation="passed", negative_control_failed=False, tampering=True)
    assert classify(facts).outcome != "passed"


def test_the_last_row_and_no_other_holds_for_everything():
    assert TABLE[-1].name == "unknown"
    assert [row.name for row in TABLE if row.when(Facts()) and row.when(Facts(ending="finished"))][-1:] == ["unknown"]


# --- model calls ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("case", "row", "tags"),
    [
        (Case(calls=[call(), call(2, refusal="wrong_model", **REFUSED)]), "all_checks_passed", {"wrong_model_refused"}),
        (Case(calls=[call(refusal="wrong_model", **REFUSED)]), "wrong_model", {"wrong_model_refused"}),
        (Case(calls=[call(answered_model="model-1-2026-01-01")]), "all_checks_passed", set()),
        (Case(calls=[call(**OVERLOADED), call(2)]), "all_checks_passed", set()),
        (
            Case(calls=[call(), call(2, **OVERLOADED)], evaluation=FAILED),
            "checks_failed",
            {"provider_outage_at_the_end"},
        ),
        (
            Case(calls=[call(**OVERLOADED)], agent={"ending": "deadline"}, evaluation=FAILED),
            "provider_outage",
            set(),
        ),
        (Case(calls=[call(**OVERLOADED)]), "provider_outage", set()),  # though every check passed
        (
            Case(calls=[call(), call(2, refusal="budget_calls", **REFUSED)]),
            "all_checks_passed",
            {"model_budget_calls_used_up"},
        ),
        (
            Case(calls=[call(), call(2, refusal="budget_step_tokens", step="one", **REFUSED)]),
            "all_checks_passed",
            {"model_budget_step_tokens_used_up"},
        ),
        (
            Case(calls=[call(), call(2, refusal="budget_step_wall", ending="gateway_cut")]),
            "all_checks_passed",
            {"model_budget_step_wall_used_up"},
        ),
        (Case(calls=[]), "all_checks_passed", {"no_model_call"}),
        (
            Case(calls=[call(leaks=[Leak("p", "base64", "response_body", 3)])]),
            "all_checks_passed",
            {"credential_leaked"},
        ),
    ],
)
def test_what_model_calls_do_to_an_outcome(case: Case, row: str, tags: set[str]) -> None:
    found = observed(case)

    assert (found.row, tags - set(found.tags)) == (row, set())


@pytest.mark.parametrize(
    ("case", "row", "told"),
    [
        (
            Case(calls=[call(refusal="budget_step_calls", step="two", **REFUSED)], evaluation=FAILED),
            "model_budget",
            "Used up: budget_step_calls in step two.",
        ),
        (
            Case(
                calls=[call(), call(2, refusal="budget_wall", step="one", ending="gateway_cut")],
                evaluation=FAILED,
            ),
            "model_budget",
            "Used up: budget_wall in step one.",
        ),
        (
            Case(agent={"ending": "deadline", "steps": [step_result(name="one", timed_out=True, deadline_seconds=60)]}),
            "deadline",
            "Used up: 60 s of step one.",
        ),
    ],
)
def test_a_used_up_budget_is_named_with_its_step(case: Case, row: str, told: str):
    found = observed(case)

    assert (found.row, found.cause) == (row, "budget_exhausted")
    assert found.message.endswith(told)
