"""Small objects into the store and out of it again: by the store's own client, and by boto3 with the same semantics.

In turns on one bucket; processor time of this process, which is what a storing process and an analysis run out of.
"""

import base64
import hashlib
import secrets
import statistics
import time
from collections.abc import Callable
from typing import Any

from benchmarks.model_systems import s3_client, store_environment
from fairtrial.evidence.store import S3Settings, S3Store

ROUNDS, CALLS, SIZE = 5, 400, 3000  # a round's calls of each kind, and bytes of an object

Calls = dict[str, Callable[[str], Any]]


def measure() -> dict[str, Any]:
    """Medians over the rounds: milliseconds of processor time and of wall clock for each call, and their ratio."""
    env, bucket = store_environment(), f"store-calls-{secrets.token_hex(4)}"
    env = env | {"FAIRTRIAL_S3_BUCKET": bucket}
    client, store = s3_client(env), S3Store(S3Settings.from_env(env))
    client.create_bucket(Bucket=bucket)
    ways = {"store": _of_store(store), "boto3": _of_boto3(client, bucket)}
    found: dict[tuple[str, str, str], list[float]] = {}
    try:
        for number in range(ROUNDS):
            for way in sorted(ways, reverse=bool(number % 2)):
                for call, made in ways[way].items():
                    for what, value in _timed(made, f"{number}/{way}").items():
                        found.setdefault((way, call, what), []).append(value)
    finally:
        for key in store.keys(""):
            client.delete_object(Bucket=bucket, Key=key)
        client.delete_bucket(Bucket=bucket)
    medians = {key: statistics.median(values) for key, values in found.items()}
    return {"rounds": ROUNDS, "callsEach": CALLS, "bytes": SIZE, "calls": _rows(medians)}


def _rows(medians: dict[tuple[str, str, str], float]) -> dict[str, dict[str, float]]:
    rows: dict[str, dict[str, float]] = {}
    for (way, call, what), value in medians.items():
        rows.setdefault(call, {})[f"{way}{what}Ms"] = round(value, 3)
    for call, row in rows.items():
        row["cpuRatio"] = round(medians["boto3", call, "Cpu"] / medians["store", call, "Cpu"], 1)
    return rows


def _timed(call: Callable[[str], Any], folder: str) -> dict[str, float]:
    cpu, wall = time.process_time(), time.perf_counter()
    for number in range(CALLS):
        call(f"{folder}/{number}.bin")
    return {
        "Cpu": (time.process_time() - cpu) * 1000 / CALLS,
        "Wall": (time.perf_counter() - wall) * 1000 / CALLS,
    }


def _of_store(store: S3Store) -> Calls:
    return {"put": lambda key: store.put(key, _body(key)), "get": store.get, "head": store.head}


def _of_boto3(client: Any, bucket: str) -> Calls:
    """What the store does around its requests: it hashes what it sends, and checks what it reads."""

    def put(key: str) -> None:
        body = _body(key)
        digest = hashlib.sha256(body)
        checksum = base64.b64encode(digest.digest()).decode()
        metadata = {"sha256": digest.hexdigest()}
        client.put_object(
            Bucket=bucket, Key=key, Body=body, Metadata=metadata, ChecksumSHA256=checksum, IfNoneMatch="*"
        )

    def get(key: str) -> None:
        answer = client.get_object(Bucket=bucket, Key=key)
        if hashlib.sha256(answer["Body"].read()).hexdigest() != answer["Metadata"]["sha256"]:
            raise RuntimeError(f"{key} is not what was stored")

    return {"put": put, "get": get, "head": lambda key: client.head_object(Bucket=bucket, Key=key)}


def _body(key: str) -> bytes:
    return key.encode().ljust(SIZE, b".")
