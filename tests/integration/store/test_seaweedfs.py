"""SeaweedFS as the store: what is claimed of the first S3 server holds on a second one, to a verified package."""

import fnmatch
import json
import secrets
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from botocore.exceptions import ClientError

from fairtrial.cli.download import Address, download
from fairtrial.errors import StoreError
from fairtrial.evidence.probe import Capabilities, ObjectLock, probe
from fairtrial.evidence.roles import ROLES, RoleName, bucket_policy
from fairtrial.evidence.store import Patience, S3Settings, S3Store
from local_cluster import processes, seaweedfs
from local_cluster.s3 import Credentials
from tests import stored_cohort
from tests.boto import boto
from tests.integration.gateway import test_store as promises
from tests.integration.gateway.conftest import FaultProxy, Handler
from tests.integration.package.conftest import Bucket
from tests.integration.store import test_roles as rights
from tests.integration.store.test_roles import Accounts
from tests.rude_server import serving

pytestmark = pytest.mark.slow

# Every test of the store's promises and of the rights by role, each with the fixtures of this module.
globals().update(
    {name: claim for module in (promises, rights) for name, claim in vars(module).items() if name.startswith("test_")}
)

STRANGER = "stranger"
FORBIDDEN = 403
PATIENCE = Patience(attempts=5, first_pause=0.01)


@dataclass
class Server:
    """The running server, and the keys of its accounts by name."""

    url: str
    accounts: dict[str, Credentials]

    def env(self, bucket: str, account: str = seaweedfs.ROOT, days: int = 0, prefix: str = "") -> dict[str, str]:
        keys = self.accounts[account]
        return {
            "FAIRTRIAL_S3_ENDPOINT": self.url,
            "FAIRTRIAL_S3_BUCKET": bucket,
            "FAIRTRIAL_S3_PREFIX": prefix,
            "FAIRTRIAL_S3_OBJECT_LOCK_DAYS": str(days),
            "AWS_ACCESS_KEY_ID": keys.access_key,
            "AWS_SECRET_ACCESS_KEY": keys.secret_key,
        }

    def store(self, bucket: str, account: str = seaweedfs.ROOT, days: int = 0, prefix: str = "") -> S3Store:
        return S3Store(S3Settings.from_env(self.env(bucket, account, days, prefix)))

    def new_bucket(self, *, lock: bool = True) -> str:
        name = f"test-{secrets.token_hex(4)}"
        boto(self.store(name)).create_bucket(Bucket=name, ObjectLockEnabledForBucket=lock)
        return name

    def grant(self, bucket: str, prefix: str = "", *, conditional: bool = False) -> None:
        users: dict[RoleName, str] = {name: seaweedfs.principal(name) for name in ROLES}
        policy = bucket_policy(bucket, users, prefix, retained=True, conditional=conditional)
        boto(self.store(bucket)).put_bucket_policy(Bucket=bucket, Policy=json.dumps(policy))


@dataclass
class World:
    """What the tests of the store's promises ask for: the environment of a part that uses the store."""

    env: dict[str, str]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    names = [seaweedfs.ROOT, STRANGER, *ROLES]
    accounts = {name: Credentials(f"{name}{secrets.token_hex(4)}".upper(), secrets.token_urlsafe(24)) for name in names}
    with seaweedfs.running(tmp_path_factory.mktemp("weed"), accounts) as url:
        yield Server(url, accounts)


@pytest.fixture(scope="module")
def world(server: Server) -> World:
    return World(server.env(server.new_bucket()))


@pytest.fixture
def proxy(server: Server) -> Iterator[FaultProxy]:
    proxy = FaultProxy(target=server.url)
    with serving(Handler, proxy=proxy) as proxy.url:
        yield proxy


@pytest.fixture
def store(world: World, proxy: FaultProxy) -> S3Store:
    settings = S3Settings.from_env(world.env | {"FAIRTRIAL_S3_ENDPOINT": proxy.url})
    return S3Store(settings, patience=PATIENCE)


@pytest.fixture(scope="module")
def accounts(server: Server) -> Accounts:
    """A bucket with our policy, and a store for each role."""
    bucket = server.new_bucket()
    server.grant(bucket, "trials/")

    def store(account: str) -> S3Store:
        return server.store(bucket, account, prefix="trials/")

    return Accounts(bucket, store(seaweedfs.ROOT), {name: store(name) for name in ROLES}, store(STRANGER))


# --- how it is run ----------------------------------------------------------------------------------------------------
def test_two_servers_run_beside_each_other_and_leave_nothing_behind(server: Server, tmp_path: Path) -> None:
    accounts = {seaweedfs.ROOT: Credentials("ROOT", secrets.token_urlsafe(24))}
    with seaweedfs.running(tmp_path / "second", accounts) as url:
        name = f"seaweedfs-{urlsplit(url).port}"
        second = Server(url, accounts)
        probe(second.store(second.new_bucket()))
        probe(server.store(server.new_bucket()))
        ports = _ports_of(processes.pid(name))
    assert len(ports) >= 8

    assert not list(processes.marked(name))
    assert not {port for port in ports if processes.port_holder(port)}
    assert not [left for port in ports for left in Path("/tmp").glob(f"*-{port}.sock")]


def _ports_of(pid: int | None) -> set[int]:
    listening = subprocess.run(["ss", "-Hltnp"], capture_output=True, text=True, check=True).stdout.splitlines()
    return {int(line.split()[3].rpartition(":")[2]) for line in listening if f"pid={pid}," in line}


# --- what the start-up probe says -------------------------------------------------------------------------------------
FIT: dict[str, Any] = {
    "conditional_put": True,
    "conditional_complete": True,
    "racers": 8,
    "winners": 1,
    "checksum_enforced": True,
    "read_back_equal": True,
}


def test_the_probe_finds_it_fit_with_retention(server: Server) -> None:
    bucket = server.new_bucket()

    found = probe(server.store(bucket, days=1))

    assert found == Capabilities(**FIT, object_lock=ObjectLock("", 0), retention_days=1, retention_enforced=True)


def test_the_probe_finds_it_fit_without_object_lock(server: Server) -> None:
    found = probe(server.store(server.new_bucket(lock=False)))

    assert found == Capabilities(**FIT, object_lock=None, retention_days=0, retention_enforced=None)


def test_a_default_retention_of_the_bucket_is_told_and_holds(server: Server) -> None:
    bucket = server.new_bucket()
    store = server.store(bucket)
    rule = {"DefaultRetention": {"Mode": "COMPLIANCE", "Days": 1}}
    configuration = {"ObjectLockEnabled": "Enabled", "Rule": rule}
    boto(store).put_object_lock_configuration(Bucket=bucket, ObjectLockConfiguration=configuration)

    assert probe(store).object_lock == ObjectLock("COMPLIANCE", 1)
    store.put("held.txt", b"held")
    assert store.refuses_deletion("held.txt")


def test_a_body_that_its_checksum_does_not_fit_is_refused_and_not_kept(server: Server) -> None:
    store = server.store(server.new_bucket(lock=False))

    assert store.refuses_wrong_checksum("wrong.bin")
    assert store.head("wrong.bin") is None


# --- what is under retention ------------------------------------------------------------------------------------------
def test_not_even_the_root_account_shortens_or_lifts_a_retention(server: Server) -> None:
    bucket = server.new_bucket()
    store = server.store(bucket, days=2)
    store.put("held.txt", b"held")
    where = {"Bucket": bucket, "Key": "held.txt"}
    version = boto(store).head_object(**where)["VersionId"]
    sooner, later = (datetime.now(UTC) + timedelta(days=days) for days in (1, 9))

    for call in (
        lambda: boto(store).delete_object(**where, VersionId=version),
        lambda: boto(store).delete_object(**where, VersionId=version, BypassGovernanceRetention=True),
        lambda: boto(store).put_object_retention(**where, Retention={"Mode": "COMPLIANCE", "RetainUntilDate": sooner}),
        lambda: boto(store).put_object_retention(**where, Retention={"Mode": "GOVERNANCE", "RetainUntilDate": later}),
        lambda: boto(store).put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Suspended"}),
    ):
        with pytest.raises(ClientError):
            call()
    assert store.get("held.txt") == b"held"


def test_a_key_that_was_deleted_can_be_made_again_and_the_auditor_sees_both(server: Server) -> None:
    """Its `If-None-Match` looks at the current version alone, and that is a delete marker then."""
    bucket, key = server.new_bucket(), "ns/team/runs/r/u/record.json"
    server.grant(bucket)
    operator = server.store(bucket, "operator", days=1)
    operator.put(key, b"first")
    boto(server.store(bucket)).delete_object(Bucket=bucket, Key=key)

    assert operator.put(key, b"again").created

    listed = boto(server.store(bucket, "auditor")).list_object_versions(Bucket=bucket, Prefix=key)
    assert len(listed["Versions"]) == 2
    assert [one["Key"] for one in listed["DeleteMarkers"]] == [key]


# --- rights that only this server expresses otherwise -----------------------------------------------------------------
def test_a_policy_that_demands_the_condition_has_no_effect_here(server: Server) -> None:
    """It does not know `s3:if-none-match`: a put without the condition makes a second version, and the first stays."""
    bucket = server.new_bucket()
    server.grant(bucket, conditional=True)
    analysis = server.store(bucket, "analysis")
    key = "ns/team/cohorts/c/u/packages/p/a.txt"
    analysis.put(key, b"first")

    boto(analysis).put_object(Bucket=bucket, Key=key, Body=b"second")

    versions = boto(server.store(bucket, "auditor")).list_object_versions(Bucket=bucket, Prefix=key)["Versions"]
    assert sorted(one["Size"] for one in versions) == [5, 6]


def test_an_account_without_a_policy_has_no_right(server: Server) -> None:
    bucket = server.new_bucket()

    with pytest.raises(StoreError, match=str(FORBIDDEN)):
        server.store(bucket, "operator").put("ns/team/runs/r/u/record.json", b"x")


# --- a whole cohort ---------------------------------------------------------------------------------------------------
def test_a_cohort_is_stored_by_its_roles_published_fetched_by_the_auditor_and_verified(
    server: Server, tmp_path: Path
) -> None:
    bucket, made = server.new_bucket(), stored_cohort.make()
    server.grant(bucket)
    stores = {name: server.store(bucket, name, days=1) for name in ROLES}
    for key in made.store.keys(""):
        stores[_creator(key)].put(key, made.store.get(key))

    published = Bucket(made, stores["analysis"], made.keys.trust).publish()
    folder = tmp_path / "package"
    download(server.store(bucket, "auditor"), Address.of(published.uri, bucket), folder)
    (tmp_path / "trust.json").write_bytes(made.keys.trust.to_bytes())
    program = "from fairtrial.cli import main; main()"
    done = subprocess.run(
        ["unshare", "--net", "--", sys.executable, "-c", program, "verify", "package", "--trust", "trust.json"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    root = server.store(bucket)
    keys = root.keys("")
    assert len(keys) > len(made.store.keys(""))
    for key in keys:
        held = boto(root).get_object_retention(Bucket=bucket, Key=key)["Retention"]
        assert held["Mode"] == "COMPLIANCE", key


def _creator(key: str) -> RoleName:
    """The role that may create a key."""
    return next(name for name, role in ROLES.items() if any(fnmatch.fnmatchcase(key, one) for one in role.creates))
