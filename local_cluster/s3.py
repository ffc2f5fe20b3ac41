"""The S3 server (versitygw): Object Lock, versions and conditional writes, on the pod network's own address.

It listens on the bridge, so this machine and pods whose policies allow it reach it by IP, and nobody else.
"""

import json
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from local_cluster import layout
from local_cluster.layout import BRIDGE_ADDRESS, PORTS
from local_cluster.processes import Component

REGION = "us-east-1"
DEFAULT_BUCKET = "fairtrial"


@dataclass(frozen=True)
class Credentials:
    """The root account of one S3 server; made once, kept with its data."""

    access_key: str
    secret_key: str


def credentials() -> Credentials:
    """The root account, made up at the first call."""
    path = layout.s3_data() / "credentials.json"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        made = Credentials(f"LOCAL{secrets.token_hex(8).upper()}", secrets.token_urlsafe(30))
        temporary = path.with_suffix(".tmp")
        temporary.touch(mode=0o600)
        temporary.write_text(json.dumps(asdict(made)))
        temporary.rename(path)
    return Credentials(**json.loads(path.read_text()))


def component(programs: Mapping[str, Path]) -> Component:
    """The S3 server's daemon. Its secret travels in the environment, which other users cannot read."""
    data, root = layout.s3_data(), credentials()
    for folder in ("objects", "versions", "users"):
        (data / folder).mkdir(parents=True, exist_ok=True)
    command = (
        str(programs["versitygw"]),
        f"--port={BRIDGE_ADDRESS}:{PORTS.s3}",
        f"--region={REGION}",
        f"--iam-dir={data / 'users'}",
        "--health=/health",
        "--keep-alive",  # as other stores do; unset it closes each connection after one answer
        "--quiet",
        "posix",
        f"--versioning-dir={data / 'versions'}",
        str(data / "objects"),
    )
    environment = {"ROOT_ACCESS_KEY": root.access_key, "ROOT_SECRET_KEY": root.secret_key}
    return Component("s3", command, f"{layout.S3_URL}/health", (PORTS.s3,), environment)


def client() -> Any:
    """A boto3 client of the root account."""
    return client_at(layout.S3_URL, credentials())


def client_at(url: str, keys: Credentials) -> Any:
    """A boto3 client of an account of an S3 server on this machine."""
    return boto3.client(
        "s3",
        endpoint_url=url,
        region_name=REGION,
        aws_access_key_id=keys.access_key,
        aws_secret_access_key=keys.secret_key,
        config=Config(proxies={}, s3={"addressing_style": "path"}),
    )


def make_bucket(name: str, *, lock: bool = True) -> None:
    """A bucket, with Object Lock (and so versions) unless told otherwise. One that is there already stays as it is."""
    try:
        client().create_bucket(Bucket=name, ObjectLockEnabledForBucket=lock)
    except ClientError as error:
        if error.response["Error"]["Code"] not in {"BucketAlreadyOwnedByYou", "BucketAlreadyExists"}:
            raise
