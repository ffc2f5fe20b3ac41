import asyncio
import copy
from typing import Any

import pytest
from fairtrial_operator.kube import AlreadyExists, ApiUnavailable, Changed, NotFound, Resource
from fairtrial_operator.lease import Lease

from tests.unit.operator.virtual_time import in_virtual_time

Object = dict[str, Any]


class LeaseApi:
    """One object with optimistic concurrency, as the API server keeps it; can be made to fail."""

    def __init__(self) -> None:
        self.live: Object | None = None
        self.version = 0
        self.down = False

    async def get(self, resource: Resource, name: str, namespace: str) -> Object:
        if self.live is None:
            raise NotFound(404, "NotFound", name)
        return copy.deepcopy(self.live)

    async def create(self, resource: Resource, body: Object) -> Object:
        if self.live is not None:
            raise AlreadyExists(409, "AlreadyExists", "")
        return self._store(body)

    async def patch(self, resource: Resource, live: Object, operations: list[Object]) -> Object:
        if self.down:
            raise ApiUnavailable(503, "Down", "")
        assert operations[0]["path"] == "/metadata/resourceVersion"
        if self.live is None or operations[0]["value"] != self.live["metadata"]["resourceVersion"]:
            raise Changed(422, "Invalid", "the test failed")
        return self._store(self.live | {"spec": operations[1]["value"]})

    def _store(self, body: Object) -> Object:
        self.version += 1
        metadata = body["metadata"] | {"resourceVersion": str(self.version), "uid": "lease"}
        self.live = copy.deepcopy(body | {"metadata": metadata})
        return copy.deepcopy(self.live)


def lease(api: LeaseApi, identity: str, lost: list[str], seconds: float = 0.3) -> Lease:
    return Lease(
        api,  # type: ignore[arg-type]
        namespace="ns",
        name="lease",
        identity=identity,
        seconds=seconds,  # type: ignore[arg-type]
        lost=lost.append,
    )


@pytest.fixture
def api() -> LeaseApi:
    return LeaseApi()


@in_virtual_time
async def test_only_one_of_two_holds_it_while_the_first_renews(api: LeaseApi) -> None:
    lost: list[str] = []
    first, second = lease(api, "first", lost), lease(api, "second", lost)
    await first.acquire()
    keeping = asyncio.create_task(first.keep())
    waiting = asyncio.create_task(second.acquire())
    await asyncio.sleep(0.7)

    assert first.held
    assert not second.held
    assert lost == []
    keeping.cancel()
    await asyncio.wait_for(waiting, 2)
    assert second.held
    assert api.live is not None
    assert api.live["spec"]["holderIdentity"] == "second"
    assert api.live["spec"]["leaseTransitions"] == 1


@in_virtual_time
async def test_whoever_finds_it_taken_ends(api: LeaseApi) -> None:
    lost: list[str] = []
    first = lease(api, "first", lost)
    await first.acquire()
    assert api.live is not None
    api._store(api.live | {"spec": api.live["spec"] | {"holderIdentity": "thief"}})

    await asyncio.wait_for(first.keep(), 2)

    assert lost == ["Another replica took the Lease"]
    assert not first.held


@in_virtual_time
async def test_whoever_cannot_renew_ends_before_another_may_take_it(api: LeaseApi) -> None:
    lost: list[str] = []
    first = lease(api, "first", lost)
    await first.acquire()
    api.down = True
    begun = asyncio.get_running_loop().time()

    await asyncio.wait_for(first.keep(), 2)

    assert lost == ["The Lease was not renewed in time"]
    assert asyncio.get_running_loop().time() - begun < 0.3


@in_virtual_time
async def test_a_restart_under_the_same_identity_goes_on_at_once(api: LeaseApi) -> None:
    await lease(api, "pod-1", []).acquire()

    again = lease(api, "pod-1", [], seconds=60)
    await asyncio.wait_for(again.acquire(), 0.2)

    assert again.held


@in_virtual_time
async def test_a_released_lease_is_free_at_once(api: LeaseApi) -> None:
    first = lease(api, "first", [], seconds=60)
    await first.acquire()
    await first.release()

    second = lease(api, "second", [], seconds=60)
    await asyncio.wait_for(second.acquire(), 0.2)

    assert second.held
