"""An answer on its way from the provider to the agent, journalled and read on the way, in memory that is bounded.

One piece is held at a time: the next is read when the agent has taken this one, so a slow agent slows the provider.
When the agent goes away the answer is read on for a while, because its last event says what the call has cost.
"""

import asyncio
import contextlib
from collections.abc import Awaitable
from typing import TypeVar

from fairtrial_gateway.models.client import Client
from fairtrial_gateway.models.decompress import Plain, coding_of
from fairtrial_gateway.models.exchange import Live
from fairtrial_gateway.models.failures import AgentGone, Limit, Silent
from fairtrial_gateway.models.settings import ModelSettings
from fairtrial_gateway.models.upstream import Answer

T = TypeVar("T")
LOOK_SECONDS = 1.0  # how often a silent provider's caller is looked for


class Relay:
    """One call's way back."""

    def __init__(self, settings: ModelSettings, live: Live, client: Client) -> None:
        self._settings, self._live, self._client = settings, live, client
        self._gone_at: float | None = None
        self._looking: asyncio.TimerHandle | None = None
        self._drained = 0

    async def first_byte(self, sending: Awaitable[T]) -> T:
        """Wait for the answer to begin; for a while longer even if the agent is gone."""
        limit = asyncio.timeout(None)
        try:
            async with limit:
                self._look_while(limit)
                return await sending
        except TimeoutError as error:
            raise AgentGone("The agent went away, and no answer had begun in time.") from error
        finally:
            if self._looking:
                self._looking.cancel()

    def _look_while(self, limit: asyncio.Timeout) -> None:
        """Look now and then whether the agent is gone: from then on there is a limit."""
        self._look()
        if self._gone_at is not None:
            limit.reschedule(self._gone_at + self._settings.drain_seconds)
        else:
            self._looking = asyncio.get_running_loop().call_later(LOOK_SECONDS, self._look_while, limit)

    async def answer(self, answer: Answer) -> None:
        """Pass on the whole answer. Ends by an exception where it does not come to its end."""
        live, settings = self._live, self._settings
        live.answered(answer.status, answer.headers)
        chunk, last = answer.ready(), answer.ended
        head = (answer.status, answer.reason, answer.http_version, answer.headers)
        live.recording.response_head(*head, more=bool(chunk) or last)
        live.plain = Plain(coding_of(answer.headers), settings.max_response_bytes)
        await self._record(chunk, last=last)
        live.response = await self._client.begin(answer, chunk if last else b"")
        self._look()
        until = asyncio.get_running_loop().time() + settings.total_seconds
        while True:
            await self._pass_on(chunk)
            if last:
                break
            chunk = await self._next(answer, until)
            last = not chunk or answer.ended
            await self._record(chunk, last=last)
        live.ttlb_ms = live.recording.ms
        await self._client.end()
        self._look()
        if self._gone_at is not None:
            raise AgentGone("The agent went away; its answer was read to the end.")

    async def _record(self, chunk: bytes, *, last: bool) -> None:
        """Write bytes down before they are passed on, and read them."""
        live, most = self._live, self._settings.max_response_bytes
        last = last and live.response_bytes + len(chunk) <= most
        if chunk:
            live.recording.response_body(chunk, last=last)
        if last:
            live.recording.response_end()
        for _ in live.feed(chunk):
            await asyncio.sleep(0)
        if live.response_bytes > most:
            raise Limit(f"The answer has more than {most} bytes.")

    async def _pass_on(self, chunk: bytes) -> None:
        if not chunk:
            return
        if self._gone_at is None:
            await self._client.write(chunk)
            self._look()
        else:
            self._drained += len(chunk)
            if self._drained > self._settings.drain_bytes:
                raise AgentGone("The agent went away; its answer was read on to the limit.")

    async def _next(self, answer: Answer, until: float) -> bytes:
        """The next bytes; none at the end."""
        loop = asyncio.get_running_loop()
        silent_at = loop.time() + self._settings.idle_seconds
        while True:
            now = loop.time()
            if now >= until:
                raise Limit(f"The answer took more than {self._settings.total_seconds:.0f} s.")
            if now >= silent_at:
                raise Silent(f"The provider sent nothing for {self._settings.idle_seconds:.0f} s.")
            left = self._time_left()
            if left <= 0:
                raise AgentGone("The agent went away; its answer was read on for as long as allowed.")
            if chunk := answer.ready():
                return chunk
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(until - now, silent_at - now, left, LOOK_SECONDS)):
                    return await answer.read()
            self._look()

    def _look(self) -> None:
        if self._gone_at is None and self._client.gone:
            self._gone_at = asyncio.get_running_loop().time()
            self._live.recording.note("client_gone")

    def _time_left(self) -> float:
        if self._gone_at is None:
            return LOOK_SECONDS
        return self._gone_at + self._settings.drain_seconds - asyncio.get_running_loop().time()
