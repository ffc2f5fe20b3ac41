"""What the operator knows: the caches, the queue, and who waits for what. No I/O."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from fairtrial import names
from fairtrial.api import BenchmarkRun, is_true
from fairtrial.api.conditions import ACCEPTED
from fairtrial_operator.cache import Cache, Key, Object, key_of
from fairtrial_operator.workqueue import WorkQueue


class WorkKey(NamedTuple):
    """A piece of work: a run, or a namespace (whose name is then `name`)."""

    kind: str
    namespace: str
    name: str


RUN, NAMESPACE = "run", "namespace"


def run_key(key: Key) -> WorkKey:
    """The work on one run."""
    return WorkKey(RUN, key.namespace, key.name)


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
    pods: Cache = field(default_factory=Cache)
    namespaces: Cache = field(default_factory=Cache)
    policies: Cache = field(default_factory=Cache)
    accounts: set[str] = field(default_factory=set)  # namespaces whose service account is known to be there
    resynced: set[WorkKey] = field(default_factory=set)  # keys that only a resync has made due
    clock: Callable[[], float] = time.monotonic
    unheard_since: float | None = None  # when a run was written that no watch has spoken of since
    _waiting: dict[tuple[str, Key], set[WorkKey]] = field(default_factory=dict)

    def run_changed(self, obj: Object) -> None:
        """Take in a run as the watch shows it, and make it due if it is news."""
        self.unheard_since = None
        if self.keep_run(obj) and not finished(obj):
            self.queue.add(run_key(key_of(obj)))

    def keep_run(self, obj: Object) -> bool:
        """Keep a run if it is news; of a finished one only a stub, so that thousands cost little."""
        return self.runs.put(_stub(obj) if finished(obj) else obj)

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
        self.runs.drop(obj)
        self.queue.forget(run_key(key_of(obj)))

    def pod_changed(self, key: Key, obj: Object | None) -> None:
        """Make the run of a pod due. A pod's name is its run's with a role at its end."""
        run = (obj or {}).get("metadata", {}).get("labels", {}).get(names.RUN_LABEL) or key.name.rpartition("-")[0]
        if self.runs.get(Key(key.namespace, run)) is not None:
            self.queue.add(WorkKey(RUN, key.namespace, run))

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
        work = WorkKey(RUN, run.metadata.namespace, run.metadata.name)
        for kind, key in references(run):
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
