"""Addresses that pods are told: they have no DNS, so names would mean nothing to them.

The gateway's Service gives the one address that agents may reach; the canary's, and its pods', are addresses that would
answer and that they must not reach. A Service keeps its address; a pod that is replaced has another one, so the
canary's pods are looked up again from time to time.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import urlunsplit

from fairtrial.documents import Probe
from fairtrial.errors import FairtrialError
from fairtrial_operator.build import PodSettings
from fairtrial_operator.kube import PODS, SERVICES, ApiError, Kube, Object
from fairtrial_operator.settings import Settings

log = logging.getLogger(__name__)
CANARY_PODS = "app.kubernetes.io/component=canary"
REFRESH_SECONDS = 60.0
SOON_SECONDS = 5.0  # while it was never found


class Surroundings:
    """What pods are told of the cluster, never older than a minute while the API server answers."""

    def __init__(self, kube: Kube, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self._kube, self._settings, self._clock = kube, settings, clock
        self._canary: tuple[Probe, ...] = ()
        self._problem = ""
        self._looked_at: float | None = None

    async def pods(self) -> PodSettings:
        """The settings of a pod that is made now."""
        if self._settings.canary_service and self._due():
            try:
                self._canary, self._problem = await self._canaries() or self._canary, ""
            except FairtrialError as error:  # what was known is probed on
                self._problem = f"The canary can't be looked up: {error}"
                log.warning("%s", self._problem)
            self._looked_at = self._clock()
        made = replace(self._settings, probes=(*self._settings.probes, *self._canary)).pods
        return replace(made, unready=self._unready())

    def _unready(self) -> str:
        """A proof that never tried the canary says little: a cluster may guard its API server and nothing else."""
        if not self._settings.canary_service or self._canary:
            return ""
        where = f"Service {self._settings.canary_service} in namespace {self._settings.namespace}"
        why = self._problem or f"There is no pod of the canary yet, behind {where}."
        find = f"kubectl --namespace {self._settings.namespace} get pods --selector {CANARY_PODS}"
        return f"{why} No agent starts before it is there. See: {find}"

    def _due(self) -> bool:
        wait = REFRESH_SECONDS if self._canary else SOON_SECONDS
        return self._looked_at is None or self._clock() - self._looked_at > wait

    async def _canaries(self) -> tuple[Probe, ...]:
        """The canary's addresses; none while it has no pod, since nothing would answer at its Service either."""
        host, port = _address(await _service(self._kube, self._settings.namespace, self._settings.canary_service))
        page = await self._kube.list_page(PODS, selector=CANARY_PODS)
        addresses = [
            address["ip"]
            for pod in page["items"]
            if pod["metadata"]["namespace"] == self._settings.namespace
            for address in pod["status"].get("podIPs", [])
        ]
        pods = [Probe(f"canary-pod-{index}", "tcp", ip, port) for index, ip in enumerate(sorted(addresses))]
        return (Probe("canary-service", "tcp", host, port), *pods) if pods else ()


async def look_up(kube: Kube, settings: Settings) -> Settings:
    """The settings with the gateway's address filled in."""
    if settings.gateway_url:
        return settings
    host, port = _address(await _service(kube, settings.gateway_namespace, settings.gateway_service))
    url = urlunsplit(("http", f"[{host}]:{port}" if ":" in host else f"{host}:{port}", "", "", ""))
    return replace(settings, gateway_url=url)


async def _service(kube: Kube, namespace: str, name: str) -> Object:
    try:
        return await kube.get(SERVICES, name, namespace)
    except ApiError as error:
        raise FairtrialError(
            f"The Service {namespace}/{name} can't be read: {error}",
            next_move="Check the chart's release and its RBAC.",
        ) from error


def _address(service: Object) -> tuple[str, int]:
    return service["spec"]["clusterIP"], int(service["spec"]["ports"][0]["port"])
