import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Any

import pytest
from fairtrial_operator import pods
from fairtrial_operator.cache import Cache, Key
from fairtrial_operator.informer import Informer, Selection
from fairtrial_operator.kube import PODS, ApiUnavailable, Expired, Resource

Object = dict[str, Any]


def pod(name: str, version: int, **more: Any) -> Object:
    return {"metadata": {"namespace": "ns", "name": name, "uid": f"uid-{name}", "resourceVersion": str(version)}} | more


class ScriptedApi:
    """Answers lists and watches from a script; a watch without a script is silent for ever."""

    def __init__(self) -> None:
        self.pages: list[Object] = []
        self.watches: list[list[Any]] = []
        self.watched_from: list[str] = []
        self.listed: list[tuple[str, str]] = []

    async def list_page(self, resource: Resource, *, selector: str, fields: str, limit: int, token: str = "") -> Object:
        self.listed.append((selector, fields))
        page = self.pages.pop(0)
        if isinstance(page, Exception):
            raise page
        return page

    async def watch(self, resource: Resource, version: str, *, selector: str, silence: float) -> AsyncIterator[Object]:
        self.watched_from.append(version)
        script: list[Any] = self.watches.pop(0) if self.watches else [None]
        for item in script:
            if item is None:
                await asyncio.Event().wait()
            if isinstance(item, Exception):
                raise item
            yield item


def page(version: int, *items: Object, token: str = "") -> Object:
    return {"metadata": {"resourceVersion": str(version), "continue": token}, "items": list(items)}


def event(kind: str, obj: Object) -> Object:
    return {"type": kind, "object": obj}


async def run_until(informer: Informer, api: ScriptedApi, watches: int) -> None:
    task = asyncio.create_task(informer.run())
    async with asyncio.timeout(5):
        while len(api.watched_from) < watches:  # noqa: ASYNC110
            await asyncio.sleep(0.005)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
def api() -> ScriptedApi:
    return ScriptedApi()


@pytest.fixture
def moves() -> list[tuple[str, bool]]:
    return []


@pytest.fixture
def informer(api: ScriptedApi, moves: list[tuple[str, bool]]) -> Informer:
    return Informer(api, PODS, changed=lambda key, obj: moves.append((key.name, obj is not None)))  # type: ignore[arg-type]


async def test_pages_become_one_list_and_the_watch_goes_on_from_its_version(
    api: ScriptedApi, informer: Informer, moves: list[tuple[str, bool]]
) -> None:
    api.pages = [page(10, pod("a", 3), token="more"), page(10, pod("b", 4))]
    api.watches = [[event("ADDED", pod("c", 11)), event("DELETED", pod("a", 12))]]

    await run_until(informer, api, 2)

    assert moves == [("a", True), ("b", True), ("c", True), ("a", False)] or set(moves[:2]) == {
        ("a", True),
        ("b", True),
    }
    assert {obj["metadata"]["name"] for obj in informer.cache} == {"b", "c"}
    assert api.watched_from == ["10", "12"]


async def test_several_lists_are_one_and_the_watch_goes_on_from_the_first(
    api: ScriptedApi, moves: list[tuple[str, bool]]
) -> None:
    """What was listed last may be newer: the watch tells it again, and that is no news."""
    selections = (Selection("a=b", "status.phase!=Failed"), Selection("a=b,!c"))
    informer = Informer(
        api,  # type: ignore[arg-type]
        PODS,
        changed=lambda key, obj: moves.append((key.name, obj is not None)),
        selector="a=b",
        listed=selections,
    )
    api.pages = [page(10, pod("a", 3), token="more"), page(10, pod("b", 4)), page(12, pod("c", 11), pod("b", 12))]
    api.watches = [[event("MODIFIED", pod("b", 12)), event("DELETED", pod("c", 13))]]

    await run_until(informer, api, 2)

    assert api.listed == [selections[0], selections[0], selections[1]]
    assert api.watched_from == ["10", "13"]
    assert sorted(moves[:3]) == [("a", True), ("b", True), ("c", True)]
    assert moves[3:] == [("c", False)]


async def test_a_bookmark_moves_the_version_and_tells_nobody(
    api: ScriptedApi, informer: Informer, moves: list[tuple[str, bool]]
) -> None:
    api.pages = [page(10)]
    api.watches = [[event("BOOKMARK", {"metadata": {"resourceVersion": "77"}})]]

    await run_until(informer, api, 2)

    assert api.watched_from == ["10", "77"]
    assert moves == []


@pytest.mark.parametrize(
    "gone", [Expired(410, "Expired", "too old"), event("ERROR", {"code": 410, "reason": "Expired", "message": "old"})]
)
async def test_an_expired_watch_lists_again_and_reports_what_was_missed(
    api: ScriptedApi, informer: Informer, moves: list[tuple[str, bool]], gone: Any
) -> None:
    api.pages = [page(10, pod("a", 3), pod("b", 4)), page(50, pod("b", 4), pod("c", 40))]
    api.watches = [[gone]]

    await run_until(informer, api, 2)

    assert informer.lists == 2
    assert moves[2:] == [("a", False), ("c", True)] or moves[2:] == [("c", True), ("a", False)]
    assert api.watched_from == ["10", "50"]


async def test_a_cut_watch_goes_on_from_the_last_version_without_a_list(api: ScriptedApi, informer: Informer) -> None:
    api.pages = [page(10)]
    api.watches = [[event("ADDED", pod("a", 11))], [ApiUnavailable(0, "WatchCut", "silence")]]

    await run_until(informer, api, 3)

    assert informer.lists == 1
    assert api.watched_from == ["10", "11", "11"]


async def test_a_leader_change_in_the_stream_does_not_end_the_informer(api: ScriptedApi, informer: Informer) -> None:
    api.pages = [page(10)]
    api.watches = [[event("ERROR", {"code": 500, "message": "etcdserver: leader changed"})]]

    await run_until(informer, api, 2)

    assert api.watched_from == ["10", "10"]


async def test_an_expired_page_token_lists_from_the_start(api: ScriptedApi, informer: Informer) -> None:
    api.pages = [page(10, pod("a", 3), token="more"), Expired(410, "Expired", "token"), page(20, pod("a", 3))]  # type: ignore[list-item]

    await run_until(informer, api, 1)

    assert api.watched_from == ["20"]


async def test_a_bug_ends_the_informer_instead_of_leaving_it_blind(api: ScriptedApi, informer: Informer) -> None:
    api.pages = [page(10)]
    api.watches = [[{"type": "ADDED", "object": {}}]]

    with pytest.raises(KeyError):
        await asyncio.wait_for(informer.run(), 5)


def test_an_older_version_never_replaces_a_newer_one() -> None:
    cache = Cache()
    assert cache.put(pod("a", 10, phase="new"))

    assert not cache.put(pod("a", 9, phase="old"))
    assert not cache.drop(pod("a", 9))
    found = cache.get(Key("ns", "a"))
    assert found is not None
    assert found["phase"] == "new"


def test_a_list_older_than_our_own_write_does_not_lose_it() -> None:
    cache = Cache()
    cache.put(pod("created", 20))
    cache.put(pod("gone", 5))

    assert cache.replace([pod("other", 7)], 15) == {Key("ns", "gone"), Key("ns", "other")}
    assert cache.get(Key("ns", "created")) is not None


def test_a_version_past_nine_is_newer_than_nine() -> None:
    cache = Cache()
    cache.put(pod("a", 9))

    assert cache.put(pod("a", 10))


def test_managed_fields_are_not_kept() -> None:
    cache = Cache()
    obj = pod("a", 1)
    obj["metadata"]["managedFields"] = [{"manager": "kubelet"}]
    cache.put(obj)

    assert "managedFields" not in next(iter(cache))["metadata"]


async def test_a_list_of_thousands_is_never_in_memory_whole(api: ScriptedApi) -> None:
    api.pages = [page(10, pod("a", 3) | {"spec": {"volumes": ["x"]}}, token="more"), page(10)]
    lists: list[Object] = []

    class Watched(Cache):
        def replace(self, objects: Iterable[Object], version: int) -> set[Key]:
            lists.extend(objects)
            return super().replace(lists, version)

    informer = Informer(api, PODS, changed=lambda *_: None, cache=Watched(pods.slim))  # type: ignore[arg-type]

    await run_until(informer, api, 1)

    assert lists[0]["spec"] == {}


async def test_a_bookmark_is_a_word_of_the_server(api: ScriptedApi, informer: Informer) -> None:
    async def watch(*_: Any, **__: Any) -> AsyncIterator[Object]:
        api.watched_from.append("10")
        informer._heard -= 1000  # so long nobody has said anything
        if len(api.watched_from) == 1:
            yield event("BOOKMARK", {"metadata": {"resourceVersion": "77"}})
        elif len(api.watched_from) == 2:
            ages.append(informer.age)
        await asyncio.Event().wait() if len(api.watched_from) > 1 else None

    ages: list[float] = []
    api.pages, api.watch = [page(10)], watch  # type: ignore[method-assign]

    await run_until(informer, api, 2)

    assert 1000 < ages[0] < 1999, "of the 2000 s, the first half was before the bookmark"
