"""Small builders of runs, tasks, facts and reports for tests: each gives a good one, and keywords change what matters.

run = make_run(candidate={"stdin": "prompt"}, status={"phase": "Running"})
facts = pod_facts(phase="Failed", reason="Evicted")
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from fairtrial import names
from fairtrial.api import (
    BenchmarkCohort,
    BenchmarkRun,
    BenchmarkTask,
    ContainerFacts,
    PodFacts,
    ResolvedResourceClass,
    ResolvedTask,
    ResourceClass,
    parse,
)
from fairtrial.api.cohort import CONSTITUTION_TEXTS
from fairtrial.api.constitution import Controls
from fairtrial.documents import (
    AgentReport,
    Artifact,
    CheckResult,
    Consumption,
    Diff,
    EvaluationReport,
    Leftovers,
    ProbeResult,
    RunIdentity,
    Snapshot,
    StepResult,
    Stream,
)
from fairtrial.usage.course import Course, Pair

RUN_UID = "5d0c9a52-0f1e-4c7e-9d0a-6f0e3b1c2a01"
AGENT_POD_UID = "5d0c9a52-0f1e-4c7e-9d0a-6f0e3b1c2a02"
EVALUATOR_POD_UID = "5d0c9a52-0f1e-4c7e-9d0a-6f0e3b1c2a03"
TASK_UID = "5d0c9a52-0f1e-4c7e-9d0a-6f0e3b1c2a04"
RESOURCE_CLASS_UID = "5d0c9a52-0f1e-4c7e-9d0a-6f0e3b1c2a05"
COHORT_UID = "5d0c9a52-0f1e-4c7e-9d0a-6f0e3b1c2a06"
PUBLIC_SHA256, SEALED_SHA256 = "a" * 64, "b" * 64
SNAPSHOT_SHA256 = "c" * 64
CANDIDATE_IMAGE = f"registry.example/agent@sha256:{'d' * 64}"
EVALUATOR_IMAGE = f"registry.example/evaluator@sha256:{'e' * 64}"
NOON = "2026-01-01T12:00:00Z"
LATER = "2026-01-01T12:10:00Z"


def make_run(
    name: str = "run-1", *, namespace: str = "trials", metadata: Any = None, status: Any = None, **spec: Any
) -> BenchmarkRun:
    """A run. `spec` takes camelCase keys; mappings are merged into the good ones: `candidate={"stdin": "prompt"}`."""
    raw = {
        "metadata": {"name": name, "namespace": namespace, "uid": RUN_UID, "generation": 1} | dict(metadata or {}),
        "spec": _merged(
            {
                "taskRef": {"name": "task-1"},
                "candidate": {
                    "name": "candidate-1",
                    "version": "1.0",
                    "image": CANDIDATE_IMAGE,
                    "argv": ["/bin/agent", "{prompt}"],
                },
                "resourceClassName": "small",
            },
            spec,
        ),
        "status": dict(status or {}),
    }
    return parse(BenchmarkRun, raw)


def make_finished_run(name: str = "run-1", *, status: Any = None, **changes: Any) -> BenchmarkRun:
    """A run whose two pods have ended well: with the reports of this module it passed."""
    good = {
        "task": ResolvedTask.of(make_task()).as_json(),
        "resourceClass": ResolvedResourceClass.of(make_resource_class()).as_json(),
        "agentPod": {
            "name": names.agent_pod(name),
            "uid": AGENT_POD_UID,
            "node": "node-1",
            "facts": pod_facts().as_json(),
        },
        "evaluatorPod": {
            "name": names.evaluator_pod(name),
            "uid": EVALUATOR_POD_UID,
            "node": "node-1",
            "facts": pod_facts(main=names.CONTAINER_CHECKS).as_json(),
        },
        "timestamps": {"accepted": NOON, "agentCreated": NOON, "agentStarted": NOON, "agentFinished": LATER},
    }
    return make_run(name, status=_merged(good, dict(status or {})), **changes)


def make_task(name: str = "task-1", *, namespace: str = "trials", metadata: Any = None, **spec: Any) -> BenchmarkTask:
    """A task with one step. `spec` takes camelCase keys."""
    raw = {
        "metadata": {"name": name, "namespace": namespace, "uid": TASK_UID, "generation": 1} | dict(metadata or {}),
        "spec": _merged(
            {
                "version": 1,
                "title": "Add a feature",
                "family": "feature",
                "language": "python",
                "publicArchive": {"sha256": PUBLIC_SHA256, "size": 10240},
                "sealedArchive": {"sha256": SEALED_SHA256, "size": 10240},
                "evaluatorImage": EVALUATOR_IMAGE,
                "steps": [{"name": "only", "prompt": "Do it.", "wallSeconds": 600}],
            },
            spec,
        ),
    }
    return parse(BenchmarkTask, raw)


def make_resource_class(name: str = "small", *, metadata: Any = None, **spec: Any) -> ResourceClass:
    """A resource class. `spec` takes camelCase keys."""
    raw = {
        "metadata": {"name": name, "uid": RESOURCE_CLASS_UID, "generation": 1} | dict(metadata or {}),
        "spec": _merged({"limits": {"cpu": "1", "memory": "1Gi", "ephemeralStorage": "2Gi"}}, spec),
    }
    return parse(ResourceClass, raw)


def make_cohort(
    name: str = "cohort-1", *, namespace: str = "trials", metadata: Any = None, status: Any = None, **spec: Any
) -> BenchmarkCohort:
    """A pilot that asks whether one argument helps: two tasks, two candidates. `spec` takes camelCase keys."""
    arm = {"version": "1.0", "image": CANDIDATE_IMAGE}
    raw = {
        "metadata": {"name": name, "namespace": namespace, "uid": COHORT_UID, "generation": 1} | dict(metadata or {}),
        "spec": _merged(
            {
                "stage": "pilot",
                "mode": "mechanism",
                "constitution": {"question": "Does it help to think twice?", "primaryMetrics": ["success_rate"]},
                "treatment": {"says": "The agent thinks twice.", "parts": ["argv"]},
                "tasks": [
                    {"name": "task-1", "publicSha256": PUBLIC_SHA256, "sealedSha256": SEALED_SHA256},
                    {"name": "task-2", "publicSha256": "f" * 64, "sealedSha256": SEALED_SHA256},
                ],
                "candidates": [
                    arm | {"name": "once", "role": "control", "argv": ["/bin/agent", "{prompt}"]},
                    arm | {"name": "twice", "role": "treatment", "argv": ["/bin/agent", "--twice", "{prompt}"]},
                ],
                "repetitions": 5,
                "schedule": {"seed": 20260723},
                "execution": {"resourceClassName": "small"},
                "replacement": {"reasons": ["host_failure", "provider_outage"], "maxPerCell": 2},
            },
            spec,
        ),
        "status": dict(status or {}),
    }
    return parse(BenchmarkCohort, raw)


def confirmatory() -> dict[str, Any]:
    """What `make_cohort` needs besides to be confirmatory: `make_cohort(**confirmatory())`."""
    texts = (*CONSTITUTION_TEXTS, "question")
    return {
        "stage": "confirmatory",
        "constitution": dict.fromkeys(texts, "As the protocol says.")
        | {"hardFailures": ["A policy violation."], "artifacts": ["Records."]},
        "controls": {info.alias or name: "Held equal." for name, info in Controls.model_fields.items()},
        "gates": [
            {
                "name": "equivalence",
                "says": "Both pass the same acceptance suite.",
                "evidence": [{"uri": "https://example.org/suite.json", "sha256": "9" * 64}],
            }
        ],
        "decisionRule": {
            "name": "not-worse",
            "gates": ["equivalence"],
            "conditions": [
                {
                    "name": "success-not-worse",
                    "metric": "success_rate",
                    "statistic": "difference",
                    "bound": "lower95",
                    "comparison": "above",
                    "threshold": "-0.10",
                }
            ],
        },
        "analysis": {"version": "1", "image": EVALUATOR_IMAGE},
    }


def container_facts(**changes: Any) -> ContainerFacts:
    """A container that ended with exit code 0."""
    good = ContainerFacts(exit_code=0, reason="Completed", started_at=NOON, finished_at=LATER)
    return good.model_copy(update=changes)


def pod_facts(*, main: str = names.CONTAINER_AGENT, **changes: Any) -> PodFacts:
    """A pod that ended well, with its containers by name; `containers` are merged into those."""
    setup = () if main == names.CONTAINER_AGENT else (names.CONTAINER_FETCH,)
    containers = {name: container_facts() for name in (*setup, names.CONTAINER_RECORD, main)}
    good = PodFacts(phase="Succeeded", image_ids=dict.fromkeys(containers, CANDIDATE_IMAGE))
    return good.model_copy(update=changes | {"containers": containers | changes.get("containers", {})})


def agent_report(**changes: Any) -> AgentReport:
    """The report of an agent that finished its one step and left a snapshot."""
    good = AgentReport(
        run=RunIdentity("trials", "run-1", RUN_UID),
        pod_uid=AGENT_POD_UID,
        complete=True,
        ending="finished",
        isolation="proven",
        probes=[ProbeResult("api-server", "tcp", "10.0.0.1", 443, ["timeout", "timeout", "timeout"])],
        environment={"kernel": "6.1.0", "cpuMax": "100000 100000", "memoryMax": "1073741824"},
        initial_state_sha256="1" * 64,
        steps=[step_result()],
        streams=[Stream("step-1.stdout", 12, "2" * 64, 12, False, [Artifact("agent/step-1.stdout.bin", 12, "2" * 64)])],
        snapshot=Snapshot("measured", Artifact("agent/snapshot.tar", 10240, SNAPSHOT_SHA256), files=3, bytes=900),
        diff=Diff("measured", Artifact("agent/diff.patch", 300, "3" * 64), 1, 1, 0, 20, 2, 0, 0, ["a.py", "b.py"]),
        leftovers=Leftovers(),
        consumption=Consumption(41_000_000, 600, 12, 900_000, 268_435_456),
        artifacts=[
            Artifact("agent/diff.patch", 300, "3" * 64),
            Artifact("agent/snapshot.tar", 10240, SNAPSHOT_SHA256),
            Artifact("agent/step-1.stdout.bin", 12, "2" * 64),
        ],
        timings_ms={"setup": 1200, "isolation": 900, "preflight": 100, "agent": 60000, "snapshot": 300, "upload": 200},
    )
    return dataclasses.replace(good, **changes)


def interaction_summary(number: int = 0, **changes: Any) -> dict[str, Any]:
    """What an adapter counts, as a report has it; runs of other numbers differ, so that statistics have work to do."""
    calls, failed = 18 + number % 7, number % 4
    third = calls // 3
    values = {
        "toolCalls": {"total": calls, "byCapability": {"run_command": calls - number % 2, "ask_user": number % 2}},
        "failedToolCalls": {"total": failed, "byStatus": {"error": failed}},
        "recoveredToolFailures": failed // 2,
        "invalidToolCalls": number % 3,
        "retries": failed,
        "modelRetries": number % 2,
        "testCommands": {"total": 5, "passed": 5 - failed, "failed": failed, "unknown": 0},
        "testFailures": {"failed": failed, "recovered": failed // 2, "attempts": failed // 3},
        "failureCourse": {"calls": calls, "part": third, "start": number % 3, "tail": (2 * number) % 5},
        "repetitionCourse": {"calls": calls, "part": third, "start": (3 * number) % 4, "tail": number % 5},
        "filesInspected": {"unique": 4 + number % 6, "repeats": 1, "unattributed": 0},
        "compactions": number % 3,
        "truncatedOutputs": number % 2,
        "approvals": {"requested": number % 3, "granted": number % 3, "denied": 0, "unknown": 0},
        "interventions": number % 6 // 5,
        "effectReceipts": {"given": 3, "absent": 0, "unique": 3 - number % 5 // 4, "duplicates": number % 5 // 4},
        "turns": 3 + number % 5,
        "timeToFirstUsefulActionMs": 900 + 10 * number,
        "timeToFirstVerifiableOutcomeMs": 4000 + 100 * number,
    }
    made: dict[str, Any] = {name: {"state": "measured", "value": value} for name, value in values.items()}
    return made | {"stopped": "", "unreadableRecords": 0} | changes


def call_course(number: int = 0) -> Course:
    """How the calls of a run went over its time; runs of other numbers differ."""
    faults = number % 3
    return Course(
        faults={"rate_limited": faults} if faults else {},
        recovered=faults - min(faults, number % 4 // 3),
        first_token_ms=300 + number,
        first_token_reason="",
        first_tokens_ms=Pair(250 + number, 200 + 7 * (number % 20)),
        largest_input=9000 + 10 * number,
        largest_input_reason="",
        inputs=Pair(1000, 6000 + 13 * number),
    )


def step_result(**changes: Any) -> StepResult:
    """A step whose program exited with 0."""
    good = StepResult("only", ["/bin/agent", "Do it."], NOON, 60000, 600, "exited", exit_code=0)
    return dataclasses.replace(good, **changes)


def check_result(state: Any = "passed", **changes: Any) -> CheckResult:
    """A check with this result."""
    good = CheckResult("behaviour", "junit", state, "acceptance_failure", exit_code=0, duration_ms=900, tests_passed=7)
    return dataclasses.replace(good, **changes)


def evaluation_report(**changes: Any) -> EvaluationReport:
    """The report of an evaluator whose one check passed on the snapshot of `agent_report()`."""
    good = EvaluationReport(
        run=RunIdentity("trials", "run-1", RUN_UID),
        pod_uid=EVALUATOR_POD_UID,
        verdict="passed",
        bundle_sha256=PUBLIC_SHA256,
        sealed_sha256=SEALED_SHA256,
        snapshot_sha256=SNAPSHOT_SHA256,
        checks=[check_result()],
        negative_control="passed",
        launcher=["python3"],
        artifacts=[Artifact("evaluation/behaviour.xml", 700, "4" * 64)],
        timings_ms={"checks": 900},
    )
    return dataclasses.replace(good, **changes)


def _merged(good: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    made = dict(good)
    for key, value in changes.items():
        old = made.get(key)
        made[key] = _merged(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return made
