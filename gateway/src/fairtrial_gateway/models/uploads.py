"""From the spool into the store: `started.json` soon; when the exchange has ended its journal, and then its page.

While the store is down journals wait in the spool, and nothing is lost as long as it holds them.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
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
START_SECONDS = 0.05  # a start is told unless the page is in the store by then, which says it all
T = TypeVar("T")


@dataclass
class _Open:
    """An exchange that is not in the store as a whole, and what tells that it has begun."""

    started: Started
    path: Path
    timer: asyncio.TimerHandle | None = None
    telling: "asyncio.Task[None] | None" = None

    def done(self) -> None:
        """Tell nothing any more."""
        for each in (self.timer, self.telling):
            if each:
                each.cancel()


class Uploads:
    """Exchanges on their way into the store."""

    def __init__(
        self, spool: Spool, worker: Worker, at_once: int, on_leaks: Callable[[int], None] = lambda _: None
    ) -> None:
        self._spool, self._worker, self._on_leaks = spool, worker, on_leaks
        self._large, self._small = asyncio.Semaphore(at_once), asyncio.Semaphore(1)
        self._open: dict[str, _Open] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}  # of those that have ended

    @property
    def waiting(self) -> int:
        """Exchanges that are not in the store as a whole."""
        return len(self._open) + len(self._tasks)

    def has(self, exchange: str) -> bool:
        """Whether an exchange is here already."""
        return exchange in self._open or exchange in self._tasks

    def began(self, started: Started, path: Path) -> None:
        """An exchange has begun."""
        begun = self._open[started.exchange] = _Open(started, path)
        begun.timer = asyncio.get_running_loop().call_later(START_SECONDS, self._tell, begun)

    def ended(self, page: Exchange, secrets: Mapping[str, bytes] | None, *, written: bool = False) -> None:
        """An exchange is over; the secrets are looked for in its journal, which has the page if that is `written`."""
        begun = self._open.pop(page.exchange)
        attempts = [Ended(begun.path, secrets, begun.started, page)]
        if written:
            attempts.insert(0, Ended(begun.path, secrets))
        task = self._tasks[page.exchange] = asyncio.create_task(self._store(begun, attempts))
        task.add_done_callback(lambda _: self._over(begun))

    async def settled(self) -> None:
        """Wait until everything that has ended is in the store."""
        while self._tasks:
            await asyncio.wait(self._tasks.values())

    async def close(self) -> None:
        """Stop; what is in the spool stays there."""
        for begun in self._open.values():
            begun.done()
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._worker.close()

    def _tell(self, begun: _Open) -> None:
        """Put `started.json`: whoever lists the run's calls waits for this one's page."""

        async def tell() -> None:
            await self._patiently(self._small, "store a start", lambda: self._worker.started(begun.started))

        begun.telling = asyncio.create_task(self._logged(begun.started.exchange, tell))

    async def _store(self, begun: _Open, attempts: list[Ended]) -> None:
        """Store an exchange; the last of `attempts` is made as often as needed."""

        def attempt() -> Awaitable[int]:
            return self._worker.ended(attempts.pop(0) if len(attempts) > 1 else attempts[0])

        async def store() -> None:
            leaks = await self._patiently(self._large, "store a journal", attempt)
            self._on_leaks(leaks)
            self._spool.remove(attempts[-1].path)

        await self._logged(begun.started.exchange, store)

    def _over(self, begun: _Open) -> None:
        begun.done()
        self._tasks.pop(begun.started.exchange, None)

    async def _logged(self, exchange: str, work: Callable[[], Awaitable[object]]) -> None:
        try:
            await work()
        except Exception as error:  # noqa: BLE001 — one bad journal must not take the others along; its file stays
            say("journal not stored", logging.ERROR, exchange=exchange, error=type(error).__name__)

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
