"""A signed, time-stamped package on a real S3 server, fetched into a folder; and cosign, built when first asked for."""

import secrets
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from fairtrial_analysis.analyse import Settings, packaged
from fairtrial_analysis.package.build import Package
from fairtrial_analysis.package.publish import Published, publish

import local_cluster
from fairtrial.attest import trust
from fairtrial.attest.trust import TrustList
from fairtrial.cli.download import Address, download
from fairtrial.evidence.store import S3Settings, S3Store
from fairtrial.testing import CANDIDATE_IMAGE
from local_cluster import binaries, s3
from tests import authority, stored_cohort
from tests.authority import Authority
from tests.stored_cohort import Stored

COSIGN = "github.com/sigstore/cosign/v3/cmd/cosign"


@dataclass
class Bucket:
    """One cohort in a bucket of its own."""

    made: Stored
    store: S3Store
    trust: TrustList

    @property
    def name(self) -> str:
        return self.store.settings.bucket

    def package(self) -> Package:
        """Analyse what lies there."""
        example = self.made.example
        settings = Settings(example.size, CANDIDATE_IMAGE, "development")
        where, trust = (example.layout, self.name), self.trust.to_bytes()
        return packaged(self.store, where, example.address, settings, trust=trust)[1]

    def publish(self, timestamp_url: str = "") -> Published:
        return publish(self.package(), self.store, self.made.keys.analysis, timestamp_url)

    def fetch(self, published: Published, to: Path) -> Path:
        download(self.store, Address.of(published.uri, self.name), to)
        return to


@pytest.fixture(scope="session")
def new_bucket(cluster: local_cluster.Cluster) -> Iterator[Callable[[Stored], Bucket]]:
    """Put a cohort into a bucket of its own; all are emptied and deleted at the end."""
    made: list[S3Store] = []

    def make(stored: Stored) -> Bucket:
        name = f"test-package-{secrets.token_hex(4)}"
        s3.make_bucket(name, lock=False)
        store = S3Store(S3Settings.from_env(cluster.environment() | {"FAIRTRIAL_S3_BUCKET": name}))
        made.append(store)
        stored_cohort.copy(stored, store)
        return Bucket(stored, store, stored.keys.trust)

    yield make
    client = s3.client()
    for store in made:
        for key in store.keys(""):
            client.delete_object(Bucket=store.settings.bucket, Key=key)
        client.delete_bucket(Bucket=store.settings.bucket)
        store.close()


@pytest.fixture(scope="session")
def tsa(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Authority]:
    with authority.serve(tmp_path_factory.mktemp("tsa")) as served:
        yield served


@pytest.fixture(scope="session")
def bucket(new_bucket: Callable[[Stored], Bucket], tsa: Authority) -> Bucket:
    made = new_bucket(stored_cohort.make())
    listed = (trust.authority("test", tsa.root_pem),)
    return replace(made, trust=replace(made.trust, timestamp_authorities=listed))


@pytest.fixture(scope="session")
def published(bucket: Bucket, tsa: Authority) -> Published:
    return bucket.publish(tsa.url)


@pytest.fixture(scope="session")
def fetched(bucket: Bucket, published: Published, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package in a folder; tests that change anything copy it first."""
    return bucket.fetch(published, tmp_path_factory.mktemp("fetched") / "package")


@pytest.fixture(scope="session")
def cosign() -> Path:
    """cosign, from the Go module proxy: three to five minutes the first time on two cores."""
    return binaries.build("cosign", COSIGN) / "cosign"


@pytest.fixture
def offline() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a program in an empty network namespace."""

    def run(*command: object, cwd: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["unshare", "--net", "--", *map(str, command)],
            cwd=cwd,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    return run
