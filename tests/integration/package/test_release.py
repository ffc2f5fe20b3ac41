"""Hidden archives on a real store: released, told in the ledger, analysed again, fetched, and verified offline."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from fairtrial_analysis.analyse import Settings, packaged
from fairtrial_analysis.package.publish import Published, publish

from fairtrial.cli.book import Book
from fairtrial.cli.download import Address, PackageUnfit, download
from fairtrial.cli.release import release
from fairtrial.evidence import package_paths as paths
from fairtrial.evidence.layout import sha256
from fairtrial.testing import CANDIDATE_IMAGE
from tests import stored_cohort
from tests.boto import boto
from tests.integration.package.conftest import Bucket
from tests.stored_cohort import Stored

Offline = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def released(new_bucket: Callable[[Stored], Bucket]) -> tuple[Bucket, Published, Published]:
    """A bucket with the package from before its release, and the one from after it."""
    made = stored_cohort.make(tasks=2)
    stored_cohort.hide(made)
    bucket = new_bucket(made)
    before = analysed(bucket, made.example.size)
    namespace, name, uid = made.example.address
    sealed = sha256(made.store.get(made.example.layout.cohort(*made.example.address).preregistration()))
    list(release(Book(bucket.store, made.example.layout, namespace, name, uid, sealed), made.keys.study_owner))
    size = stored_cohort.tell_of_release(made, bucket.store)
    assert analysed(bucket, made.example.size) == before, "a retry of the first analysis makes the first package"
    return bucket, before, analysed(bucket, size)


def analysed(bucket: Bucket, size: int) -> Published:
    example = bucket.made.example
    settings, where = Settings(size, CANDIDATE_IMAGE, "development"), (example.layout, bucket.name)
    made = packaged(bucket.store, where, example.address, settings, trust=bucket.trust.to_bytes())[1]
    return publish(made, bucket.store, bucket.made.keys.analysis)


@pytest.fixture(scope="module")
def fetched(released: tuple[Bucket, Published, Published], tmp_path_factory: pytest.TempPathFactory) -> Path:
    bucket, _, after = released
    return bucket.fetch(after, tmp_path_factory.mktemp("released") / "package")


def verified(package: Path, bucket: Bucket, offline: Offline) -> "subprocess.CompletedProcess[str]":
    trust = package.parent / "trust.json"
    trust.write_bytes(bucket.trust.to_bytes())
    program = "from fairtrial.cli import main; main()"
    return offline(sys.executable, "-c", program, "verify", package, "--trust", trust, cwd=package.parent)


def test_the_package_made_after_a_release_holds_the_archives_and_verifies(
    released: tuple[Bucket, Published, Published], fetched: Path, offline: Offline
) -> None:
    bucket, before, after = released

    done = verified(fetched, bucket, offline)

    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "not released" not in done.stdout
    assert before.digest != after.digest
    held = {path.name: path.read_bytes() for path in (fetched / "data/sealed/sha256").iterdir()}
    assert held == {digest: stored_cohort.hidden(bucket.made)[digest] for digest in held}
    assert len(held) == len(bucket.made.example.cohort.spec.tasks)
    subprocess.run(["sha256sum", "-c", "--quiet", "--strict", paths.MANIFEST], cwd=fetched, check=True)


def test_it_is_computed_anew_from_the_folder_to_the_same_bytes(fetched: Path, offline: Offline) -> None:
    done = offline(sys.executable, "-m", "fairtrial_analysis", "again", fetched, cwd=fetched.parent)

    assert done.returncode == 0, done.stdout + done.stderr


def test_the_package_made_before_stays_as_it_is_and_verifies(
    released: tuple[Bucket, Published, Published], tmp_path: Path, offline: Offline
) -> None:
    bucket, before, _ = released

    folder = bucket.fetch(before, tmp_path / "package")

    assert not (folder / "data/sealed").exists()
    assert not (folder / "data" / paths.RELEASE).exists()
    done = verified(folder, bucket, offline)
    assert done.returncode == 0, done.stdout
    assert "not released" in done.stdout


def test_a_released_archive_that_was_changed_afterwards_is_told(
    released: tuple[Bucket, Published, Published], fetched: Path, tmp_path: Path, offline: Offline
) -> None:
    folder = tmp_path / "package"
    shutil.copytree(fetched, folder)
    archive = next((folder / "data/sealed/sha256").iterdir())
    archive.write_bytes(b"made easier")

    done = verified(folder, released[0], offline)

    assert done.returncode == 1
    assert f"data/sealed/sha256/{archive.name}" in done.stdout
    assert "COMMITMENT_MISMATCH" in done.stdout


def test_another_archive_in_the_store_is_not_fetched(
    released: tuple[Bucket, Published, Published], tmp_path: Path
) -> None:
    bucket, _, after = released
    digest, data = next(iter(stored_cohort.hidden(bucket.made).items()))
    example = bucket.made.example
    key = example.layout.cohort(*example.address).released(digest)
    boto(bucket.store).delete_object(Bucket=bucket.name, Key=key)
    bucket.store.put(key, data[:-1] + b"!")

    with pytest.raises(PackageUnfit, match=digest):
        download(bucket.store, Address.of(after.uri, bucket.name), tmp_path / "package")

    boto(bucket.store).delete_object(Bucket=bucket.name, Key=key)
    bucket.store.put(key, data)
