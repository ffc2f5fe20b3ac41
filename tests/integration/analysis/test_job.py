"""The analysis's program on a real S3 server, as its Job starts it: once, again, killed in the middle, and refused."""

import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from fairtrial_analysis.__main__ import EXIT_AGAIN, EXIT_DONE, EXIT_REFUSED

import local_cluster
from fairtrial.attest import dsse
from fairtrial.evidence.layout import Layout, key_of_uri, sha256
from fairtrial.evidence.store import S3Settings, S3Store
from fairtrial.signing import keys
from local_cluster import s3
from tests import stored_cohort
from tests.stored_cohort import Stored

BUCKET = "test-analysis-job"
IMAGE = f"registry.example/analysis@sha256:{'a' * 64}"


@pytest.fixture(scope="module")
def made() -> Stored:
    return stored_cohort.make()


@dataclass
class Job:
    """One cohort in the store, and what the operator tells the Job."""

    made: Stored
    store: S3Store
    env: dict[str, str]
    said: Path

    def start(self, **changes: str) -> "subprocess.Popen[bytes]":
        self.said.write_text("")
        command = [sys.executable, "-m", "fairtrial_analysis", "run"]
        return subprocess.Popen(command, env=self.env | changes, stderr=subprocess.PIPE)

    def run(self, **changes: str) -> tuple[int, dict[str, Any], str]:
        """Exit code, termination message, and log."""
        process = self.start(**changes)
        log = process.communicate(timeout=120)[1].decode()
        return process.returncode, json.loads(self.said.read_text() or "{}"), log

    def packages(self) -> set[str]:
        """Digests of the packages that have a statement."""
        here = self.made.example.layout.cohort(*self.made.example.address).base
        found = [key.removeprefix(f"{here}/packages/") for key in self.store.keys(f"{here}/packages/")]
        return {key.partition("/")[0] for key in found if key.endswith(".sigstore.json")}


@pytest.fixture
def job(cluster: local_cluster.Cluster, made: Stored, tmp_path: Path) -> Iterator[Job]:
    s3.make_bucket(BUCKET, lock=False)
    prefix = f"{secrets.token_hex(4)}/"
    keys.new(tmp_path / "key.pem")
    namespace, name, uid = made.example.address
    env = {
        **{key: os.environ[key] for key in ("PATH", "PYTHONPATH", "HOME") if key in os.environ},
        **cluster.environment(),
        "FAIRTRIAL_S3_BUCKET": BUCKET,
        "FAIRTRIAL_S3_PREFIX": prefix,
        "FAIRTRIAL_COHORT_NAMESPACE": namespace,
        "FAIRTRIAL_COHORT": name,
        "FAIRTRIAL_COHORT_UID": uid,
        "FAIRTRIAL_LEDGER_SIZE": str(made.example.size),
        "FAIRTRIAL_ANALYSIS_IMAGE": IMAGE,
        "FAIRTRIAL_SIGNING_KEY": f"file:{tmp_path / 'key.pem'}",
        "FAIRTRIAL_SIGNING_DEVELOPMENT": "true",
        "FAIRTRIAL_TERMINATION_LOG": str(tmp_path / "termination-log"),
    }
    store = S3Store(S3Settings.from_env(env))
    for key in made.store.keys(""):
        store.put(f"{prefix}{key}", made.store.get(key))
    placed = replace(made, example=replace(made.example, layout=Layout(prefix)))
    yield Job(placed, store, env, tmp_path / "termination-log")
    store.close()


def test_a_package_is_stored_signed_and_told(job: Job) -> None:
    code, said, log = job.run()

    assert code == EXIT_DONE, log
    base = key_of_uri(said["packageUri"])
    manifest = job.store.get(f"{base}/manifest-sha256.txt")
    report = job.store.get(f"{base}/data/analysis/report.json")
    assert (said["packageSha256"], said["reportSha256"]) == (sha256(manifest), sha256(report))
    assert said["verdict"] == json.loads(report)["executive"]["verdict"]
    bundle = dsse.parse(job.store.get(f"{base}/manifest-sha256.txt.sigstore.json"), name="statement")
    assert bundle.key_id == keys.load(job.env["FAIRTRIAL_SIGNING_KEY"]).key_id
    assert json.loads(report)["provenance"]["signing"] == "development"
    assert json.loads(report)["provenance"]["analysisImage"] == IMAGE
    assert "documents read" in log and "of memory at most" in log


def test_another_attempt_gives_the_same_and_makes_no_second_package(job: Job) -> None:
    _, first, _ = job.run()
    before = {key: job.store.get(key) for key in job.store.keys(f"{key_of_uri(first['packageUri'])}/")}

    code, second, log = job.run(PYTHONHASHSEED="7", TZ="Pacific/Auckland", LC_ALL="C")

    assert (code, second) == (EXIT_DONE, first), log
    assert job.packages() == {first["packageSha256"]}
    assert {key: job.store.get(key) for key in before} == before


def test_an_attempt_that_is_killed_leaves_nothing_that_stands_in_the_way(job: Job) -> None:
    for seconds in (1.0, 2.0, 3.0, 4.0):
        process = job.start()
        time.sleep(seconds)
        process.kill()
        process.communicate()

    code, said, log = job.run()

    assert code == EXIT_DONE, log
    assert job.packages() == {said["packageSha256"]}


@pytest.mark.parametrize(
    ("changes", "code", "tells"),
    [
        ({"FAIRTRIAL_S3_ENDPOINT": "http://127.0.0.1:9"}, EXIT_AGAIN, "did not answer"),
        ({"FAIRTRIAL_SIGNING_KEY": "file:/none.pem"}, EXIT_AGAIN, "can't be read"),
        ({"FAIRTRIAL_COHORT_UID": "00000000-0000-4000-8000-00000000dead"}, EXIT_REFUSED, "preregistration"),
        ({"FAIRTRIAL_LEDGER_SIZE": "many"}, EXIT_REFUSED, "FAIRTRIAL_LEDGER_SIZE"),
        ({"FAIRTRIAL_TRUST": "/none.json"}, EXIT_REFUSED, "Trust list"),
    ],
)
def test_what_fails_says_why_and_whether_to_repeat(job: Job, changes: dict[str, str], code: int, tells: str) -> None:
    ended, said, log = job.run(**changes)

    assert ended == code, log
    assert tells in said["error"]
    assert "Traceback" not in log
    assert job.packages() == set()
