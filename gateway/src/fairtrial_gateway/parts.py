"""The blocking store behind an asynchronous server, with memory bounded whatever clients do.

An upload holds at most two parts: one that is being filled and one on its way to the store. Parts on their way are
limited for all uploads together, so the gateway's memory is (uploads + writers) x 8 MiB at most.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from fairtrial.evidence.objects import PART_SIZE, ObjectStore, StoredObject, Upload

T = TypeVar("T")


class StoreThreads:
    """The store's calls, each in a thread; those that carry a part wait for one of a few writers."""

    def __init__(self, store: ObjectStore, threads: int, writers: int) -> None:
        self.store = store
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="store")
        self._writers = asyncio.Semaphore(writers)

    async def run(self, call: Callable[..., T], *arguments: Any) -> T:
        """Make a blocking call."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, call, *arguments)

    async def write(self, call: Callable[..., T], *arguments: Any) -> T:
        """Make a blocking call that holds a part."""
        async with self._writers:
            return await self.run(call, *arguments)

    def close(self) -> None:
        """Wait for calls under way, start no others."""
        self._pool.shutdown(cancel_futures=True)


class PartSender:
    """Feeds one upload with whole parts: one on its way while the next is filled. `close` ends it in any case."""

    def __init__(self, threads: StoreThreads, upload: Upload) -> None:
        self._threads, self._upload = threads, upload
        self._filling = bytearray()
        self._sending: asyncio.Task[Any] | None = None
        self._done = False

    async def feed(self, chunk: bytes) -> None:
        """Take the next bytes; waits while two parts are held."""
        room = PART_SIZE - len(self._filling)
        if len(chunk) < room:
            self._filling += chunk
            return
        view = memoryview(chunk)
        self._filling += view[:room]
        await self._send()
        self._filling += view[room:]

    async def commit(self) -> StoredObject:
        """Send the rest and create the object."""
        await self._settle()
        await self._send()
        await self._settle()
        self._sending = asyncio.create_task(self._threads.write(self._upload.commit))
        stored: StoredObject = await asyncio.shield(self._sending)
        self._done = True
        return stored

    async def close(self) -> None:
        """Abort the upload unless it was committed, after the call under way: an upload is for one thread at a time."""
        if self._done:
            return
        if self._sending:
            await asyncio.wait({self._sending})
            if not self._sending.cancelled():
                self._sending.exception()  # seen: whoever waits for the upload was told already, or is gone
        await self._threads.run(self._upload.abort)

    async def _send(self) -> None:
        await self._settle()
        part, self._filling = self._filling, bytearray()
        self._sending = asyncio.create_task(self._threads.write(self._upload.write, part))

    async def _settle(self) -> None:
        if self._sending:
            await asyncio.shield(self._sending)
            self._sending = None
