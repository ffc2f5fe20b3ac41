"""What each run has spent on model calls, and whether it may spend more.

A ledger holds one entry for each exchange. A replica that has not seen a run, or may not have seen all of it because
the set of replicas changed, reads the pages that are in the store and keeps its own entries beside them. What a call
came to is known at its end only, so calls that are under way when a budget is reached still end.
"""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol

from fairtrial import documents
from fairtrial.errors import InvalidInput
from fairtrial.evidence.layout import Layout
from fairtrial.journal import summary
from fairtrial.journal.exchange import Started
from fairtrial.usage import money
from fairtrial.usage.counters import NOT_FORWARDED
from fairtrial_gateway.models.parties import Party
from fairtrial_gateway.models.spending import Spent, prices_of, spent_on

READERS = 8
FORGET_SECONDS = 3600.0  # a run that called nothing for so long is read again when it does
AGAIN_SECONDS = 5.0  # until the store is asked again for the pages of what had begun elsewhere
PAGE_LIMIT = 1 << 20


@dataclass
class Ledger:
    """One run's exchanges: what was forwarded, and the names of what was not."""

    spent: dict[str, Spent] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)
    begun: set[str] = field(default_factory=set)  # of `spent`, those whose page was not there when the store was read
    read_at: float = 0.0
    read_for: int = -1  # the generation of replicas for which the store was read
    used_at: float = 0.0

    def enter(self, page: summary.Exchange, prices: money.Snapshot | None) -> None:
        """An exchange is over."""
        self.begun.discard(page.exchange)
        if page.ending == "refused" or page.usage.reason == NOT_FORWARDED:
            self.spent.pop(page.exchange, None)
            self.refused.add(page.exchange)
        else:
            self.spent[page.exchange] = spent_on(page.usage, prices, page.step)


class Pages(Protocol):
    """What of a store is needed here."""

    def keys(self, prefix: str) -> list[str]:
        """The keys that begin with `prefix`."""

    def get(self, key: str, *, limit: int = ...) -> bytes:
        """An object's bytes."""


class Budgets:
    """The ledgers of the runs that call through this replica."""

    def __init__(self, store: Pages, layout: Layout, clock: Callable[[], float] = time.monotonic) -> None:
        self._store, self._layout, self._clock = store, layout, clock
        self._ledgers: dict[str, Ledger] = {}
        self._reading: dict[str, asyncio.Lock] = {}
        self._generation = 0
        self._pool = ThreadPoolExecutor(READERS, thread_name_prefix="ledger")

    async def ledger(self, party: Party) -> Ledger:
        """A run's ledger, with what the store knows of it where that matters."""
        ledger = self._ledgers.get(party.key)
        if ledger is None:
            self._forget()
            ledger = self._ledgers[party.key] = Ledger()
        ledger.used_at = self._clock()
        if party.budget.limited and self._is_stale(ledger):
            async with self._reading.setdefault(party.key, asyncio.Lock()):
                if self._is_stale(ledger):
                    generation = self._generation
                    await self._read(party, ledger)
                    ledger.read_for, ledger.read_at = generation, self._clock()
            self._reading.pop(party.key, None)
        return ledger

    def read_again(self) -> None:
        """Other replicas may have seen calls of our runs: trust no ledger until the store was asked."""
        self._generation += 1

    def close(self) -> None:
        """Read no more."""
        self._pool.shutdown(cancel_futures=True)

    def _is_stale(self, ledger: Ledger) -> bool:
        waited = self._clock() - ledger.read_at >= AGAIN_SECONDS
        return ledger.read_for != self._generation or (bool(ledger.begun) and waited)

    async def _read(self, party: Party, ledger: Ledger) -> None:
        run = self._layout.run(party.run.namespace, party.run.name, party.run.uid, party.cohort)
        submit = asyncio.get_running_loop().run_in_executor
        keys = await submit(self._pool, self._store.keys, run.exchanges())
        files: dict[str, set[str]] = {}
        for key in keys:
            exchange, _, file = key.removeprefix(run.exchanges()).partition("/")
            files.setdefault(exchange, set()).add(file)
        known = (ledger.spent.keys() | ledger.refused) - ledger.begun
        unknown = [name for name in files if name not in known]
        whole = [name for name in unknown if "exchange.json" in files[name]]
        prices, by_step = prices_of(party.provider), party.budget.per_step is not None
        pages = await asyncio.gather(
            *(submit(self._pool, self._page, run.exchange(name, "exchange.json")) for name in whole)
        )
        for page in pages:
            ledger.enter(page, prices)
        for name in set(unknown) - set(whole) - ledger.spent.keys():
            step = await submit(self._pool, self._step, run.exchange(name, "started.json")) if by_step else ""
            ledger.spent.setdefault(name, Spent(step=step))
        ledger.begun |= set(unknown) - set(whole)

    def _page(self, key: str) -> summary.Exchange:
        return summary.load(self._store.get(key, limit=PAGE_LIMIT), name=key)

    def _step(self, key: str) -> str:
        try:
            started: Started = documents.load(Started, self._store.get(key, limit=PAGE_LIMIT), name=key)
        except InvalidInput:
            return ""
        return started.step

    def _forget(self) -> None:
        long_ago = self._clock() - FORGET_SECONDS
        for key in [key for key, ledger in self._ledgers.items() if ledger.used_at < long_ago]:
            del self._ledgers[key]
