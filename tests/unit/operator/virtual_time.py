"""An event loop in which no test waits: where nothing is left to do, its clock jumps to what is due next."""

import asyncio
import functools
import time
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec

import pytest

P = ParamSpec("P")


class VirtualLoop(asyncio.SelectorEventLoop):
    """A busy machine is never late here: time passes only where everybody waits for it."""

    now = 1000.0

    def time(self) -> float:
        return self.now

    def _run_once(self) -> None:
        due = [one.when() for one in self._scheduled if not one.cancelled()]
        if due and not self._ready:
            self.now = max(self.now, min(due))
        super()._run_once()


def in_virtual_time(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Run a test there, with `time.monotonic` as the loop's clock."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        with asyncio.Runner(loop_factory=VirtualLoop) as runner, pytest.MonkeyPatch.context() as patched:
            patched.setattr(time, "monotonic", runner.get_loop().time)
            runner.run(test(*args, **kwargs))

    return run
