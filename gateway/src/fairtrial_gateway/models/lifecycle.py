"""From a call's first frame to its page, whatever happens between: the same for models and for tools."""

import asyncio
import logging
import secrets
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any

from aiohttp import web

from fairtrial import documents
from fairtrial.errors import FairtrialError
from fairtrial.journal.exchange import Started, exchange_id
from fairtrial.journal.summary import Exchange
from fairtrial.wires.base import Call
from fairtrial_gateway.logs import LOG, say
from fairtrial_gateway.models.exchange import Declined, Dialect, Live, journal_path
from fairtrial_gateway.models.failures import AgentGone, ProviderFailure
from fairtrial_gateway.models.measures import Measures
from fairtrial_gateway.models.parties import Owner, Peer
from fairtrial_gateway.models.recording import Recording, request_head
from fairtrial_gateway.models.spool import Spool, SpoolFull
from fairtrial_gateway.models.uploads import Uploads


class Lifecycle:
    """Begins and ends the records of calls."""

    def __init__(self, spool: Spool, uploads: Uploads, measures: Measures, calls_of_a_run: int) -> None:
        self._spool, self._uploads, self.measures = spool, uploads, measures
        self._open: Counter[str] = Counter()  # by the run's UID
        self._most = calls_of_a_run

    @property
    def under_way(self) -> int:
        """How many calls are under way."""
        return self._open.total()

    def begin(
        self,
        request: web.Request,
        target: str,
        dialect: Dialect,
        call: Call | None,
        owner: Owner,
        peer: Peer,
    ) -> Live:
        """Begin a record; `Declined` where there is no room for one."""
        if self._spool.full:
            raise _spool_full()
        if self._open[owner.run.uid] >= self._most:
            raise Declined(429, "too_many_calls", f"A run may have {self._most} calls open.", retry_after=5)
        now = datetime.now(UTC)
        started = Started(
            exchange=exchange_id(int(now.timestamp() * 1000), secrets.token_bytes(4)),
            run=owner.run,
            provider=peer.name,
            wire=peer.wire,
            path=journal_path(target),
            started_at=documents.written(now),
            cohort=owner.cohort,
            step=owner.step,
        )
        version = request.version
        asked = request_head(request.method, target, f"{version.major}.{version.minor}", request.raw_headers)
        try:
            recording = Recording(self._spool, started, asked)
        except SpoolFull as error:
            raise _spool_full() from error
        self._uploads.began(started, recording.file.path)
        return Live(peer, dialect, call, target, request, recording, owner)

    async def run(
        self, live: Live, work: Coroutine[Any, Any, None], on_page: Callable[[Exchange], None]
    ) -> web.StreamResponse:
        """Do the work of a call; its answer, and in any case its page."""
        began, run = time.monotonic(), live.recording.started.run.uid
        self._open[run] += 1
        self.measures.begun()
        try:
            return await _answered(live, work)
        finally:
            self._open[run] -= 1
            self._open += Counter()  # drops zeros
            page = live.finish()
            on_page(page)
            written = live.recording.ended(page)
            self._uploads.ended(page, live.owner.looked_for(live.peer.secrets), written=written)
            self.measures.ended(page, time.monotonic() - began)


async def _answered(live: Live, work: Coroutine[Any, Any, None]) -> web.StreamResponse:
    """The call's answer, whatever happens; how it ended is in `live`."""
    try:
        await work
        live.end("complete")
    except Declined as declined:
        live.end("refused", declined.message, declined.refusal)
        return own_answer(live, declined)
    except AgentGone as gone:
        live.end("client_gone", str(gone))
    except ProviderFailure as failure:
        live.end(failure.ending, str(failure), failure.refusal)
        if live.response is None:
            return own_answer(live, Declined(failure.status, failure.refusal or "provider", str(failure)))
    except SpoolFull as error:
        live.end("gateway_cut", str(error))
        if live.response is None:
            return own_answer(live, _spool_full())
    except asyncio.CancelledError:
        live.end("gateway_restarted", "The gateway was told to end.")
        raise
    except Exception as error:  # noqa: BLE001 — the agent gets an answer, the journal an end, the log a trace
        told = _unexpected(error)
        live.end("gateway_cut", told.message)
        if live.response is None:
            if not live.forwarded:
                live.end("refused", told.message, told.refusal)
            return own_answer(live, told)
    if live.ending != "complete" and live.request.transport:
        live.request.transport.close()  # after what was sent: nobody may take it for the whole answer
    return live.response or web.Response(status=400)


def _spool_full() -> Declined:
    return Declined(503, "spool_full", "The gateway cannot record more calls now.", retry_after=10)


def _unexpected(error: Exception) -> Declined:
    if isinstance(error, FairtrialError):
        say("model call failed", logging.WARNING, reason=error.reason, message=str(error))
        return Declined(503, "unavailable", "The gateway cannot serve this call now.", retry_after=5)
    LOG.error("unexpected error", exc_info=error)
    return Declined(500, "unexpected", "An error that nobody foresaw; the gateway's log has its trace.")


def own_answer(live: Live, declined: Declined) -> web.Response:
    """The gateway's own answer, journalled."""
    response = answer_in_dialect(live.dialect, live.call, declined)
    body = response.body if isinstance(response.body, bytes) else b""
    headers = [(name.encode(), value.encode()) for name, value in response.headers.items()]
    live.recording.own_response(response.status, headers, body)
    live.status, live.response_bytes, live.ttlb_ms = response.status, len(body), live.recording.ms
    if not live.request.content.at_eof():
        response.force_close()  # what is left of the body is not wanted
    return response


def answer_in_dialect(dialect: Dialect, call: Call | None, declined: Declined) -> web.Response:
    """An error as clients of this wire expect it."""
    kind = "budget_exhausted" if declined.refusal.startswith("budget_") else declined.refusal
    content_type, body = dialect.error_body(call, declined.status, kind, declined.message)
    headers = {"Content-Type": content_type}
    if declined.retry_after is not None:
        headers["Retry-After"] = str(declined.retry_after)
    return web.Response(status=declined.status, body=body, headers=headers)
