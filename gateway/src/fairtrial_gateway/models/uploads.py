"""From the spool into the store: `started.json` at once; when the exchange has ended its journal, and then its page.

Every write is create-only and made from the journal's own bytes, so a repetition after a crash makes the same objects.
While the store is down journals wait in the spool, and nothing is lost as long as it holds them.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from fairtrial import documents
from fairtrial.errors import FairtrialError
from fairtrial.evidence.layout import Layout
from fairtrial.evidence.objects import MIB, StoredObject, Upload
from fairtrial.journal import summary
from fairtrial.journal.exchange import Started
from fairtrial.journal.frames import Kind
from fairtrial.journal.summary import Exchange, Scan
from fairtrial_gateway.logs import say
from fairtrial_gateway.models import reading
from fairtrial_gateway.models.spool import Spool

STARTED, JOURNAL, PAGE = "started.json", "exchange.ftj", "exchange.json"
JSON = "application/json"
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0


@dataclass(frozen=True)
class Ended:
    """How an exchange ended, and what is looked for in its journal. No secrets: they could not be read."""

    page: Exchange
    secrets: Mapping[str, bytes] | None = field(repr=False)


class Sink(Protocol):
    """What of a store is needed here."""

    def put(self, key: str, data: bytes, *, media_type: str = ...) -> StoredObject:
        """Create an object, or adopt an equal one."""

    def open_upload(self, key: str, *, media_type: str = ..., sha256: str | None = None) -> Upload:
        """Begin an object of any size."""


class Uploads:
    """Exchanges on their way into the store."""

    def __init__(
        self,
        spool: Spool,
        sink: Sink,
        layout: Layout,
        at_once: int,
        on_scan: Callable[[Scan], None] = lambda _: None,
    ) -> None:
        self._spool, self._sink, self._layout, self._on_scan = spool, sink, layout, on_scan
        self._pool = ThreadPoolExecutor(at_once + 1, thread_name_prefix="journal")
        self._large, self._small = asyncio.Semaphore(at_once), asyncio.Semaphore(1)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._ended: dict[str, asyncio.Future[Ended]] = {}

    @property
    def waiting(self) -> int:
        """Exchanges that are not in the store as a whole."""
        return len(self._tasks)

    def began(self, started: Started, path: Path) -> None:
        """An exchange has begun."""
        name = started.exchange
        self._ended[name] = asyncio.get_running_loop().create_future()
        self._tasks[name] = asyncio.create_task(self._life(started, path, self._ended[name]))

    def ended(self, ended: Ended) -> None:
        """An exchange is over."""
        self._ended.pop(ended.page.exchange).set_result(ended)

    async def settled(self) -> None:
        """Wait until everything that has ended is in the store."""
        while tasks := [task for name, task in self._tasks.items() if name not in self._ended]:
            await asyncio.wait(tasks)

    async def close(self) -> None:
        """Stop; what is in the spool stays there."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._pool.shutdown(cancel_futures=True)

    async def _life(self, started: Started, path: Path, ended: "asyncio.Future[Ended]") -> None:
        try:
            await self._tell_started(started, ended)
            await self._complete(path, await ended)
            await self._patiently(self._large, "store a journal", self._store, started, path)
            self._spool.remove(path)
        except Exception as error:  # noqa: BLE001 — one bad journal must not take the others along; its file stays
            say("journal not stored", logging.ERROR, exchange=started.exchange, error=type(error).__name__)
        finally:
            self._tasks.pop(started.exchange, None)

    async def _tell_started(self, started: Started, ended: "asyncio.Future[Ended]") -> None:
        """Put `started.json`, unless the exchange ends before that: then the page says it all as soon."""
        put = asyncio.create_task(self._patiently(self._small, "store a start", self._put_started, started))
        either = asyncio.Event()
        for each in (put, ended):
            each.add_done_callback(lambda _: either.set())
        try:
            await either.wait()
        finally:
            put.cancel()

    async def _patiently(self, places: asyncio.Semaphore, what: str, call, *arguments) -> None:  # type: ignore[no-untyped-def]
        pause = FIRST_PAUSE
        while True:
            try:
                async with places:
                    await asyncio.get_running_loop().run_in_executor(self._pool, call, *arguments)
                return
            except FairtrialError as error:
                say("store refuses journals", logging.WARNING, what=what, reason=error.reason, message=str(error))
            await asyncio.sleep(random.uniform(pause / 2, pause))  # noqa: S311 — jitter
            pause = min(LONGEST_PAUSE, pause * 2)

    async def _complete(self, path: Path, ended: Ended) -> None:
        """Read the journal once more and append what is missing at its end; what was written before a restart stays."""
        async with self._large:
            run = asyncio.get_running_loop().run_in_executor
            facts, stop = await run(self._pool, reading.told, path)
            if facts.scan is None:
                found = await run(self._pool, reading.scan, path, ended.secrets)
                self._on_scan(found)
                file = self._spool.reopen(path, stop.offset)
                try:
                    if facts.page is None:
                        file.append(Kind.ENDED, facts.last_ms, summary.dump(ended.page), always=True)
                    file.append(Kind.SCANNED, facts.last_ms, documents.dump(found), always=True)
                finally:
                    file.close()

    def _put_started(self, started: Started) -> None:
        self._sink.put(self._key(started, STARTED), documents.dump(started), media_type=JSON)

    def _store(self, started: Started, path: Path) -> None:
        facts, _ = reading.told(path)
        assert facts.page is not None and facts.scan is not None
        upload = self._sink.open_upload(self._key(started, JOURNAL))
        try:
            with path.open("rb") as file:
                while chunk := file.read(MIB):
                    upload.write(chunk)
            stored = upload.commit()
        except BaseException:
            upload.abort()
            raise
        page = facts.page.scanned(facts.scan).with_journal(stored.size, stored.sha256)
        self._sink.put(self._key(started, PAGE), summary.dump(page), media_type=JSON)

    def _key(self, started: Started, file: str) -> str:
        run = started.run
        return self._layout.run(run.namespace, run.name, run.uid, started.cohort).exchange(started.exchange, file)
