"""Addresses that pods are told, looked up once at start: pods have no DNS, so names would mean nothing to them.

The gateway's Service gives the one address that agents may reach; the canary's, and its pods', are addresses that would
answer and that they must not reach.
"""

from dataclasses import replace
from urllib.parse import urlunsplit

from fairtrial.documents import Probe
from fairtrial.errors import FairtrialError
from fairtrial_operator.kube import PODS, SERVICES, ApiError, Kube, Object
from fairtrial_operator.settings import Settings

CANARY_PODS = "app.kubernetes.io/component=canary"


async def look_up(kube: Kube, settings: Settings) -> Settings:
    """The settings with the gateway's address and the canary's probes filled in."""
    if not settings.gateway_url:
        service = await _service(kube, settings.gateway_namespace, settings.gateway_service)
        host, port = _address(service)
        url = urlunsplit(("http", f"[{host}]:{port}" if ":" in host else f"{host}:{port}", "", "", ""))
        settings = replace(settings, gateway_url=url)
    if settings.canary_service:
        host, port = _address(await _service(kube, settings.namespace, settings.canary_service))
        probes = [Probe("canary-service", "tcp", host, port)]
        page = await kube.list_page(PODS, selector=CANARY_PODS)
        probes += [
            Probe(f"canary-pod-{index}", "tcp", address["ip"], port)
            for pod in page["items"]
            if pod["metadata"]["namespace"] == settings.namespace
            for index, address in enumerate(pod["status"].get("podIPs", []))
        ]
        settings = replace(settings, probes=(*settings.probes, *probes))
    return settings


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
