"""Several cohorts in one operator: they take turns at creating runs, and a higher priority goes first."""

import asyncio
import hashlib
import random
from types import SimpleNamespace
from typing import Any

from fairtrial_operator import metrics
from fairtrial_operator.cache import key_of
from fairtrial_operator.cohorts.apply import CohortApplier
from fairtrial_operator.cohorts.observe import BATCH, CohortObserver
from fairtrial_operator.cohorts.reconcile import CohortReconciler
from fairtrial_operator.kube import NotFound
from fairtrial_operator.state import COHORT, State, WorkKey, cohort_key
from fairtrial_operator.workqueue import WorkQueue

from fairtrial.api.cohort import CohortCounts
from fairtrial.cohort import preregistration
from fairtrial.cohort.preregistration import Found
from fairtrial.evidence.layout import Layout
from fairtrial.evidence.memory import MemoryStore
from fairtrial.evidence.probe import Capabilities, ObjectLock
from fairtrial.testing import make_cohort, make_resource_class, make_task
from tests.unit.operator.test_cohort_decide import NOON

TASKS = {"task-1": make_task(), "task-2": make_task("task-2", publicArchive={"sha256": "f" * 64, "size": 1})}
FOUND = Found(TASKS, make_resource_class(), {})


class Server:
    """An API server with these cohorts, that takes whatever is created and remembers the order."""

    def __init__(self) -> None:
        self.cohorts: dict[Any, Any] = {}
        self.created: list[tuple[str, str]] = []  # namespace and name

    async def get(self, _: Any, name: str, __: Any = None) -> Any:
        raise NotFound(404, "NotFound", name)

    async def list_page(self, *_: Any, **__: Any) -> Any:
        return {"items": [], "metadata": {}}

    async def create(self, _: Any, body: Any) -> Any:
        metadata = body["metadata"]
        self.created.append((metadata["namespace"], metadata["name"]))
        return body | {"metadata": metadata | {"uid": f"uid-{len(self.created)}", "resourceVersion": "1"}}

    async def apply_status(self, _: Any, body: Any) -> Any:
        old = self.cohorts[key_of(body)]
        version = str(int(old["metadata"]["resourceVersion"]) + 1)
        made = old | {"metadata": old["metadata"] | {"resourceVersion": version}, "status": body["status"]}
        self.cohorts[key_of(body)] = made
        return made


class Operator:
    """One operator with these sealed cohorts."""

    def __init__(self, *cohorts: Any) -> None:
        self.server, self.store, settings = Server(), MemoryStore(), SimpleNamespace(namespace="system", analysis=None)
        settings.selects, settings.gateway_namespace = (lambda _: True), ""
        self.state = State(WorkQueue(clock=lambda: 0.0, rng=random.Random(1)))
        self.state.store_found = Capabilities(True, True, 8, 1, True, True, ObjectLock("COMPLIANCE", 30), 30, True)
        server: Any = self.server
        runs: Any = None
        observer = CohortObserver(server, self.store, Layout(), self.state, settings, runs, lambda: 0.0)
        applier = CohortApplier(server, self.store, "bucket", self.state, observer, lambda: 0.0)
        self.reconciler = CohortReconciler(server, self.state, observer, applier, lambda: NOON)
        for cohort in cohorts:
            data = preregistration.to_bytes(preregistration.document(cohort, FOUND))
            self.store.put(observer.keys_of(cohort).preregistration(), data)
            raw = cohort.as_json() | {"status": {"preregistrationSha256": hashlib.sha256(data).hexdigest()}}
            raw["metadata"]["resourceVersion"] = "1"
            self.server.cohorts[key_of(raw)] = raw
            self.state.cohorts.put(raw)
            self.state.queue.add(cohort_key(key_of(raw)))

    def work(self, turns: int) -> None:
        """So many turns, whosever they are, as one worker takes them."""

        async def go() -> None:
            left = turns
            while left:
                work: WorkKey = await self.state.queue.get()
                if work.kind != COHORT:  # a run that was created: its own work is not of interest here
                    self.state.queue.done(work)
                    continue
                left -= 1
                key = key_of({"metadata": {"namespace": work.namespace, "name": work.name}})
                self.state.queue.done(work, failed=not await self.reconciler.reconcile(key, work, lambda _: True))

        asyncio.run(asyncio.wait_for(go(), 60))


def cohort(namespace: str, name: str = "c", priority: int = 0) -> Any:
    execution = {"resourceClassName": "small", "parallelism": 200, "priority": priority}
    return make_cohort(
        name, namespace=namespace, metadata={"uid": f"uid-{namespace}-{name}"}, repetitions=50, seal=True,
        execution=execution,
    )  # fmt: skip


def shares(operator: Operator) -> list[str]:
    """Whose runs were created, batch by batch."""
    order = [namespace for namespace, _ in operator.server.created]
    return ["".join(sorted(set(order[start : start + BATCH]))) for start in range(0, len(order), BATCH)]


def test_cohorts_of_one_priority_take_turns_batch_by_batch() -> None:
    operator = Operator(cohort("a"), cohort("b"), cohort("c"))

    operator.work(9)

    assert shares(operator) == ["a", "b", "c"] * 3


def test_a_cohort_of_a_higher_priority_creates_all_that_it_may_first() -> None:
    operator = Operator(cohort("low"), cohort("high", priority=5))

    operator.work(9)

    order = [namespace for namespace, _ in operator.server.created]
    assert order == ["low"] * BATCH + ["high"] * 200, "the other had a batch, before this one was known"


def test_cohorts_of_one_name_in_two_namespaces_share_nothing() -> None:
    operator = Operator(cohort("a", "twin"), cohort("b", "twin"))

    operator.work(14)

    for namespace in ("a", "b"):
        names = [name for where, name in operator.server.created if where == namespace]
        assert names == [f"twin-{number:05d}" for number in range(1, 201)]
        assert len(operator.state.members.of(f"uid-{namespace}-twin")) == 200
        ledger = operator.state.books[f"uid-{namespace}-twin"].ledger
        assert ledger is not None
        assert list(ledger.tickets) == names
    folders = {key.rpartition("/cohorts/")[0] for key in operator.store.keys("")}
    assert folders == {"ns/a", "ns/b"}


def shown(cohort: Any) -> dict[str, float]:
    """What a scrape would find of a cohort."""
    (family,) = metrics.COHORT_RUNS.collect()
    wanted = {"namespace": cohort.metadata.namespace, "cohort": cohort.metadata.name}
    return {one.labels["place"]: one.value for one in family.samples if wanted.items() <= one.labels.items()}


def test_a_scrape_finds_where_the_runs_of_each_cohort_are_until_it_is_gone() -> None:
    one, other = cohort("metrics", "one"), cohort("metrics", "other")
    operator = Operator(one, other)
    operator.work(16)  # until both have created all that they may, and rest
    assert shown(one) == shown(other)
    assert (sum(shown(one).values()), shown(one)["passed"]) == (200, 0)
    places = set(CohortCounts().as_json()) - {"scheduled", "replacements"}
    assert shown(one).keys() == places, "every place where a run can be, and no other"

    raw = operator.state.cohorts.get(key_of(one.as_json()))
    assert raw is not None
    operator.state.cohort_gone(raw)
    operator.work(1)

    assert shown(one) == {}
    assert sum(shown(other).values()) == 200


def test_an_operator_that_has_just_started_shows_what_the_statuses_say() -> None:
    over = cohort("metrics", "over")
    operator = Operator(over)
    raw = operator.state.cohorts.get(key_of(over.as_json()))
    assert raw is not None
    done = {"type": "Complete", "status": "True", "reason": "AllAccountedFor", "observedGeneration": 1}
    raw["status"] |= {"counts": {"passed": 180, "failed": 20}, "finishedAt": "2026-01-01T12:00:00Z"}
    raw["status"] |= {"conditions": [done | {"lastTransitionTime": "2026-01-01T12:00:00Z"}]}

    operator.work(1)

    assert (shown(over)["passed"], shown(over)["failed"], shown(over)["pending"]) == (180, 20, 0)
