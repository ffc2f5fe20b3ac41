"""Starts the operator: probe the store, hold the Lease, list and watch, work. Ends, with a code, when any part ends."""

import asyncio
import logging
import os
import random
import signal
import sys
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

from fairtrial import names
from fairtrial.errors import FairtrialError, StoreUnfit
from fairtrial.evidence.layout import Layout
from fairtrial.evidence.probe import probe
from fairtrial.evidence.store import Patience, S3Settings, S3Store
from fairtrial.process.garbage import collect_seldom
from fairtrial_operator import handlers, health, metrics, surroundings
from fairtrial_operator import settings as configuration
from fairtrial_operator.apply import Applier
from fairtrial_operator.cache import Key, Object, key_of
from fairtrial_operator.cohorts.apply import CohortApplier
from fairtrial_operator.cohorts.observe import CohortObserver
from fairtrial_operator.cohorts.reconcile import CohortReconciler
from fairtrial_operator.informer import Informer, Selection
from fairtrial_operator.kube import COHORTS, NAMESPACES, PODS, POLICIES, RUNS, ApiError, Kube
from fairtrial_operator.lease import Lease
from fairtrial_operator.observe import Observer
from fairtrial_operator.reconcile import Reconciler
from fairtrial_operator.settings import Settings
from fairtrial_operator.signatory import Signatory
from fairtrial_operator.state import State, cohort_key, finished, namespace_key, run_key
from fairtrial_operator.workqueue import WorkQueue

log = logging.getLogger("fairtrial_operator")
PROBE_AGAIN_SECONDS = 15.0
MANAGED = f"{names.MANAGED_BY_LABEL}={names.MANAGED_BY}"
# Pods of finished runs stay for days, twenty thousand of them. A pod that is not listed and whose end is not written
# down is asked for by its name; what would be missed is one that still carries our finalizer.
PODS_LISTED = (
    Selection(MANAGED, "status.phase!=Succeeded,status.phase!=Failed"),
    Selection(f"{MANAGED},{names.ROLE_LABEL}={names.AGENT},!{names.RELEASED_LABEL}"),
)
EXIT_DEAD_PART, EXIT_CONFIGURATION = 1, 2


class Operator:
    """The parts of one process and how they hang together."""

    def __init__(self, kube: Kube, store: S3Store, settings: Settings, signatory: Signatory) -> None:
        self._kube, self._store, self._settings = kube, store, settings
        self._rng = random.Random()  # noqa: S311 — jitter
        loop = asyncio.get_running_loop()
        self._state = State(WorkQueue(clock=loop.time, rng=self._rng), signs=signatory.signs)
        self._vitals = health.Vitals(oldest_key=lambda: self._state.queue.oldest_age)
        self._vitals.unheard = lambda: self._state.unheard_seconds
        self._vitals.depth = lambda: self._state.queue.depth
        self._vitals.leading = lambda: self._lease.held
        self._lease = Lease(
            kube,
            namespace=settings.namespace,
            name=settings.lease_name,
            identity=settings.identity,
            seconds=settings.lease_seconds,
        )
        layout = Layout(store.settings.prefix)
        observer = Observer(kube, store, layout, self._state, settings)
        cohorts = CohortObserver(kube, store, layout, self._state, settings, observer, loop.time)
        self._reconcile = Reconciler(
            kube=kube,
            state=self._state,
            settings=settings,
            observer=observer,
            applier=Applier(kube, store, store.settings.bucket, self._state, observer, signatory),
            cohorts=CohortReconciler(
                kube,
                self._state,
                cohorts,
                CohortApplier(kube, store, store.settings.bucket, self._state, cohorts, loop.time, signatory),
                lambda: datetime.now(UTC),
            ),
            clock=lambda: datetime.now(UTC),
        )

    async def run(self) -> int:
        """Run until told to stop (0) or until a part dies (not 0)."""
        server = await health.serve(self._vitals, self._settings.health_port)
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        tasks = [_task(stop.wait(), "stop"), _task(self._vitals.keep_time(), "heart")]
        tasks += [_task(self._probe_store(), "store probe"), _task(self._lead(), "leader")]
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        code = _verdict(done)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._lease.release()
        await server.cleanup()
        return code

    async def _lead(self) -> None:
        """Everything that only one replica may do."""
        await self._lease.acquire()
        state = self._state
        informers = [
            Informer(
                self._kube, PODS, cache=state.pods, changed=state.pod_changed, selector=MANAGED, listed=PODS_LISTED
            ),
            Informer(self._kube, NAMESPACES, cache=state.namespaces, changed=self._namespace_changed),
            Informer(self._kube, POLICIES, cache=state.policies, changed=self._policy_changed, selector=MANAGED),
        ]
        self._vitals.informers = informers
        async with asyncio.TaskGroup() as group:
            group.create_task(self._lease.keep(), name="lease")
            for informer in informers:
                group.create_task(informer.run(), name=f"informer {informer.kind}")
            await asyncio.gather(*(informer.synced.wait() for informer in informers))
            for number in range(self._settings.workers):
                group.create_task(state.queue.work(self._reconcile), name=f"worker {number}")
            group.create_task(self._resync(), name="resync")
            group.create_task(handlers.watch(state), name="kopf")

    def _namespace_changed(self, key: Key, obj: Object | None) -> None:  # noqa: ARG002
        self._state.queue.add(namespace_key(key.name))

    def _policy_changed(self, key: Key, obj: Object | None) -> None:  # noqa: ARG002
        self._state.queue.add(namespace_key(key.namespace))

    async def _probe_store(self) -> None:
        """Readiness waits for the store's conformance; a store that is unfit ends the process: evidence needs it."""
        while not self._vitals.store_ready:
            try:
                found = await asyncio.to_thread(probe, self._store)
                self._vitals.store_ready = True
                self._state.store_found = found
                log.info("the object store passed its probe: %s", found)
            except StoreUnfit:
                raise
            except FairtrialError as error:
                metrics.STORE_ERRORS.labels(error.reason).inc()
                log.warning("the object store could not be probed, trying again: %s", error)
                await asyncio.sleep(PROBE_AGAIN_SECONDS)
        await asyncio.Event().wait()

    async def _resync(self) -> None:
        """Look at every unfinished run again from a fresh list: insurance against anything that a watch lost."""
        while True:
            await asyncio.sleep(self._settings.resync_seconds * self._rng.uniform(0.8, 1.2))
            try:
                await self._list_unfinished()
            except ApiError as error:
                log.warning("the resync failed, the next one will do: %s", error)
            for raw in self._state.namespaces:
                if self._settings.selects(raw["metadata"].get("labels") or {}):
                    self._state.accounts.discard(raw["metadata"]["name"])
                    self._state.queue.add(namespace_key(raw["metadata"]["name"]))

    async def _list_unfinished(self) -> None:
        token, state = "", self._state
        await self._list_cohorts()
        while True:
            page = await self._kube.list_page(RUNS, fields="status.phase!=Done", token=token)
            for raw in page["items"]:
                state.keep_run(raw | {"apiVersion": RUNS.api_version, "kind": RUNS.kind})
            token = page["metadata"].get("continue") or ""
            if not token:
                break
        for raw in state.runs:
            if finished(raw):
                continue
            work = run_key(Key(raw["metadata"]["namespace"], raw["metadata"]["name"]))
            state.resynced.add(work)
            # Spread over some seconds, so that ten thousand idle runs do not hold up one that is due.
            state.queue.add_after(work, self._rng.uniform(0, min(30.0, self._settings.resync_seconds / 4)))

    async def _list_cohorts(self) -> None:
        token = ""
        while True:
            page = await self._kube.list_page(COHORTS, token=token)
            for raw in page["items"]:
                self._state.cohort_changed(raw | {"apiVersion": COHORTS.api_version, "kind": COHORTS.kind})
                self._state.queue.add(cohort_key(key_of(raw)))
            token = page["metadata"].get("continue") or ""
            if not token:
                return


def _task(work: Coroutine[Any, Any, Any], name: str) -> "asyncio.Task[Any]":
    return asyncio.create_task(work, name=name)


def _verdict(done: "set[asyncio.Task[Any]]") -> int:
    """The exit code: 0 only where somebody asked the operator to stop."""
    for task in done:
        error = task.exception()
        if error is not None:
            log.critical("%s died", task.get_name(), exc_info=error)
            return EXIT_CONFIGURATION if isinstance(error, StoreUnfit) else EXIT_DEAD_PART
    log.info("stopping")
    return 0


async def main() -> int:
    """Read the environment, connect, run."""
    try:
        settings = configuration.load()
        store = S3Store(S3Settings.from_env(), patience=Patience(attempts=2))
        signatory = Signatory.from_environment(os.environ)
    except FairtrialError as error:
        log.critical("%s", error)
        return EXIT_CONFIGURATION
    # Python's own choice is a few threads per core, but what these do is wait for the store.
    threads = ThreadPoolExecutor(settings.workers, thread_name_prefix="store")
    asyncio.get_running_loop().set_default_executor(threads)
    kube = await Kube.connect()
    collect_seldom()  # a list of thousands of pods took three times as long
    try:
        log.info("preregistrations, records and ledgers are %s", signatory)
        return await Operator(kube, store, await surroundings.look_up(kube, settings), signatory).run()
    except FairtrialError as error:
        log.critical("%s", error)
        return EXIT_CONFIGURATION
    finally:
        await kube.close()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s", stream=sys.stderr)
    logging.getLogger("kopf").setLevel(logging.WARNING)  # it says for every event that its handler has run
    sys.exit(asyncio.run(main()))
