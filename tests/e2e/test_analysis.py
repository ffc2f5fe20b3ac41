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
    """A confirmatory cohort of 20 runs, signed by its study owner before the first, and analysed."""
    cohort = cohort_of(world, "audited")
    assert cohort["spec"]["stage"] == "confirmatory"
    world.kubectl.apply(json.dumps(cohort | {"spec": cohort["spec"] | {"suspend": True}}))
    wait(world, "audited", lambda live: world.condition(live, "Sealed").get("status") == "True", 120)
    key = str(signing.key_file(signing.STUDY_OWNER))
    done = fairtrial("sign", "audited", "--namespace", world.namespace, "--key", key)
    assert done.returncode == 0, done.stdout + done.stderr
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


def test_the_study_owner_signed_before_the_first_run_was_admitted(world: World, package: Path) -> None:
    told = entries(package)
    kinds = [entry["kind"] for entry in told]
    assert kinds.index("endorsement") < kinds.index("ticket")
    signature = package / "data" / "preregistration.study.sigstore.json"
    assert told[kinds.index("endorsement")]["sha256"] == layout.sha256(signature.read_bytes())

    key = str(signing.key_file(signing.STUDY_OWNER))
    late = fairtrial("sign", "audited", "--namespace", world.namespace, "--key", key)

    assert late.returncode != 0
    assert "would be found to be late" in late.stdout + late.stderr


def entries(package: Path) -> list[dict[str, Any]]:
    """All entries of the ledger in a package."""
    pages = [json.loads(path.read_bytes()) for path in sorted((package / "data" / "ledger").iterdir())]
    return [entry for page in pages for entry in page["entries"]]


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


# --- what people do afterwards: it changes what there is to analyse, so these come last, in their order ---------------
SAYS = "The machine was restarted by hand, as the log of its room tells."


def analysed_again(world: World, token: str, to: Path) -> Path:
    """Ask for another analysis, and fetch the package that it makes."""
    ask(world, "audited", token)
    wait(world, "audited", lambda live: is_analysed(live, token))
    done = fairtrial("fetch", "audited", "--namespace", world.namespace, "--to", str(to))
    assert done.returncode == 0, done.stdout + done.stderr
    return to


def report_of(package: Path) -> dict[str, Any]:
    made: dict[str, Any] = json.loads((package / "data" / "analysis" / "report.json").read_bytes())
    return made


def verified(package: Path) -> str:
    done = fairtrial("verify", str(package), "--trust", str(signing.TRUST))
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def corrected(world: World, package: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A run that was voided after the end, and the package of the analysis that was asked for then."""
    run = next(entry["run"] for entry in entries(package) if entry["kind"] == "record" and entry["outcome"] == "passed")
    why = ("--void", "--run", run, "--reason", "protocol_deviation", "--says", SAYS)
    done = fairtrial("correct", "audited", "--namespace", world.namespace, *why)
    assert done.returncode == 0, done.stdout + done.stderr
    return run, analysed_again(world, "corrected", tmp_path_factory.mktemp("corrected") / "package")


def test_a_correction_is_told_in_the_ledger_counted_anew_and_shown(
    world: World, package: Path, corrected: tuple[str, Path]
) -> None:
    run, after = corrected

    verified(after)
    told = entries(after)[len(entries(package)) :]
    assert [entry["kind"] for entry in told] == ["analysis", "correction"], "the first analysis, and what came then"
    assert told[1]["run"] == run
    document = (after / "data" / "corrections" / "00000001.json").read_bytes()
    assert told[1]["sha256"] == layout.sha256(document)
    before, now = report_of(package), report_of(after)
    assert (before["corrections"], [one["run"] for one in now["corrections"]]) == ([], [run])
    counted = [sum(one["passed"] for one in report["flow"]) for report in (before, now)]
    assert counted[1] < counted[0]
    page = (after / "data" / "analysis" / "report.html").read_text()
    assert SAYS in page and SAYS not in (package / "data" / "analysis" / "report.html").read_text()


def test_the_package_from_before_it_is_still_what_it_was(package: Path, corrected: tuple[str, Path]) -> None:
    verified(package)


def test_what_was_hidden_is_released_and_the_auditor_has_it(
    world: World, corrected: tuple[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The study owner's account sees this namespace alone: what others on the cluster do does not matter here."""
    before = verified(corrected[1])
    assert "not released" in before
    monkeypatch.setenv("KUBECONFIG", str(study_owners_kubeconfig(world, tmp_path)))
    key = str(signing.key_file(signing.STUDY_OWNER))
    done = fairtrial("release", "audited", "--namespace", world.namespace, "--key", key)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Only cohorts of namespace" in done.stdout
    monkeypatch.undo()

    after = analysed_again(world, "released", tmp_path / "package")

    assert "not released" not in verified(after)
    committed = json.loads((after / "data" / "commitments.json").read_bytes())["sealedArchives"]
    held = {path.name: layout.sha256(path.read_bytes()) for path in (after / "data" / "sealed" / "sha256").iterdir()}
    assert held == {one["sealedSha256"]: one["sealedSha256"] for one in committed}
    assert len(held) == len(TASKS)
    assert entries(after)[-1]["kind"] == "release"


def study_owners_kubeconfig(world: World, folder: Path) -> Path:
    """Of an account that may look at the cohorts of this namespace."""
    name, rules = "study-owner", [{"apiGroups": ["fairtrial.dev"], "resources": ["*"], "verbs": ["get", "list"]}]
    account = {"kind": "ServiceAccount", "name": name, "namespace": world.namespace}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}
    for made in (
        {"apiVersion": "v1", "kind": "ServiceAccount"},
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "rules": rules},
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "roleRef": role, "subjects": [account]},
    ):
        world.kubectl.apply(json.dumps(made | {"metadata": {"name": name}}))
    token = world.kubectl.run("create", "token", name, "--duration", "1h").strip()
    kubeconfig: dict[str, Any] = json.loads(world.kubectl.run("config", "view", "--raw", "--minify", "-o", "json"))
    kubeconfig["users"][0]["user"] = {"token": token}
    path = folder / "kubeconfig"
    path.write_text(json.dumps(kubeconfig))
    return path
