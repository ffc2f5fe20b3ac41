"""Where the store is and how to speak to it: settings from the environment, and a client with nothing left to default.

Every setting that differs between versions of boto3 is said explicitly: checksums (new defaults broke several stores),
path addressing (virtual hosts need DNS that an endpoint may lack), and no retries, since only the store knows that a
lost answer to a conditional write must be followed by a look.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import boto3
from botocore.config import Config

from fairtrial.errors import InvalidInput
from fairtrial.evidence.layout import Layout

_REQUIRED = ("FAIRTRIAL_S3_ENDPOINT", "FAIRTRIAL_S3_BUCKET", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
CONNECT_SECONDS, READ_SECONDS = 5, 60
CONNECTIONS = 64


@dataclass(frozen=True)
class S3Settings:
    """One bucket and how to reach it."""

    endpoint: str
    bucket: str
    access_key: str = field(repr=False)
    secret_key: str = field(repr=False)
    session_token: str | None = field(default=None, repr=False)
    prefix: str = ""
    region: str = "us-east-1"
    object_lock_days: int = 0

    def __post_init__(self) -> None:
        Layout(self.prefix)  # refuses a bad prefix at the start
        if not self.endpoint.startswith(("http://", "https://")):
            raise InvalidInput(f"FAIRTRIAL_S3_ENDPOINT: {self.endpoint!r} must begin with http:// or https://.")

    @classmethod
    def from_env(cls, env: Mapping[str, str] = os.environ) -> "S3Settings":
        """Read the settings, naming every variable that is missing."""
        missing = [name for name in _REQUIRED if not env.get(name)]
        if missing:
            raise InvalidInput(f"environment: {', '.join(missing)} must be set to reach the object store.")
        days = env.get("FAIRTRIAL_S3_OBJECT_LOCK_DAYS") or "0"
        if not days.isdecimal():
            raise InvalidInput(f"FAIRTRIAL_S3_OBJECT_LOCK_DAYS: {days!r} must be a whole number of days; 0 is none.")
        return cls(
            endpoint=env["FAIRTRIAL_S3_ENDPOINT"],
            bucket=env["FAIRTRIAL_S3_BUCKET"],
            access_key=env["AWS_ACCESS_KEY_ID"],
            secret_key=env["AWS_SECRET_ACCESS_KEY"],
            session_token=env.get("AWS_SESSION_TOKEN") or None,
            prefix=env.get("FAIRTRIAL_S3_PREFIX", ""),
            region=env.get("FAIRTRIAL_S3_REGION") or "us-east-1",
            object_lock_days=int(days),
        )


def client(settings: S3Settings) -> Any:
    """A low-level client, safe to use from many threads."""
    config = Config(
        signature_version="s3v4",
        # The signature covers the SHA-256 checksum header, which the store must enforce (the probe asks it): signing
        # the body as well would hash every byte twice more, here and there.
        s3={"addressing_style": "path", "payload_signing_enabled": False},
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        retries={"mode": "standard", "total_max_attempts": 1},
        connect_timeout=CONNECT_SECONDS,
        read_timeout=READ_SECONDS,
        max_pool_connections=CONNECTIONS,
        tcp_keepalive=True,
    )
    session = boto3.session.Session(
        aws_access_key_id=settings.access_key,
        aws_secret_access_key=settings.secret_key,
        aws_session_token=settings.session_token,
        region_name=settings.region,
    )
    return session.client("s3", endpoint_url=settings.endpoint, config=config)
