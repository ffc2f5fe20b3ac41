"""The analysis of a complete cohort, with a real API server, its Job controller and a real store: pods say what a test
lets them say, and the operator dies around each of its calls.
"""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from fairtrial_operator.kube import COHORTS, EVENTS, JOBS, PODS

from fairtrial import names
from tests.integration.operator.conftest import LONG_AGO, NODE_LABEL, Kubelet, World, container, list_all
from tests.integration.operator.test_cohort import DIED, cohort, complete, ledger, nodes, tasks, when

__all__ = ["nodes", "tasks"]  # fixtures
IMAGE = f"localhost/fairtrial/analysis@sha256:{'e' * 64}"
ANY = f"localhost/fairtrial/any@sha256:{'f' * 64}"
KINDS = "benchmarkcohorts jobs events"


class Analysis:
    """What plays the analysis's pods, and asks for them."""

    def __init__(self, world: World, kubelet: Kubelet, folder: Path) -> None:
        self.world, self.kubelet, self.folder = world, kubelet, folder

    def environ(self, images: str = IMAGE) -> dict[str, str]:
        security: dict[str, Any] = {"runAsNonRoot": True, "runAsUser": 65532, "allowPrivilegeEscalation": False}
        security |= {"capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "RuntimeDefault"}}
        pod = {
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
            "nodeSelector": {NODE_LABEL: self.world.token},
            "tolerations": [{"key": NODE_LABEL, "operator": "Exists"}],
            "containers": [{"name": "analysis", "securityContext": security}],
        }
        refused = {"action": "FailJob", "onExitCodes": {"containerName": "analysis", "operator": "In", "values": [2]}}
        job = {
            "apiVersion": JOBS.api_version,
            "kind": JOBS.kind,
            "metadata": {"namespace": self.world.system},
            "spec": {
                "backoffLimit": 2,
                "podFailurePolicy": {"rules": [refused]},
                "template": {"spec": pod},
            },
        }
        file = self.folder / "job.json"
        file.write_text(json.dumps(job))
        return {"FAIRTRIAL_ANALYSIS_JOB": str(file), "FAIRTRIAL_ANALYSIS_IMAGES": images}

    async def pods(self) -> list[Any]:
        return await list_all(self.world.kube, PODS, self.world.system)

    async def jobs(self) -> list[Any]:
        return await list_all(self.world.kube, JOBS, self.world.system)

    async def ends(self, code: int = 0, **said: str) -> None:
        """The next pod of an analysis that has not ended says this, and ends."""

        async def waiting() -> Any:
            found = [pod for pod in await self.pods() if pod["spec"].get("nodeName")]
            return next((pod for pod in found if pod["status"]["phase"] in ("Pending", "Running")), None)

        pod = await self.world.until(waiting, "an analysis has a pod on the node")
        over = {"exitCode": code, "reason": "Error" if code else "Completed", "message": json.dumps(said)}
        state = {"terminated": over | {"startedAt": LONG_AGO, "finishedAt": LONG_AGO}}
        phase = "Failed" if code else "Succeeded"
        await self.kubelet.status(pod, {"phase": phase, "containerStatuses": [container("analysis", state)]})

    async def waits(self, reason: str, message: str) -> None:
        async def waiting() -> Any:
            return next((pod for pod in await self.pods() if pod["spec"].get("nodeName")), None)

        pod = await self.world.until(waiting, "an analysis has a pod on the node")
        state = {"waiting": {"reason": reason, "message": message}}
        await self.kubelet.status(pod, {"phase": "Pending", "containerStatuses": [container("analysis", state)]})

    async def ask(self, token: str) -> None:
        await self.world.change(COHORTS, "c1", {"metadata": {"annotations": {names.ANALYSE_ANNOTATION: token}}})

    async def forget_events(self) -> None:
        """One is posted for each reason; where it is gone, posting it again is a call like any other."""
        for event in await self.world.events():
            if event["reason"] == "Analysed":
                await self.world.kube.delete(EVENTS, event)

    async def said(self, status: str, reason: str) -> Any:
        def holds(told: Any) -> bool:
            return self.world.condition(told, "Analysed") == (status, reason)

        return await when(self.world, holds, f"Analysed={status}/{reason}")


def package(number: int, verdict: str = "SUPPORTED") -> dict[str, str]:
    digest = f"{number:064x}"
    uri = f"s3://b/packages/{digest}"
    return {"packageUri": uri, "packageSha256": digest, "reportSha256": "6" * 64, "verdict": verdict}


@pytest.fixture
async def analysis(world: World, kubelet: Kubelet, tmp_path: Path) -> Any:
    made = Analysis(world, kubelet, tmp_path)
    yield made
    for job in await made.jobs():
        await world.kube.delete(JOBS, job)


async def begin(world: World, **changes: Any) -> None:
    await world.kube.create(COHORTS, cohort(world, repetitions=1, analysis={"version": "1", "image": IMAGE}, **changes))


async def test_a_complete_cohort_gets_a_verdict_and_a_second_request_makes_no_second_entry(
    world: World, kube: Any, nodes: Any, tasks: None, operators: Any, analysis: Analysis
) -> None:
    operators().start(**analysis.environ())
    await begin(world)
    await analysis.ends(**package(1))

    live = await analysis.said("True", "Supported")

    status = live["status"]
    book = ledger(world, live)
    assert [(one.sha256, one.outcome, one.number) for one in book.analyses] == [(f"{1:064x}", "SUPPORTED", book.size)]
    assert status["phase"] == "Analysed"
    assert status["ledgerEntries"] == book.size
    told = {key: status["analysis"][key] for key in package(1)}
    assert (told, status["analysis"]["ledgerEntries"]) == (package(1), book.size - 1)
    (job,) = await analysis.jobs()
    assert job["spec"]["template"]["spec"]["containers"][0]["image"] == IMAGE
    events = {event["reason"]: event["type"] for event in await world.events()}
    assert events == {"Sealed": "Normal", "Complete": "Normal", "Analysed": "Normal"}

    await analysis.ask("again")
    await analysis.said("Unknown", "Analysing")
    await analysis.ends(**package(1))
    again = await analysis.said("True", "Supported")

    assert ledger(world, again).size == book.size
    assert again["status"]["analysis"]["request"] == "again"
    sizes = [env["value"] for one in await analysis.jobs() for env in _env(one) if env["name"].endswith("LEDGER_SIZE")]
    assert sizes == [str(book.size - 1)] * 2


def _env(job: Any) -> list[Any]:
    found: list[Any] = job["spec"]["template"]["spec"]["containers"][0]["env"]
    return found


async def test_failures_are_told_repeated_by_the_job_and_asked_for_again(
    world: World, kube: Any, nodes: Any, tasks: None, operators: Any, analysis: Analysis
) -> None:
    operators().start(**analysis.environ())
    await begin(world)
    await analysis.waits("CreateContainerConfigError", 'secret "fairtrial-analysis-key" not found')
    waiting = await analysis.said("False", "ContainerNotCreated")
    assert "fairtrial-analysis-key" in json.dumps(waiting["status"])
    await analysis.ends(1, error="The store is away.", nextMove="Wait.")
    retrying = await analysis.said("False", "Retrying")
    assert "Attempt 1 failed and is repeated. The store is away. Wait." in json.dumps(retrying["status"])
    await analysis.ends(2, error="Credentials were found in 3 runs.", nextMove="Withhold them.")

    failed = await analysis.said("False", "AnalysisFailed")

    told = next(c["message"] for c in failed["status"]["conditions"] if c["type"] == "Analysed")
    assert told.startswith(f"Credentials were found in 3 runs. Withhold them. Log: kubectl -n {world.system} logs job/")
    assert "Ask again: kubectl annotate --overwrite bcohort c1" in told
    assert failed["status"]["phase"] == "Complete"
    assert len(await analysis.pods()) == 2, "a refusal is not repeated"
    await analysis.ask("mended")
    await analysis.ends(**package(2, "INCONCLUSIVE"))
    assert (await analysis.said("True", "Inconclusive"))["status"]["phase"] == "Analysed"


async def test_an_image_that_no_administrator_listed_is_never_given_the_credentials(
    world: World, kube: Any, nodes: Any, tasks: None, operators: Any, analysis: Analysis
) -> None:
    first = operators().start(**analysis.environ(images=ANY))
    await begin(world)
    refused = await when(world, lambda s: world.condition(s, "Accepted")[0] == "False", "is refused")
    assert world.condition(refused["status"], "Accepted")[1] == "AnalysisImageNotAllowed"
    first.kill()
    operators().start()  # an installation that analyses nothing seals it all the same
    await complete(world)
    await analysis.said("False", "AnalysisNotConfigured")
    assert await analysis.jobs() == []


@pytest.mark.slow
async def test_dying_around_each_call_of_an_analysis_makes_one_job_and_one_entry_each(
    world: World, kube: Any, nodes: Any, tasks: None, operators: Any, analysis: Analysis
) -> None:
    first = operators().start()
    await begin(world)
    await complete(world)
    assert first.stop() == 0
    world.log.unlink()
    environ = analysis.environ() | {"FAIRTRIAL_TEST_KINDS": KINDS}
    undisturbed = operators().start(**environ)
    await analysis.ends(**package(0))
    live = await analysis.said("True", "Supported")
    assert undisturbed.stop() == 0
    calls, size = len(world.calls()), ledger(world, live).size
    assert 5 <= calls <= 9, world.calls()

    points = [(moment, number) for number in range(1, calls + 1) for moment in ("before", "after")]
    for count, (moment, number) in enumerate(points, start=1):
        token = f"{moment}-{number}"
        await analysis.forget_events()
        await analysis.ask(token)
        ending = asyncio.create_task(analysis.ends(**package(count)))
        doomed = operators().start(FAIRTRIAL_TEST_CRASH=f"* {moment} {number}", **environ)
        assert await doomed.died() == DIED, f"no crash at {token}"
        successor = operators().start(**environ)
        await ending
        live = await when(world, lambda s, n=count: _of(s) == f"{n:064x}", f"{token} is analysed")
        successor.kill()

        assert live["status"]["analysis"]["request"] == token
        book = ledger(world, live)
        assert book.size == live["status"]["ledgerEntries"] == size + count, token
        assert [entry.sha256 for entry in book.analyses] == [f"{n:064x}" for n in range(count + 1)], token
        assert len(await analysis.jobs()) == 1 + count, token


def _of(status: Any) -> str:
    """The package of a cohort that is analysed."""
    return str(status["analysis"].get("packageSha256")) if status.get("phase") == "Analysed" else ""
