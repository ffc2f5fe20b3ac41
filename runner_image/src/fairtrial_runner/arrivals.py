"""When the bytes of a stream came, by the recorder's clock, in bounded memory."""

import time
from bisect import bisect_right
from collections.abc import Callable, Sequence

MOST = 20_000


class Arrivals:
    """Marks (end, ms): every byte before `end` had come by `ms` after the agent began.

    When there are too many marks, the clock becomes coarser: in a long run the error grows, and the memory does not.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, most: int = MOST) -> None:
        self._clock, self._most = clock, most
        self._zero: float | None = None
        self._resolution = 1
        self._marks: list[tuple[int, int]] = []

    def begin(self) -> None:
        """The agent begins now; only the first of several beginnings counts."""
        if self._zero is None:
            self._zero = self._clock()

    def add(self, end: int) -> None:
        """The stream has come so far."""
        self.begin()
        assert self._zero is not None
        ms = int((self._clock() - self._zero) * 1000)
        self._mark(end, ms)
        while len(self._marks) > self._most:
            self._resolution *= 2
            old, self._marks = self._marks, []
            for mark in old:
                self._mark(*mark)

    def _mark(self, end: int, ms: int) -> None:
        if self._marks and self._marks[-1][1] // self._resolution == ms // self._resolution:
            self._marks[-1] = (end, self._marks[-1][1])
        else:
            self._marks.append((end, ms))

    @property
    def marks(self) -> list[tuple[int, int]]:
        """The marks in order."""
        return list(self._marks)


def arrival(marks: Sequence[Sequence[int]], offset: int) -> int | None:
    """When the byte at `offset` came, or None if no mark tells."""
    at = bisect_right(marks, offset, key=lambda mark: mark[0])
    return marks[at][1] if at < len(marks) else None
