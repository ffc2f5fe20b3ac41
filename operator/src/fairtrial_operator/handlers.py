"""The only module that knows how Kopf works. Its handlers put what they see into caches, a key into a queue: no more.

No on.create, no finalizer, no annotation, no daemon, no timer, no index: each costs a write or a task per object.
Kopf has a thread and an event loop of its own, because at its end it waits for, and then cancels, every task of its
loop that it did not start, and because it takes over the process's signals where it is in the main thread.
"""

import asyncio
import functools
import threading
from collections.abc import Callable, Iterable
from typing import Any

import kopf

from fairtrial_operator.cache import Cache, Object, key_of
from fairtrial_operator.kube import CLASSES, COHORTS, PAGE, PROVIDERS, RUNS, TASKS, Resource
from fairtrial_operator.login import login
from fairtrial_operator.state import State

Post = Callable[..., object]  # hands a call over to the operator's own event loop


class NoDiffs(kopf.DiffBaseStorage):  # type: ignore[misc]  # kopf is not followed by the type checker
    """Kopf builds an object's essence on every event, for handlers of changes. There are none, so it may be empty."""

    def build(self, *, body: Any, extra_fields: Iterable[Any] | None = None) -> Any:  # noqa: ARG002
        """Nothing, at no cost."""
        return {}

    def fetch(self, *, body: Any) -> Any:  # noqa: ARG002
        """Nothing was stored."""
        return {}

    def store(self, *, body: Any, patch: Any, essence: Any) -> None:
        """Store nothing."""


def settings() -> kopf.OperatorSettings:
    """Kopf as a watcher of our own kinds."""
    made = kopf.OperatorSettings()
    made.scanning.disabled = True
    made.process.ultimate_exiting_timeout = None
    made.peering.standalone = True  # one active replica by our own Lease
    made.posting.enabled = False
    made.queueing.worker_limit = None
    # Until then a worker holds the object of its last event, whole; at a start each of thousands of runs has a worker.
    made.queueing.idle_timeout = 0.1
    made.watching.chunk_size = PAGE
    made.networking.request_timeout = 30
    made.persistence.diffbase_storage = NoDiffs()
    return made


async def watch(state: State) -> None:
    """Watch the five kinds until cancelled; whatever ends kopf ends this too."""
    stop, loop = threading.Event(), asyncio.get_running_loop()
    ended: asyncio.Future[BaseException | None] = loop.create_future()
    handlers = registry(state, loop.call_soon_threadsafe)

    def run() -> None:
        error: BaseException | None = None
        try:
            kopf.run(
                registry=handlers,
                settings=settings(),
                clusterwide=True,
                standalone=True,
                stop_flag=stop,
                identity="fairtrial",  # unused with a Lease; else it wants the user's name
            )
        except BaseException as caught:  # noqa: BLE001 — handed over to the thread that decides what follows
            error = caught
        if not stop.is_set():
            loop.call_soon_threadsafe(ended.set_result, error)

    # A daemon: the process must not wait for kopf's own idea of an orderly end before it gives back the Lease.
    threading.Thread(target=run, name="kopf", daemon=True).start()
    try:
        raise RuntimeError("kopf has stopped watching") from await ended
    finally:
        stop.set()


def registry(state: State, post: Post) -> kopf.OperatorRegistry:
    """The handlers of the five kinds."""
    made = kopf.OperatorRegistry()
    kopf.on.login(registry=made)(login)

    async def on_run(event: Any, **_: Any) -> None:
        post(state.run_gone if event["type"] == "DELETED" else state.run_changed, _object(event))

    async def on_cohort(event: Any, **_: Any) -> None:
        post(state.cohort_gone if event["type"] == "DELETED" else state.cohort_changed, _object(event))

    kopf.on.event(*_selector(RUNS), registry=made, id="runs")(on_run)
    kopf.on.event(*_selector(COHORTS), registry=made, id="cohorts")(on_cohort)
    for resource, cache in (
        (TASKS, state.tasks),
        (CLASSES, state.classes),
        (PROVIDERS, state.providers),
    ):
        _keep(made, (state, post), resource, cache)
    return made


def _keep(registry: kopf.OperatorRegistry, to: tuple[State, Post], resource: Resource, cache: Cache) -> None:
    state, post = to

    def take(obj: Object, *, gone: bool) -> None:
        if cache.drop(obj) if gone else cache.put(obj):
            state.referenced_changed(resource.kind, key_of(obj))

    async def on_object(event: Any, **_: Any) -> None:
        post(functools.partial(take, _object(event), gone=event["type"] == "DELETED"))

    kopf.on.event(*_selector(resource), registry=registry, id=resource.plural)(on_object)


def _selector(resource: Resource) -> tuple[str, str, str]:
    group, _, version = resource.api_version.partition("/")
    return group, version, resource.plural


def _object(event: Any) -> Object:
    """The event's object, apart from kopf's own copy as far as the caches change it."""
    raw = event["object"]
    return {**raw, "metadata": dict(raw["metadata"])}
