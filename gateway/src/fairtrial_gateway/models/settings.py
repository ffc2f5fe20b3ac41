"""Limits of model calls, with every default in one place. Durations are in seconds."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path

from fairtrial.errors import InvalidInput

MIB = 1024 * 1024
PREFIX = "FAIRTRIAL_GATEWAY_"


@dataclass(frozen=True)
class ModelSettings:
    """What can be set by `FAIRTRIAL_GATEWAY_<FIELD>`, such as FAIRTRIAL_GATEWAY_SPOOL_DIR."""

    spool_dir: str = "/spool"
    spool_bytes: int = 2048 * MIB  # journals that are not in the store yet; new calls are refused from 3/4 on
    max_request_bytes: int = 32 * MIB
    max_response_bytes: int = 256 * MIB  # an answer that never ends is cut here
    body_memory_bytes: int = 128 * MIB  # request bodies held at once, of all calls together
    connect_seconds: float = 10
    first_byte_seconds: float = 600  # a model may think that long before it says anything
    idle_seconds: float = 300  # between two pieces of an answer
    total_seconds: float = 3600
    stalled_seconds: float = 120  # an agent that takes nothing of its answer is taken for gone
    request_seconds: float = 60  # until a request's body must be there
    drain_seconds: float = 60  # how long an answer is read on for its usage when the agent is gone
    drain_bytes: int = 16 * MIB
    queue_seconds: float = 60  # how long a call may wait for its turn; then 429
    queue_calls: int = 1000  # calls that may be before another, at one provider
    run_concurrency: int = 32  # calls of one run that are at the provider at once
    run_calls: int = 512  # calls of one run that are open at once, those that wait and those of tools too
    recorded_refusals: int = 1000  # of one run; further refusals are counted only
    uploads: int = 4  # journals on their way to the store at once
    provider_ttl: float = 5
    run_ttl: float = 2
    replicas: int = 1  # until the Service's endpoints were read
    service: str = ""  # name of the gateway's own Service; empty: this is the only replica
    namespace: str = ""
    tool_servers: str = "{}"  # JSON: name → address of an HTTP tool server that tasks may allow
    canary_secrets: str = "[]"  # JSON: Secrets, by namespace and name, whose values no journal should hold
    proxy: str = ""  # an HTTP proxy for providers; the usual variables are not obeyed

    @classmethod
    def from_env(cls, env: Mapping[str, str] = os.environ) -> "ModelSettings":
        """Read the environment; nothing needs to be set."""
        found: dict[str, str | int | float] = {}
        for each in fields(cls):
            name = PREFIX + each.name.upper()
            if text := env.get(name):
                found[each.name] = _value(name, text, each.type)
        return replace(cls(), **found)  # type: ignore[arg-type]

    @property
    def spool_path(self) -> Path:
        """The folder of the spool."""
        return Path(self.spool_dir)


def _value(name: str, text: str, kind: object) -> str | int | float:
    if kind is str:
        return text
    try:
        value: int | float = int(text) if kind is int else float(text)
    except ValueError:
        value = 0
    if not 0 < value < 2**53:
        raise InvalidInput(f"{name}: {text!r} must be a number above zero.")
    return value
