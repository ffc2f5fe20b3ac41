"""Whose turn it is at a provider. Pure: time comes as an argument, tickets are whatever the caller likes.

Runs take turns, whatever each has waiting: a run that asks a hundred times at once delays another run's one call by one
call, not by a hundred. Inside a run the order is that of asking.
"""

from collections import Counter, OrderedDict, deque
from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T")
MINUTE = 60.0


class Turns(Generic[T]):
    """The calls that wait for one provider, and those under way."""

    def __init__(self, concurrency: int, per_minute: int, per_run: int) -> None:
        self.concurrency, self.per_minute, self.per_run = concurrency, per_minute, per_run
        self._waiting: OrderedDict[Hashable, deque[T]] = OrderedDict()
        self._under_way: Counter[Hashable] = Counter()
        self._starts: deque[float] = deque()  # of the last minute

    @property
    def waiting(self) -> int:
        """How many calls wait."""
        return sum(map(len, self._waiting.values()))

    @property
    def under_way(self) -> int:
        """How many calls are under way."""
        return self._under_way.total()

    def enter(self, run: Hashable, ticket: T) -> None:
        """Wait in a run's line."""
        self._waiting.setdefault(run, deque()).append(ticket)

    def leave(self, run: Hashable, ticket: T) -> None:
        """Wait no more."""
        line = self._waiting.get(run)
        if line and ticket in line:
            line.remove(ticket)
            if not line:
                del self._waiting[run]

    def next(self, now: float) -> T | None:
        """Start the call whose turn it is; None if none may start now."""
        self._forget(now)
        if self.under_way >= self.concurrency or len(self._starts) >= self.per_minute:
            return None
        for run, line in self._waiting.items():
            if self._under_way[run] < self.per_run:
                ticket = line.popleft()
                self._waiting.move_to_end(run)
                if not line:
                    del self._waiting[run]
                self._under_way[run] += 1
                self._starts.append(now)
                return ticket
        return None

    def done(self, run: Hashable) -> None:
        """A call of this run has ended."""
        self._under_way[run] -= 1
        self._under_way += Counter()  # drops zeros

    def rate_opens_at(self, now: float) -> float | None:
        """When the rate lets another call start, if it is the rate that holds calls back."""
        self._forget(now)
        return self._starts[-self.per_minute] + MINUTE if len(self._starts) >= self.per_minute else None

    def recent(self, now: float) -> bool:
        """Whether a call has started in the last minute."""
        self._forget(now)
        return bool(self._starts)

    def ahead(self, run: Hashable) -> int:
        """How many calls have their turn before one that this run would have wait now."""
        own = len(self._waiting.get(run, ()))
        found, rounds = own, own + 1
        for other, line in self._waiting.items():
            if other == run:
                rounds = own  # those behind it have their turns after its own
            else:
                found += min(len(line), rounds)
        return found

    def wait_at_least(self, now: float, run: Hashable) -> float:
        """How long a call that enters now must wait for the rate alone, if nothing is sent sooner than it may."""
        self._forget(now)
        ahead = self.ahead(run)
        free = self.per_minute - len(self._starts)
        if ahead < free:
            return 0.0
        rounds, place = divmod(ahead - free, self.per_minute)
        if place < len(self._starts):
            return self._starts[place] + MINUTE * (rounds + 1) - now
        return MINUTE * (rounds + 1)

    def _forget(self, now: float) -> None:
        while self._starts and self._starts[0] <= now - MINUTE:
            self._starts.popleft()
