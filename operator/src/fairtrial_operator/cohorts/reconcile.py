"""One cohort from the queue: observe, decide, apply, until nothing is left to do or it is another key's turn."""

import logging
from collections.abc import Callable, Iterator
from datetime import datetime

from fairtrial.api import BenchmarkCohort, parse
from fairtrial.cohort import preregistration
from fairtrial.errors import InvalidInput
from fairtrial_operator import events, metrics
from fairtrial_operator.cache import Key
from fairtrial_operator.cohorts.apply import CohortApplier
from fairtrial_operator.cohorts.decide import decide
from fairtrial_operator.cohorts.observe import CohortNotes, CohortObserver
from fairtrial_operator.cohorts.seen import CancelRuns, CohortDecision, CohortSeen, CreateRuns, DeleteRuns
from fairtrial_operator.kube import COHORTS, Kube
from fairtrial_operator.state import State, WorkKey

log = logging.getLogger(__name__)
STEPS_AT_ONCE = 12


class CohortReconciler:
    """Works on one cohort at a time. A batch of runs ends its turn, so that cohorts take turns at creating."""

    def __init__(
        self,
        kube: Kube,
        state: State,
        observer: CohortObserver,
        applier: CohortApplier,
        clock: Callable[[], datetime],
    ) -> None:
        self._kube, self._state, self._clock = kube, state, clock
        self._observer, self._applier = observer, applier

    async def reconcile(self, key: Key, work: WorkKey, ours: Callable[[str], bool]) -> bool:
        """Bring one cohort on; says whether it is done for now."""
        notes = CohortNotes()
        for step in range(STEPS_AT_ONCE):
            raw = self._state.cohorts.get(key)
            if raw is None:
                self._state.queue.forget(work)
                metrics.forget_cohort(key.namespace, key.name)
                return True
            try:
                cohort = parse(BenchmarkCohort, raw, name=f"{key.namespace}/{key.name}")
            except InvalidInput as error:
                log.error("%s is left alone: %s", key, error)
                return True
            if not ours(key.namespace):
                self._state.close_book(cohort.metadata.uid)
                return True
            book = self._state.books.get(cohort.metadata.uid)
            if step == 0:  # a new operator knows its cohorts by their status only
                metrics.show_cohort(key.namespace, key.name, (raw.get("status") or {}).get("counts") or {})
            if book is not None and step == 0:
                book.trouble = None
            seen = await self._observer.observe(cohort, notes)
            decision = decide(cohort, seen, self._clock())
            self._remember(cohort, seen, decision)
            if decision.action is None:
                if decision.again_after is not None:
                    self._state.queue.add_after(work, decision.again_after)
                return not decision.retry
            log.info("%s: %s", key, type(decision.action).__name__)
            if decision.event is not None:
                about = cohort.metadata
                await events.post(self._kube, COHORTS, about, decision.event, warning=decision.warning)
            await self._applier.apply(cohort, raw, decision.action, notes)
            if notes.refused is None and isinstance(decision.action, CreateRuns | CancelRuns | DeleteRuns):
                self._state.queue.add(work)
                return True
        log.error("%s does not come to rest; going on later", key)
        return False

    def _remember(self, cohort: BenchmarkCohort, seen: CohortSeen, decision: CohortDecision) -> None:
        uid, work = cohort.metadata.uid, WorkKey("cohort", cohort.metadata.namespace, cohort.metadata.name)
        book = self._state.books.get(uid)
        if seen.schedule is None:  # not sealed, or complete
            self._state.close_book(uid)
        elif book is not None:
            book.demand = decision.demand
        if seen.found is not None and decision.action is None:
            self._state.wait_for(work, references(cohort))


def references(cohort: BenchmarkCohort) -> Iterator[tuple[str, Key]]:
    """The objects that a cohort can't be sealed without."""
    namespace = cohort.metadata.namespace
    yield "Namespace", Key("", namespace)
    yield "ResourceClass", Key("", cohort.spec.execution.resource_class_name)
    if cohort.spec.amends is not None:
        yield "BenchmarkCohort", Key(namespace, cohort.spec.amends.name)
    for name in preregistration.task_names(cohort):
        yield "BenchmarkTask", Key(namespace, name)
    for name in preregistration.provider_names(cohort):
        yield "ModelProvider", Key(namespace, name)
