"""How many gateways there are: what a provider's caps are divided by."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from fairtrial.errors import FairtrialError
from fairtrial_gateway.kubernetes import KubernetesApi
from fairtrial_gateway.logs import say

PERIOD = 10.0


def ready_endpoints(slices: list[dict[str, Any]]) -> frozenset[str]:
    """The gateways that get requests. One that ends still has some under way, and still counts."""
    return frozenset(
        address
        for each in slices
        for endpoint in each.get("endpoints") or []
        if (endpoint.get("conditions") or {}).get("serving", (endpoint.get("conditions") or {}).get("ready", True))
        for address in endpoint.get("addresses") or []
    )


class Replicas:
    """Watches the Service's endpoints, by asking now and then."""

    def __init__(self, api: KubernetesApi, namespace: str, service: str, changed: Callable[[int], None]) -> None:
        self._api, self._namespace, self._service, self._changed = api, namespace, service, changed
        self._known: frozenset[str] = frozenset()

    async def run(self) -> None:
        """Ask for ever; `changed` is told the number when the set is another than before."""
        while True:
            try:
                await self.look()
            except FairtrialError as error:
                say("replicas unknown", logging.WARNING, reason=error.reason, message=str(error))
            await asyncio.sleep(PERIOD)

    async def look(self) -> None:
        """Ask once. An empty answer is not believed: this one is running."""
        found = ready_endpoints(await self._api.endpoint_slices(self._namespace, self._service))
        if found and found != self._known:
            self._known = found
            self._changed(len(found))
