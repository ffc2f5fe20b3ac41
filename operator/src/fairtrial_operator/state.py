"""What the operator knows: the caches, the queue, and who waits for what. No I/O."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from fairtrial import names
from fairtrial.api import BenchmarkRun, is_true
from fairtrial.api.conditions import ACCEPTED
from fairtrial.evidence.probe import Capabilities
from fairtrial_operator import pods
from fairtrial_operator.cache import Cache, Key, Object, key_of
from fairtrial_operator.cohorts.book import Book
from fairtrial_operator.cohorts.members import Members, Owner
from fairtrial_operator.workqueue import WorkQueue


class WorkKey(NamedTuple):
    """A piece of work: a run, a cohort, or a namespace (whose name is then `name`)."""

    kind: str
    namespace: str
    name: str


RUN, COHORT, NAMESPACE = "run", "cohort", "namespace"
# How long a cohort may wait for further news of its runs before it is looked at: its account costs by the run.
NEWS_SECONDS, NEWS_SECONDS_PER_RUN, NEWS_SECONDS_MOST = 0.02, 0.0001, 1.0


def run_key(key: Key) -> WorkKey:
    """The work on one run."""
    return WorkKey(RUN, key.namespace, key.name)


def cohort_key(key: Key) -> WorkKey:
    """The work on one cohort."""
    return WorkKey(COHORT, key.namespace, key.name)


def namespace_key(name: str) -> WorkKey:
    """The work on one namespace."""
    return WorkKey(NAMESPACE, "", name)


@dataclass
class State:
    """Everything that is shared between watches and workers, all on one event loop."""

    queue: WorkQueue[WorkKey]
    runs: Cache = field(default_factory=Cache)
    tasks: Cache = field(default_factory=Cache)
    classes: Cache = field(default_factory=Cache)
    providers: Cache = field(default_factory=Cache)
    cohorts: Cache = field(default_factory=Cache)
    pods: Cache = field(default_factory=lambda: Cache(pods.slim))
    namespaces: Cache = field(default_factory=Cache)
    policies: Cache = field(default_factory=Cache)
    accounts: set[str] = field(default_factory=set)  # namespaces whose service account is known to be there
    members: Members = field(default_factory=Members)
    books: dict[str, Book] = field(default_factory=dict)  # of sealed cohorts that are not complete, by UID
    resynced: set[WorkKey] = field(default_factory=set)  # keys that only a resync has made due
    store_found: Capabilities | None = None  # by the probe at start
    signs: bool = False  # whether the roots of ledgers are signed here
    clock: Callable[[], float] = time.monotonic
    unheard_since: float | None = None  # when a run was written that no watch has spoken of since
    _waiting: dict[tuple[str, Key], set[WorkKey]] = field(default_factory=dict)

    def run_changed(self, obj: Object) -> None:
        """Take in a run as the watch shows it, and make it due if it is news."""
        self.unheard_since = None
        self.take_run(obj)

    def take_run(self, obj: Object) -> None:
        """Keep a run, whoever brought it, and make it due if it is news: no watch will speak of it again."""
        if self.keep_run(obj) and not finished(obj):
            self.queue.add(run_key(key_of(obj)))

    def keep_run(self, obj: Object) -> bool:
        """Keep a run if it is news; of a finished one only a stub, so that thousands cost little."""
        news = self.runs.put(_stub(obj) if finished(obj) else obj)
        if news:
            self._cohort_due(self.members.put(obj))
        if news and finished(obj):
            namespace, name = key_of(obj)
            for pod in (names.agent_pod(name), names.evaluator_pod(name)):
                self.pods.forget(Key(namespace, pod))
        return news

    def forget_run(self, key: Key) -> None:
        """Forget a run: a live read, or our own write, found it gone."""
        self.runs.forget(key)
        self._cohort_due(self.members.drop(key))

    def run_written(self) -> None:
        """A write of ours changed a run: the watch of runs must show it soon."""
        if self.unheard_since is None:
            self.unheard_since = self.clock()

    @property
    def unheard_seconds(self) -> float:
        """For how long the watch of runs has not shown what was written; 0 while it has."""
        return 0.0 if self.unheard_since is None else self.clock() - self.unheard_since

    def run_gone(self, obj: Object) -> None:
        """Forget a run that is gone."""
        self.unheard_since = None
        if self.runs.drop(obj):
            self.members.put(obj)  # what it ended with
            self._cohort_due(self.members.drop(key_of(obj)))
        self.queue.forget(run_key(key_of(obj)))

    def _cohort_due(self, owner: Owner | None) -> None:
        if owner is not None:
            pause = NEWS_SECONDS + NEWS_SECONDS_PER_RUN * len(self.members.of(owner.uid))
            self.queue.add_after(cohort_key(owner.key), min(pause, NEWS_SECONDS_MOST))

    def cohort_changed(self, obj: Object) -> None:
        """Take in a cohort as the watch shows it, and make it and the runs that wait for it due if it is news."""
        if self.cohorts.put(obj):
            self.queue.add(cohort_key(key_of(obj)))
            self.referenced_changed("BenchmarkCohort", key_of(obj))

    def cohort_gone(self, obj: Object) -> None:
        """Forget a cohort that is gone. One that was made anew under its name has another UID, and another book."""
        self.close_book(obj["metadata"]["uid"])
        if self.cohorts.drop(obj):
            self.queue.add(cohort_key(key_of(obj)))
            self.referenced_changed("BenchmarkCohort", key_of(obj))

    def close_book(self, uid: str) -> None:
        """Forget what is kept of a cohort that is over."""
        self.books.pop(uid, None)
        self.members.forget(uid)

    def pod_changed(self, key: Key, obj: Object | None) -> None:
        """Make the run of a pod due, whose name is its run's with a role at its end; or the cohort that it analyses."""
        labels = (obj or {}).get("metadata", {}).get("labels", {})
        if labels.get(names.ROLE_LABEL) == names.ANALYSIS:
            cohort = Key(labels.get(names.COHORT_NAMESPACE_LABEL, ""), labels.get(names.COHORT_LABEL, ""))
            if self.cohorts.get(cohort) is not None:
                self.queue.add(cohort_key(cohort))
            return
        name = labels.get(names.RUN_LABEL) or key.name.rpartition("-")[0]
        run = self.runs.get(Key(key.namespace, name))
        if run is None:
            return
        if finished(run):
            self.pods.forget(key)  # nobody asks for it any more, and its run stays for days
        else:
            self.queue.add(WorkKey(RUN, key.namespace, name))

    def referenced_changed(self, kind: str, key: Key) -> None:
        """Make those runs due that wait for this object."""
        for waiting in self._waiting.pop((kind, key), ()):
            self.queue.add(waiting)

    def wake_namespace(self, name: str) -> None:
        """Make all runs of a namespace due."""
        for raw in self.runs:
            if raw["metadata"]["namespace"] == name:
                self.queue.add(run_key(key_of(raw)))

    def wait_for_references(self, run: BenchmarkRun) -> None:
        """Remember what a run that is not accepted waits for."""
        if is_true(run.status.conditions, ACCEPTED):
            return
        self.wait_for(WorkKey(RUN, run.metadata.namespace, run.metadata.name), references(run))

    def wait_for(self, work: WorkKey, wanted: Iterable[tuple[str, Key]]) -> None:
        """Remember what a piece of work waits for."""
        for kind, key in wanted:
            self._waiting.setdefault((kind, key), set()).add(work)


def references(run: BenchmarkRun) -> Iterable[tuple[str, Key]]:
    """The objects that a run can't begin without."""
    spec, namespace = run.spec, run.metadata.namespace
    yield "Namespace", Key("", namespace)
    yield "BenchmarkTask", Key(namespace, spec.task_ref.name)
    yield "ResourceClass", Key("", spec.resource_class_name)
    if spec.network.model_provider_ref is not None:
        yield "ModelProvider", Key(namespace, spec.network.model_provider_ref.name)
    if spec.cohort_ref is not None:
        yield "BenchmarkCohort", Key(namespace, spec.cohort_ref.name)


def _stub(run: Object) -> Object:
    kept = {key: run["metadata"][key] for key in ("namespace", "name", "uid", "resourceVersion")}
    return {"metadata": kept, "status": {"record": run["status"]["record"]}}


def finished(run: Object) -> bool:
    """Whether nothing is left to do for a run: recorded, and without a finalizer of ours."""
    held = names.RUN_FINALIZER in (run["metadata"].get("finalizers") or [])
    return bool((run.get("status") or {}).get("record")) and not held
