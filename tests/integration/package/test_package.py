"""From a cohort on a real store to a package in a folder: complete, the same every time, another for other evidence."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import bagit
import pytest
from fairtrial_analysis.examples import Came, usual

import local_cluster
from fairtrial.attest import dsse, timestamp, trust
from fairtrial.attest.statement import PACKAGE
from fairtrial.cli.download import Address, PackageUnfit, download
from fairtrial.evidence import package_paths as paths
from fairtrial.evidence.layout import sha256
from tests import stored_cohort
from tests.authority import Authority
from tests.boto import boto
from tests.integration.package.conftest import Bucket
from tests.stored_cohort import Stored


def test_a_fetched_package_is_a_valid_bag_under_its_own_digest(fetched: Path, published: object) -> None:
    assert bagit.Bag(str(fetched)).validate()
    assert sha256((fetched / paths.MANIFEST).read_bytes()) == published.digest  # type: ignore[attr-defined]


def test_it_holds_every_object_of_the_cohort(bucket: Bucket, fetched: Path) -> None:
    held = {sha256(path.read_bytes()) for path in fetched.rglob("*") if path.is_file()}

    assert {sha256(bucket.made.store.get(key)) for key in bucket.made.store.keys("")} <= held


def test_the_analysis_signed_for_the_list_and_an_authority_stamped_it(
    bucket: Bucket, fetched: Path, tsa: Authority
) -> None:
    said = dsse.verify((fetched / paths.STATEMENT).read_bytes(), bucket.made.keys.trust, trust.PACKAGE).statement

    assert said.predicate_type == PACKAGE
    assert said.digests == {name: sha256((fetched / name).read_bytes()) for name in paths.SUBJECTS}
    request = json.loads((fetched / "data" / paths.REQUEST).read_bytes())
    verdict = json.loads((fetched / "data" / paths.REPORT).read_bytes())["executive"]["verdict"]
    assert said.predicate == request | {"verdict": verdict}
    reply, stamped = (fetched / paths.TIMESTAMP).read_bytes(), (fetched / paths.MANIFEST).read_bytes()
    assert timestamp.verify(reply, stamped, [trust.authority("test", tsa.root_pem)], name="tsr").authority == "test"


def test_made_again_it_is_the_same_and_what_was_stamped_first_stays(
    bucket: Bucket, fetched: Path, published: object, tsa: Authority, tmp_path: Path
) -> None:
    asked = tsa.asked

    again = bucket.publish(tsa.url)

    assert again == published
    assert tsa.asked == asked
    other = bucket.fetch(again, tmp_path / "again")
    names = {path.relative_to(fetched) for path in fetched.rglob("*")}
    assert names == {path.relative_to(other) for path in other.rglob("*")}
    for name in names:
        if (fetched / name).is_file():
            assert (other / name).read_bytes() == (fetched / name).read_bytes(), name


def test_one_other_record_is_another_package_and_no_artifact_is_read_for_it(
    bucket: Bucket, published: object, new_bucket: Callable[[Stored], Bucket]
) -> None:
    def story(task: int, arm: str, repetition: int, attempt: int) -> Came:
        came = usual(task, arm, repetition, attempt)
        return replace(came, seconds=came.seconds + 1) if (arm, repetition) == ("plain", 2) else came

    other = new_bucket(stored_cohort.make(story))
    calls: list[tuple[str, str]] = []
    send = other.store.s3.send

    def noted(method: str, key: str = "", *rest: Any, **more: Any) -> Any:
        calls.append((method, key))
        return send(method, key, *rest, **more)

    other.store.s3.send = noted  # type: ignore[method-assign]

    made = other.package()

    assert made.digest != published.digest  # type: ignore[attr-defined]
    read = [key for name, key in calls if name == "GET" and key]
    runs = len(other.made.ledger.records)
    assert not [key for key in read if "/artifacts/" in key and not key.endswith("calls.json")]
    assert not [key for key in read if "/exchange." in key]
    # Four documents of each run, and those of the cohort: nothing is read twice.
    assert len(read) == len(set(read))
    assert len([key for key in read if "/runs/" in key]) == 4 * runs
    assert {name for name, _ in calls} == {"GET", "HEAD"}
    assert len([name for name, key in calls if not key]) == 1, "one listing, of the ledger's pages, to fetch them ahead"
    assert len([name for name, _ in calls if name == "HEAD"]) == 2, "two tasks, two archives"


def test_a_package_that_was_stopped_half_way_is_finished_by_the_next_attempt(
    new_bucket: Callable[[Stored], Bucket], tmp_path: Path
) -> None:
    bucket = new_bucket(stored_cohort.make(tasks=1))
    package = bucket.package()
    written: list[str] = []
    put = bucket.store.put

    def stopping(key: str, data: bytes, **options: str) -> object:
        if len(written) == 5:
            raise KeyboardInterrupt
        written.append(key)
        return put(key, data, **options)

    bucket.store.put = stopping  # type: ignore[method-assign, assignment]
    with pytest.raises(KeyboardInterrupt):
        bucket.publish()
    bucket.store.put = put  # type: ignore[method-assign]
    half = Address.of(package.uri, bucket.name)
    with pytest.raises(Exception, match="no such object"):
        download(bucket.store, half, tmp_path / "half")

    done = bucket.publish()

    assert bagit.Bag(str(bucket.fetch(done, tmp_path / "whole"))).validate()


def test_an_artifact_that_is_gone_is_named_and_the_rest_is_kept(
    new_bucket: Callable[[Stored], Bucket], tmp_path: Path
) -> None:
    bucket = new_bucket(stored_cohort.make(tasks=1))
    done = bucket.publish()
    key = bucket.made.paths.key("runs/example-00001/artifacts/agent/snapshot.tar")
    boto(bucket.store).delete_object(Bucket=bucket.name, Key=key)

    with pytest.raises(PackageUnfit, match=r"example-00001.*snapshot\.tar") as failed:
        bucket.fetch(done, tmp_path / "package")
    assert failed.value.message.startswith("1 of ")

    bucket.store.put(str(key), bucket.made.store.get(str(key)))
    assert bagit.Bag(str(bucket.fetch(done, tmp_path / "package"))).validate()


def test_the_command_fetches_by_address_and_tells_path_verdict_and_what_to_do_next(
    bucket: Bucket, fetched: Path, published: object, cluster: local_cluster.Cluster, tmp_path: Path
) -> None:
    environment = os.environ | cluster.environment() | {"FAIRTRIAL_S3_BUCKET": bucket.name}
    command = [sys.executable, "-c", "from fairtrial.cli import main; main()", "fetch", published.uri]  # type: ignore[attr-defined]

    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    folder = f"evidence/{published.digest}"  # type: ignore[attr-defined]
    assert (done.returncode, done.stderr) == (0, "")
    verdict = json.loads((fetched / "data" / paths.REPORT).read_bytes())["executive"]["verdict"]
    lines = dict(line.split(maxsplit=1) for line in done.stdout.splitlines())
    assert lines["package"].startswith(f"{folder}: ")
    assert lines["verdict"] == verdict
    assert lines["next"] == f"fairtrial verify {folder} --trust trust.json"
    assert bagit.Bag(str(tmp_path / folder)).validate()
