"""One active operator by a coordination Lease. Whoever loses it ends the process at once, in the middle of anything.

As in client-go, a holder is judged by how long *we* saw its record unchanged, never by comparing clocks.
"""

import asyncio
import logging
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime

from fairtrial_operator.kube import LEASES, AlreadyExists, ApiError, Changed, Kube, NotFound, Object

log = logging.getLogger(__name__)
EXIT_LOST = 75


def exit_at_once(why: str) -> None:
    """End the process without any clean-up: another replica may already be acting."""
    log.critical("%s; ending at once", why)
    os._exit(EXIT_LOST)


class Lease:
    """Acquire, keep, release. `lost` is called when the lease could not be kept in time."""

    def __init__(
        self,
        kube: Kube,
        *,
        namespace: str,
        name: str,
        identity: str,
        seconds: int,
        lost: Callable[[str], None] = exit_at_once,
    ) -> None:
        self.held = False
        self._kube, self._namespace, self._name = kube, namespace, name
        self._identity, self._seconds, self._lost = identity, seconds, lost
        self._seen: tuple[str, float] = ("", time.monotonic())  # the version last seen, and since when
        self._live: Object | None = None

    async def acquire(self) -> None:
        """Wait until this replica holds the lease."""
        while not self.held:
            try:
                self.held = await self._try_acquire()
            except ApiError as error:
                log.warning("the Lease could not be read or taken: %s", error)
            if not self.held:
                await asyncio.sleep(self._seconds / 5)
        log.info("holding Lease %s/%s as %s", self._namespace, self._name, self._identity)

    async def keep(self) -> None:
        """Renew for ever; gives up at two thirds of the duration, well before another may take over."""
        renewed = time.monotonic()
        while True:
            await asyncio.sleep(self._seconds / 5)
            left = renewed + self._seconds * 2 / 3 - time.monotonic()
            if left <= 0:
                return self._lose("The Lease was not renewed in time")
            begun = time.monotonic()
            try:
                await asyncio.wait_for(self._renew(), left)
                renewed = begun
            except (Changed, NotFound):
                return self._lose("Another replica took the Lease")
            except (ApiError, TimeoutError) as error:
                log.warning("the Lease could not be renewed: %r", error)

    async def release(self) -> None:
        """Give the lease back at an orderly end, so that the next holder need not wait."""
        if self.held and self._live is not None:
            self.held = False
            try:
                await self._write(self._live, self._spec(holder=""))
            except ApiError as error:
                log.info("the Lease was not released: %s", error)

    def _lose(self, why: str) -> None:
        self.held = False
        self._lost(why)

    async def _try_acquire(self) -> bool:
        try:
            live = await self._kube.get(LEASES, self._name, self._namespace)
        except NotFound:
            return await self._create()
        version, since = live["metadata"]["resourceVersion"], time.monotonic()
        if self._seen[0] != version:
            self._seen = (version, since)
        spec = live.get("spec") or {}
        holder = spec.get("holderIdentity") or ""
        alive_until = self._seen[1] + (spec.get("leaseDurationSeconds") or self._seconds)
        if holder not in {"", self._identity} and since < alive_until:
            return False
        transitions = (spec.get("leaseTransitions") or 0) + (holder != self._identity)
        try:
            self._live = await self._write(live, self._spec(acquired=_now(), transitions=transitions))
        except (Changed, NotFound):
            return False
        return True

    async def _create(self) -> bool:
        metadata = {"name": self._name, "namespace": self._namespace}
        body = {"apiVersion": LEASES.api_version, "kind": LEASES.kind, "metadata": metadata}
        try:
            self._live = await self._kube.create(LEASES, body | {"spec": self._spec(acquired=_now(), transitions=0)})
        except AlreadyExists:
            return False
        return True

    async def _renew(self) -> None:
        assert self._live is not None
        self._live = await self._write(self._live, self._live["spec"] | {"renewTime": _now()})

    async def _write(self, live: Object, spec: Object) -> Object:
        version = {"op": "test", "path": "/metadata/resourceVersion", "value": live["metadata"]["resourceVersion"]}
        return await self._kube.patch(LEASES, live, [version, {"op": "add", "path": "/spec", "value": spec}])

    def _spec(
        self, *, holder: str | None = None, acquired: str | None = None, transitions: int | None = None
    ) -> Object:
        spec: Object = dict((self._live or {}).get("spec") or {})
        spec |= {"leaseDurationSeconds": self._seconds, "renewTime": _now()}
        spec["holderIdentity"] = self._identity if holder is None else holder
        spec |= {"acquireTime": acquired} if acquired else {}
        return spec | ({} if transitions is None else {"leaseTransitions": transitions})


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
