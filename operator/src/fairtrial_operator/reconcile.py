"""One piece of work from the queue: observe, decide, apply, until nothing is left to do for now."""

import logging
import time
from collections.abc import Callable
from datetime import datetime

from fairtrial.api import BenchmarkRun, parse
from fairtrial.errors import FairtrialError, InvalidInput
from fairtrial_operator import metrics
from fairtrial_operator.apply import Applier
from fairtrial_operator.cache import Key
from fairtrial_operator.cohorts.reconcile import CohortReconciler
from fairtrial_operator.decide import decide
from fairtrial_operator.kube import COHORTS, RUNS, Changed, Kube, NotFound
from fairtrial_operator.namespace import NamespaceKeeper
from fairtrial_operator.observe import Notes, Observer, namespace_view
from fairtrial_operator.settings import Settings
from fairtrial_operator.state import COHORT, NAMESPACE, State, WorkKey, finished

log = logging.getLogger(__name__)
STEPS_AT_ONCE = 20  # a run's whole life has ten


class Reconciler:
    """The queue's handler. Answers whether the key is done for now; a failed key comes back after its back-off."""

    def __init__(
        self,
        *,
        kube: Kube,
        state: State,
        settings: Settings,
        observer: Observer,
        applier: Applier,
        cohorts: CohortReconciler,
        clock: Callable[[], datetime],
    ) -> None:
        self._kube, self._state, self._settings = kube, state, settings
        self._observer, self._applier, self._clock = observer, applier, clock
        self._namespaces, self._cohorts = NamespaceKeeper(kube, state, settings), cohorts

    async def __call__(self, key: WorkKey) -> bool:
        """Work on one key. A bug in one run must not stop the others, so everything is caught and counted here."""
        begun = time.monotonic()
        resynced = key in self._state.resynced
        self._state.resynced.discard(key)
        try:
            if key.kind == NAMESPACE:
                await self._namespaces.reconcile(key.name)
                done = True
            elif key.kind == COHORT:
                done = await self._cohorts.reconcile(Key(key.namespace, key.name), key, self._ours)
            else:
                done = await self._run(Key(key.namespace, key.name), key, resynced=resynced)
        except (Changed, NotFound) as error:
            log.info("%s: %s; reading it again", key, error)
            done = await self._refresh(key)
        except FairtrialError as error:
            log.warning("%s: %s", key, error)
            done = False
        except Exception:
            log.exception("%s failed for a reason that is a bug", key)
            done = False
        metrics.RECONCILES.labels("done" if done else "again").inc()
        metrics.RECONCILE_SECONDS.observe(time.monotonic() - begun)
        return done

    async def _run(self, key: Key, work: WorkKey, *, resynced: bool) -> bool:
        notes = Notes()
        for step in range(STEPS_AT_ONCE):
            raw = self._state.runs.get(key)
            if raw is None or finished(raw):
                self._state.queue.forget(work)
                return True
            try:
                run = parse(BenchmarkRun, raw, name=f"{key.namespace}/{key.name}")
            except InvalidInput as error:
                log.error("%s is left alone: %s", key, error)
                return True
            if not self._ours(run.metadata.namespace):
                return True
            now = self._clock()
            seen = await self._observer.observe(run, raw, notes, now)
            decision = decide(run, seen, now)
            if decision.action is None:
                self._state.wait_for_references(run)
                if decision.again_after is not None:
                    self._state.queue.add_after(work, decision.again_after)
                return not decision.retry
            if resynced and step == 0:
                metrics.REPAIRS.inc()
            log.info("%s: %s", key, type(decision.action).__name__)
            if decision.event is not None:  # before the action, after which the run may be gone, or we
                await self._applier.tell(run, decision.event)
            await self._applier.apply(run, raw, decision.action, notes)
        log.error("%s does not come to rest; going on later", key)
        return False

    def _ours(self, namespace: str) -> bool:
        """Whether this operator answers for the namespace; another one's label value means another one."""
        view = namespace_view(self._state, self._settings, namespace)
        if view is None or view.selected:
            return view is not None
        return self._settings.selector_key not in view.labels and self._settings.selector_value == "true"

    async def _refresh(self, key: WorkKey) -> bool:
        """The cache was behind, or the object is gone: take the truth from the API server."""
        if key.kind == NAMESPACE:
            return False
        try:
            if key.kind == COHORT:
                self._state.cohorts.put(await self._kube.get(COHORTS, key.name, key.namespace))
                return False
            self._state.keep_run(await self._kube.get(RUNS, key.name, key.namespace))
        except NotFound:
            if key.kind == COHORT:
                self._state.cohorts.forget(Key(key.namespace, key.name))
                return True
            self._state.forget_run(Key(key.namespace, key.name))
            return True
        except FairtrialError as error:
            log.warning("%s: %s", key, error)
        return False
