"""A deduplicating work queue: one in flight per key, deadlines, back-off per key, and the age of the oldest key.

A key added while it is worked on is worked on once more afterwards. Whoever works reads everything anew, so that ten
events for one key cost one look.
"""

import asyncio
import heapq
import random
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
BACKOFF_BASE, BACKOFF_CAP = 0.25, 60.0


class WorkQueue(Generic[K]):
    """Keys that are due, waiting for their time, or in flight; each key is in at most one of these states."""

    def __init__(self, *, clock: Callable[[], float], rng: random.Random) -> None:
        self._clock, self._rng = clock, rng
        self._ready: dict[K, float] = {}  # key → since when it is due; insertion order is the order of work
        self._later: dict[K, float] = {}  # key → when it becomes due
        self._heap: list[tuple[float, int, K]] = []
        self._sequence = 0
        self._in_flight: dict[K, float] = {}
        self._again: set[K] = set()
        self._failures: dict[K, int] = {}
        self._wake = asyncio.Event()

    def add(self, key: K) -> None:
        """Make a key due now."""
        if key in self._in_flight:
            self._again.add(key)
            return
        self._later.pop(key, None)
        self._ready.setdefault(key, self._clock())
        self._wake.set()

    def add_after(self, key: K, seconds: float) -> None:
        """Make a key due in `seconds`, or earlier if it already is due earlier."""
        when = self._clock() + max(seconds, 0)
        if key in self._ready or self._later.get(key, float("inf")) <= when:
            return
        self._later[key] = when
        self._sequence += 1
        heapq.heappush(self._heap, (when, self._sequence, key))
        self._wake.set()

    def forget(self, key: K) -> None:
        """Drop a key's deadline and its history of failures."""
        self._later.pop(key, None)
        self._failures.pop(key, None)

    async def get(self) -> K:
        """The next due key, which is in flight until `done`."""
        while True:
            self._promote()
            if self._ready:
                key = next(iter(self._ready))
                self._in_flight[key] = self._ready.pop(key)
                return key
            self._wake.clear()
            wait = self._heap[0][0] - self._clock() if self._heap else None
            try:
                await asyncio.wait_for(self._wake.wait(), wait)
            except TimeoutError:
                continue

    def done(self, key: K, *, failed: bool = False) -> None:
        """End a key's work. A failed key comes back after its back-off; a key added meanwhile comes back at once."""
        self._in_flight.pop(key, None)
        again = key in self._again
        self._again.discard(key)
        if failed:
            self._failures[key] = self._failures.get(key, 0) + 1
            self.add_after(key, self.backoff(self._failures[key]))
            return
        self._failures.pop(key, None)
        if again:
            self.add(key)

    def backoff(self, failures: int) -> float:
        """Exponential from a quarter of a second to a minute, less up to half at random."""
        limit = min(BACKOFF_CAP, BACKOFF_BASE * 2.0 ** min(failures - 1, 20))
        return limit * (0.5 + self._rng.random() / 2)

    @property
    def depth(self) -> int:
        """How many keys are due."""
        self._promote()
        return len(self._ready)

    @property
    def oldest_age(self) -> float:
        """Seconds since the longest waiting key, due or in flight, became due."""
        self._promote()
        since = [*self._ready.values(), *self._in_flight.values()]
        return self._clock() - min(since) if since else 0.0

    async def work(self, handle: Callable[[K], Awaitable[bool]]) -> None:
        """Take keys for ever. `handle` answers whether it succeeded; what it raises ends the worker."""
        while True:
            key = await self.get()
            succeeded = False
            try:
                succeeded = await handle(key)
            finally:
                self.done(key, failed=not succeeded)

    def _promote(self) -> None:
        now = self._clock()
        while self._heap and self._heap[0][0] <= now:
            when, _, key = heapq.heappop(self._heap)
            if self._later.get(key) == when:
                del self._later[key]
                if key in self._in_flight:  # never twice at once
                    self._again.add(key)
                else:
                    self._ready.setdefault(key, when)
