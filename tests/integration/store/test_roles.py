"""Rights by role on a real S3 server with real users: what each may do works, and everything else is refused."""

import contextlib
import json
import secrets
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from botocore.exceptions import ClientError

import local_cluster
from fairtrial.errors import Conflict, FairtrialError
from fairtrial.evidence.layout import Layout
from fairtrial.evidence.objects import PART_SIZE
from fairtrial.evidence.probe import probe
from fairtrial.evidence.roles import ROLES, RoleName, bucket_policy
from fairtrial.evidence.s3_sweep import sweep
from fairtrial.evidence.store import Patience, S3Settings, S3Store
from local_cluster import binaries, s3
from tests.boto import boto
from tests.unit.evidence.test_roles import COHORT, CREATORS, LAYOUT, RUN

ACCESS_DENIED = 403


@dataclass
class Accounts:
    """A bucket with a policy, and a store for each role, each by an account of its own."""

    bucket: str
    root: S3Store
    stores: dict[RoleName, S3Store]
    stranger: S3Store


@pytest.fixture(scope="module")
def accounts(cluster: local_cluster.Cluster) -> Iterator[Accounts]:
    token, bucket = secrets.token_hex(4), f"roles-{secrets.token_hex(4)}"
    s3.make_bucket(bucket)
    users: dict[RoleName, str] = {name: f"{name}-{token}".lower() for name in ROLES}
    keys = {user: secrets.token_urlsafe(24) for user in [*users.values(), f"stranger-{token}"]}
    env = cluster.environment() | {"FAIRTRIAL_S3_BUCKET": bucket, "FAIRTRIAL_S3_PREFIX": "trials/"}
    admin = [str(binaries.build_all()["versitygw"]), "admin", "--endpoint-url", env["FAIRTRIAL_S3_ENDPOINT"]]
    root = s3.credentials()
    as_root = {"ADMIN_ACCESS_KEY_ID": root.access_key, "ADMIN_SECRET_ACCESS_KEY": root.secret_key}

    def administer(*command: str) -> None:
        done = subprocess.run([*admin, *command], env=as_root, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    def store_of(user: str) -> S3Store:
        signed = {"AWS_ACCESS_KEY_ID": user, "AWS_SECRET_ACCESS_KEY": keys[user]}
        return S3Store(S3Settings.from_env(env | signed), patience=Patience(attempts=2, first_pause=0.01))

    for user, secret in keys.items():
        administer("create-user", "--access", user, "--secret", secret, "--role", "user")
    policy = bucket_policy(bucket, users, "trials/", retained=True)
    s3.client().put_bucket_policy(Bucket=bucket, Policy=json.dumps(policy, separators=(",", ":")))
    stores = {name: store_of(user) for name, user in users.items()}
    yield Accounts(bucket, S3Store(S3Settings.from_env(env)), stores, store_of(f"stranger-{token}"))
    for user in keys:
        administer("delete-user", "--access", user)


def may_create(store: S3Store, key: str) -> bool:
    try:
        store.put(key, b"x" + secrets.token_bytes(4))
    except Conflict:
        return True  # another role was first: the store looked, and told so to one who may
    except FairtrialError:
        return False
    return True


@pytest.mark.parametrize(("key", "creators"), CREATORS, ids=lambda value: value if isinstance(value, str) else "")
def test_each_key_is_made_by_its_role_alone(accounts: Accounts, key: str, creators: set[str]) -> None:
    found = {name for name, store in accounts.stores.items() if may_create(store, key)}

    assert found == creators
    assert not may_create(accounts.stranger, key)


@pytest.mark.parametrize("role", ["operator", "gateway"])
def test_the_start_up_probe_works_with_the_rights_of_those_who_make_it(accounts: Accounts, role: RoleName) -> None:
    store = accounts.stores[role]

    found = probe(store)

    assert (found.winners, found.conditional_put, found.conditional_complete) == (1, True, True)
    assert found.object_lock is not None
    from datetime import UTC, datetime

    assert sweep(store, datetime.now(UTC)) == 0


def test_large_uploads_need_no_further_right(accounts: Accounts) -> None:
    upload = accounts.stores["gateway"].open_upload(RUN.artifact("agent/big.bin"))
    upload.write(secrets.token_bytes(PART_SIZE + 1))

    assert upload.commit().size == PART_SIZE + 1


def test_nobody_deletes_shortens_or_overwrites(accounts: Accounts) -> None:
    key = COHORT.ledger_page(77)
    accounts.stores["operator"].put(key, b"written once")
    version = boto(accounts.root).head_object(Bucket=accounts.bucket, Key=key)["VersionId"]

    for name, store in accounts.stores.items():
        for call in (
            lambda client: client.delete_object(Bucket=accounts.bucket, Key=key),
            lambda client: client.delete_object(Bucket=accounts.bucket, Key=key, VersionId=version),
            lambda client: client.delete_bucket_policy(Bucket=accounts.bucket),
            lambda client: client.put_bucket_versioning(
                Bucket=accounts.bucket, VersioningConfiguration={"Status": "Suspended"}
            ),
        ):
            with pytest.raises(ClientError) as refused:
                call(boto(store))
            assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == ACCESS_DENIED, name
        with pytest.raises((Conflict, FairtrialError)):
            store.put(key, b"written again")
    assert accounts.root.get(key) == b"written once"


def test_sealed_parts_are_for_those_who_make_use_and_release_them(accounts: Accounts) -> None:
    key, released = LAYOUT.sealed_archive("b" * 64), COHORT.released("b" * 64)
    accounts.stores["author"].put(key, b"sealed")
    accounts.stores["studyOwner"].put(released, accounts.stores["studyOwner"].get(key))

    def readers(key: str) -> set[str]:
        found = set()
        for name, store in accounts.stores.items():
            with contextlib.suppress(FairtrialError):
                found |= {name} if store.get(key) == b"sealed" else set()
        return found

    assert readers(key) == {"author", "gateway", "studyOwner"}
    assert readers(released) == {"analysis", "auditor", "operator", "studyOwner"}


def test_the_auditor_lists_versions_and_sees_retention(accounts: Accounts) -> None:
    key = COHORT.checkpoint(99)
    locking = S3Settings.from_env(_env_of(accounts.stores["operator"]) | {"FAIRTRIAL_S3_OBJECT_LOCK_DAYS": "1"})
    S3Store(locking).put(key, b"note")
    auditor = boto(accounts.stores["auditor"])

    listed = auditor.list_object_versions(Bucket=accounts.bucket, Prefix=key)["Versions"]
    assert [one["Key"] for one in listed] == [key]
    held = auditor.get_object_retention(Bucket=accounts.bucket, Key=key)["Retention"]
    assert held["Mode"] == "COMPLIANCE"


def _env_of(store: S3Store) -> dict[str, Any]:
    settings = store.settings
    return {
        "FAIRTRIAL_S3_ENDPOINT": settings.endpoint,
        "FAIRTRIAL_S3_BUCKET": settings.bucket,
        "FAIRTRIAL_S3_PREFIX": settings.prefix,
        "AWS_ACCESS_KEY_ID": settings.access_key,
        "AWS_SECRET_ACCESS_KEY": settings.secret_key,
    }


def test_the_prefix_is_a_border(accounts: Accounts) -> None:
    outside = Layout("other/").cohort("team", "paired", "cohort-uid").ledger_page(1)

    assert not any(may_create(store, outside) for store in accounts.stores.values())
