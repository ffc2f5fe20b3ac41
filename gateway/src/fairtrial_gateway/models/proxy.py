"""One model call, from its request to the end of its answer: read, decided, forwarded, passed on as it comes.

What the agent gets is what the provider sent. What the gateway itself decides is told in the shape that the agent's
wire has for errors, and is recorded like any other call.
"""

import contextlib
import time
from collections.abc import AsyncIterator
from dataclasses import replace

from aiohttp import web

from fairtrial.wires.base import Call, Wire
from fairtrial.wires.headers import upstream_headers, upstream_query
from fairtrial_gateway.models import requests, upstream
from fairtrial_gateway.models.budgets import Budgets, Ledger
from fairtrial_gateway.models.client import Client
from fairtrial_gateway.models.exchange import Declined, Live
from fairtrial_gateway.models.failures import AgentGone
from fairtrial_gateway.models.gates import Gate, TooBusy, share
from fairtrial_gateway.models.lifecycle import Lifecycle
from fairtrial_gateway.models.parties import Party, Provider
from fairtrial_gateway.models.relay import Relay
from fairtrial_gateway.models.room import NoRoom, Place, Room
from fairtrial_gateway.models.settings import ModelSettings
from fairtrial_gateway.models.spending import Spent, over, prices_of, refusal, time_limit
from fairtrial_gateway.models.steps import Steps
from fairtrial_gateway.models.time_up import within


class Proxy:
    """What calls share: connections, budgets, turns, and room for bodies."""

    def __init__(
        self, settings: ModelSettings, lifecycle: Lifecycle, sender: upstream.Upstream, budgets: Budgets, steps: Steps
    ) -> None:
        self.settings, self.lifecycle = settings, lifecycle
        self._upstream, self._budgets, self._steps = sender, budgets, steps
        self._room = Room(settings.body_memory_bytes)
        self._gates: dict[tuple[str, str], Gate] = {}
        self.replicas = settings.replicas

    async def handle(
        self, request: web.Request, target: str, wire: Wire, call: Call | None, party: Party
    ) -> web.StreamResponse:
        """Answer one call of a run. `Declined` is raised only where nothing was recorded."""
        ledger = await self._budgets.ledger(party)
        if len(ledger.refused) >= self.settings.recorded_refusals:
            raise Declined(429, "refused_too_often", "Too many calls of this run were refused.", retry_after=60)
        party = await self._in_its_step(party, ledger)
        live = self.lifecycle.begin(request, target, wire, call, party.owner, party.provider)
        prices = prices_of(party.provider)
        return await self.lifecycle.run(
            live, self._forwarded(live, ledger, party), lambda page: ledger.enter(page, prices)
        )

    async def _in_its_step(self, party: Party, ledger: Ledger) -> Party:
        """Look again before a call is refused for a step: another replica may have been told of the next one."""
        each = party.budget.per_step
        if each is not None and (
            party.step is None or over(party.budget, ledger.spent, party.provider, party.step_name)
        ):
            return replace(party, step=await self._steps.current(party.run, party.cohort, sure=True))
        return party

    async def _forwarded(self, live: Live, ledger: Ledger, party: Party) -> None:
        """Every step of a call that goes well; what does not leaves by an exception."""
        client = Client(live.request, self.settings.stalled_seconds)
        relay = Relay(self.settings, live, client)
        limit = time_limit(party.budget, party.step)
        async with within(limit, live, client), contextlib.AsyncExitStack() as held:
            place = await held.enter_async_context(self.room_for(live))
            body = await requests.body(live, self.settings)
            place.shrink(len(body))
            requests.check(live, party.provider.spec, body, self.settings.max_request_bytes)
            requests.check_countable(live, party.budget)
            _check_budget(party, ledger)
            async with self._turn(live, party):
                _check_budget(party, ledger)
                if client.gone:
                    raise AgentGone("The agent went away before its call was forwarded.")
                call = forwarded(live, party.provider, body)
                ledger.spent[live.recording.started.exchange] = Spent(step=party.step_name)
                live.forward()
                sending = self._upstream.send(call)
                answer = await relay.first_byte(sending)
                del body, call, sending
                await held.aclose()
                try:
                    await relay.answer(answer)
                finally:
                    answer.close()

    @contextlib.asynccontextmanager
    async def room_for(self, live: Live) -> AsyncIterator[Place]:
        """Hold room in memory for a request's body: all that one may have, where it does not say its length."""
        request, most = live.request, self.settings.max_request_bytes
        length = request.content_length
        if length is None:
            length = most if request.can_read_body else 0
        if length > most:
            raise requests.too_large(length, most)
        room = contextlib.AsyncExitStack()
        try:
            taking = self._room.take(length, self.settings.queue_seconds, live.recording.started.run.uid)
            place = await room.enter_async_context(taking)
        except NoRoom as error:
            raise Declined(503, "busy", "The gateway holds too many requests now.", retry_after=5) from error
        async with room:
            yield place

    @contextlib.asynccontextmanager
    async def _turn(self, live: Live, party: Party) -> AsyncIterator[None]:
        held = contextlib.AsyncExitStack()
        waited = live.recording.ms
        try:
            await held.enter_async_context(self._gate(party.provider).turn(party.key))
        except TooBusy as busy:
            message = "rate: the provider's calls for now are used up; come back later."
            raise Declined(429, "rate", message, retry_after=busy.retry_after) from busy
        live.queued_ms = live.recording.ms - waited
        async with held:
            yield

    def _gate(self, provider: Provider) -> Gate:
        settings = self.settings
        gate = self._gates.get(provider.key)
        if gate is None:
            self._gates = {key: each for key, each in self._gates.items() if not each.forgettable}
            gate = self._gates[provider.key] = Gate(
                per_run=settings.run_concurrency,
                longest_wait=settings.queue_seconds,
                longest_line=settings.queue_calls,
            )
        gate.resize(
            share(provider.spec.max_concurrency, self.replicas),
            share(provider.spec.requests_per_minute, self.replicas),
        )
        return gate


def _check_budget(party: Party, ledger: Ledger) -> None:
    if party.budget.per_step is not None and party.step is None:
        raise Declined(503, "no_step", "Steps of this run have limits, and none has begun yet.", retry_after=1)
    if found := refusal(party, ledger.spent, time.time()):
        raise Declined(400, found.refusal, found.message)


def forwarded(live: Live, provider: Provider, body: bytes) -> upstream.Call:
    """The call as the provider gets it: the agent's own, but for address and credential."""
    spec = provider.spec
    path, _, query = live.target.partition("?")
    kept = upstream_query(query)
    return upstream.Call(
        url=upstream.address(spec.url, path),
        target=f"{path}?{kept}" if kept else path,
        headers=upstream_headers(spec.wire, live.request.raw_headers, provider.credential),
        body=body,
        http2=spec.http_version == "2",
    )
