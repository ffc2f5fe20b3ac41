"""What the first S3 server, versitygw, does otherwise than others, as docs/installation.md tells it."""

import json
import secrets
from collections.abc import Iterator

import pytest
from botocore.exceptions import ClientError

import local_cluster
from fairtrial.errors import StoreUnavailable
from fairtrial.evidence.probe import probe
from fairtrial.evidence.roles import bucket_policy
from fairtrial.evidence.store import Patience, S3Settings, S3Store
from local_cluster import s3
from tests.boto import boto


@pytest.fixture
def store(cluster: local_cluster.Cluster, request: pytest.FixtureRequest) -> Iterator[S3Store]:
    name = f"versitygw-{secrets.token_hex(4)}"
    s3.make_bucket(name, lock=getattr(request, "param", True))
    yield S3Store(S3Settings.from_env(cluster.environment() | {"FAIRTRIAL_S3_BUCKET": name}))
    client = s3.client()
    listed = client.list_object_versions(Bucket=name)
    for one in [*listed.get("Versions", []), *listed.get("DeleteMarkers", [])]:
        client.delete_object(Bucket=name, Key=one["Key"], VersionId=one["VersionId"])
    client.delete_bucket(Bucket=name)


@pytest.mark.parametrize("store", [True, False], ids=["lock", "no-lock"], indirect=True)
def test_the_probe_finds_it_fit_with_object_lock_and_without(store: S3Store) -> None:
    assert probe(store).winners == 1


def test_it_does_not_know_the_condition_of_a_policy(store: S3Store) -> None:
    policy = bucket_policy(store.settings.bucket, {"operator": s3.credentials().access_key}, conditional=True)

    with pytest.raises(ClientError, match="condition"):
        boto(store).put_bucket_policy(Bucket=store.settings.bucket, Policy=json.dumps(policy))


def test_a_put_without_the_condition_makes_a_second_version(store: S3Store) -> None:
    store.put("a.txt", b"first")
    boto(store).put_object(Bucket=store.settings.bucket, Key="a.txt", Body=b"second")

    listed = boto(store).list_object_versions(Bucket=store.settings.bucket, Prefix="a.txt")["Versions"]

    assert sorted(one["Size"] for one in listed) == [5, 6]


def test_a_key_that_was_deleted_is_not_made_again(store: S3Store) -> None:
    """Its `If-None-Match` counts a delete marker as something that lies there."""
    store.put("a.txt", b"first")
    boto(store).delete_object(Bucket=store.settings.bucket, Key="a.txt")
    hasty = S3Store(store.settings, patience=Patience(attempts=2, first_pause=0.01))

    with pytest.raises(StoreUnavailable, match="412"):
        hasty.put("a.txt", b"again")
