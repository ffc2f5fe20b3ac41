"""The only module that knows kopf. Its handlers put what they see into the caches and a key into the queue: no more.

No on.create, no finalizer, no annotation, no daemon, no timer, no index: each costs a write or a task per object.
"""

from collections.abc import Iterable
from typing import Any

import kopf

from fairtrial_operator.cache import Cache, Object, key_of
from fairtrial_operator.kube import CLASSES, COHORTS, PROVIDERS, RUNS, TASKS, Resource
from fairtrial_operator.state import State


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
    made.peering.standalone = True  # one active replica by our own Lease
    made.posting.enabled = False
    made.queueing.worker_limit = None
    made.watching.chunk_size = 500
    made.networking.request_timeout = 30
    made.persistence.diffbase_storage = NoDiffs()
    return made


def registry(state: State) -> kopf.OperatorRegistry:
    """The handlers of the five kinds."""
    made = kopf.OperatorRegistry()
    kopf.on.login(registry=made)(login)

    async def on_run(event: Any, **_: Any) -> None:
        obj = _object(event)
        state.run_gone(obj) if event["type"] == "DELETED" else state.run_changed(obj)

    kopf.on.event(*_selector(RUNS), registry=made, id="runs")(on_run)
    for resource, cache in (
        (TASKS, state.tasks),
        (CLASSES, state.classes),
        (PROVIDERS, state.providers),
        (COHORTS, state.cohorts),
    ):
        _keep(made, state, resource, cache)
    return made


def _keep(registry: kopf.OperatorRegistry, state: State, resource: Resource, cache: Cache) -> None:
    async def on_object(event: Any, **_: Any) -> None:
        obj = _object(event)
        moved = cache.drop(obj) if event["type"] == "DELETED" else cache.put(obj)
        if moved:
            state.referenced_changed(resource.kind, key_of(obj))

    kopf.on.event(*_selector(resource), registry=registry, id=resource.plural)(on_object)


def login(**kwargs: Any) -> kopf.ConnectionInfo | None:
    """The pod's service account, or the kubeconfig: without the synchronous client, which is large."""
    return kopf.login_with_service_account(**kwargs) or kopf.login_with_kubeconfig(**kwargs)


def _selector(resource: Resource) -> tuple[str, str, str]:
    group, _, version = resource.api_version.partition("/")
    return group, version, resource.plural


def _object(event: Any) -> Object:
    """The event's object, apart from kopf's own copy as far as the caches change it."""
    raw = event["object"]
    return {**raw, "metadata": dict(raw["metadata"])}
