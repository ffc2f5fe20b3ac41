"""The blocking store behind an asynchronous server, with memory bounded whatever clients do.

An upload fills one part, and only with a place among the writers does it go on its way. Writers are few for all uploads
together, so the gateway holds (uploads + writers) x 8 MiB at most. Buffers are used again: fresh memory for each part
costs more than hashing it.
"""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from fairtrial.evidence.objects import PART_SIZE, ObjectStore, StoredObject, Upload

T = TypeVar("T")
IN_FLIGHT = 2  # parts of one upload on their way


class StoreThreads:
    """The store's calls, each in a thread, and the places for parts on their way to it."""

    def __init__(self, store: ObjectStore, threads: int, writers: int) -> None:
        self.store = store
        self.writers = asyncio.Semaphore(writers)
        self._spare: list[bytearray] = []
        self._spare_most = writers
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="store")

    async def run(self, call: Callable[..., T], *arguments: Any) -> T:
        """Make a blocking call."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, call, *arguments)

    def take_buffer(self) -> bytearray:
        """A buffer of a part's size, with anything in it."""
        return self._spare.pop() if self._spare else bytearray(PART_SIZE)

    def give_back(self, buffer: bytearray) -> None:
        """Let a buffer be used again."""
        if len(self._spare) < self._spare_most:
            self._spare.append(buffer)

    def close(self) -> None:
        """Wait for calls under way, start no others."""
        self._pool.shutdown(cancel_futures=True)


class PartSender:
    """Feeds one upload with whole parts, some on their way while the next is filled. `close` ends it in any case.

    `size` is that of the whole body if it is known; no more than that may be fed.
    """

    def __init__(self, threads: StoreThreads, upload: Upload, size: int | None) -> None:
        self._threads, self._upload = threads, upload
        self._buffer = bytearray(size) if size is not None and size < PART_SIZE else bytearray()
        self._filled = 0
        self._order = asyncio.Lock()  # parts are numbered and hashed in order, though sent side by side
        self._under_way: set[asyncio.Task[Any]] = set()
        self._done = False

    async def feed(self, chunk: bytes) -> None:
        """Take the next bytes; waits while too much is on its way."""
        rest = memoryview(chunk)
        while rest:
            if not self._buffer:
                self._buffer = self._threads.take_buffer()
            fits = rest[: len(self._buffer) - self._filled]
            self._buffer[self._filled : self._filled + len(fits)] = fits
            self._filled += len(fits)
            rest = rest[len(fits) :]
            if self._filled == PART_SIZE:
                await self._send_off()

    async def commit(self) -> StoredObject:
        """Send the rest and create the object."""
        await self._settle(0)
        await self._threads.writers.acquire()
        stored: StoredObject = await asyncio.shield(self._start(self._finish()))
        self._done = True
        return stored

    async def close(self) -> None:
        """Abort the upload unless it was committed, after the calls under way."""
        if self._under_way:
            await asyncio.wait(self._under_way)
            for task in self._under_way:
                task.cancelled() or task.exception()  # seen: the caller was told of the first, or is gone
        if not self._done:
            await self._threads.run(self._upload.abort)

    async def _send_off(self) -> None:
        await self._settle(IN_FLIGHT - 1)
        await self._threads.writers.acquire()
        part, self._buffer, self._filled = self._buffer, bytearray(), 0
        self._start(self._send(part))

    async def _settle(self, most: int) -> None:
        """Wait until at most so many calls are under way; raise what any of them raised."""
        while len(self._under_way) > most:
            done, _ = await asyncio.wait(self._under_way, return_when=asyncio.FIRST_COMPLETED)
            self._under_way -= done
            for task in done:
                task.result()

    def _start(self, work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        """Let work that holds a writer's place begin; the place is free when it ends."""
        task = asyncio.create_task(work)
        self._under_way.add(task)
        task.add_done_callback(lambda _: self._threads.writers.release())
        return task

    async def _send(self, part: bytearray) -> None:
        async with self._order:
            send = await self._threads.run(self._upload.part, part)
        await self._threads.run(send)
        self._threads.give_back(part)

    async def _finish(self) -> StoredObject:
        rest, self._buffer = self._buffer, bytearray()
        if self._filled:
            del rest[self._filled :]
            await self._threads.run(self._upload.write, rest)
        return await self._threads.run(self._upload.commit)
