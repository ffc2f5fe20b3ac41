"""Whether the gateway may take requests, and why not. Ready means: the store was probed and found fit, and the API
server reviews tokens for us. A later outage of either answers each request with 503 and its cause, which tells a pod
more than a refused connection would, so it does not undo readiness.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from fairtrial.errors import FairtrialError, StoreUnfit
from fairtrial_gateway.logs import say

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0
UNFIT_PAUSE = 300.0  # each probe leaves a few bytes in the store


@dataclass
class Health:
    """What is still waited for, by name with its reason; and whether the end was announced."""

    waiting: dict[str, str] = field(default_factory=dict)
    draining: bool = False

    @property
    def ready(self) -> bool:
        """Whether requests may come."""
        return not self.waiting and not self.draining

    def expect(self, *checks: str) -> None:
        """Begin unready until these checks pass."""
        self.waiting |= dict.fromkeys(checks, "not checked yet")

    async def until_passed(
        self, name: str, check: Callable[[], Awaitable[object]], first_pause: float = FIRST_PAUSE
    ) -> None:
        """Repeat a check until it passes; the reason of each failure is kept and, when it changes, logged."""
        pause = first_pause
        while True:
            try:
                found = await check()
            except FairtrialError as error:
                if self.waiting.get(name) != str(error):
                    say("not ready", logging.ERROR, check=name, reason=error.reason, message=str(error))
                self.waiting[name] = str(error)
                await asyncio.sleep(UNFIT_PAUSE if isinstance(error, StoreUnfit) else pause)
                pause = min(LONGEST_PAUSE, pause * 2)
                continue
            self.waiting.pop(name, None)
            say("check passed", check=name, found=found)
            return
