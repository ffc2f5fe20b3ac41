"""Fetching ahead: a store far away answers in tens of milliseconds, and most of a cohort is thousands of small objects.

What is fetched ahead changes how long reading takes, and nothing else.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import TypeVar

AHEAD = 32  # on their way, or here and not asked for yet
THREADS = 16
T = TypeVar("T")
R = TypeVar("R")


def in_order(call: Callable[[T], R], items: Iterable[T]) -> Generator[tuple[T, Future[R]]]:
    """Every item with what `call` makes of it, in their order; some calls are under way beside each other."""
    waiting = deque[tuple[T, Future[R]]]()
    with ThreadPoolExecutor(THREADS) as threads:
        try:
            for item in items:
                waiting.append((item, threads.submit(call, item)))
                if len(waiting) > AHEAD:
                    yield waiting.popleft()
            while waiting:
                yield waiting.popleft()
        finally:
            for _, future in waiting:
                future.cancel()


@contextmanager
def guessing(read: Callable[[str], R], likely: Iterable[str]) -> Iterator[Callable[[str], R]]:
    """A `read` that is faster for keys that are `likely`, if both are in order. A wrong guess is dropped."""
    with closing(in_order(read, likely)) as guesses:
        held = next(guesses, None)

        def ask(key: str) -> R:
            nonlocal held
            while held is not None and held[0] < key:
                held = next(guesses, None)
            return held[1].result() if held is not None and held[0] == key else read(key)

        yield ask
