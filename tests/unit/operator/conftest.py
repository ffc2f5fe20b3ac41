"""Builders for decisions: pods as the API server shows them, what was seen, and a run at each point of its life."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from fairtrial_operator.accept import NamespaceView, References
from fairtrial_operator.build import PodSettings
from fairtrial_operator.decide import decide
from fairtrial_operator.seen import Report, Seen, WriteStatus

from fairtrial import names
from fairtrial.api import BenchmarkRun
from fairtrial.documents import Artifact
from fairtrial.testing import (
    AGENT_POD_UID,
    EVALUATOR_POD_UID,
    RUN_UID,
    agent_report,
    evaluation_report,
    make_resource_class,
    make_run,
    make_task,
)

START = "2026-01-01T12:00:00Z"
NOON = datetime(2026, 1, 1, 12, 0, 30, tzinfo=UTC)
IMAGE = f"registry.example/runner@sha256:{'9' * 64}"
SETTINGS = PodSettings(IMAGE, IMAGE, "http://10.0.0.5:8080")
LABELS = {"pod-security.kubernetes.io/enforce": "restricted", names.NAMESPACE_LABEL: "true"}
FOUND = References(NamespaceView("trials", LABELS, True, True), make_task(), make_resource_class())
PRESENT = Report("present", agent=agent_report(), artifact=Artifact("agent/report.json", 10, "4" * 64))
JUDGED = Report("present", evaluation=evaluation_report(), artifact=Artifact("evaluation/report.json", 10, "5" * 64))


def state(kind: str, **more: Any) -> dict[str, Any]:
    return {"state": {kind: more}}


def pod(role: str = "agent", *, phase: str = "Running", scheduled: bool = True, **changes: Any) -> dict[str, Any]:
    """A pod of run-1. `fetch` (an evaluator's), `record`, `main` take container states; the rest is merged."""
    uid = AGENT_POD_UID if role == "agent" else EVALUATOR_POD_UID
    main = names.CONTAINER_AGENT if role == "agent" else names.CONTAINER_CHECKS
    over = {"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": START, "finishedAt": START}}
    running = {"running": {"startedAt": START}}
    ended = phase in {"Succeeded", "Failed"}
    states = {
        "fetch": changes.get("fetch", over if role != "agent" else None),
        "record": changes.get("record", over if ended else running),
        main: changes.get("main", over if ended else running),
    }
    statuses = [{"name": name, "imageID": f"id-{name}", "state": found} for name, found in states.items() if found]
    condition = {"type": "PodScheduled", "status": "True" if scheduled else "False", "lastTransitionTime": START}
    condition |= {} if scheduled else {"reason": "Unschedulable", "message": "0/3 nodes are available."}
    return {
        "metadata": {
            "name": f"run-1-{role}",
            "namespace": "trials",
            "uid": uid,
            "creationTimestamp": START,
            "finalizers": [names.POD_FINALIZER] if role == "agent" else [],
            "ownerReferences": [{"uid": RUN_UID, "controller": True}],
        }
        | changes.get("metadata", {}),
        "spec": {"nodeName": "node-1"} if scheduled else {},
        "status": {
            "phase": phase,
            "conditions": [condition],
            "initContainerStatuses": [one for one in statuses if one["name"] != main],
            "containerStatuses": [one for one in statuses if one["name"] == main],
        }
        | changes.get("status", {}),
    }


def seen(**changes: Any) -> Seen:
    """What is observed: good references, the finalizer in place, nothing else."""
    good: dict[str, Any] = {"references": FOUND, "settings": SETTINGS, "finalizers": (names.RUN_FINALIZER,)}
    return Seen(**(good | changes))


def after(run: BenchmarkRun, observed: Seen, now: datetime = NOON) -> BenchmarkRun:
    """The run after the status write that is expected to be decided now."""
    decision = decide(run, observed, now)
    assert isinstance(decision.action, WriteStatus), decision
    return run.model_copy(update={"status": decision.action.status})


def accepted(**spec: Any) -> BenchmarkRun:
    return after(
        make_run(**spec), seen(agent=pod(phase="Pending", scheduled=False, fetch=None, record=None, main=None))
    )


def running(**spec: Any) -> BenchmarkRun:
    return after(accepted(**spec), seen(agent=pod()))


def finished(**spec: Any) -> BenchmarkRun:
    """The agent is done, the evaluator pod pinned, the agent pod not yet released."""
    ended = seen(agent=pod(phase="Succeeded"), agent_report=PRESENT, evaluator=pod("evaluator"))
    return after(running(**spec), ended)


def evaluated(**spec: Any) -> BenchmarkRun:
    over = seen(evaluator=pod("evaluator", phase="Succeeded"), evaluation_report=JUDGED)
    return after(finished(**spec), over)


@pytest.fixture
def at() -> SimpleNamespace:
    """All of the above, by name."""
    return SimpleNamespace(
        NOON=NOON,
        SETTINGS=SETTINGS,
        FOUND=FOUND,
        LABELS=LABELS,
        PRESENT=PRESENT,
        JUDGED=JUDGED,
        START=START,
        pod=pod,
        seen=seen,
        after=after,
        accepted=accepted,
        running=running,
        finished=finished,
        evaluated=evaluated,
        when=datetime.fromisoformat,
    )
