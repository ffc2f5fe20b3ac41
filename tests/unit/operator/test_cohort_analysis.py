"""From complete to analysed, as data: Jobs, what their pods say, requests, crashes, and what is refused."""

import json
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pytest
from fairtrial_operator.accept import NamespaceView
from fairtrial_operator.cohorts import analysis_job, decide_analysis
from fairtrial_operator.cohorts.analysis_job import AnalysisSettings
from fairtrial_operator.cohorts.decide import decide
from fairtrial_operator.cohorts.seen import (
    Append,
    CohortDecision,
    CohortSeen,
    CreateAnalysis,
    DeleteAnalysis,
    PutPreregistration,
    Trouble,
    WriteCohort,
)

from fairtrial import names
from fairtrial.api import BenchmarkCohort, find_condition
from fairtrial.cohort import ledger as ledgers
from fairtrial.cohort.ledger import LedgerEntry
from fairtrial.cohort.preregistration import Found
from fairtrial.testing import make_cohort, make_resource_class, make_task

LABELS = {"pod-security.kubernetes.io/enforce": "restricted", names.NAMESPACE_LABEL: "true"}
NAMESPACE = NamespaceView("trials", LABELS, True, True)
TASKS = {"task-1": make_task(), "task-2": make_task("task-2", publicArchive={"sha256": "f" * 64, "size": 1})}
FOUND = Found(TASKS, make_resource_class(), {})
NOON = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)
IMAGE = f"registry.example/analysis@sha256:{'a' * 64}"
TEMPLATE = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"namespace": "system", "labels": {"app": "x"}},
    "spec": {
        "backoffLimit": 3,
        "template": {"spec": {"containers": [{"name": "analysis", "env": [{"name": "STORE", "value": "s"}]}]}},
    },
}
SETTINGS = AnalysisSettings(TEMPLATE, frozenset({IMAGE}))
PACKAGE, REPORT = "5" * 64, "6" * 64
SAID = {"packageUri": "s3://b/p/", "packageSha256": PACKAGE, "reportSha256": REPORT, "verdict": "NOT SUPPORTED"}
COMPLETE = {"type": "Complete", "status": "True", "reason": "AllAccountedFor", "observedGeneration": 1}
COMPLETE |= {"lastTransitionTime": "2026-01-01T11:00:00Z"}


def pod(message: Any = None, *, code: int = 0, created: str = "2026-01-01T12:00:01Z", **status: Any) -> Any:
    text = message if isinstance(message, str) else json.dumps(message)
    over = {"terminated": {"exitCode": code, "reason": "Error" if code else "Completed", "message": text}}
    phase = "Failed" if code else "Succeeded"
    told = {"phase": phase, "containerStatuses": [{"name": "analysis", "state": over}]}
    return {"metadata": {"name": f"p-{created}", "creationTimestamp": created}, "spec": {}, "status": told | status}


def over(kind: str = "Complete", reason: str = "", message: str = "") -> Any:
    return {
        "metadata": {"namespace": "system"},
        "status": {"conditions": [{"type": kind, "status": "True", "reason": reason, "message": message}]},
    }


@dataclass
class World:
    """A complete cohort, its ledger, and the Jobs of an API server."""

    cohort: BenchmarkCohort
    pages: list[bytes] = field(default_factory=list)
    jobs: dict[str, Any] = field(default_factory=dict)
    pods: list[Any] = field(default_factory=list)
    created: list[Any] = field(default_factory=list)
    events: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, *, token: str = "", reason: str = "AllAccountedFor", image: str = IMAGE, **spec: Any) -> "World":
        status = {"preregistrationSha256": "1" * 64, "conditions": [COMPLETE | {"reason": reason}]}
        metadata = {"annotations": {names.ANALYSE_ANNOTATION: token}} if token else {}
        analysis = {"analysis": {"version": "1", "image": image}} | spec
        made = cls(make_cohort(seal=True, metadata=metadata, status=status, **analysis))
        made.append(LedgerEntry("sealed", sha256="1" * 64), LedgerEntry("complete", counts={}))
        return made

    def append(self, *entries: LedgerEntry) -> None:
        self.pages.append(self.ledger.page(entries, "2026-01-01T12:00:00Z").to_bytes())

    @property
    def ledger(self) -> ledgers.Ledger:
        return ledgers.read(self.cohort.metadata.name, self.cohort.metadata.uid, self.pages)

    def seen(self, **changes: Any) -> CohortSeen:
        asked = self.cohort.status.analysis
        job = self.jobs.get(asked.job) if asked is not None and asked.job else None
        good: dict[str, Any] = {"ledger": self.ledger, "analysis": SETTINGS, "job": job, "job_pods": self.pods}
        return CohortSeen(None, **(good | changes))

    def step(self, **changes: Any) -> CohortDecision:
        decision = decide(self.cohort, self.seen(**changes), NOON)
        match decision.action:
            case Append(entries=entries):
                self.append(*entries)
            case CreateAnalysis(body=body):
                self.created.append(body)
                self.jobs.setdefault(body["metadata"]["name"], {"status": {}})
            case DeleteAnalysis(name=name):
                del self.jobs[name]
            case WriteCohort(status=status):
                self.cohort = self.cohort.model_copy(update={"status": status})
        if decision.event is not None:
            self.events.append(decision.event.reason)
        return decision

    def rest(self, **changes: Any) -> CohortDecision:
        for _ in range(20):
            decision = self.step(**changes)
            if decision.action is None:
                return decision
        raise AssertionError("it does not come to rest")

    def end(self, *pods: Any, job: Any = None) -> None:
        asked = self.cohort.status.analysis
        assert asked is not None and asked.job is not None
        self.pods, self.jobs[asked.job] = list(pods), over() if job is None else job
        self.rest()

    def ask(self, token: str) -> None:
        metadata = self.cohort.metadata.model_copy(update={"annotations": {names.ANALYSE_ANNOTATION: token}})
        self.cohort, self.pods = self.cohort.model_copy(update={"metadata": metadata}), []

    @property
    def said(self) -> tuple[str, str]:
        found = find_condition(self.cohort.status.conditions, "Analysed")
        return (found.status, found.reason) if found else ("", "")

    @property
    def message(self) -> str:
        found = find_condition(self.cohort.status.conditions, "Analysed")
        return found.message if found else ""


def env_of(job: Any) -> dict[str, str]:
    (container,) = job["spec"]["template"]["spec"]["containers"]
    return {one["name"]: one["value"] for one in container["env"]}


# --- the good way -----------------------------------------------------------------------------------------------------
def test_a_complete_cohort_is_analysed_in_the_image_that_it_was_sealed_with() -> None:
    world = World.of()

    rest = world.rest()

    (job,) = world.created
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert (container["image"], job["metadata"]["namespace"]) == (IMAGE, "system")
    env = {one["name"]: one["value"] for one in container["env"]}
    metadata = world.cohort.metadata
    assert env == {
        "STORE": "s",
        "FAIRTRIAL_COHORT_NAMESPACE": metadata.namespace,
        "FAIRTRIAL_COHORT": metadata.name,
        "FAIRTRIAL_COHORT_UID": metadata.uid,
        "FAIRTRIAL_LEDGER_SIZE": "2",
        "FAIRTRIAL_ANALYSIS_IMAGE": IMAGE,
    }
    assert job["spec"]["template"]["metadata"]["labels"][names.COHORT_NAMESPACE_LABEL] == metadata.namespace
    assert world.said == ("Unknown", "Analysing")
    assert rest.again_after is not None
    assert TEMPLATE["metadata"] == {"namespace": "system", "labels": {"app": "x"}}, "the template stays as it is"


def test_what_the_pod_says_goes_into_the_ledger_and_then_into_the_status() -> None:
    world = World.of()
    world.rest()

    world.end(pod(SAID))

    assert [(one.number, one.sha256, one.outcome) for one in world.ledger.analyses] == [(3, PACKAGE, "NOT SUPPORTED")]
    found = world.cohort.status.analysis
    assert found is not None
    assert (found.package_uri, found.package_sha256, found.report_sha256) == ("s3://b/p/", PACKAGE, REPORT)
    assert (found.verdict, found.job, found.ledger_entries) == ("NOT SUPPORTED", None, 2)
    assert world.said == ("True", "NotSupported")
    assert (world.cohort.status.phase, world.cohort.status.ledger_entries) == ("Analysed", 3)
    assert world.events == ["Analysed"]
    assert decide(world.cohort, world.seen(), NOON) == CohortDecision()


def test_an_operator_that_dies_between_any_two_steps_makes_one_entry_and_asks_the_same() -> None:
    """Each step leaves a world from which its successor, who knows nothing else, goes on."""
    world = World.of()
    begun = decide(world.cohort, world.seen(), NOON)
    world.step()
    jobs = [decide(world.cohort, world.seen(), NOON).action for _ in range(2)]
    world.rest()
    world.pods = [pod(SAID)]
    entries = [decide(world.cohort, world.seen(), NOON).action for _ in range(2)]

    world.rest()

    assert isinstance(begun.action, WriteCohort)
    assert isinstance(jobs[0], CreateAnalysis) and jobs[0] == jobs[1] and jobs[0].body in world.created
    assert isinstance(entries[0], Append) and entries[0] == entries[1]
    assert (len(world.created), len(world.ledger.analyses)) == (1, 1)


def test_an_entry_that_was_stored_before_a_crash_is_not_stored_again() -> None:
    world = World.of()
    world.rest()
    world.append(LedgerEntry("analysis", sha256=PACKAGE, outcome="NOT SUPPORTED"))

    world.end(pod(SAID))

    assert len(world.ledger.analyses) == 1
    assert world.said[0] == "True"


def test_asking_again_reads_the_same_entries_and_adds_none_for_the_same_package() -> None:
    world = World.of()
    world.rest()
    world.end(pod(SAID))

    world.ask("again")
    world.rest()
    assert (world.said, world.cohort.status.phase) == (("Unknown", "Analysing"), "Complete")
    assert world.cohort.status.analysis.package_sha256 == PACKAGE, "the last result stays in sight"  # type: ignore[union-attr]
    world.end(pod(SAID))

    sizes = [{e["name"]: e["value"] for e in _env(body)}["FAIRTRIAL_LEDGER_SIZE"] for body in world.created]
    assert sizes == ["2", "2"]
    assert len({body["metadata"]["name"] for body in world.created}) == 2
    assert len(world.ledger.analyses) == 1
    assert world.said[0] == "True"


def _env(body: Any) -> list[Any]:
    found: list[Any] = body["spec"]["template"]["spec"]["containers"][0]["env"]
    return found


def test_corrections_go_into_the_ledger_before_what_is_analysed_is_fixed() -> None:
    world = World.of()
    world.rest()
    world.end(pod(SAID))
    made = LedgerEntry("correction", run="cohort-1-00001", sha256="7" * 64)

    world.ask("corrected")
    first = world.step(later=[made])
    world.rest()

    assert isinstance(first.action, Append)
    assert [(one.number, one.run, one.sha256) for one in world.ledger.corrections] == [(4, "cohort-1-00001", "7" * 64)]
    assert [env_of(job)["FAIRTRIAL_LEDGER_SIZE"] for job in world.created] == ["2", "4"]
    assert not decide_analysis.begins(world.cohort), "what is made from now on is for another request"


def test_a_release_goes_into_the_ledger_before_what_is_analysed_is_fixed_and_is_signed_over() -> None:
    world = World.of()
    world.rest()
    world.end(pod(SAID))

    world.ask("released")
    world.step(later=[LedgerEntry("release", sha256="8" * 64)])
    world.rest()

    assert world.ledger.release is not None
    assert (world.ledger.release.number, world.ledger.release.sha256) == (4, "8" * 64)
    assert [env_of(job)["FAIRTRIAL_LEDGER_SIZE"] for job in world.created] == ["2", "4"]
    assert 4 in world.ledger.checkpoints


def test_a_new_request_puts_an_end_to_the_job_of_the_one_before() -> None:
    world = World.of()
    world.rest()
    (first,) = world.jobs

    world.ask("again")
    world.rest()

    (second,) = world.jobs
    assert first != second
    assert world.cohort.status.analysis.job == second  # type: ignore[union-attr]


def test_a_long_request_is_remembered_by_its_digest() -> None:
    world = World.of(token="x" * 1000)
    world.rest()
    assert len(world.cohort.status.analysis.request) == 64  # type: ignore[union-attr]
    world.end(pod(SAID))
    assert decide(world.cohort, world.seen(), NOON) == CohortDecision()


# --- who is analysed --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, True),
        ({"stage": "smoke"}, False),
        ({"stage": "smoke", "token": "now"}, True),
        ({"reason": "Cancelled", "cancel": {"reason": "no"}}, False),
        ({"reason": "Cancelled", "cancel": {"reason": "no"}, "token": "now"}, True),
        ({"analysis": None}, False),
        ({"analysis": None, "token": "now"}, False),
    ],
)
def test_an_analysis_begins_by_itself_or_on_demand(changes: dict[str, Any], expected: bool) -> None:
    assert decide_analysis.due(World.of(**changes).cohort) is expected


def test_a_cohort_that_is_being_deleted_is_left_alone() -> None:
    world = World.of()
    gone = world.cohort.metadata.model_copy(update={"deletion_timestamp": "2026-01-01T12:00:00Z"})
    assert not decide_analysis.due(world.cohort.model_copy(update={"metadata": gone}))


@pytest.mark.parametrize(
    ("image", "settings", "reason", "tells"),
    [
        (f"evil.example/x@sha256:{'b' * 64}", SETTINGS, "AnalysisImageNotAllowed", IMAGE),
        (IMAGE, None, "AnalysisNotConfigured", "images.analysis"),
    ],
)
def test_no_job_is_made_where_an_administrator_did_not_allow_it(
    image: str, settings: Any, reason: str, tells: str
) -> None:
    world = World.of(image=image)

    world.rest(analysis=settings)

    assert world.created == []
    assert world.said == ("False", reason)
    assert tells in world.message


@pytest.mark.parametrize(("version", "refused"), [("0.1.0", False), ("1", True)])
def test_a_version_that_is_not_the_images_is_refused_before_it_is_sealed(version: str, refused: bool) -> None:
    cohort = make_cohort(seal=True, analysis={"version": version, "image": IMAGE})
    settings = replace(SETTINGS, versions={IMAGE: "0.1.0"})

    decision = decide(cohort, CohortSeen(NAMESPACE, found=FOUND, analysis=settings), NOON)

    if not refused:
        assert isinstance(decision.action, PutPreregistration)
        return
    assert isinstance(decision.action, WriteCohort)
    found = find_condition(decision.action.status.conditions, "Accepted")
    assert found is not None and found.reason == "NotAcceptable"
    assert "spec.analysis.version is '1', but the analysis in that image is '0.1.0'" in found.message


# --- what goes wrong --------------------------------------------------------------------------------------------------
def test_a_failed_attempt_is_told_while_the_job_repeats_it() -> None:
    world = World.of()
    world.rest()

    world.end(pod({"error": "The store is down.", "nextMove": "Wait."}, code=1), job={"status": {}})

    assert world.said == ("False", "Retrying")
    assert "Attempt 1 failed and is repeated. The store is down. Wait." in world.message
    assert world.cohort.status.analysis.job is not None  # type: ignore[union-attr]
    world.end(pod({"error": "x"}, code=1), pod(SAID, created="2026-01-01T12:00:09Z"))
    assert world.said == ("True", "NotSupported")


FAILED = over("Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit")


@pytest.mark.parametrize(
    ("pods", "job", "reason", "tells"),
    [
        ([pod({"error": "Leaks.", "nextMove": "Withhold."}, code=2)], FAILED, "AnalysisFailed", "Leaks. Withhold."),
        ([pod("Traceback\nMemoryError", code=137)], FAILED, "AnalysisFailed", "exit code 137: MemoryError"),
        ([pod(code=1, containerStatuses=[], reason="Evicted", message="disk")], FAILED, "AnalysisFailed", "Evicted"),
        ([], over("Failed", "DeadlineExceeded", "too long"), "Deadline", "too long"),
        ([], FAILED, "AnalysisFailed", "backoff limit"),
        ([pod("nothing")], over(), "AnalysisFailed", "did not say what it made"),
        ([pod(SAID | {"packageSha256": "short"})], over(), "AnalysisFailed", "did not say what it made"),
        ([], over(), "AnalysisFailed", "is gone before it was read"),
    ],
)
def test_a_failure_is_told_with_its_cause_and_how_to_ask_again(pods: Any, job: Any, reason: str, tells: str) -> None:
    world = World.of()
    world.rest()

    world.end(*pods, job=job)

    assert world.said == ("False", reason)
    assert tells in world.message
    assert f"kubectl -n system logs job/{next(iter(world.jobs))}" in world.message
    assert "kubectl annotate --overwrite bcohort cohort-1 -n trials fairtrial.dev/analyse=" in world.message
    assert world.events == ["AnalysisFailed"]
    assert world.ledger.analyses == []
    assert decide(world.cohort, world.seen(), NOON) == CohortDecision(), "not again by itself"
    world.ask("again")
    world.rest()
    assert len(world.created) == 2


def test_a_deadline_says_what_held_the_analysis_up() -> None:
    world = World.of()
    world.rest()
    waiting = {"name": "analysis", "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}}
    world.end(pod(phase="Pending", containerStatuses=[waiting]), job={"status": {}})
    assert world.said == ("False", "ImagePullFailed")

    world.end(job=over("Failed", "DeadlineExceeded", "Job was active longer than specified deadline"))

    assert world.said == ("False", "Deadline")
    assert "no such image" in world.message


@pytest.mark.parametrize(
    ("reason", "expected"),
    [("CreateContainerConfigError", "ContainerNotCreated"), ("ErrImagePull", "ImagePullFailed")],
)
def test_what_keeps_the_pod_from_starting_is_told_and_waited_for(reason: str, expected: str) -> None:
    world = World.of()
    world.rest()
    waiting = {"name": "analysis", "state": {"waiting": {"reason": reason, "message": 'secret "key" not found'}}}

    world.end(pod(phase="Pending", containerStatuses=[waiting]), job={"status": {}})

    assert world.said == ("False", expected)
    assert 'secret "key" not found' in world.message
    assert world.rest().again_after is not None


def test_a_job_that_the_api_server_refuses_is_tried_again() -> None:
    world = World.of()
    world.rest()
    world.jobs.clear()

    rest = world.rest(refused=Trouble("AnalysisRefused", "exceeded quota: jobs"))

    assert rest.retry
    assert world.said == ("False", "AnalysisRefused")


@pytest.mark.parametrize("reason", ["StoreUnavailable", "LedgerBroken"])
def test_nothing_begins_without_the_ledger(reason: str) -> None:
    world = World.of()

    rest = world.rest(ledger=None, ledger_trouble=Trouble(reason, "why"))

    assert (world.said, world.created, rest.retry) == (("False", reason), [], True)


def test_the_name_of_a_job_is_a_label_whatever_the_cohort_is_called() -> None:
    cohort = make_cohort("a" * 35 + "-" + "c" * 27)
    name = analysis_job.job_name(cohort, "x" * 64, 10**7)
    assert len(name) <= 63
    assert "--" not in name
    assert name != analysis_job.job_name(cohort, "y", 10**7)
