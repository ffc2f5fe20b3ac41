"""The life of one model call: read, decided, forwarded, passed on as it comes, and written down on the way.

What the agent gets is what the provider sent. What the gateway itself decides is told in the shape that the agent's
wire has for errors, and is journalled like any other call.
"""

import asyncio
import contextlib
import logging
import secrets
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime

from aiohttp import web

from fairtrial.errors import FairtrialError
from fairtrial.journal.exchange import Started, exchange_id
from fairtrial.wires.base import Call, Wire
from fairtrial.wires.headers import upstream_headers, upstream_query
from fairtrial_gateway.logs import LOG, say
from fairtrial_gateway.models import requests, upstream
from fairtrial_gateway.models.budgets import Budgets, Ledger, Spent, over, prices_of, spent_on
from fairtrial_gateway.models.client import Client
from fairtrial_gateway.models.exchange import Declined, Live, journal_path
from fairtrial_gateway.models.failures import AgentGone, ProviderFailure
from fairtrial_gateway.models.gates import Gate, TooBusy, share
from fairtrial_gateway.models.measures import Measures
from fairtrial_gateway.models.parties import Party, Provider
from fairtrial_gateway.models.recording import Recording
from fairtrial_gateway.models.relay import Relay
from fairtrial_gateway.models.room import NoRoom, Room
from fairtrial_gateway.models.settings import ModelSettings
from fairtrial_gateway.models.spool import Spool, SpoolFull
from fairtrial_gateway.models.uploads import Uploads

_STATUS = {"upstream_silent": 504, "gateway_cut": 503}


class Proxy:
    """Everything that calls share."""

    def __init__(
        self,
        settings: ModelSettings,
        spool: Spool,
        uploads: Uploads,
        sender: upstream.Upstream,
        budgets: Budgets,
        measures: Measures,
    ) -> None:
        self.settings, self.measures = settings, measures
        self._spool, self._uploads, self._upstream, self._budgets = spool, uploads, sender, budgets
        self._room = Room(settings.body_memory_bytes)
        self._gates: dict[tuple[str, str], Gate] = {}
        self.replicas = settings.replicas
        self.under_way = 0

    async def handle(
        self, request: web.Request, target: str, wire: Wire, call: Call | None, party: Party
    ) -> web.StreamResponse:
        """Answer one call of a run. `Declined` is raised only where nothing was journalled."""
        ledger = await self._budgets.ledger(party)
        if self._spool.full:
            raise Declined(503, "spool_full", "The gateway cannot record more calls now.", retry_after=10)
        if len(ledger.refused) >= self.settings.recorded_refusals:
            raise Declined(429, "refused_too_often", "Too many calls of this run were refused.", retry_after=60)
        live = self._begin(request, target, wire, call, party)
        began = time.monotonic()
        self.under_way += 1
        self.measures.begun()
        try:
            return await self._answered(live, ledger)
        finally:
            self.under_way -= 1
            self._end(live, ledger, time.monotonic() - began)

    def _begin(self, request: web.Request, target: str, wire: Wire, call: Call | None, party: Party) -> Live:
        now = datetime.now(UTC)
        started = Started(
            exchange=exchange_id(int(now.timestamp() * 1000), secrets.token_bytes(4)),
            run=party.run,
            provider=party.provider.name,
            wire=party.provider.spec.wire,
            path=journal_path(target),
            started_at=now.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            cohort=party.cohort,
        )
        recording = Recording(self._spool, started)
        self._uploads.began(started, recording.file.path)
        return Live(party, wire, call, target, request, recording)

    def _end(self, live: Live, ledger: Ledger, seconds: float) -> None:
        page = live.finish()
        if page.ending == "refused":
            ledger.refused.add(page.exchange)
        elif page.exchange in ledger.spent:
            ledger.spent[page.exchange] = spent_on(page.usage, prices_of(live.party.provider))
        live.recording.ended(page)
        self._uploads.ended(page, live.party.provider.secrets)
        self.measures.ended(page, seconds)

    async def _answered(self, live: Live, ledger: Ledger) -> web.StreamResponse:
        """The call's answer, whatever happens; how it ended is in `live`."""
        try:
            await self._forwarded(live, ledger)
            live.end("complete")
        except Declined as declined:
            live.end("refused", declined.message, declined.refusal)
            return own_answer(live, declined)
        except AgentGone as gone:
            live.end("client_gone", str(gone))
        except ProviderFailure as failure:
            live.end(failure.ending, str(failure))
            if live.response is None:
                return own_answer(live, Declined(_STATUS.get(failure.ending, 502), "provider", str(failure)))
        except SpoolFull as error:
            live.end("gateway_cut", str(error))
            if live.response is None:
                return own_answer(live, Declined(503, "spool_full", str(error), retry_after=10))
        except asyncio.CancelledError:
            live.end("gateway_restarted", "The gateway was told to end.")
            raise
        except Exception as error:  # noqa: BLE001 — the agent gets an answer, the journal an end, the log a trace
            return self._unexpected(live, error)
        if live.ending != "complete" and live.request.transport:
            live.request.transport.close()  # after what was sent: nobody may take it for the whole answer
        return live.response or web.Response(status=400)

    def _unexpected(self, live: Live, error: Exception) -> web.StreamResponse:
        if isinstance(error, FairtrialError):
            say("model call failed", logging.WARNING, reason=error.reason, message=str(error))
            declined = Declined(503, "unavailable", "The gateway cannot serve this call now.", retry_after=5)
        else:
            LOG.error("unexpected error", exc_info=error)
            declined = Declined(500, "unexpected", "An error that nobody foresaw; the gateway's log has its trace.")
        if live.response is None:
            live.end("refused", declined.message, declined.refusal)
            return own_answer(live, declined)
        live.end("gateway_cut", declined.message)
        if live.request.transport:
            live.request.transport.close()
        return live.response

    async def _forwarded(self, live: Live, ledger: Ledger) -> None:
        """Every step of a call that goes well; what does not leaves by an exception."""
        version = live.request.version
        head = (live.request.method, live.target, f"{version.major}.{version.minor}", live.request.raw_headers)
        live.recording.request_head(*head)
        client = Client(live.request, self.settings.stalled_seconds)
        relay = Relay(self.settings, live, client)
        async with contextlib.AsyncExitStack() as held:
            await held.enter_async_context(self._room_for(live.request))
            body = await requests.body(live, self.settings)
            requests.check(live, body, self.settings.max_request_bytes)
            _check_budget(live, ledger)
            async with self._turn(live):
                _check_budget(live, ledger)
                if client.gone:
                    raise AgentGone("The agent went away before its call was forwarded.")
                ledger.spent[live.recording.started.exchange] = Spent()
                live.recording.note("forwarded")
                sending = asyncio.create_task(self._upstream.send(forwarded(live, body)))
                answer = await relay.first_byte(sending)
                del body, sending
                await held.aclose()
                try:
                    await relay.answer(answer)
                finally:
                    answer.close()

    @contextlib.asynccontextmanager
    async def _room_for(self, request: web.Request) -> AsyncIterator[None]:
        most = self.settings.max_request_bytes
        length = request.content_length
        if length is not None and length > most:
            raise requests.too_large(length, most)
        room = contextlib.AsyncExitStack()
        try:
            await room.enter_async_context(
                self._room.take(most if length is None else length, self.settings.queue_seconds)
            )
        except NoRoom as error:
            raise Declined(503, "busy", "The gateway holds too many requests now.", retry_after=5) from error
        async with room:
            yield

    @contextlib.asynccontextmanager
    async def _turn(self, live: Live) -> AsyncIterator[None]:
        held = contextlib.AsyncExitStack()
        waited = live.recording.ms
        try:
            await held.enter_async_context(self._gate(live.party.provider).turn(live.party.key))
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
            self._gates = {key: each for key, each in self._gates.items() if not each.idle}
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


def _check_budget(live: Live, ledger: Ledger) -> None:
    if found := over(live.party.budget, ledger.spent, live.party.provider):
        raise Declined(400, found.refusal, found.message)


def forwarded(live: Live, body: bytes) -> upstream.Call:
    """The call as the provider gets it: the agent's own, but for address and credential."""
    spec = live.party.provider.spec
    path, _, query = live.target.partition("?")
    kept = upstream_query(query)
    return upstream.Call(
        url=upstream.address(spec.url, path),
        target=f"{path}?{kept}" if kept else path,
        headers=upstream_headers(spec.wire, live.request.raw_headers, live.party.provider.credential),
        body=body,
        http2=spec.http_version == "2",
    )


def own_answer(live: Live, declined: Declined) -> web.Response:
    """The gateway's own answer, journalled."""
    response = answer_in_dialect(live.wire, live.call, declined)
    body = response.body if isinstance(response.body, bytes) else b""
    headers = [(name.encode(), value.encode()) for name, value in response.headers.items()]
    live.recording.own_response(response.status, headers, body)
    live.status, live.response_bytes, live.ttlb_ms = response.status, len(body), live.recording.ms
    if not live.request.content.at_eof():
        response.force_close()  # what is left of the body is not wanted
    return response


def answer_in_dialect(wire: Wire, call: Call | None, declined: Declined) -> web.Response:
    """An error as clients of this wire expect it."""
    kind = "budget_exhausted" if declined.refusal.startswith("budget_") else declined.refusal
    content_type, body = wire.error_body(call, declined.status, kind, declined.message)
    headers = {"Content-Type": content_type}
    if declined.retry_after is not None:
        headers["Retry-After"] = str(declined.retry_after)
    return web.Response(status=declined.status, body=body, headers=headers)
