"""Somebody's own cluster: what of their values file goes to Helm, and what is missing from it."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from examples.demo import __main__ as demo
from examples.demo import cohorts, signing
from examples.demo.install import OUR_IMAGES, ROOT, chart_values
from fairtrial.attest import trust

STORE = {
    "FAIRTRIAL_S3_ENDPOINT": "https://s3.example",
    "FAIRTRIAL_S3_BUCKET": "evidence",
    "AWS_ACCESS_KEY_ID": "id",
    "AWS_SECRET_ACCESS_KEY": "secret",
}
IMAGES = {name: f"registry.example/{name}@sha256:{'a' * 64}" for name in OUR_IMAGES}
EXAMPLES = {name: f"registry.example/{name}@sha256:{'b' * 64}" for name in demo.EXAMPLE_IMAGES}


@pytest.fixture
def values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    for name, value in STORE.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("shutil.which", lambda program: f"/usr/bin/{program}")

    def write(**content: Any) -> str:
        file = tmp_path / "values.yaml"
        file.write_text(yaml.safe_dump(content))
        return str(file)

    return write


@pytest.fixture(autouse=True)
def development_keys(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys as the demo makes them, but not in the checkout."""
    monkeypatch.setattr(signing, "EVIDENCE", tmp_path_factory.mktemp("evidence"))
    signing.ensure()


def test_the_users_values_win_and_hold_nothing_that_the_chart_does_not_know(values: Any) -> None:
    file = values(images=IMAGES, exampleImages=EXAMPLES, gateway={"replicas": 3}, store={"prefix": "team/"})

    target = demo.own_cluster("theirs", file)
    given = chart_values(target)

    assert given["gateway"] == {"replicas": 3}
    assert given["store"] == {
        "endpoint": "https://s3.example",
        "bucket": "evidence",
        "existingSecret": "fairtrial-store",
        "prefix": "team/",
    }
    assert "exampleImages" not in given
    assert target.images["python"] == EXAMPLES["python"]
    assert target.context == "theirs"


def test_images_that_are_missing_are_named(values: Any) -> None:
    with pytest.raises(SystemExit, match="no image for busybox, evaluator, node, python"):
        demo.own_cluster("theirs", values(images={k: v for k, v in IMAGES.items() if k != "evaluator"}))


# --- development keys -------------------------------------------------------------------------------------------------
def test_the_demo_signs_with_keys_of_its_own_unless_the_user_names_others(values: Any) -> None:
    ours = demo.own_cluster("theirs", values(images=IMAGES, exampleImages=EXAMPLES))
    assert chart_values(ours)["signing"]["development"] is True
    theirs = {"analysis": {"uri": "awskms:1"}}
    target = demo.own_cluster("theirs", values(images=IMAGES, exampleImages=EXAMPLES, signing=theirs))
    assert chart_values(target)["signing"] == theirs


def test_development_keys_are_made_once_and_one_for_each_role(tmp_path: Path) -> None:
    first = trust.load(signing.ensure(tmp_path).read_bytes())
    again = trust.load(signing.ensure(tmp_path).read_bytes())

    assert first == again
    assert {one.role for one in first.keys} == {*signing.ROLES, "studyOwner"}
    assert all(one.development for one in first.keys)
    assert len({one.key.key_id for one in first.keys}) == len(signing.TRUSTED)
    assert all(signing.key_file(role, tmp_path).stat().st_mode & 0o077 == 0 for role in signing.TRUSTED)
    held = {secret["metadata"]["name"]: secret["stringData"]["key.pem"] for secret in signing.secrets("s", tmp_path)}
    assert {one["existingSecret"] for one in signing.values(tmp_path).values() if isinstance(one, dict)} == held.keys()
    assert len(set(held.values())) == len(signing.ROLES)


@pytest.mark.parametrize("found", [0, 1])
def test_the_demo_of_a_cohort_ends_by_fetching_showing_and_verifying_its_package(
    found: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[list[str]] = []

    def run(command: list[str], **_: Any) -> "subprocess.CompletedProcess[str]":
        ran.append(command[1:])
        return subprocess.CompletedProcess(command, found if command[1] == "verify" else 0)

    monkeypatch.setattr(cohorts.Kubectl, "get", lambda *_: {"status": {"analysis": {"packageSha256": "d" * 64}}})
    monkeypatch.setattr(cohorts.subprocess, "run", run)

    assert cohorts.audited("paired", "demo", None, ROOT / "evidence" / "trust.json") == found

    folder = f"evidence/{'d' * 64}"
    assert ran == [
        ["fetch", "paired", "--namespace", "demo"],
        ["report", folder],
        ["verify", folder, "--trust", "evidence/trust.json"],
    ]
    told = capsys.readouterr()
    assert f"$ fairtrial verify {folder} --trust evidence/trust.json" in told.out + told.err
