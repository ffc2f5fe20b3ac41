import asyncio
import random

import pytest
from fairtrial_operator.workqueue import WorkQueue

from tests.unit.operator.virtual_time import in_virtual_time


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def queue(clock: Clock) -> WorkQueue[str]:
    return WorkQueue(clock=clock, rng=random.Random(1))


async def test_many_events_for_one_key_are_one_piece_of_work(queue: WorkQueue[str]) -> None:
    for _ in range(10):
        queue.add("run")

    assert await queue.get() == "run"
    assert queue.depth == 0


async def test_a_key_is_never_worked_on_twice_at_once(queue: WorkQueue[str]) -> None:
    queue.add("run")
    await queue.get()
    queue.add("run")

    assert queue.depth == 0
    queue.done("run")
    assert await queue.get() == "run"


async def test_a_deadline_that_comes_during_the_work_waits_for_its_end(queue: WorkQueue[str], clock: Clock) -> None:
    queue.add("run")
    await queue.get()
    queue.add_after("run", 5)
    clock.now += 10

    assert queue.depth == 0
    queue.done("run")
    assert queue.depth == 1


async def test_what_happened_during_the_work_is_looked_at_once_more_and_only_once(queue: WorkQueue[str]) -> None:
    queue.add("run")
    await queue.get()
    queue.add("run")
    queue.add("run")
    queue.done("run")
    await queue.get()
    queue.done("run")

    assert queue.depth == 0


async def test_the_earlier_of_two_deadlines_counts(queue: WorkQueue[str], clock: Clock) -> None:
    queue.add_after("run", 30)
    queue.add_after("run", 5)
    queue.add_after("run", 60)

    clock.now += 4.9
    assert queue.depth == 0
    clock.now += 0.2
    assert queue.depth == 1
    await queue.get()
    queue.done("run")
    clock.now += 1000
    assert queue.depth == 0


async def test_a_failing_key_waits_longer_each_time_and_is_forgiven_by_a_success(
    queue: WorkQueue[str], clock: Clock
) -> None:
    waits = []
    queue.add("run")
    for _ in range(12):
        await queue.get()
        queue.done("run", failed=True)
        before = clock.now
        while queue.depth == 0:
            clock.now += 0.01
        waits.append(clock.now - before)

    assert waits[0] <= 0.26
    assert all(later <= 60.01 for later in waits)
    assert min(waits[-3:]) >= 30
    await queue.get()
    queue.done("run")
    queue.add("run")
    await queue.get()
    queue.done("run", failed=True)
    clock.now += 0.26
    assert queue.depth == 1


async def test_an_event_is_not_held_back_by_the_back_off(queue: WorkQueue[str]) -> None:
    queue.add("run")
    await queue.get()
    queue.done("run", failed=True)
    queue.add("run")

    assert queue.depth == 1


async def test_the_age_is_that_of_the_longest_waiting_key_in_flight_or_not(queue: WorkQueue[str], clock: Clock) -> None:
    assert queue.oldest_age == 0
    queue.add("slow")
    await queue.get()
    clock.now += 7
    queue.add("other")

    assert queue.oldest_age == 7
    queue.done("slow")
    assert queue.oldest_age == 0


@in_virtual_time
async def test_workers_share_the_keys_and_wait_when_there_are_none() -> None:
    queue: WorkQueue[int] = WorkQueue(clock=asyncio.get_running_loop().time, rng=random.Random(1))
    seen: list[int] = []
    active: set[int] = set()

    async def handle(key: int) -> bool:
        assert key not in active
        active.add(key)
        await asyncio.sleep(0)
        active.discard(key)
        seen.append(key)
        return True

    workers = [asyncio.create_task(queue.work(handle)) for _ in range(4)]
    await asyncio.sleep(0)
    for key in range(50):
        queue.add(key)
        queue.add(key)
    queue.add_after(99, 0.02)
    await asyncio.sleep(0.1)
    for worker in workers:
        worker.cancel()
    await asyncio.gather(*workers, return_exceptions=True)

    assert sorted(seen) == [*range(50), 99]
