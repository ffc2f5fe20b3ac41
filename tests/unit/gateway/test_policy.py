"""Who may do what, row by row."""

from dataclasses import replace

import pytest
from fairtrial_gateway.policy import (
    Caller,
    Refusal,
    Run,
    claimed,
    may_fetch_bundle,
    may_fetch_sealed,
    may_read_artifact,
    may_write_artifact,
    run_from_object,
)

PUBLIC, SEALED, OTHER = "a" * 64, "b" * 64, "c" * 64
RUN = Run("team", "r1", "run-uid", "", "agent-uid", "evaluator-uid", PUBLIC, SEALED, ended=False)


def pod(role: str, audience: str, uid: str = "") -> Caller:
    return Caller("team", "fairtrial-run", f"r1-{role}", uid or f"{role}-uid", frozenset([f"fairtrial/{audience}"]))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("r1-agent", ("agent", "r1")),
        ("r1-evaluator", ("evaluator", "r1")),
        ("x-agent-agent", ("agent", "x-agent")),
        ("x-agent-evaluator", ("evaluator", "x-agent")),
    ],
)
def test_a_pods_name_claims_a_role_and_a_run(name: str, expected: tuple[str, str]):
    assert claimed(replace(pod("agent", "record"), pod_name=name)) == expected


@pytest.mark.parametrize("name", ["gateway-7d", "-agent", "agent", "a.b-agent", "r" * 53 + "-agent", "r1-Agent"])
def test_any_other_name_claims_nothing(name: str):
    refusal = claimed(replace(pod("agent", "record"), pod_name=name))

    assert isinstance(refusal, Refusal)
    assert (refusal.status, refusal.reason) == (403, "NotARunPod")


@pytest.mark.parametrize(
    ("may", "role", "audience", "what"),
    [
        (may_fetch_bundle, "agent", "record", PUBLIC),
        (may_fetch_bundle, "evaluator", "evaluate", PUBLIC),
        (may_fetch_sealed, "evaluator", "evaluate", SEALED),
        (may_read_artifact, "evaluator", "evaluate", "agent/snapshot.tar"),
        (may_write_artifact, "agent", "record", "agent/report.json"),
        (may_write_artifact, "evaluator", "record", "evaluation/report.json"),
    ],
)
def test_what_is_allowed(may, role: str, audience: str, what: str):
    caller = pod(role, audience)
    assert may(caller, role, RUN, what) is None

    # … and each of these takes it away again, whatever it is.
    other = next(each for each in ("record", "evaluate", "provider") if each != audience)
    assert may(pod(role, other), role, RUN, what).reason == "WrongAudience"
    assert may(replace(caller, audiences=frozenset()), role, RUN, what).reason == "WrongAudience"
    assert may(pod(role, audience, "another-uid"), role, RUN, what).reason == "WrongPod"
    assert may(replace(caller, service_account="default"), role, RUN, what).reason == "WrongServiceAccount"
    assert may(caller, role, replace(RUN, ended=True), what).reason == "RunEnded"
    early = may(caller, role, replace(RUN, agent_pod_uid=None, evaluator_pod_uid=None), what)
    assert (early.status, early.retry_after) == (425, 1)


@pytest.mark.parametrize(
    ("may", "role", "audience", "what", "status", "reason"),
    [
        (may_fetch_bundle, "agent", "record", SEALED, 403, "WrongArchive"),
        (may_fetch_bundle, "agent", "record", "A" * 64, 400, "InvalidDigest"),
        (may_fetch_bundle, "agent", "evaluate", PUBLIC, 403, "WrongAudience"),
        (may_fetch_sealed, "agent", "record", SEALED, 403, "NotForAgents"),
        (may_fetch_sealed, "agent", "evaluate", SEALED, 403, "NotForAgents"),
        (may_fetch_sealed, "evaluator", "evaluate", PUBLIC, 403, "WrongArchive"),
        (may_fetch_sealed, "evaluator", "evaluate", OTHER, 403, "WrongArchive"),
        (may_read_artifact, "agent", "evaluate", "agent/snapshot.tar", 403, "NotForAgents"),
        (may_read_artifact, "evaluator", "evaluate", "../record.json", 400, "InvalidName"),
        (may_write_artifact, "agent", "record", "evaluation/report.json", 403, "WrongFolder"),
        (may_write_artifact, "evaluator", "record", "agent/report.json", 403, "WrongFolder"),
        (may_write_artifact, "agent", "record", "agents/report.json", 403, "WrongFolder"),
        (may_write_artifact, "agent", "record", "record.json", 403, "WrongFolder"),
        (may_write_artifact, "agent", "record", "agent/../../record.json", 400, "InvalidName"),
    ],
)
def test_what_is_refused_and_how(may, role: str, audience: str, what: str, status: int, reason: str):
    refusal = may(pod(role, audience), role, RUN, what)

    assert (refusal.status, refusal.reason) == (status, reason)
    assert refusal.message.endswith(".")


def test_a_task_that_is_not_resolved_yet_is_waited_for():
    unresolved = replace(RUN, public_sha256=None, sealed_sha256=None)

    assert may_fetch_bundle(pod("agent", "record"), "agent", unresolved, PUBLIC).status == 425
    assert may_fetch_sealed(pod("evaluator", "evaluate"), "evaluator", unresolved, SEALED).status == 425


def test_a_new_run_without_status_is_no_error():
    metadata = {"namespace": "team", "name": "r1", "uid": "u"}

    run = run_from_object({"metadata": metadata, "spec": {"cohortRef": {"name": "c1"}}})

    assert run == Run("team", "r1", "u", "c1", None, None, None, None, ended=False)
    assert run_from_object({"metadata": metadata, "status": {"record": {"uri": "s3://x"}}}).ended
