"""Does what was decided: one write to the API server or the store, whose answer goes back into the caches at once.

So nothing is decided on what the operator itself has already changed, however late the watches are.
"""

import asyncio
import hashlib
import logging

from fairtrial import names
from fairtrial.api import BenchmarkRun
from fairtrial.errors import Conflict, FairtrialError, SigningFailed
from fairtrial.evidence.objects import ObjectStore
from fairtrial.usage.calls import ARTIFACT
from fairtrial_operator import events, metrics, pods
from fairtrial_operator.cache import Object, key_of, version_of
from fairtrial_operator.collect import collect
from fairtrial_operator.kube import PODS, RUNS, AlreadyExists, ApiError, Forbidden, Invalid, Kube, NotFound
from fairtrial_operator.observe import Notes, Observer
from fairtrial_operator.seen import (
    Action,
    CollectCalls,
    CreatePod,
    DeletePod,
    Event,
    Hold,
    Refused,
    Release,
    ReleasePod,
    Stored,
    StoreRecord,
    WriteStatus,
)
from fairtrial_operator.signatory import Signatory
from fairtrial_operator.state import State

log = logging.getLogger(__name__)


class Applier:
    """Carries out one action after another for any run."""

    def __init__(
        self,
        kube: Kube,
        store: ObjectStore,
        bucket: str,
        state: State,
        observer: Observer,
        signatory: Signatory | None = None,
    ) -> None:
        self._kube, self._store, self._bucket = kube, store, bucket
        self._state, self._observer, self._signatory = state, observer, signatory or Signatory()

    async def apply(self, run: BenchmarkRun, raw: Object, action: Action, notes: Notes) -> None:
        """Do one thing. Whatever the API server refuses for good is raised; pods that it refuses are noted."""
        match action:
            case Hold():
                self._keep(await self._kube.set_finalizer(RUNS, raw, names.RUN_FINALIZER, present=True))
            case Release(recorded=recorded):
                if not recorded:
                    metrics.RELEASED.inc()
                self._keep(await self._kube.set_finalizer(RUNS, raw, names.RUN_FINALIZER, present=False))
            case WriteStatus(status=status):
                metadata = {key: raw["metadata"][key] for key in ("name", "namespace", "resourceVersion")}
                body = {"apiVersion": RUNS.api_version, "kind": RUNS.kind, "metadata": metadata}
                self._keep(await self._kube.apply_status(RUNS, body | {"status": status.as_json()}))
                if status.record is not None:
                    metrics.OUTCOMES.labels(status.outcome, status.cause).inc()
            case CreatePod():
                await self._create(run, action, notes)
            case ReleasePod(pod=pod):
                await self._release_pod(pod)
            case DeletePod(pod=pod, force=force):
                left = await self._kube.delete(PODS, pod, grace=0 if force else None)
                self._state.pods.put(left) if left is not None else self._state.pods.forget(key_of(pod))
            case CollectCalls(final=final):
                keys = self._observer.keys_of(run)
                notes.reports[ARTIFACT] = await asyncio.to_thread(collect, self._store, keys, run, final=final)
            case StoreRecord():
                notes.stored = await asyncio.to_thread(self._put_record, run, action)

    def _keep(self, raw: Object) -> None:
        """The run as our write left it; gone if that was its last finalizer."""
        known = self._state.runs.get(key_of(raw))
        if known is not None and version_of(known) < version_of(raw):
            self._state.run_written()  # else nothing changed, or the watch was faster: it will not speak of it again
        metadata = raw["metadata"]
        if metadata.get("deletionTimestamp") and not metadata.get("finalizers"):
            self._state.forget_run(key_of(raw))
        else:
            self._state.keep_run(raw)

    async def _create(self, run: BenchmarkRun, action: CreatePod, notes: Notes) -> None:
        try:
            self._state.pods.put(await self._kube.create(PODS, action.body))
            metrics.CREATED.labels(action.role).inc()
        except (AlreadyExists, Forbidden, Invalid) as error:
            refused = await self._adopt(run, action.body["metadata"]["name"], error)
            if refused is not None:
                notes.refused[action.role] = refused

    async def _adopt(self, run: BenchmarkRun, name: str, error: ApiError) -> Refused | None:
        """A pod of this name is ours if this run's UID controls it, whoever made it and before which crash. A quota
        refuses before the API server looks for the name, so that is no sign that there is none.
        """
        namespace = run.metadata.namespace
        try:
            live = await self._kube.get(PODS, name, namespace)
        except NotFound:
            return self._refused(f"{namespace}/{name}", namespace, error)
        if pods.owner_uid(live) == run.metadata.uid:
            metrics.ADOPTED.inc()
            self._state.pods.put(live)
            return None
        message = f"Pod {name} exists and does not belong to this run. Run: kubectl -n {namespace} delete pod {name}"
        return Refused("taken", message)

    def _refused(self, pod: str, namespace: str, error: ApiError) -> Refused | None:
        """Why there is no pod; None if one was in the way and is just gone: the next look decides anew."""
        match error:
            case Forbidden():
                if "service account" in error.message or "serviceaccount" in error.message:
                    self._state.accounts.discard(namespace)
                return Refused("quota" if "exceeded quota" in error.message else "forbidden", error.message)
            case Invalid():
                log.error("pod %s is refused as invalid: %s", pod, error.message)
                return Refused("invalid", error.message)
            case _:
                return None

    async def _release_pod(self, pod: Object) -> None:
        try:
            left = await self._kube.set_finalizer(
                PODS, pod, names.POD_FINALIZER, present=False, label=names.RELEASED_LABEL
            )
        except NotFound:
            self._state.pods.forget(key_of(pod))
            return
        metadata = left["metadata"]
        over = pods.ended(left) or metadata.get("deletionGracePeriodSeconds") == 0
        if metadata.get("deletionTimestamp") and not metadata.get("finalizers") and over:
            self._state.pods.forget(key_of(left))
        else:
            self._state.pods.put(left)

    def _put_record(self, run: BenchmarkRun, action: StoreRecord) -> Stored:
        """The statement first: a record is the last of a run's documents, and without it there is no run."""
        keys, data = self._observer.keys_of(run), action.data
        key = keys.record()
        try:
            self._signatory.record(self._store, keys, action.statement)
            self._store.put(key, data, media_type="application/json")
        except SigningFailed as error:
            return Stored(problem="signing", message=str(error))
        except Conflict as error:
            metrics.STORE_ERRORS.labels(error.reason).inc()
            return Stored(problem="conflict", message=str(error))
        except FairtrialError as error:
            metrics.STORE_ERRORS.labels(error.reason).inc()
            return Stored(problem="unavailable", message=str(error))
        return Stored(uri=f"s3://{self._bucket}/{key}", sha256=hashlib.sha256(data).hexdigest())

    async def tell(self, run: BenchmarkRun, event: Event) -> None:
        """Post an event, once per run and reason; an event that can't be posted stops nothing."""
        await events.post(self._kube, RUNS, run.metadata, event)
