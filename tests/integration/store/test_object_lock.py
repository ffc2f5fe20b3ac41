"""A cohort that is sealed in a bucket with Object Lock: what retention holds, against whom, and what an auditor sees.

The server is one of this module's own, whose folder goes with it: what is under retention could not be cleared away.
"""

import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from fairtrial_operator.cohorts.observe import capabilities_entry
from fairtrial_operator.cohorts.seen import PutPreregistration, SignLedger
from fairtrial_operator.signatory import Signatory
from typer.testing import CliRunner

from fairtrial import documents
from fairtrial.cli.app import app
from fairtrial.cohort.ledger import LedgerEntry
from fairtrial.evidence.layout import CohortLayout, sha256
from fairtrial.evidence.probe import Capabilities, ObjectLock, StoreUnfit, probe
from fairtrial.evidence.roles import RoleName, bucket_policy
from fairtrial.evidence.store import S3Settings, S3Store
from fairtrial.evidence.store_audit import versions
from fairtrial.testing import make_cohort
from local_cluster import s3
from local_cluster.s3 import Credentials
from tests import own_s3
from tests.stored_cohort import known_keys
from tests.unit.operator.test_cohort_store import World, stored

OPERATOR = Credentials("operator", secrets.token_urlsafe(24))
AUDITOR = Credentials("auditor", secrets.token_urlsafe(24))
ROOT = Credentials("root", secrets.token_urlsafe(24))


@dataclass
class Server:
    """A running versitygw with the account of an operator."""

    url: str

    def client(self, keys: Credentials = ROOT) -> Any:
        return s3.client_at(self.url, keys)

    def bucket(self, *, lock: bool) -> str:
        """A new bucket in which the operator has its rights."""
        name = f"lock-{secrets.token_hex(4)}"
        self.client().create_bucket(Bucket=name, ObjectLockEnabledForBucket=lock)
        users: dict[RoleName, str] = {"operator": OPERATOR.access_key, "auditor": AUDITOR.access_key}
        policy = bucket_policy(name, users, "", retained=lock)
        self.client().put_bucket_policy(Bucket=name, Policy=json.dumps(policy, separators=(",", ":")))
        return name

    def store(self, bucket: str, days: int, who: Credentials = OPERATOR) -> S3Store:
        return S3Store(
            S3Settings.from_env(
                {
                    "FAIRTRIAL_S3_ENDPOINT": self.url,
                    "FAIRTRIAL_S3_BUCKET": bucket,
                    "FAIRTRIAL_S3_OBJECT_LOCK_DAYS": str(days),
                    "AWS_ACCESS_KEY_ID": who.access_key,
                    "AWS_SECRET_ACCESS_KEY": who.secret_key,
                }
            )
        )


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with own_s3.serving(tmp_path_factory.mktemp("versitygw"), ROOT, OPERATOR, AUDITOR) as url:
        yield Server(url)


@dataclass
class Sealed:
    """A cohort that the operator's own code sealed, as it lies in a bucket."""

    store: S3Store
    keys: CohortLayout
    found: Capabilities

    @property
    def documents(self) -> list[str]:
        """Preregistration, ledger and what was signed about them."""
        made = [self.keys.preregistration(), self.keys.preregistration_signature()]
        return [*made, self.keys.ledger_page(1), self.keys.checkpoint(2)]


def sealed_in(store: S3Store) -> Sealed:
    """Seal a cohort: its preregistration, both signatures, and the ledger's first page with what the probe found."""
    found = probe(store)
    world, cohort = World(Signatory(known_keys().operator), store), make_cohort(seal=True)
    data = stored(cohort)
    assert not world.apply(cohort, PutPreregistration(data)).sealed.problem  # type: ignore[union-attr]
    capabilities = capabilities_entry(found)
    assert capabilities is not None
    world.book(cohort, LedgerEntry("sealed", sha256=sha256(data)), capabilities)
    world.apply(cohort, SignLedger([2]))
    return Sealed(store, world.observer.keys_of(cohort), found)


@pytest.fixture(scope="module")
def locked(server: Server) -> Sealed:
    return sealed_in(server.store(server.bucket(lock=True), days=1))


def test_all_that_a_seal_stores_is_under_retention(server: Server, locked: Sealed) -> None:
    for key in locked.documents:
        held = server.client().get_object_retention(Bucket=locked.store.settings.bucket, Key=key)["Retention"]

        left = held["RetainUntilDate"] - datetime.now(UTC)
        assert held["Mode"] == "COMPLIANCE", key
        assert timedelta(hours=23) < left <= timedelta(days=1), key


@pytest.mark.parametrize("who", [OPERATOR, ROOT], ids=lambda keys: keys.access_key)
def test_neither_the_operator_nor_the_root_account_deletes_a_version_or_shortens_its_retention(
    server: Server, locked: Sealed, who: Credentials
) -> None:
    client, root, bucket = server.client(who), server.client(), locked.store.settings.bucket
    for key in locked.documents:
        where = {"Bucket": bucket, "Key": key}
        version, before = root.head_object(**where)["VersionId"], locked.store.get(key)
        one = where | {"VersionId": version}
        sooner = {"Mode": "COMPLIANCE", "RetainUntilDate": datetime.now(UTC) + timedelta(minutes=1)}
        governed = {"Mode": "GOVERNANCE", "RetainUntilDate": datetime.now(UTC) + timedelta(days=9)}
        for call in (
            lambda one=one: client.delete_object(**one),
            lambda one=one: client.delete_object(**one, BypassGovernanceRetention=True),
            lambda one=one, until=sooner: client.put_object_retention(**one, Retention=until),
            lambda one=one, until=governed: client.put_object_retention(**one, Retention=until),
        ):
            with pytest.raises(ClientError) as refused:
                call()
            assert refused.value.response["Error"]["Code"] in {"AccessDenied", "InvalidRequest", "ObjectLocked"}, key
        assert root.get_object(**one)["Body"].read() == before


def test_what_the_root_account_hides_with_a_marker_is_still_there(server: Server) -> None:
    """Retention keeps versions, not names: a reader finds nothing, and an auditor who lists versions finds both."""
    made = sealed_in(server.store(server.bucket(lock=True), days=1))
    where = {"Bucket": made.store.settings.bucket, "Key": made.keys.preregistration()}
    version = server.client().head_object(**where)["VersionId"]
    before = made.store.get(made.keys.preregistration())

    server.client().delete_object(**where)

    assert made.store.head(made.keys.preregistration()) is None
    assert server.client().get_object(**where, VersionId=version)["Body"].read() == before


def test_the_ledger_says_what_the_bucket_was_found_to_do(locked: Sealed) -> None:
    entry = first_page(locked)[1]

    assert entry["found"]["objectLock"] == documents.to_json(ObjectLock("", 0))
    assert (entry["found"]["retentionDays"], entry["found"]["retentionEnforced"]) == (1, True)


def test_without_a_lock_a_seal_goes_on_and_the_ledger_says_so(server: Server) -> None:
    made = sealed_in(server.store(server.bucket(lock=False), days=0))

    entry = first_page(made)[1]

    assert (entry["kind"], entry["found"]["objectLock"]) == ("capabilities", None)
    assert (entry["found"]["retentionDays"], entry["found"]["retentionEnforced"]) == (0, None)
    bucket = made.store.settings.bucket
    server.client().delete_object(Bucket=bucket, Key=made.keys.preregistration())
    assert made.store.head(made.keys.preregistration()) is None, "nothing holds it against the root account"


def test_retention_that_a_bucket_cannot_give_is_refused_before_anything_is_sealed(server: Server) -> None:
    store = server.store(server.bucket(lock=False), days=1)

    with pytest.raises(StoreUnfit, match=r"has no Object Lock, but retention of 1 days.*made with Object Lock"):
        probe(store)
    assert store.keys("") == []


def first_page(made: Sealed) -> list[dict[str, Any]]:
    page: dict[str, Any] = json.loads(made.store.get(made.keys.ledger_page(1)))
    entries: list[dict[str, Any]] = page["entries"]
    return entries


# --- fairtrial store audit --------------------------------------------------------------------------------------------
def audited(server: Server, made: Sealed, folder: Path, *options: str) -> tuple[int, set[tuple[str, str]]]:
    """What an auditor is told of all that the seal stored: the exit code, and the findings' codes and keys."""
    bucket = made.store.settings.bucket
    lines = [f"s3://{bucket}/{key} 1 data/{number}\n" for number, key in enumerate(made.documents)]
    (folder / "fetch.txt").write_text("".join(lines))
    env = {
        "FAIRTRIAL_S3_ENDPOINT": server.url,
        "FAIRTRIAL_S3_BUCKET": bucket,
        "AWS_ACCESS_KEY_ID": AUDITOR.access_key,
        "AWS_SECRET_ACCESS_KEY": AUDITOR.secret_key,
    }
    done = CliRunner().invoke(app, ["store", "audit", str(folder), "--json", *options], env=env)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, {(one["code"], one["key"]) for one in json.loads(done.stdout)["findings"]}


def tomorrow(days: int) -> str:
    return (datetime.now(UTC) + timedelta(days=days)).date().isoformat()


def test_an_auditor_finds_nothing_in_a_bucket_that_holds_what_was_written(
    server: Server, locked: Sealed, tmp_path: Path
) -> None:
    assert audited(server, locked, tmp_path) == (0, set())


def test_versions_are_listed_once_however_many_pages_they_come_in(server: Server, locked: Sealed) -> None:
    store = server.store(locked.store.settings.bucket, days=1, who=AUDITOR)

    whole = list(versions(store, "ns/"))

    assert {one.key for one in whole} >= set(locked.documents)
    assert sorted(map(str, versions(store, "ns/", page_size=2))) == sorted(map(str, whole))


def test_an_auditor_is_told_what_can_be_deleted_before_the_day_that_counts(
    server: Server, locked: Sealed, tmp_path: Path
) -> None:
    told = audited(server, locked, tmp_path, "--until", tomorrow(30))

    assert told == (1, {("LOCK_WEAK", key) for key in locked.documents})


def test_an_auditor_is_told_what_was_written_again_deleted_or_held_weakly(server: Server, tmp_path: Path) -> None:
    made = sealed_in(server.store(server.bucket(lock=True), days=1))
    again, deleted, _, _ = made.documents
    client, bucket = server.client(), made.store.settings.bucket
    client.put_object(
        Bucket=bucket,
        Key=again,
        Body=b"other",
        ObjectLockMode="GOVERNANCE",
        ObjectLockRetainUntilDate=datetime.now(UTC) + timedelta(days=9),
    )
    client.delete_object(Bucket=bucket, Key=deleted)

    assert audited(server, made, tmp_path) == (
        1,
        {
            ("VERSION_OVERWRITE", again),
            ("LOCK_WEAK", again),
            ("DELETE_MARKER", deleted),
            ("OBJECT_MISSING", deleted),
        },
    )


def test_an_auditor_is_told_of_objects_that_a_bucket_with_a_lock_does_not_retain(
    server: Server, tmp_path: Path
) -> None:
    made = sealed_in(server.store(server.bucket(lock=True), days=0))

    assert audited(server, made, tmp_path) == (1, {("LOCK_WEAK", key) for key in made.documents})


def test_a_package_of_another_bucket_is_not_asked_about_here(server: Server, locked: Sealed, tmp_path: Path) -> None:
    (tmp_path / "fetch.txt").write_text("s3://elsewhere/ns/key 1 data/1\n")
    env = {"FAIRTRIAL_S3_ENDPOINT": server.url, "FAIRTRIAL_S3_BUCKET": locked.store.settings.bucket}
    env |= {"AWS_ACCESS_KEY_ID": AUDITOR.access_key, "AWS_SECRET_ACCESS_KEY": AUDITOR.secret_key}

    done = CliRunner().invoke(app, ["store", "audit", str(tmp_path)], env=env)

    assert "names s3://elsewhere/ns/key" in str(done.exception)


def test_an_auditor_is_told_of_a_bucket_without_a_lock(server: Server, tmp_path: Path) -> None:
    made = sealed_in(server.store(server.bucket(lock=False), days=0))

    assert audited(server, made, tmp_path) == (1, {("LOCK_WEAK", "")})
