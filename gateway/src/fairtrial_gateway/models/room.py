"""Room in memory for request bodies, given out in the order of asking, and never most of it to one run."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass

SHARE = 4  # a run holds a part of so many at most; one call it may always have


class NoRoom(Exception):
    """No room became free in time."""


@dataclass(eq=False)
class Place:
    """Room that a call holds, or waits for."""

    room: "Room"
    run: Hashable
    size: int
    given: "asyncio.Future[None]"

    def shrink(self, size: int) -> None:
        """Give back what is not needed."""
        spare, self.size = max(0, self.size - size), min(self.size, size)
        self.room.give_back(self.run, spare)


class Room:
    """So many bytes, of all calls together."""

    def __init__(self, size: int) -> None:
        self._size = self._free = size
        self._held: Counter[Hashable] = Counter()
        self._waiting: list[Place] = []

    @asynccontextmanager
    async def take(self, size: int, seconds: float, run: Hashable) -> AsyncIterator[Place]:
        """Hold room for `size` bytes, never more than there is at all."""
        place = Place(self, run, min(size, self._size), asyncio.get_running_loop().create_future())
        self._waiting.append(place)
        self._serve()
        try:
            if not place.given.done():
                async with asyncio.timeout(seconds):
                    await asyncio.wait({place.given})  # unlike await, it leaves the future to whoever gives
        except BaseException as error:
            if place in self._waiting:
                self._waiting.remove(place)
                self._serve()
            else:
                self.give_back(run, place.size)
            if isinstance(error, TimeoutError):
                raise NoRoom from error
            raise
        try:
            yield place
        finally:
            self.give_back(run, place.size)

    def give_back(self, run: Hashable, size: int) -> None:
        """So many bytes of a run are free again."""
        self._free += size
        self._held[run] -= size
        self._held += Counter()  # drops zeros
        self._serve()

    def _serve(self) -> None:
        for place in list(self._waiting):
            held = self._held[place.run]
            if held and held + place.size > self._size // SHARE:
                continue  # its run's own calls are in its way, nobody else's
            if place.size > self._free:
                return
            self._waiting.remove(place)
            self._free -= place.size
            self._held[place.run] += place.size
            place.given.set_result(None)
