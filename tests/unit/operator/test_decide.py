"""The decision, case by case: what is done next, and what is written about it."""

import hashlib
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from fairtrial_operator import pods
from fairtrial_operator.accept import NamespaceView, Ticket
from fairtrial_operator.decide import decide
from fairtrial_operator.progress import progress
from fairtrial_operator.seen import (
    CreatePod,
    DeletePod,
    Hold,
    Refused,
    Release,
    ReleasePod,
    Report,
    Stored,
    StoreRecord,
    WriteStatus,
)

from fairtrial import names
from fairtrial.api import BenchmarkRun, Deadlines, find_condition, parse
from fairtrial.api.run import ResolvedResourceClass, ResolvedTask
from fairtrial.cohort.preregistration import Resolved
from fairtrial.evidence.record import load_record
from fairtrial.testing import agent_report, evaluation_report, make_cohort, make_run, make_task

ABSENT = Report("absent")
CANCEL: dict[str, Any] = {"cancel": {"reason": "enough"}}


def say(run: BenchmarkRun, kind: str) -> tuple[str, str]:
    found = find_condition(run.status.conditions, kind)
    return (found.status, found.reason) if found else ("", "")


def deleted(run: BenchmarkRun, at: str = "2026-01-01T12:00:20Z") -> BenchmarkRun:
    return run.model_copy(update={"metadata": run.metadata.model_copy(update={"deletion_timestamp": at})})


def cancelled(run: BenchmarkRun) -> BenchmarkRun:
    spec = run.spec.as_json() | CANCEL
    return run.model_copy(update={"spec": parse(BenchmarkRun, {"spec": spec}).spec})


def status_after(decision: Any) -> Any:
    assert isinstance(decision.action, WriteStatus), decision
    return decision.action.status


# --- the whole life ---------------------------------------------------------------------------------------------------
def test_the_life_of_a_run_is_ten_writes_and_a_record(at: Any) -> None:
    run, steps = make_run(), []
    fresh = at.pod(phase="Pending", scheduled=False, fetch=None, record=None, main=None)
    released = at.pod(phase="Succeeded", metadata={"finalizers": []})
    over = {"agent": released, "agent_report": at.PRESENT}
    judged = over | {"evaluator": at.pod("evaluator", phase="Succeeded"), "evaluation_report": at.JUDGED}
    stored = Stored(uri="s3://bucket/record.json", sha256="6" * 64)
    for observed in (
        at.seen(finalizers=()),
        at.seen(),
        at.seen(agent=fresh),
        at.seen(agent=at.pod()),
        at.seen(agent=at.pod(phase="Succeeded"), agent_report=at.PRESENT),
        at.seen(agent=at.pod(phase="Succeeded"), agent_report=at.PRESENT, evaluator=at.pod("evaluator")),
        at.seen(agent=at.pod(phase="Succeeded"), evaluator=at.pod("evaluator")),
        at.seen(**judged),
        at.seen(**judged),
        at.seen(**judged, stored=stored),
        at.seen(**judged),
    ):
        decision = decide(run, observed, at.NOON)
        steps.append(type(decision.action))
        if isinstance(decision.action, WriteStatus):
            run = run.model_copy(update={"status": decision.action.status})

    assert steps == [
        Hold,
        CreatePod,
        WriteStatus,
        WriteStatus,
        CreatePod,
        WriteStatus,
        ReleasePod,
        WriteStatus,
        StoreRecord,
        WriteStatus,
        Release,
    ]
    assert (run.status.phase, run.status.outcome) == ("Done", "passed")
    assert decide(run, at.seen(**judged, finalizers=()), at.NOON).action is None


@pytest.mark.parametrize("stage", ["accepted", "running", "finished", "evaluated"])
def test_a_decision_asked_twice_is_the_same_and_a_written_status_is_not_written_again(at: Any, stage: str) -> None:
    run = getattr(at, stage)()
    views = {
        "accepted": at.seen(agent=at.pod(phase="Pending", fetch=None, record=None, main=None)),
        "running": at.seen(agent=at.pod()),
        "finished": at.seen(evaluator=at.pod("evaluator")),
        "evaluated": at.seen(agent_report=at.PRESENT, evaluation_report=at.JUDGED),
    }
    first = decide(run, views[stage], at.NOON)

    assert decide(run, views[stage], at.NOON + timedelta(seconds=2)).action == first.action
    assert not isinstance(first.action, WriteStatus)


@pytest.mark.parametrize(
    ("stage", "phase"), [("accepted", "Pending"), ("running", "Running"), ("finished", "Evaluating")]
)
def test_the_phase_follows_the_conditions(at: Any, stage: str, phase: str) -> None:
    assert getattr(at, stage)().status.phase == phase


# --- acceptance -------------------------------------------------------------------------------------------------------
BAD_RULES = {
    "name": "x",
    "sources": [{"rules": [{"name": "one", "kind": "output", "when": [{"path": "a..b[", "exists": True}]}]}],
}


@pytest.mark.parametrize(
    ("change", "spec", "reason", "about", "move"),
    [
        ({"namespace": None}, {}, "NamespaceNotEnabled", "Namespace", "kubectl label"),
        ({"task": None}, {}, "TaskNotFound", "spec.taskRef: ", "fairtrial task push"),
        (
            {"resource_class": None},
            {},
            "ResourceClassNotFound",
            "spec.resourceClassName: ",
            "kubectl get resourceclasses",
        ),
        (
            {},
            {"taskRef": {"name": "task-1", "sealedSha256": "0" * 64}},
            "DigestMismatch",
            "spec.taskRef.sealedSha256 ",
            "names the digest",
        ),
        (
            {},
            {"network": {"modelProviderRef": {"name": "p"}}},
            "ModelProviderNotFound",
            ".modelProviderRef: ",
            "kubectl get modelproviders",
        ),
        (
            {},
            {"candidate": {"env": [{"name": "KEY", "value": "{modelToken}"}]}},
            "CandidateUnusable",
            "spec.candidate",
            "needs spec.network",
        ),
        (
            {},
            {"candidate": {"env": [{"name": "URL", "value": "{toolUrl}/search"}]}},
            "CandidateUnusable",
            "spec.candidate",
            "tool servers",
        ),
        ({}, {"candidate": {"adapter": {"rules": BAD_RULES}}}, "CandidateUnusable", "spec.candidate: ", "a..b["),
        (
            {},
            {"candidate": {"argv": ["agent", "--key={modelToken}"]}},
            "CandidateUnusable",
            "spec.candidate.argv ",
            "env or homeFiles",
        ),
        ({}, {"cohortRef": {"name": "c"}}, "CohortNotFound", "spec.cohortRef: ", "Create it first"),
    ],
)
def test_what_is_missing_becomes_a_reason_and_no_finalizer(
    at: Any, change: Any, spec: Any, reason: str, about: str, move: str
) -> None:
    """With the field that it is about and what to do."""
    observed = at.seen(references=replace(at.FOUND, **change), finalizers=())

    run = at.after(make_run(**spec), observed)

    assert say(run, "Accepted") == ("False", reason)
    found = find_condition(run.status.conditions, "Accepted")
    assert found is not None
    assert about in found.message
    assert move in found.message
    again = decide(run, observed, at.NOON)
    assert again.action is None
    assert again.again_after is not None


SEALED = {"preregistrationSha256": "1" * 64}
COMPLETE = [
    {
        "type": "Complete",
        "status": "True",
        "reason": "AllAccountedFor",
        "observedGeneration": 1,
        "lastTransitionTime": "2026-01-01T12:00:00Z",
    }
]
AS_SCHEDULED = make_run(cohortRef={"name": "cohort-1"}).spec


@pytest.mark.parametrize(
    ("status", "ticket", "reason"),
    [
        ({}, Ticket(True, True, AS_SCHEDULED), "CohortNotSealed"),
        (SEALED | {"conditions": COMPLETE}, Ticket(True, True, AS_SCHEDULED), "NotScheduled"),
        (SEALED, Ticket(False, True, AS_SCHEDULED), "NotScheduled"),
        (SEALED, Ticket(True, False, AS_SCHEDULED), "NotScheduled"),
        (SEALED, Ticket(True, True, AS_SCHEDULED.model_copy(update={"repetition": 2})), "NotScheduled"),
        (SEALED, Ticket(True, False, None), "NotScheduled"),
        (SEALED, Ticket(True, True, AS_SCHEDULED), "Resolved"),
    ],
)
def test_a_run_of_a_cohort_is_accepted_if_the_ledger_has_a_ticket_for_just_this_one(
    at: Any, status: Any, ticket: Ticket, reason: str
) -> None:
    found = replace(at.FOUND, cohort=make_cohort(status=status), ticket=ticket)
    observed = at.seen(references=found, agent=at.pod(phase="Pending", scheduled=False))

    run = make_run(cohortRef={"name": "cohort-1"}, cancel={"reason": "x"} if reason == "Resolved" else None)
    decision = decide(run, observed if reason == "Resolved" else replace(observed, agent=None), at.NOON)

    assert isinstance(decision.action, WriteStatus)
    told = find_condition(decision.action.status.conditions, "Accepted")
    assert told is not None
    assert told.reason == reason


@pytest.mark.parametrize(
    ("task", "reason"),
    [
        ({"publicArchive": {"sha256": "7" * 64, "size": 1}}, "ChangedSinceSeal"),  # the run itself names no digest
        ({"steps": [{"name": "main", "prompt": "Do as you like.", "wallSeconds": 600}]}, "ChangedSinceSeal"),
        ({}, "Resolved"),
    ],
)
def test_a_run_of_a_cohort_waits_while_what_was_sealed_is_not_there(at: Any, task: Any, reason: str) -> None:
    was, now = make_task(), make_task(metadata={"uid": "made anew"}, **task)
    sealed = Resolved({"task-1": ResolvedTask.of(was)}, ResolvedResourceClass.of(at.FOUND.resource_class), {})
    ticket = Ticket(True, True, AS_SCHEDULED, sealed)
    found = replace(at.FOUND, cohort=make_cohort(status=SEALED), ticket=ticket, task=now)
    fits = reason == "Resolved"
    run = make_run(cohortRef={"name": "cohort-1"}, cancel={"reason": "x"} if fits else None)

    agent = at.pod(phase="Pending", scheduled=False) if fits else None
    decision = decide(run, at.seen(references=found, agent=agent), at.NOON)

    assert isinstance(decision.action, WriteStatus)
    told = find_condition(decision.action.status.conditions, "Accepted")
    assert told is not None
    assert told.reason == reason
    assert ("Put back what was sealed" in told.message) == (not fits)


def test_a_run_of_a_cohort_waits_while_the_ledger_is_read(at: Any) -> None:
    found = replace(at.FOUND, cohort=make_cohort(status=SEALED), ticket=Ticket(True, None))

    decision = decide(make_run(cohortRef={"name": "cohort-1"}), at.seen(references=found), at.NOON)

    assert (decision.action, decision.again_after) == (None, 1)


def test_a_namespace_without_pod_security_is_refused_with_the_command_that_helps(at: Any) -> None:
    loose = NamespaceView("trials", {names.NAMESPACE_LABEL: "true"}, True, True)

    run = at.after(make_run(), at.seen(references=replace(at.FOUND, namespace=loose)))

    found = find_condition(run.status.conditions, "Accepted")
    assert found is not None
    assert found.reason == "PodSecurityNotEnforced"
    assert "kubectl label" in found.message


def test_no_pod_is_made_before_the_policies_are_there(at: Any) -> None:
    unprepared = NamespaceView("trials", at.LABELS, True, False)

    decision = decide(make_run(), at.seen(references=replace(at.FOUND, namespace=unprepared)), at.NOON)

    assert decision.action is None
    assert decision.again_after == 1


def test_a_pod_whose_run_can_not_be_accepted_yet_is_left_alone(at: Any) -> None:
    """An operator that died after it had made the pod; its successor does not yet know what the run rests on."""
    soon = NamespaceView("trials", at.seen().references.namespace.labels, True, False)
    unknown = replace(at.seen().references, namespace=soon)

    decision = decide(make_run(), at.seen(agent=at.pod(), references=unknown), at.NOON)

    assert decision.action is None
    assert decision.again_after is not None


def test_a_deleted_run_whose_pod_lives_is_not_let_go_before_it_could_be_accepted(at: Any) -> None:
    soon = NamespaceView("trials", at.seen().references.namespace.labels, True, False)
    unknown = replace(at.seen().references, namespace=soon)
    run, observed = deleted(make_run()), at.seen(agent=at.pod(), references=unknown)
    asked_for = datetime.fromisoformat(run.metadata.deletion_timestamp)

    soon_after = decide(run, observed, asked_for + timedelta(seconds=10))
    much_later = decide(run, observed, asked_for + timedelta(hours=1))

    assert (soon_after.action, soon_after.retry) == (None, True)
    assert isinstance(much_later.action, Release) and not much_later.action.recorded


def test_a_candidate_that_does_not_fit_into_a_pod_is_refused_at_once(at: Any) -> None:
    task = make_task(steps=[{"name": f"s{n}", "prompt": "x" * 32000, "wallSeconds": 60} for n in range(8)])

    run = at.after(make_run(), at.seen(references=replace(at.FOUND, task=task)))

    assert say(run, "Accepted") == ("False", "NotSupported")


def test_suspended_runs_get_no_pod_until_they_are_resumed(at: Any) -> None:
    run = at.after(make_run(suspend=True), at.seen(finalizers=()))

    assert (run.status.phase, say(run, "Accepted")) == ("Suspended", ("Unknown", "Suspended"))
    assert decide(run, at.seen(finalizers=()), at.NOON).action is None
    assert isinstance(decide(make_run(), at.seen(), at.NOON).action, CreatePod)


def test_no_agent_pod_is_made_while_its_isolation_could_not_be_proven(at: Any) -> None:
    unready = replace(at.SETTINGS, unready="There is no pod of the canary.")

    decision = decide(make_run(), at.seen(settings=unready), at.NOON)

    assert say(make_run().model_copy(update={"status": status_after(decision)}), "Accepted") == (
        "Unknown",
        "CanaryMissing",
    )
    assert decide(at.accepted(), at.seen(settings=unready, agent=at.pod()), at.NOON).action is not None
    refused = at.after(make_run(), at.seen(refused={"agent": Refused("quota", "full")}))
    again = decide(refused, at.seen(settings=unready), at.NOON)
    assert (again.action, again.again_after is not None) == (None, True)
    assert not isinstance(decide(cancelled(make_run()), at.seen(settings=unready), at.NOON).action, CreatePod)


def test_home_files_that_can_not_all_be_there_are_refused(at: Any) -> None:
    run = make_run(candidate={"homeFiles": {".tool": "a file", ".tool/settings.json": "in a folder"}})

    status = status_after(decide(run, at.seen(), at.NOON))

    found = find_condition(status.conditions, "Accepted")
    assert found is not None
    assert (found.status, found.reason) == ("False", "CandidateUnusable")
    assert "homeFiles['.tool'] is a file and a folder" in found.message


def test_a_pod_whose_task_vanished_before_it_was_accepted_is_taken_away(at: Any) -> None:
    missing = replace(at.FOUND, task=None)

    first = decide(make_run(), at.seen(agent=at.pod(), references=missing), at.NOON)
    second = decide(make_run(), at.seen(agent=at.pod(metadata={"finalizers": []}), references=missing), at.NOON)

    assert (type(first.action), type(second.action)) == (ReleasePod, DeletePod)


# --- waiting ----------------------------------------------------------------------------------------------------------
def test_exceeded_quota_is_waiting_until_the_scheduling_deadline(at: Any) -> None:
    refused = {"agent": Refused("quota", "exceeded quota: pods=5")}

    run = at.after(make_run(), at.seen(refused=refused))

    assert (run.status.phase, say(run, "AgentStarted")) == ("Waiting", ("Unknown", "QuotaExceeded"))
    assert isinstance(decide(run, at.seen(), at.NOON).action, CreatePod)
    waiting = decide(run, at.seen(refused=refused), at.NOON)
    assert (waiting.action, waiting.again_after) == (None, 10)
    late = at.after(run, at.seen(refused=refused), at.NOON + timedelta(seconds=3601))
    assert say(late, "AgentFinished") == ("False", "NeverStarted")
    record = decide(late, at.seen(), at.NOON).action
    assert isinstance(record, StoreRecord)
    found = load_record(record.data).classification
    assert (found.outcome, found.reason) == ("invalid", "no_capacity")


def test_a_pod_that_is_held_for_a_moment_costs_no_write(at: Any) -> None:
    unscheduled = at.pod(phase="Pending", scheduled=False, fetch=None, record=None, main=None)
    run = at.accepted()
    created = datetime.fromisoformat(at.START)

    at_once = decide(run, at.seen(agent=unscheduled), created + timedelta(seconds=2))
    later = decide(run, at.seen(agent=unscheduled), created + timedelta(seconds=6))

    assert (at_once.action, at_once.again_after) == (None, 3.0)
    assert isinstance(later.action, WriteStatus)


def test_no_capacity_is_a_state_with_the_schedulers_words(at: Any) -> None:
    unscheduled = at.pod(phase="Pending", scheduled=False, fetch=None, record=None, main=None)

    run = at.after(at.accepted(), at.seen(agent=unscheduled))

    found = find_condition(run.status.conditions, "AgentStarted")
    assert found is not None
    assert (run.status.phase, found.reason) == ("Waiting", "WaitingForCapacity")
    assert "0/3 nodes" in found.message
    late = at.after(run, at.seen(agent=unscheduled), at.NOON + timedelta(seconds=3601))
    assert late.status.agent_pod is not None
    assert late.status.agent_pod.facts is not None
    assert late.status.agent_pod.facts.overdue == "scheduling"
    assert isinstance(decide(late, at.seen(agent=unscheduled), at.NOON).action, DeletePod)


def queued_pod(at: Any, reason: str) -> dict[str, Any]:
    pod: dict[str, Any] = at.pod(phase="Pending", scheduled=False, fetch=None, record=None, main=None)
    pod["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "trials"}
    pod["status"]["conditions"][0] |= {"reason": reason, "message": "Scheduling is blocked."}
    return pod


@pytest.mark.parametrize(
    ("reason", "said"), [("SchedulingGated", "WaitingForQueue"), ("Unschedulable", "WaitingForCapacity")]
)
def test_a_queue_may_take_its_time(at: Any, reason: str, said: str) -> None:
    pod = queued_pod(at, reason)

    run = at.after(at.accepted(), at.seen(agent=pod))

    assert (run.status.phase, say(run, "AgentStarted")) == ("Waiting", ("Unknown", said))
    days_later = decide(run, at.seen(agent=pod), at.NOON + timedelta(days=3))
    assert days_later.action is None


@pytest.mark.parametrize(
    ("reason", "disruption"),
    [
        ("WorkloadEvictedDueToPreempted", "WorkloadEvictedDueToPreempted"),
        ("WorkloadEvictedDueToLocalQueueStopped", None),  # a person's doing
        ("WorkloadDeleted", None),
    ],
)
def test_only_a_preemption_by_the_queue_is_a_disruption(at: Any, reason: str, disruption: str | None) -> None:
    pod = at.pod(phase="Failed")
    pod["status"]["conditions"].append({"type": "TerminationTarget", "status": "True", "reason": reason})

    assert pods.facts(pod, ours=False).disruption == disruption


@pytest.mark.parametrize("reason", ["ErrImagePull", "ImagePullBackOff"])
def test_a_missing_image_is_said_at_once_and_fatal_only_at_its_deadline(at: Any, reason: str) -> None:
    waiting = {"waiting": {"reason": reason, "message": "not found"}}
    stuck = at.pod(phase="Pending", record=None, main=waiting)

    run = at.after(at.accepted(), at.seen(agent=stuck))

    assert (run.status.phase, say(run, "AgentStarted")) == ("Waiting", ("Unknown", "ImagePullFailed"))
    flapped = at.pod(phase="Pending", record=None, main={"waiting": {"reason": "ImagePullBackOff", "message": "again"}})
    assert decide(run, at.seen(agent=flapped), at.NOON).action is None
    late = at.after(run, at.seen(agent=stuck), at.NOON + timedelta(seconds=601))
    assert say(late, "AgentStarted") == ("False", "ImagePullFailed")
    assert late.status.agent_pod.facts.overdue == "pulling"


@pytest.mark.parametrize("reason", ["InvalidImageName", "ErrImageNeverPull", "CreateContainerConfigError"])
def test_what_waiting_cannot_cure_fails_at_once(at: Any, reason: str) -> None:
    stuck = at.pod(phase="Pending", record=None, main={"waiting": {"reason": reason, "message": "no"}})

    run = at.after(at.accepted(), at.seen(agent=stuck))

    assert say(run, "AgentFinished") == ("True", "PodLost")
    assert run.status.agent_pod.facts.containers["agent"].reason == reason
    released = [decide(run, at.seen(agent=one), at.NOON).action for one in (stuck, gone_later(stuck))]
    assert [type(one) for one in released] == [DeletePod, ReleasePod]
    record = decide(run, at.seen(), at.NOON).action
    assert isinstance(record, StoreRecord)
    assert load_record(record.data).classification.outcome == "invalid"


def gone_later(pod: Any) -> Any:
    return pod | {"metadata": pod["metadata"] | {"deletionTimestamp": "2026-01-01T12:01:00Z"}}


def test_a_set_up_that_hangs_is_given_up_by_its_own_clock(at: Any) -> None:
    """The evaluator's: an agent pod's recorder keeps the time of its own set-up."""
    hanging = at.pod("evaluator", phase="Pending", fetch={"running": {"startedAt": at.START}}, record=None, main=None)

    def overdue(seconds: int) -> str | None:
        now = at.NOON + timedelta(seconds=seconds)
        return progress(hanging, "checks", Deadlines(), now, node_lost=False).overdue

    assert overdue(0) is None
    assert overdue(301) == "setup"


def test_each_image_of_an_agent_pod_has_its_own_time_to_come(at: Any) -> None:
    """The recorder's has come when it starts; the agent's image may be another, and large."""
    later = (at.NOON + timedelta(seconds=500)).isoformat()
    pulled = at.pod(phase="Pending", record={"running": {"startedAt": later}}, main=None)

    def overdue(pod: Any) -> str | None:
        return progress(pod, "agent", Deadlines(), at.NOON + timedelta(seconds=700), node_lost=False).overdue

    assert overdue(at.pod(phase="Pending", record=None, main=None)) == "pulling"
    assert overdue(pulled) is None


def test_another_owners_pod_of_that_name_is_left_alone_and_named(at: Any) -> None:
    refused = {"agent": Refused("taken", "Pod run-1-agent exists and does not belong to this run.")}

    decision = decide(make_run(), at.seen(refused=refused), at.NOON)

    status = status_after(decision)
    assert say(make_run().model_copy(update={"status": status}), "AgentStarted")[1] == "PodRefused"
    assert decision.event is not None


# --- the agent's end --------------------------------------------------------------------------------------------------
def test_a_report_may_still_be_under_way_for_some_seconds(at: Any) -> None:
    ended = at.seen(agent=at.pod(phase="Failed"), agent_report=ABSENT)
    just_now = at.NOON - timedelta(seconds=27)  # three seconds after the containers' end

    assert decide(at.running(), ended, just_now).action is None
    run = at.after(at.running(), ended, at.NOON)
    assert say(run, "AgentFinished") == ("True", "PodLost")
    assert say(run, "IsolationProven")[0] == "Unknown"


def test_a_report_that_comes_too_late_is_no_part_of_the_run(at: Any) -> None:
    run = at.after(at.running(), at.seen(agent=at.pod(phase="Failed"), agent_report=ABSENT))

    decisions = [decide(run, at.seen(agent_report=report), at.NOON).action for report in (ABSENT, at.PRESENT)]

    assert decisions[0] == decisions[1]
    assert isinstance(decisions[0], StoreRecord)


@pytest.mark.parametrize("ending", ["isolation_not_enforced", "preflight_failed", "leak_found", "recorder_error"])
def test_what_says_nothing_about_the_agent_is_never_evaluated(at: Any, ending: str) -> None:
    report = replace(at.PRESENT, agent=agent_report(ending=ending))

    run = at.after(at.running(), at.seen(agent=at.pod(phase="Failed"), agent_report=report))

    assert say(run, "Evaluated") == ("False", "NotEvaluated")


@pytest.mark.parametrize("ending", ["finished", "deadline", "launch_lost"])
def test_the_agents_own_work_is_evaluated_however_it_ended(at: Any, ending: str) -> None:
    report = replace(at.PRESENT, agent=agent_report(ending=ending))

    decision = decide(at.running(), at.seen(agent=at.pod(phase="Failed"), agent_report=report), at.NOON)

    assert isinstance(decision.action, CreatePod)
    assert decision.action.role == "evaluator"


def test_an_evicted_agent_that_had_not_finished_is_not_evaluated(at: Any) -> None:
    target = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "TerminationByKubelet",
        "message": "low on memory",
    }
    evicted = at.pod(phase="Failed", status={"reason": "Evicted", "conditions": [target]})
    report = replace(at.PRESENT, agent=agent_report(ending="stopped_from_outside"))

    run = at.after(at.running(), at.seen(agent=evicted, agent_report=report))

    assert run.status.agent_pod.facts.disruption == "TerminationByKubelet"
    assert run.status.agent_pod.facts.message == "low on memory", "which resource it was, the kubelet says there alone"
    assert say(run, "Evaluated") == ("False", "NotEvaluated")


def test_a_pod_that_vanished_still_gives_a_record(at: Any) -> None:
    run = at.after(at.running(), at.seen(agent=None, agent_report=ABSENT))

    assert (run.status.agent_pod.facts.phase, run.status.agent_pod.facts.reason) == ("Gone", "PodGone")
    action = decide(run, at.seen(), at.NOON).action
    assert isinstance(action, StoreRecord)
    assert load_record(action.data).classification.outcome == "invalid"


def test_a_lost_node_is_written_down_before_its_pod_is_removed_by_force(at: Any) -> None:
    stuck = at.pod(metadata={"deletionTimestamp": at.START, "finalizers": [names.POD_FINALIZER]})
    lost = at.seen(agent=stuck, agent_node_lost=True, agent_report=ABSENT)

    run = at.after(at.running(), lost)

    assert run.status.agent_pod.facts.node_lost
    assert isinstance(decide(run, lost, at.NOON).action, ReleasePod)
    bare = replace(lost, agent=at.pod(metadata={"deletionTimestamp": at.START, "finalizers": []}))
    assert decide(run, bare, at.NOON).action == DeletePod(bare.agent, force=True)


def test_the_first_terminal_outcome_stands(at: Any) -> None:
    run = at.finished()
    later = at.pod(phase="Failed", main={"terminated": {"exitCode": 143, "finishedAt": at.START}})

    decision = decide(run, at.seen(agent=later, evaluator=at.pod("evaluator")), at.NOON)

    assert isinstance(decision.action, ReleasePod)
    assert run.status.agent_pod.facts.phase == "Succeeded"


def test_deletion_by_somebody_else_is_noted_and_by_the_operator_is_not(at: Any) -> None:
    end = {"terminated": {"exitCode": 143, "startedAt": at.START, "finishedAt": "2026-01-01T12:00:15Z"}}
    asked = {"deletionTimestamp": "2026-01-01T12:10:10Z", "deletionGracePeriodSeconds": 600}
    killed = at.pod(phase="Failed", main=end, metadata=asked)
    report = replace(at.PRESENT, agent=agent_report(ending="stopped_from_outside"))
    stopping = at.after(cancelled(at.running()), at.seen(agent=at.pod()))

    theirs = at.after(at.running(), at.seen(agent=killed, agent_report=report))
    ours = at.after(stopping, at.seen(agent=killed, agent_report=report))

    assert theirs.status.agent_pod.facts.deletion_requested
    assert not ours.status.agent_pod.facts.deletion_requested


# --- the evaluation ---------------------------------------------------------------------------------------------------
def test_an_evaluator_without_a_report_is_no_score(at: Any) -> None:
    run = at.after(at.finished(), at.seen(evaluator=at.pod("evaluator", phase="Failed"), evaluation_report=ABSENT))

    assert say(run, "Evaluated") == ("False", "PodLost")
    action = decide(run, at.seen(agent_report=at.PRESENT, evaluation_report=at.JUDGED), at.NOON).action
    assert isinstance(action, StoreRecord)
    found = load_record(action.data).classification
    assert (found.outcome, found.cause) == ("invalid", "evaluation_infra_error")


def leaving(at: Any, **more: Any) -> Any:
    """An evaluator's pod that a drain takes away and that still works."""
    target = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}
    until = {"deletionTimestamp": "2026-01-01T12:05:00Z", "deletionGracePeriodSeconds": 30}
    pod = at.pod("evaluator", **more)
    return pod | {
        "metadata": pod["metadata"] | until,
        "status": pod["status"] | {"conditions": [*pod["status"]["conditions"], target]},
    }


def test_who_takes_an_evaluator_away_is_known_even_if_its_object_goes_before_its_end_is_read(at: Any) -> None:
    """Nothing holds the object, and whether the run is replaced depends on who it was."""
    run = at.after(at.finished(), at.seen(evaluator=leaving(at)))
    assert say(run, "Evaluated")[0] == "Unknown"
    assert not isinstance(decide(run, at.seen(evaluator=leaving(at)), at.NOON).action, WriteStatus)  # said once

    run = at.after(run, at.seen(evaluator=None, evaluation_report=ABSENT))

    facts = run.status.evaluator_pod.facts
    assert (facts.phase, facts.disruption) == ("Gone", "EvictionByEvictionAPI")
    assert "checks" in facts.containers  # as written before: a map that is emptied can't be merged into the status
    action = decide(run, at.seen(agent_report=at.PRESENT), at.NOON).action
    assert isinstance(action, StoreRecord)
    assert load_record(action.data).classification.reason == "evaluator_node_drained"


def test_an_evaluator_that_is_read_at_its_end_counts_as_it_ended(at: Any) -> None:
    run = at.after(at.finished(), at.seen(evaluator=leaving(at)))

    run = at.after(run, at.seen(evaluator=leaving(at, phase="Failed"), evaluation_report=ABSENT))

    assert (run.status.evaluator_pod.facts.phase, say(run, "Evaluated")) == ("Failed", ("False", "PodLost"))


def test_an_evaluator_that_somebody_deleted_was_taken_away_by_nobody_known(at: Any) -> None:
    run = at.after(at.finished(), at.seen(evaluator=None, evaluation_report=ABSENT))

    action = decide(run, at.seen(agent_report=at.PRESENT), at.NOON).action
    assert load_record(action.data).classification.reason == "evaluator_pod_deleted"


def test_an_evaluation_is_owed_while_it_can_not_be_created(at: Any) -> None:
    ended = at.seen(agent=at.pod(phase="Succeeded"), agent_report=at.PRESENT)
    refused = replace(ended, refused={"evaluator": Refused("quota", "exceeded quota")})

    run = at.after(at.running(), refused)

    assert say(run, "AgentFinished") == ("True", "Finished")
    released = replace(ended, agent=at.pod(phase="Succeeded", metadata={"finalizers": []}))
    assert isinstance(decide(run, released, at.NOON).action, CreatePod)
    waiting = at.after(run, replace(released, refused=refused.refused))
    assert (waiting.status.phase, say(waiting, "Evaluated")) == ("Waiting", ("Unknown", "QuotaExceeded"))


def test_a_failed_verdict_is_judged_and_an_error_is_not(at: Any) -> None:
    over = at.pod("evaluator", phase="Succeeded")
    reports = [Report("present", evaluation=evaluation_report(verdict=verdict)) for verdict in ("failed", "error")]

    said = [at.after(at.finished(), at.seen(evaluator=over, evaluation_report=report)) for report in reports]

    assert [say(run, "Evaluated") for run in said] == [("True", "Judged"), ("False", "EvaluatorFailed")]


# --- stopping ---------------------------------------------------------------------------------------------------------
def test_a_cancelled_run_acknowledges_first_then_deletes_with_grace(at: Any) -> None:
    run = cancelled(at.running())

    run = at.after(run, at.seen(agent=at.pod()))

    assert run.status.timestamps.cancelled is not None
    assert decide(run, at.seen(agent=at.pod()), at.NOON).action == DeletePod(at.pod())
    assert decide(run, at.seen(agent=gone_later(at.pod())), at.NOON).action is None


def test_a_run_cancelled_before_it_has_a_pod_is_recorded_as_cancelled(at: Any) -> None:
    run = make_run(**CANCEL)
    for _ in range(3):
        run = at.after(run, at.seen())

    action = decide(run, at.seen(), at.NOON).action

    assert isinstance(action, StoreRecord)
    assert load_record(action.data).classification.outcome == "cancelled"


def test_a_run_that_was_never_acceptable_is_cancelled_without_a_record(at: Any) -> None:
    run = at.after(make_run(**CANCEL), at.seen(references=replace(at.FOUND, task=None), finalizers=()))

    assert (run.status.phase, run.status.outcome) == ("Done", "cancelled")


def test_cancelling_what_has_ended_changes_nothing(at: Any) -> None:
    run = at.evaluated()
    observed = at.seen(agent_report=at.PRESENT, evaluation_report=at.JUDGED)

    assert decide(cancelled(run), observed, at.NOON).action == decide(run, observed, at.NOON).action
    assert decide(deleted(run), observed, at.NOON).action == decide(run, observed, at.NOON).action


def test_a_run_cancelled_during_its_evaluation_loses_its_evaluator(at: Any) -> None:
    run = cancelled(at.finished())
    living = at.seen(evaluator=at.pod("evaluator"))

    run = at.after(run, living)

    assert isinstance(decide(run, living, at.NOON).action, DeletePod)
    run = at.after(run, at.seen(evaluator=None, evaluation_report=ABSENT))
    action = decide(run, at.seen(agent_report=at.PRESENT), at.NOON).action
    assert isinstance(action, StoreRecord)
    assert load_record(action.data).classification.outcome == "cancelled"


def test_a_namespace_that_is_deleted_stops_its_runs_although_they_are_not_deleted_yet(at: Any) -> None:
    leaving = replace(at.FOUND, namespace=NamespaceView("trials", at.LABELS, True, True, terminating=True))

    run = at.after(at.running(), at.seen(agent=gone_later(at.pod()), references=leaving))

    assert run.status.timestamps.cancelled is not None
    assert decide(run, at.seen(agent=gone_later(at.pod()), references=leaving), at.NOON).action is None


def test_a_stray_evaluator_of_a_run_that_needs_none_is_removed(at: Any) -> None:
    run = at.after(cancelled(at.running()), at.seen(agent=at.pod()))
    run = at.after(run, at.seen(agent=at.pod(phase="Failed"), agent_report=at.PRESENT, evaluator=at.pod("evaluator")))

    released = at.pod(phase="Failed", metadata={"finalizers": []})
    decision = decide(run, at.seen(agent=released, evaluator=at.pod("evaluator")), at.NOON)

    assert decision.action == DeletePod(at.pod("evaluator"))


def test_a_deleted_run_that_never_began_is_let_go_at_once(at: Any) -> None:
    assert isinstance(decide(deleted(make_run()), at.seen(), at.NOON).action, Release)
    assert decide(deleted(make_run()), at.seen(finalizers=()), at.NOON).action is None


def test_a_deleted_run_that_has_a_pod_is_accepted_first_since_it_will_have_a_record(at: Any) -> None:
    run = at.after(deleted(make_run()), at.seen(agent=at.pod()))

    assert say(run, "Accepted")[0] == "True"
    assert run.status.agent_pod is not None


# --- the record -------------------------------------------------------------------------------------------------------
def test_the_record_does_not_depend_on_when_it_is_assembled(at: Any) -> None:
    run, observed = at.evaluated(), at.seen(agent_report=at.PRESENT, evaluation_report=at.JUDGED)

    assert decide(run, observed, at.NOON).action == decide(run, observed, at.NOON + timedelta(days=1)).action


def test_a_store_that_is_down_is_waited_for_with_a_condition(at: Any) -> None:
    down = Stored(problem="unavailable", message="no answer")
    observed = at.seen(agent_report=at.PRESENT, evaluation_report=at.JUDGED, stored=down)

    run = at.after(at.evaluated(), observed)

    assert (run.status.phase, say(run, "Recorded")) == ("Recording", ("False", "StoreUnavailable"))
    again = decide(run, observed, at.NOON)
    assert (again.action, again.retry) == (None, True)
    assert isinstance(decide(run, replace(observed, stored=None), at.NOON).action, StoreRecord)


def test_another_record_under_the_key_is_an_integrity_error_and_never_overwritten(at: Any) -> None:
    conflict = Stored(problem="conflict", message="already holds another")
    observed = at.seen(agent_report=at.PRESENT, evaluation_report=at.JUDGED, stored=conflict)

    decision = decide(at.evaluated(), observed, at.NOON)

    assert say(make_run().model_copy(update={"status": status_after(decision)}), "Recorded")[1] == "RecordConflict"
    assert decision.event is not None
    assert status_after(decision).record is None


def test_a_record_that_can_not_be_signed_is_not_stored_and_tried_again(at: Any) -> None:
    failed = Stored(problem="signing", message="the key service is down")
    observed = at.seen(agent_report=at.PRESENT, evaluation_report=at.JUDGED, stored=failed)

    run = at.after(at.evaluated(), observed)

    assert say(run, "Recorded") == ("False", "SigningFailed")
    assert run.status.record is None
    assert decide(run, observed, at.NOON).retry


def test_a_record_is_stored_with_the_statement_about_its_very_bytes(at: Any) -> None:
    observed = at.seen(agent_report=at.PRESENT, evaluation_report=at.JUDGED)

    action = decide(at.evaluated(), observed, at.NOON).action

    assert isinstance(action, StoreRecord)
    assert action.statement.digests["record.json"] == hashlib.sha256(action.data).hexdigest()


def test_a_deleted_run_waits_for_the_store_only_so_long(at: Any) -> None:
    down = Stored(problem="unavailable", message="no answer")
    observed = at.seen(agent_report=at.PRESENT, evaluation_report=at.JUDGED, stored=down)
    run = at.after(deleted(at.evaluated()), observed)

    assert decide(run, observed, at.NOON).retry
    late = decide(run, observed, at.NOON + timedelta(seconds=900))

    assert late.action == Release(recorded=False)
    assert late.event is not None


def test_a_report_out_of_reach_is_waited_for_and_not_taken_for_missing(at: Any) -> None:
    down = Report("unavailable", message="no answer")

    run = at.after(at.running(), at.seen(agent=at.pod(phase="Succeeded"), agent_report=down))

    assert say(run, "AgentFinished") == ("Unknown", "StoreUnavailable")
    assert decide(run, at.seen(agent=at.pod(phase="Succeeded"), agent_report=down), at.NOON).retry
