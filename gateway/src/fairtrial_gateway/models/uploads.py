"""From the spool into the store: `started.json` at once; when the exchange has ended its journal, and then its page.

While the store is down journals wait in the spool, and nothing is lost as long as it holds them.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TypeVar

from fairtrial.errors import FairtrialError
from fairtrial.journal.exchange import Started
from fairtrial.journal.summary import Exchange
from fairtrial_gateway.logs import say
from fairtrial_gateway.models.spool import Spool
from fairtrial_gateway.models.storing import Ended
from fairtrial_gateway.models.workers import Worker

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
T = TypeVar("T")


class Uploads:
    """Exchanges on their way into the store."""

    def __init__(
        self, spool: Spool, worker: Worker, at_once: int, on_leaks: Callable[[int], None] = lambda _: None
    ) -> None:
        self._spool, self._worker, self._on_leaks = spool, worker, on_leaks
        self._large, self._small = asyncio.Semaphore(at_once), asyncio.Semaphore(1)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._open: dict[str, tuple[Started, Path, asyncio.Future[Ended]]] = {}

    @property
    def waiting(self) -> int:
        """Exchanges that are not in the store as a whole."""
        return len(self._tasks)

    def has(self, exchange: str) -> bool:
        """Whether an exchange is here already."""
        return exchange in self._tasks

    def began(self, started: Started, path: Path) -> None:
        """An exchange has begun."""
        name = started.exchange
        ended: asyncio.Future[Ended] = asyncio.get_running_loop().create_future()
        self._open[name] = (started, path, ended)
        self._tasks[name] = asyncio.create_task(self._life(started, ended))

    def ended(self, page: Exchange, secrets: Mapping[str, bytes] | None) -> None:
        """An exchange is over; the secrets are looked for in its journal."""
        started, path, ended = self._open.pop(page.exchange)
        ended.set_result(Ended(started, path, page, secrets))

    async def settled(self) -> None:
        """Wait until everything that has ended is in the store."""
        while tasks := [task for name, task in self._tasks.items() if name not in self._open]:
            await asyncio.wait(tasks)

    async def close(self) -> None:
        """Stop; what is in the spool stays there."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._worker.close()

    async def _life(self, started: Started, ended: "asyncio.Future[Ended]") -> None:
        try:
            await self._tell_started(started, ended)
            done = await ended
            leaks = await self._patiently(self._large, "store a journal", lambda: self._worker.ended(done))
            self._on_leaks(leaks)
            self._spool.remove(done.path)
        except Exception as error:  # noqa: BLE001 — one bad journal must not take the others along; its file stays
            say("journal not stored", logging.ERROR, exchange=started.exchange, error=type(error).__name__)
        finally:
            self._tasks.pop(started.exchange, None)

    async def _tell_started(self, started: Started, ended: "asyncio.Future[Ended]") -> None:
        """Put `started.json`, unless the exchange ends before that: then the page says it all as soon."""
        put = asyncio.create_task(self._patiently(self._small, "store a start", lambda: self._worker.started(started)))
        either = asyncio.Event()
        for each in (put, ended):
            each.add_done_callback(lambda _: either.set())
        try:
            await either.wait()
        finally:
            put.cancel()

    async def _patiently(self, places: asyncio.Semaphore, what: str, call: Callable[[], Awaitable[T]]) -> T:
        pause = FIRST_PAUSE
        while True:
            try:
                async with places:
                    return await call()
            except FairtrialError as error:
                say("store refuses journals", logging.WARNING, what=what, reason=error.reason, message=str(error))
            await asyncio.sleep(random.uniform(pause / 2, pause))  # noqa: S311 — jitter
            pause = min(LONGEST_PAUSE, pause * 2)
