"""Liveness that means something: it fails when this process has stopped seeing or doing, not only when it is dead."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from aiohttp import web
from prometheus_client import generate_latest

from fairtrial_operator import metrics
from fairtrial_operator.informer import Informer

SILENCE_LIMIT, KEY_LIMIT, LAG_LIMIT = 240.0, 900.0, 20.0
ECHO_LIMIT = 60.0
BEAT_SECONDS = 1.0


@dataclass
class Vitals:
    """What the probes look at. Each part reports here; nothing here acts."""

    informers: list[Informer] = field(default_factory=list)
    oldest_key: Callable[[], float] = lambda: 0.0
    depth: Callable[[], int] = lambda: 0
    unheard: Callable[[], float] = lambda: 0.0
    leading: Callable[[], bool] = lambda: False
    store_ready: bool = False
    lag: float = 0.0

    def complaints(self) -> list[str]:
        """Why this process should be restarted; empty if it should not."""
        found = [
            f"no word from the watch of {informer.kind} for {informer.age:.0f} s"
            for informer in self.informers
            if informer.age > SILENCE_LIMIT
        ]
        if self.oldest_key() > KEY_LIMIT:
            found.append(f"a key has been due for {self.oldest_key():.0f} s")
        if self.unheard() > ECHO_LIMIT:
            found.append(f"kopf's watch of runs has not shown what was written {self.unheard():.0f} s ago")
        if self.lag > LAG_LIMIT:
            found.append(f"the event loop is {self.lag:.0f} s late")
        return found

    def unready(self) -> list[str]:
        """Why this process cannot do its work yet. A standby that waits for the Lease is ready."""
        found = [] if self.store_ready else ["the object store has not passed its probe"]
        found += [f"{i.kind} is not listed yet" for i in self.informers if self.leading() and not i.synced.is_set()]
        return found

    def publish(self) -> None:
        """Bring the gauges up to date."""
        metrics.QUEUE_DEPTH.set(self.depth())
        metrics.QUEUE_OLDEST.set(self.oldest_key())
        metrics.LOOP_LAG.set(self.lag)
        metrics.LEADING.set(self.leading())
        for informer in self.informers:
            metrics.INFORMER_AGE.labels(informer.kind).set(informer.age)

    async def keep_time(self) -> None:
        """Measure how late the event loop wakes us, for ever."""
        while True:
            begun = time.monotonic()
            await asyncio.sleep(BEAT_SECONDS)
            self.lag = time.monotonic() - begun - BEAT_SECONDS


async def serve(vitals: Vitals, port: int) -> web.AppRunner:
    """Serve /healthz, /readyz and /metrics; the caller cleans the runner up."""

    async def healthz(_: web.Request) -> web.Response:
        return _answer(vitals.complaints())

    async def readyz(_: web.Request) -> web.Response:
        return _answer(vitals.unready())

    async def expose(_: web.Request) -> web.Response:
        vitals.publish()
        body = generate_latest(metrics.REGISTRY)
        return web.Response(body=body, headers={"Content-Type": "text/plain; version=0.0.4"})

    app = web.Application()
    app.add_routes([web.get("/healthz", healthz), web.get("/readyz", readyz), web.get("/metrics", expose)])
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, None, port).start()
    return runner


def _answer(complaints: Sequence[str]) -> web.Response:
    return web.Response(text="\n".join(complaints) or "ok", status=503 if complaints else 200)
