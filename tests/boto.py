"""A client of another maker, for what the store never asks of a server: to set it up, break it, look behind it."""

from functools import cache
from typing import Any

from fairtrial.evidence.s3_client import S3Settings
from fairtrial.evidence.store import S3Store
from local_cluster import s3
from local_cluster.s3 import Credentials


def boto(store: S3Store) -> Any:
    """boto3's client with the account of `store`."""
    return _client(store.settings)


@cache
def _client(settings: S3Settings) -> Any:
    return s3.client_at(settings.endpoint, Credentials(settings.access_key, settings.secret_key))
