"""Room in memory for request bodies, given out in the order of asking."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class NoRoom(Exception):
    """No room became free in time."""


class Room:
    """So many bytes, of all calls together."""

    def __init__(self, size: int) -> None:
        self._size = self._free = size
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    @asynccontextmanager
    async def take(self, size: int, seconds: float) -> AsyncIterator[None]:
        """Hold room for `size` bytes, never more than there is at all."""
        needed = min(size, self._size)
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((needed, place))
        self._serve()
        try:
            async with asyncio.timeout(seconds):
                await place
        except BaseException as error:
            if place.done() and not place.cancelled():
                self._free += needed
            else:
                self._waiting.remove((needed, place))
            self._serve()
            if isinstance(error, TimeoutError):
                raise NoRoom from error
            raise
        try:
            yield
        finally:
            self._free += needed
            self._serve()

    def _serve(self) -> None:
        while self._waiting and self._waiting[0][0] <= self._free:
            needed, place = self._waiting.popleft()
            self._free -= needed
            place.set_result(None)
