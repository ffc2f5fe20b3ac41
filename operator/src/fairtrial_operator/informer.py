"""A list and a watch of one kind, kept complete for ever; and nothing per event but a dictionary update.

Every way in which a watch goes wrong ends in the same place: a fresh, paged list. Silence is one of those ways, since
the API server promises a bookmark each minute.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import NamedTuple

from fairtrial_operator.cache import Cache, Key, Object, key_of
from fairtrial_operator.kube import PAGE, ApiError, ApiUnavailable, Expired, Kube, Resource, translate

log = logging.getLogger(__name__)
RETRY_SECONDS, RETRY_CAP = 0.5, 15.0


class Selection(NamedTuple):
    """Some objects of a kind, by a selector on labels and one on fields, each as the API server reads it."""

    labels: str = ""
    fields: str = ""


class Informer:
    """Keeps `cache` equal to the cluster and tells `changed` every key that moved, with the object or None."""

    def __init__(
        self,
        kube: Kube,
        resource: Resource,
        *,
        changed: Callable[[Key, Object | None], None],
        cache: Cache | None = None,
        selector: str = "",
        listed: tuple[Selection, ...] = (),
        silence: float = 90,
    ) -> None:
        """Watch what has `selector`'s labels. A list is of the same, or of what any of `listed` selects: what that
        leaves out is known only once it changes.
        """
        self.cache = Cache() if cache is None else cache
        self.synced = asyncio.Event()
        self.lists = 0
        self._kube, self._resource, self._changed = kube, resource, changed
        self._selector, self._silence = selector, silence
        self._listed = listed or (Selection(selector),)
        self._heard = time.monotonic()

    @property
    def kind(self) -> str:
        """The kind that is watched."""
        return self._resource.kind

    @property
    def age(self) -> float:
        """Seconds since the API server last said anything, a bookmark at least."""
        return time.monotonic() - self._heard

    async def run(self) -> None:
        """List and watch until cancelled. An error that is not the API's or the network's ends it: the process too."""
        failures = 0
        version = ""
        while True:
            try:
                version = version or await self._list()
                version = await self._watch(version)
                failures = 0
            except Expired:
                log.info("the watch of %s is too old; listing again", self.kind)
                version = ""
            except ApiError as error:
                failures += 1
                delay = min(RETRY_CAP, RETRY_SECONDS * 2 ** min(failures - 1, 10))
                # What was read before stays true as far as it goes: go on from the same version.
                log.warning("the watch of %s was cut, going on in %.1f s: %s", self.kind, delay, error)
                await asyncio.sleep(delay)
                version = version if isinstance(error, ApiUnavailable) else ""

    async def _list(self) -> str:
        objects: list[Object] = []
        versions = [await self._list_into(objects, selection) for selection in self._listed]
        version = versions[0]  # what later lists knew beyond it, the watch will tell again
        self.lists += 1
        self._heard = time.monotonic()
        moved = self.cache.replace(objects, int(version))
        self.synced.set()
        for key in moved:
            self._changed(key, self.cache.get(key))
        return version

    async def _list_into(self, objects: list[Object], selection: Selection) -> str:
        token = ""
        while True:
            page = await self._kube.list_page(
                self._resource, selector=selection.labels, fields=selection.fields, limit=PAGE, token=token
            )
            objects += [self._complete(item) for item in page["items"]]
            token = page["metadata"].get("continue") or ""
            if not token:
                return str(page["metadata"]["resourceVersion"])

    async def _watch(self, version: str) -> str:
        async for event in self._kube.watch(self._resource, version, selector=self._selector, silence=self._silence):
            self._heard = time.monotonic()
            kind, obj = event["type"], event["object"]
            if kind == "ERROR":
                raise translate(int(obj.get("code") or 500), obj.get("reason", ""), obj.get("message", ""))
            version = obj["metadata"]["resourceVersion"]
            if kind == "BOOKMARK":
                continue
            obj = self._complete(obj)
            moved = self.cache.drop(obj) if kind == "DELETED" else self.cache.put(obj)
            if moved:
                self._changed(key_of(obj), None if kind == "DELETED" else obj)
        return version

    def _complete(self, obj: Object) -> Object:
        """Items of a list lack what the list says once for all."""
        obj.setdefault("apiVersion", self._resource.api_version)
        obj.setdefault("kind", self._resource.kind)
        return self.cache.slim(obj)  # at once: a list of all pods must not be in memory whole
