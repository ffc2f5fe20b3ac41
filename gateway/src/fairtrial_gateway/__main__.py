"""Start the gateway: `python -m fairtrial_gateway`. It listens at once and is ready when store and identity are."""

import asyncio
import contextlib
import logging
import signal
import sys
from datetime import UTC, datetime
from typing import Any

from aiohttp import web

from fairtrial.errors import FairtrialError
from fairtrial.evidence.layout import Layout
from fairtrial.evidence.probe import probe
from fairtrial.evidence.s3_sweep import ABANDONED_AFTER, sweep
from fairtrial.evidence.store import S3Settings, S3Store
from fairtrial.process.garbage import collect_seldom
from fairtrial.signing import keys as signing_keys
from fairtrial.signing.keys import SigningKey
from fairtrial_gateway.app import Gateway
from fairtrial_gateway.identity import Identity
from fairtrial_gateway.kubernetes import KubernetesApi
from fairtrial_gateway.logs import say, set_up
from fairtrial_gateway.metrics import Metrics
from fairtrial_gateway.models.assembly import ModelCalls
from fairtrial_gateway.models.settings import ModelSettings
from fairtrial_gateway.models.workers import Process
from fairtrial_gateway.server import Runner
from fairtrial_gateway.settings import Settings

LAST_JOURNALS_SECONDS = 10.0  # for the journals of calls that were cut because the gateway ends
ENDPOINT_SECONDS = 2.0  # until no new connection should come after the pod was told to end


def main() -> int:
    """Run until told to end."""
    set_up()
    try:
        settings, models, s3 = Settings.from_env(), ModelSettings.from_env(), S3Settings.from_env()
        key = signing_keys.from_environment()
    except FairtrialError as error:
        say("cannot start", logging.ERROR, reason=error.reason, message=str(error))
        return 2
    asyncio.run(serve(settings, models, s3, key))
    return 0


async def serve(settings: Settings, models: ModelSettings, s3: S3Settings, key: SigningKey | None = None) -> None:
    """Serve until SIGTERM or SIGINT, then finish what is under way."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    metrics, api = Metrics(), KubernetesApi(settings)
    store = S3Store(s3, on_retry=lambda reason: metrics.store_retries.labels(reason).inc())
    identity = Identity(api, settings.identity_ttl)
    layout = Layout(s3.prefix)
    calls = ModelCalls(models, api, store, layout, metrics, Process(models.uploads))
    gateway = Gateway(settings, identity, store, layout, metrics, calls, key)
    gateway.health.expect("store", "identity", "journals")
    runner = runner_of(gateway)
    await runner.setup()
    assert runner.server is not None
    await web.TCPSite(runner, settings.host, settings.port).start()
    signs = key.key_id if key else ""  # empty: what evaluators report is not signed
    say("listening", host=settings.host, port=settings.port, bucket=s3.bucket, prefix=s3.prefix, evaluator_key=signs)
    collect_seldom()  # a tenth of a call's time went there
    tasks = [
        _background(_keep_store(gateway, store)),
        _background(gateway.health.until_passed("identity", identity.check)),
        _background(gateway.health.until_passed("journals", calls.start)),
        _background(gateway.reaper.run(runner.server)),
        _background(gateway.refusals.run()),
    ]
    await stop.wait()
    await drain(gateway, settings.drain_seconds)
    for task in tasks:
        task.cancel()
    await runner.cleanup()
    await gateway.refusals.flush()
    await calls.settled(LAST_JOURNALS_SECONDS)
    await calls.close()
    await api.close()
    gateway.threads.close()
    store.close()
    say("ended")


async def _keep_store(gateway: Gateway, store: S3Store) -> None:
    """Probe the store, and then once a day drop the parts of uploads that nobody will finish."""
    await gateway.health.until_passed("store", lambda: gateway.threads.run(probe, store))
    while True:
        try:
            say("swept unfinished uploads", aborted=await gateway.threads.run(sweep, store, datetime.now(UTC)))
        except FairtrialError as error:  # it can wait until tomorrow; nothing that is stored depends on it
            say("sweep failed", logging.WARNING, reason=error.reason, message=str(error))
        await asyncio.sleep(ABANDONED_AFTER.total_seconds())


def runner_of(gateway: Gateway) -> Runner:
    """The HTTP server of a gateway."""
    return Runner(gateway.app, gateway.refusals, gateway.settings.header_seconds)


async def drain(gateway: Gateway, seconds: float) -> None:
    """Take no new work, and wait for what is under way; what is not done after `seconds` is aborted by the caller."""
    gateway.health.draining = True
    loop = asyncio.get_running_loop()
    started = loop.time()
    say("draining", under_way=gateway.under_way)
    while loop.time() < started + seconds:
        if gateway.under_way == 0 and loop.time() > started + min(ENDPOINT_SECONDS, seconds):
            break
        await asyncio.sleep(0.1)
    say("drained", under_way=gateway.under_way)


def _background(work: Any) -> "asyncio.Task[Any]":
    async def guarded() -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await work

    return asyncio.create_task(guarded())


if __name__ == "__main__":
    sys.exit(main())
