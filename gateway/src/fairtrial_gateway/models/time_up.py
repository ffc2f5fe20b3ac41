"""The end of a call for which the time of its run, or of its step, is over."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

from fairtrial_gateway.models.client import Client
from fairtrial_gateway.models.exchange import Declined, Live
from fairtrial_gateway.models.failures import AgentGone, TimeUp
from fairtrial_gateway.models.lifecycle import answer_in_dialect
from fairtrial_gateway.models.spending import TimeLimit
from fairtrial_gateway.models.spool import SpoolFull


@contextlib.asynccontextmanager
async def within(limit: TimeLimit | None, live: Live, client: Client) -> AsyncIterator[None]:
    """Do what is inside for as long as there is time.

    Then the agent is told, or an answer that has begun is cut; the provider's is read on as for an agent that went
    away, since its last event says what the call has used.
    """
    if limit is None:
        yield
        return
    declined = Declined(400, limit.over.refusal, limit.over.message)
    telling: asyncio.Task[None] | None = None

    def strike() -> None:
        nonlocal telling
        with contextlib.suppress(SpoolFull):
            live.recording.note(limit.over.refusal)
        telling = asyncio.create_task(client.dismiss(answer_in_dialect(live.dialect, live.call, declined)))

    timer = asyncio.get_running_loop().call_later(max(0.0, limit.at - time.time()), strike)
    try:
        yield
    except AgentGone as gone:
        if telling is None:
            raise
        if not live.forwarded:
            raise declined from gone
        raise TimeUp(limit.over.message, limit.over.refusal) from gone
    finally:
        timer.cancel()
        if telling is not None:
            await asyncio.wait({telling})
