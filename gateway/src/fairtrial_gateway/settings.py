"""What the gateway is told by its environment, with every default in one place."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fairtrial.errors import InvalidInput

MIB = 1024 * 1024
SERVICE_ACCOUNT_DIR = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@dataclass(frozen=True)
class Settings:
    """Limits and addresses. Durations are in seconds."""

    kubernetes_url: str
    kubernetes_ca_file: str
    kubernetes_token_file: str
    host: str = "0.0.0.0"  # noqa: S104 — a pod's address is not known before it starts; network policies guard it
    port: int = 8080
    max_artifact_bytes: int = 1024 * MIB
    max_uploads: int = 16
    max_uploads_per_pod: int = 4
    store_writers: int = 2  # parts on their way to the store, of all uploads together
    identity_ttl: float = 30.0
    header_seconds: float = 15.0  # from a connection's start, or its last answer, to the next request's headers
    idle_seconds: float = 60.0  # between two pieces of a body
    upload_seconds: float = 600.0
    scan_seconds: float = 25.0  # of what a pod stored, for secrets; shorter than a pod waits for an answer
    drain_seconds: float = 30.0

    @classmethod
    def from_env(cls, env: Mapping[str, str] = os.environ) -> "Settings":
        """Read the environment; in a cluster nothing needs to be set."""
        return cls(
            kubernetes_url=_kubernetes_url(env),
            kubernetes_ca_file=env.get("FAIRTRIAL_KUBERNETES_CA_FILE") or str(SERVICE_ACCOUNT_DIR / "ca.crt"),
            kubernetes_token_file=env.get("FAIRTRIAL_KUBERNETES_TOKEN_FILE") or str(SERVICE_ACCOUNT_DIR / "token"),
            host=env.get("FAIRTRIAL_GATEWAY_HOST") or cls.host,
            port=_number(env, "FAIRTRIAL_GATEWAY_PORT", cls.port),
            max_artifact_bytes=_number(env, "FAIRTRIAL_GATEWAY_MAX_ARTIFACT_BYTES", cls.max_artifact_bytes),
            max_uploads=_number(env, "FAIRTRIAL_GATEWAY_MAX_UPLOADS", cls.max_uploads),
            max_uploads_per_pod=_number(env, "FAIRTRIAL_GATEWAY_MAX_UPLOADS_PER_POD", cls.max_uploads_per_pod),
            store_writers=_number(env, "FAIRTRIAL_GATEWAY_STORE_WRITERS", cls.store_writers),
            upload_seconds=_number(env, "FAIRTRIAL_GATEWAY_UPLOAD_SECONDS", int(cls.upload_seconds)),
            scan_seconds=_number(env, "FAIRTRIAL_GATEWAY_SCAN_SECONDS", int(cls.scan_seconds)),
            drain_seconds=_number(env, "FAIRTRIAL_GATEWAY_DRAIN_SECONDS", int(cls.drain_seconds)),
        )


def _kubernetes_url(env: Mapping[str, str]) -> str:
    if url := env.get("FAIRTRIAL_KUBERNETES_URL"):
        return url.rstrip("/")
    host = env.get("KUBERNETES_SERVICE_HOST")
    if not host:
        raise InvalidInput("environment: FAIRTRIAL_KUBERNETES_URL must be set outside a cluster.")
    port = env.get("KUBERNETES_SERVICE_PORT_HTTPS") or env.get("KUBERNETES_SERVICE_PORT") or "443"
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"


def _number(env: Mapping[str, str], name: str, default: int) -> int:
    text = env.get(name)
    if not text:
        return default
    if not text.isdecimal() or int(text) < 1:
        raise InvalidInput(f"{name}: {text!r} must be a whole number above zero.")
    return int(text)
