"""Waiting for one's turn at a provider, and giving the turn back."""

import asyncio
import math
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager

from fairtrial_gateway.models.fairness import Turns


class TooBusy(Exception):
    """The wait would be, or was, too long."""

    def __init__(self, retry_after: float) -> None:
        self.retry_after = max(1, math.ceil(retry_after))
        super().__init__(f"come back in {self.retry_after} s")


class Gate:
    """The way to one provider."""

    def __init__(self, *, per_run: int, longest_wait: float, longest_line: int) -> None:
        self._turns: Turns[asyncio.Future[None]] = Turns(1, 1, per_run)
        self._longest_wait, self._longest_line = longest_wait, longest_line
        self._timer: asyncio.TimerHandle | None = None

    def resize(self, concurrency: int, per_minute: int) -> None:
        """Take the caps of now."""
        self._turns.concurrency, self._turns.per_minute = concurrency, per_minute

    @property
    def idle(self) -> bool:
        """Whether nobody waits and nothing is under way."""
        return not self._turns.waiting and not self._turns.under_way

    @property
    def forgettable(self) -> bool:
        """Whether a new gate would do as well: no start of this one counts against the rate any more."""
        return self.idle and not self._turns.recent(asyncio.get_running_loop().time())

    @asynccontextmanager
    async def turn(self, run: Hashable) -> AsyncIterator[None]:
        """Wait for a turn and hold it; `TooBusy` where that takes too long."""
        loop = asyncio.get_running_loop()
        needed = self._turns.wait_at_least(loop.time(), run)
        if needed > self._longest_wait or self._turns.ahead(run) >= self._longest_line:
            raise TooBusy(needed)
        ticket: asyncio.Future[None] = loop.create_future()
        self._turns.enter(run, ticket)
        self._serve()
        await self._until_served(run, ticket)
        try:
            yield
        finally:
            self._turns.done(run)
            self._serve()

    async def _until_served(self, run: Hashable, ticket: "asyncio.Future[None]") -> None:
        try:
            if not ticket.done():
                async with asyncio.timeout(self._longest_wait):
                    await asyncio.wait({ticket})  # unlike await, it leaves the ticket to whoever serves
        except BaseException as error:
            if ticket.done():
                self._turns.done(run)  # served in the same moment; the turn goes to the next
            else:
                self._turns.leave(run, ticket)
            self._serve()
            if isinstance(error, TimeoutError):
                raise TooBusy(self._turns.wait_at_least(asyncio.get_running_loop().time(), run)) from error
            raise

    def _serve(self) -> None:
        now = asyncio.get_running_loop().time()
        while (ticket := self._turns.next(now)) is not None:
            ticket.set_result(None)
        if self._timer:
            self._timer.cancel()
            self._timer = None
        opens = self._turns.rate_opens_at(now)
        if opens is not None and self._turns.waiting:
            self._timer = asyncio.get_running_loop().call_at(opens, self._serve)


def share(cap: int, replicas: int) -> int:
    """This replica's part of a cap that holds over all replicas; one at least, since a share of none stops a run."""
    return max(1, cap // max(1, replicas))
