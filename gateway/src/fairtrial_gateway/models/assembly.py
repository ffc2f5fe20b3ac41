"""All parts of model calls put together, with one start and one end."""

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any

from fairtrial.evidence.layout import Layout
from fairtrial.evidence.objects import ObjectStore
from fairtrial.secrets.stored import ArtifactScan
from fairtrial_gateway.artifact_scan import ArtifactScanning, Asked
from fairtrial_gateway.kubernetes import KubernetesApi
from fairtrial_gateway.logs import say
from fairtrial_gateway.metrics import Metrics
from fairtrial_gateway.models.budgets import Budgets
from fairtrial_gateway.models.canaries import Canaries, named_of
from fairtrial_gateway.models.lifecycle import Lifecycle
from fairtrial_gateway.models.measures import Measures
from fairtrial_gateway.models.providers import Providers
from fairtrial_gateway.models.proxy import Proxy
from fairtrial_gateway.models.recovery import recover
from fairtrial_gateway.models.replicas import Replicas
from fairtrial_gateway.models.settings import ModelSettings
from fairtrial_gateway.models.spool import Spool
from fairtrial_gateway.models.steps import Steps
from fairtrial_gateway.models.storing import Storing
from fairtrial_gateway.models.tools import ToolCalls, servers_of
from fairtrial_gateway.models.uploads import Uploads
from fairtrial_gateway.models.upstream import Upstream
from fairtrial_gateway.models.workers import Threads, Worker

MEASURE_SECONDS = 2.0


class ModelCalls:
    """What model calls need in a cluster."""

    def __init__(
        self,
        settings: ModelSettings,
        api: KubernetesApi,
        store: ObjectStore,
        layout: Layout,
        metrics: Metrics,
        worker: Worker | None = None,
    ) -> None:
        self.settings, self._api = settings, api
        self.measures = Measures(metrics)
        self.spool = Spool(settings.spool_path, settings.spool_bytes)
        self.worker = worker or Threads(Storing(store, layout), settings.uploads, ArtifactScanning(store, layout))
        self.uploads = Uploads(self.spool, self.worker, settings.uploads, self.scanned)
        self.upstream = Upstream(settings)
        self.budgets = Budgets(store, layout)
        self.steps = Steps(store, layout)
        self.providers = Providers(api, settings.provider_ttl)
        self.canaries = Canaries(api, named_of(settings.canary_secrets), settings.provider_ttl)
        self.lifecycle = Lifecycle(self.spool, self.uploads, self.measures, settings.run_calls)
        self.proxy = Proxy(settings, self.lifecycle, self.upstream, self.budgets, self.steps)
        self.tools = ToolCalls(self.proxy, self.upstream, servers_of(settings.tool_servers))
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def busy(self) -> int:
        """Calls under way, and journals that are not in the store."""
        return max(self.lifecycle.under_way, self.uploads.waiting)

    async def start(self) -> None:
        """Take over what is in the spool, and begin to look after it."""
        left = await recover(self.spool, self.uploads, self.providers, self.canaries)
        if left:
            say("journals recovered", journals=left)
        self._go(self._measure())
        if self.settings.service:
            changed = Replicas(self._api, self.settings.namespace, self.settings.service, self._resized)
            self._go(changed.run())

    async def settled(self, seconds: float) -> None:
        """Wait until every exchange that has ended is in the store, for so long at most."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.uploads.settled()

    async def close(self) -> None:
        """End; what is not in the store stays in the spool."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.uploads.close()
        await self.upstream.close()
        self.budgets.close()

    def _go(self, work: Coroutine[Any, Any, None]) -> None:
        self._tasks.append(asyncio.create_task(work))

    async def _measure(self) -> None:
        while True:
            self.measures.spool(self.spool.used, self.uploads.waiting)
            await asyncio.sleep(MEASURE_SECONDS)

    def _resized(self, replicas: int) -> None:
        say("replicas", replicas=replicas)
        self.proxy.replicas = replicas
        self.budgets.read_again()
        self.steps.read_again()

    async def scan(self, asked: Asked) -> ArtifactScan:
        """Search a pod's artifacts, beside the journals."""
        return await self.worker.scan(asked)

    def scanned(self, leaks: int) -> None:
        """Count a journal, or a pod's artifacts, in which something was found."""
        if leaks:
            self.measures.leaked()
