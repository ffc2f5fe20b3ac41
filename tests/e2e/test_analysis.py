"""From complete to verified on real pods: a confirmatory cohort, its package, an auditor, and what goes wrong."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from examples.demo import cohorts, signing
from examples.demo.install import STORE_SECRET, SYSTEM_NAMESPACE, install
from fairtrial import names
from fairtrial.cli.kubectl import Kubectl
from fairtrial.evidence import layout
from tests.e2e.conftest import NO_SUCH_IMAGE, World

pytestmark = pytest.mark.timeout(1800)
Cohort = dict[str, Any]
TASKS = ("parse-defect-v1", "stock-field-v1")


def system() -> Kubectl:
    return Kubectl(None, SYSTEM_NAMESPACE)


def cohort_of(world: World, name: str, **spec: Any) -> Cohort:
    """The example cohort with two of its tasks under another name."""
    made = cohorts.cohort_of(world.target.images, world.kubectl, "paired")
    made["metadata"]["name"] = name
    made["spec"]["tasks"] = [task for task in made["spec"]["tasks"] if task["name"] in TASKS]
    made["spec"]["execution"] |= {"parallelism": 4, "rampSeconds": 1}
    made["spec"] |= spec
    return made


def fairtrial(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [str(Path(sys.executable).with_name("fairtrial")), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def get(world: World, name: str) -> Cohort:
    return world.kubectl.get(cohorts.KIND, name)


def ask(world: World, name: str, token: str) -> None:
    world.kubectl.run("annotate", "--overwrite", "bcohort", name, f"{names.ANALYSE_ANNOTATION}={token}")


def wait(world: World, name: str, until: Callable[[Cohort], bool], seconds: float = 300) -> Cohort:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        live = get(world, name)
        if until(live):
            return live
        time.sleep(1)
    raise AssertionError(f"{name} did not get there in {seconds} s:\n{json.dumps(live.get('status'), indent=1)}")


def said(world: World, live: Cohort) -> tuple[str, str]:
    found = world.condition(live, "Analysed")
    return found.get("status", ""), found.get("reason", "")


def is_analysed(live: Cohort, request: str = "") -> bool:
    status = live.get("status", {})
    return status.get("phase") == "Analysed" and (status["analysis"].get("request") or "") == request


@pytest.fixture(scope="module")
def analysed(world: World) -> Cohort:
    """A confirmatory cohort of 20 runs, analysed."""
    cohort = cohort_of(world, "audited")
    assert cohort["spec"]["stage"] == "confirmatory"
    cohorts.carried_out(world.kubectl, cohort, timeout_seconds=600)
    return wait(world, "audited", is_analysed)


@pytest.fixture(scope="module")
def package(world: World, analysed: Cohort, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its package, fetched."""
    to = tmp_path_factory.mktemp("fetched") / "package"
    done = fairtrial("fetch", "audited", "--namespace", world.namespace, "--to", str(to))
    assert done.returncode == 0, done.stdout + done.stderr
    return to


@pytest.fixture
def jobs(world: World) -> Iterator[Callable[[str], list[dict[str, Any]]]]:
    """The Jobs of a cohort; those that would wait for hours go at the end."""

    def of(name: str) -> list[dict[str, Any]]:
        chosen = f"{names.COHORT_LABEL}={name},{names.COHORT_NAMESPACE_LABEL}={world.namespace}"
        found: list[dict[str, Any]] = system().get("jobs", "--selector", chosen)["items"]
        return found

    yield of
    system().run("delete", "jobs", "--selector", f"{names.COHORT_NAMESPACE_LABEL}={world.namespace}")


def test_a_complete_cohort_has_a_verdict_and_a_package(world: World, analysed: Cohort) -> None:
    analysis = analysed["status"]["analysis"]
    assert analysis["verdict"] in ("SUPPORTED", "NOT SUPPORTED", "INCONCLUSIVE")
    assert said(world, analysed)[0] == "True"
    base = layout.key_of_uri(analysis["packageUri"]).removesuffix("/")
    assert base.endswith(f"/packages/{analysis['packageSha256']}")
    assert layout.sha256(world.store.get(f"{base}/manifest-sha256.txt")) == analysis["packageSha256"]
    assert layout.sha256(world.store.get(f"{base}/data/analysis/report.json")) == analysis["reportSha256"]


def test_an_auditor_verifies_it_offline_and_is_told_where_a_byte_was_flipped(package: Path) -> None:
    good = fairtrial("verify", str(package), "--trust", str(signing.TRUST))
    assert good.returncode == 0, good.stdout + good.stderr
    record = sorted((package / "data" / "runs").glob("*/record.json"))[7]
    before = record.read_bytes()
    record.write_bytes(before[:500] + bytes([before[500] ^ 1]) + before[501:])
    try:
        bad = fairtrial("verify", str(package), "--trust", str(signing.TRUST))
    finally:
        record.write_bytes(before)

    assert bad.returncode == 1
    assert str(record.relative_to(package)) in bad.stdout


def test_standard_tools_agree_that_it_is_whole(package: Path) -> None:
    for command in (
        ["sha256sum", "--check", "--strict", "--quiet", "manifest-sha256.txt"],
        [sys.executable, "-m", "bagit", "--validate", "--quiet", "."],
    ):
        done = subprocess.run(command, cwd=package, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_package_computes_to_the_same_bytes_elsewhere(package: Path) -> None:
    command = [sys.executable, "-m", "fairtrial_analysis", "again", str(package)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "every byte is the same" in done.stdout


def test_the_report_is_shown_from_the_cohort_and_from_the_folder(world: World, analysed: Cohort, package: Path) -> None:
    verdict = analysed["status"]["analysis"]["verdict"]
    for where in (("audited", "--namespace", world.namespace), (str(package),)):
        done = fairtrial("report", *where)
        assert done.returncode == 0, done.stdout + done.stderr
        assert verdict in done.stdout.splitlines()[1]
        assert "worse-on-no-more-than-one-task" in done.stdout


def test_asking_again_gives_the_same_package(
    world: World, analysed: Cohort, jobs: Callable[[str], list[dict[str, Any]]]
) -> None:
    ask(world, "audited", "again")
    again = wait(world, "audited", lambda live: is_analysed(live, "again"))

    keys = ("packageUri", "packageSha256", "reportSha256", "verdict", "ledgerEntries")
    before, after = analysed["status"]["analysis"], again["status"]["analysis"]
    assert {key: after[key] for key in keys} == {key: before[key] for key in keys}
    assert again["status"]["ledgerEntries"] == analysed["status"]["ledgerEntries"]
    assert len(jobs("audited")) == 2


@pytest.mark.parametrize(
    ("which", "reason", "tells"),
    [("store", "ContainerNotCreated", "not found"), ("signing key", "Retrying", "can't be read")],
)
def test_a_missing_secret_is_named_and_its_return_is_enough(
    world: World, analysed: Cohort, which: str, reason: str, tells: str
) -> None:
    secret = STORE_SECRET if which == "store" else signing.secret_name("analysis")
    kept = system().get("secret", secret)
    kept["metadata"] = {key: kept["metadata"][key] for key in ("name", "namespace")}
    system().run("delete", "secret", secret)
    try:
        ask(world, "audited", f"without-{secret}")
        waiting = wait(world, "audited", lambda live: said(world, live) == ("False", reason), 120)
        assert tells in world.condition(waiting, "Analysed")["message"]
    finally:
        system().apply(json.dumps(kept))

    after = wait(world, "audited", lambda live: is_analysed(live, f"without-{secret}"))

    assert after["status"]["analysis"]["packageSha256"] == analysed["status"]["analysis"]["packageSha256"]


def test_an_image_that_does_not_come_is_told_and_can_be_asked_for_again(
    world: World, jobs: Callable[[str], list[dict[str, Any]]]
) -> None:
    install(world.target)  # whoever installed since may have left out that this image may analyse
    spec = cohort_of(world, "nowhere", stage="pilot", repetitions=1)
    del spec["spec"]["decisionRule"]  # it asks for five repetitions
    spec["spec"]["analysis"]["image"] = NO_SUCH_IMAGE
    cohorts.carried_out(world.kubectl, spec, timeout_seconds=300)

    live = wait(world, "nowhere", lambda live: said(world, live) == ("False", "ImagePullFailed"), 120)

    assert NO_SUCH_IMAGE in world.condition(live, "Analysed")["message"]
    assert live["status"]["phase"] == "Complete"
    (first,) = jobs("nowhere")
    ask(world, "nowhere", "once-more")
    wait(
        world,
        "nowhere",
        lambda live: (
            live["status"]["analysis"]["request"] == "once-more" and said(world, live) == ("False", "ImagePullFailed")
        ),
        120,
    )
    (second,) = jobs("nowhere")
    assert first["metadata"]["name"] != second["metadata"]["name"]
