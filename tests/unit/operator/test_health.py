"""What makes the kubelet restart an operator: it has stopped hearing, doing or being on time, though it still runs."""

import asyncio
import time
from dataclasses import dataclass

import pytest
from fairtrial_operator import health
from fairtrial_operator.cache import Key
from fairtrial_operator.health import Vitals
from fairtrial_operator.state import run_key

from tests.unit.operator.test_resync import Api, operator_of
from tests.unit.operator.virtual_time import in_virtual_time


@dataclass
class Watch:
    """As much of an informer as is looked at."""

    kind: str = "Pod"
    age: float = 0.0


def test_who_hears_works_and_is_on_time_has_no_complaint():
    assert Vitals(informers=[Watch()]).complaints() == []  # type: ignore[list-item]


def test_a_watch_without_a_bookmark_for_long_is_named():
    silent = Watch(age=health.SILENCE_LIMIT + 1)

    assert Vitals(informers=[Watch("Namespace"), silent]).complaints() == [  # type: ignore[list-item]
        "no word from the watch of Pod for 241 s"
    ]


def test_a_key_that_nobody_finishes_is_told():
    assert Vitals(oldest_key=lambda: health.KEY_LIMIT + 1).complaints() == ["a key has been due for 901 s"]


def test_a_loop_that_is_held_up_is_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(health, "BEAT_SECONDS", 0.001)
    monkeypatch.setattr(health, "LAG_LIMIT", 0.05)
    vitals = Vitals()

    async def hold_up() -> list[str]:
        heart = asyncio.create_task(vitals.keep_time())
        await asyncio.sleep(0)
        time.sleep(0.1)  # noqa: ASYNC251 — what must not happen
        while not vitals.lag:  # noqa: ASYNC110
            await asyncio.sleep(0)
        found = vitals.complaints()
        heart.cancel()
        return found

    assert asyncio.run(hold_up()) == ["the event loop is 0 s late"]


def test_whoever_leads_is_ready_when_the_store_is_fit_and_everything_is_listed():
    class Listing(Watch):
        synced = asyncio.Event()

    vitals = Vitals(informers=[Listing()], leading=lambda: True)  # type: ignore[list-item]
    assert vitals.unready() == ["the object store has not passed its probe", "Pod is not listed yet"]

    vitals.store_ready = True
    Listing.synced.set()

    assert vitals.unready() == []


@in_virtual_time
async def test_the_operator_looks_at_its_own_queue_and_writes() -> None:
    operator = operator_of(Api({}))
    operator._state.clock = time.monotonic
    operator._state.queue.add(run_key(Key("trials", "run-1")))  # which no worker takes
    operator._state.run_written()  # of which no watch speaks

    await asyncio.sleep(health.KEY_LIMIT + 1)

    assert operator._vitals.complaints() == [
        "a key has been due for 901 s",
        "kopf's watch of runs has not shown what was written 901 s ago",
    ]
    assert operator._vitals.depth() == 1
