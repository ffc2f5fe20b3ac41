"""What an administrator decides about the operator: read once from the environment; what is wrong is named."""

import ipaddress
import json
import os
import re
import socket
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fairtrial import names
from fairtrial.documents import Probe, from_json
from fairtrial.errors import InvalidInput
from fairtrial_operator.build import PodSettings
from fairtrial_operator.cohorts.analysis_job import AnalysisSettings

RESOLV_CONF = Path("/etc/resolv.conf")
IMAGE_BY_DIGEST = re.compile(r"^[^\s@]+@sha256:[0-9a-f]{64}$")


@dataclass(frozen=True)
class Settings:
    """The operator's configuration. Seconds are seconds; labels are `key=value`."""

    namespace: str
    runner_image: str
    evaluator_image: str
    gateway_url: str  # empty: looked up from the Service
    gateway_namespace: str
    identity: str
    gateway_service: str = ""
    canary_service: str = ""  # of something that answers and that agents must not reach; empty where there is none
    selector_key: str = names.NAMESPACE_LABEL
    selector_value: str = "true"
    probes: tuple[Probe, ...] = ()
    lease_name: str = "fairtrial-operator"
    lease_seconds: int = 15
    workers: int = 32
    health_port: int = 8081
    token_seconds: int = 3600
    release_after_seconds: int = 900
    resync_seconds: int = 600
    analysis: AnalysisSettings | None = None

    @property
    def pods(self) -> PodSettings:
        """What concerns every pod."""
        return PodSettings(
            self.runner_image, self.evaluator_image, self.gateway_url, self.token_seconds, tuple(self.probes)
        )

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Whether a namespace with these labels is this operator's."""
        return labels.get(self.selector_key) == self.selector_value


def load(environ: Mapping[str, str] | None = None) -> Settings:
    """Read the settings; the first variable that is missing or wrong is named."""
    env = os.environ if environ is None else environ
    key, value = _label(env.get("FAIRTRIAL_NAMESPACE_SELECTOR", f"{names.NAMESPACE_LABEL}=true"))
    own = _required(env, "FAIRTRIAL_NAMESPACE")
    if not env.get("FAIRTRIAL_GATEWAY_URL"):
        _required(env, "FAIRTRIAL_GATEWAY_SERVICE")
    return Settings(
        namespace=own,
        runner_image=_image(env, "FAIRTRIAL_RUNNER_IMAGE"),
        evaluator_image=_image(env, "FAIRTRIAL_EVALUATOR_IMAGE"),
        gateway_url=env.get("FAIRTRIAL_GATEWAY_URL", ""),
        gateway_service=env.get("FAIRTRIAL_GATEWAY_SERVICE", ""),
        canary_service=env.get("FAIRTRIAL_CANARY_SERVICE", ""),
        gateway_namespace=env.get("FAIRTRIAL_GATEWAY_NAMESPACE", own),
        # A pod's name is held by one container at a time: after a restart in place the Lease is still its own.
        identity=env.get("FAIRTRIAL_IDENTITY") or f"{socket.gethostname()}_{uuid.uuid4().hex[:8]}",
        selector_key=key,
        selector_value=value,
        probes=(*_cluster_probes(env), *_probes(env.get("FAIRTRIAL_PROBES", "[]"))),
        lease_name=env.get("FAIRTRIAL_LEASE_NAME", "fairtrial-operator"),
        lease_seconds=_number(env, "FAIRTRIAL_LEASE_SECONDS", 15, least=2),
        workers=_number(env, "FAIRTRIAL_WORKERS", 32, least=1),
        health_port=_number(env, "FAIRTRIAL_HEALTH_PORT", 8081, least=0),
        token_seconds=_number(env, "FAIRTRIAL_TOKEN_SECONDS", 3600, least=600),
        release_after_seconds=_number(env, "FAIRTRIAL_RELEASE_AFTER_SECONDS", 900, least=0),
        resync_seconds=_number(env, "FAIRTRIAL_RESYNC_SECONDS", 600, least=1),
        analysis=_analysis(env),
    )


def _analysis(env: Mapping[str, str]) -> AnalysisSettings | None:
    """The Job that analyses, and the images that it may be given; None where none is configured."""
    path = env.get("FAIRTRIAL_ANALYSIS_JOB")
    if not path:
        return None
    try:
        job = json.loads(Path(path).read_bytes())
        (_,) = job["spec"]["template"]["spec"]["containers"]
    except (OSError, ValueError, LookupError, TypeError) as error:
        next_move = "Give a batch/v1 Job with one container as JSON; the chart's ConfigMap has one."
        raise InvalidInput(f"FAIRTRIAL_ANALYSIS_JOB: {path} is no Job: {error}.", next_move=next_move) from error
    images = _required(env, "FAIRTRIAL_ANALYSIS_IMAGES").split()
    if wrong := [image for image in images if not IMAGE_BY_DIGEST.match(image)]:
        raise InvalidInput(
            f"FAIRTRIAL_ANALYSIS_IMAGES holds {wrong[0]!r}.",
            next_move="Name images by digest, separated by spaces: name@sha256:<64 hex digits>.",
        )
    version = env.get("FAIRTRIAL_ANALYSIS_VERSION", "")  # of the chart's own image, which is the first
    return AnalysisSettings(job, frozenset(images), {images[0]: version} if version else {})


def _required(env: Mapping[str, str], name: str) -> str:
    if not env.get(name):
        raise InvalidInput(f"{name} is not set.", next_move="Set it on the operator's Deployment.")
    return env[name]


def _image(env: Mapping[str, str], name: str) -> str:
    image = _required(env, name)
    if not IMAGE_BY_DIGEST.match(image):
        raise InvalidInput(f"{name} is {image!r}.", next_move="Name the image by digest: name@sha256:<64 hex digits>.")
    return image


def _label(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals or not value:
        raise InvalidInput(f"FAIRTRIAL_NAMESPACE_SELECTOR is {text!r}.", next_move="Write it as key=value.")
    return key, value


def _number(env: Mapping[str, str], name: str, default: int, *, least: int) -> int:
    text = env.get(name) or str(default)
    if not text.isdecimal() or int(text) < least:
        raise InvalidInput(f"{name} is {text!r}.", next_move=f"Give a whole number of at least {least}.")
    return int(text)


def _probes(text: str) -> list[Probe]:
    try:
        raw = json.loads(text)
    except ValueError as error:
        raise InvalidInput(f"FAIRTRIAL_PROBES is not JSON: {error}.") from error
    probes: list[Probe] = from_json(list[Probe], raw, "FAIRTRIAL_PROBES")
    return [_by_address(probe, "FAIRTRIAL_PROBES") for probe in probes]


def _by_address(probe: Probe, variable: str) -> Probe:
    """The probe, where it names an address: a pod resolves no name, so that one of a name would prove nothing."""
    try:
        ipaddress.ip_address(probe.host)
    except ValueError:
        raise InvalidInput(
            f"{variable}: probe {probe.name} has the host {probe.host!r}, which is no IP address.",
            next_move="Pods resolve no names: give the address.",
        ) from None
    return probe


def _cluster_probes(env: Mapping[str, str]) -> list[Probe]:
    """What every cluster has and no untrusted pod may reach: the API server, and DNS where its address is given."""
    found = []
    if env.get("KUBERNETES_SERVICE_HOST"):
        port = _number(env, "KUBERNETES_SERVICE_PORT", 443, least=1)
        probe = Probe("api-server", "tcp", env["KUBERNETES_SERVICE_HOST"], port)
        found.append(_by_address(probe, "KUBERNETES_SERVICE_HOST"))
    named = env.get("FAIRTRIAL_CLUSTER_DNS", "")
    servers = nameservers(RESOLV_CONF.read_text()) if named == "auto" else named.split()
    dns = [Probe(f"cluster-dns-{index}", "udp-dns", server, 53) for index, server in enumerate(servers)]
    return found + [_by_address(probe, "FAIRTRIAL_CLUSTER_DNS") for probe in dns]


def nameservers(resolv_conf: str) -> list[str]:
    """The servers that a resolver's configuration names; the operator's own are the cluster's."""
    lines = (line.split() for line in resolv_conf.splitlines())
    return [words[1] for words in lines if len(words) > 1 and words[0] == "nameserver"]
