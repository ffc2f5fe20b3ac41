"""After a restart: what the gateway before this one left in the spool is ended and stored like any other journal."""

import asyncio
import logging
from dataclasses import replace
from pathlib import Path

from fairtrial.errors import FairtrialError, InvalidInput
from fairtrial.journal.exchange import TOOL, session_of
from fairtrial.journal.frames import Frame, Kind
from fairtrial.journal.summary import Exchange
from fairtrial.usage.counters import NOT_FORWARDED, Semantics, Usage, unavailable
from fairtrial.wires import BY_NAME, find
from fairtrial.wires.base import Reader, RequestFacts, ResponseFacts
from fairtrial_gateway.kubernetes import ApiUnavailable
from fairtrial_gateway.logs import say
from fairtrial_gateway.models.canaries import Canaries
from fairtrial_gateway.models.decompress import Plain
from fairtrial_gateway.models.exchange import page
from fairtrial_gateway.models.parties import Owner, Peer, ToolServer
from fairtrial_gateway.models.providers import Providers
from fairtrial_gateway.models.reading import SCAN_LIMIT, Told, coding, told
from fairtrial_gateway.models.settings import MIB
from fairtrial_gateway.models.spool import Spool
from fairtrial_gateway.models.uploads import Uploads

REQUEST_LIMIT = 64 * MIB  # of a request without its content coding
UNREADABLE = ".unreadable"
_MESSAGE = "The gateway ended before the exchange did."


async def recover(spool: Spool, uploads: Uploads, providers: Providers, canaries: Canaries) -> int:
    """Hand over every leftover; how many there were."""
    found = 0
    for path in spool.files():
        if uploads.has(path.stem):
            continue  # handed over before the last attempt failed
        facts, why = await asyncio.to_thread(_told, path)
        if facts.started is None:
            say("unreadable journal put aside", logging.ERROR, file=path.name, why=why)
            spool.put_aside(path, UNREADABLE)
            continue
        provider = await _provider(providers, facts)
        page = facts.page
        if page is None:
            page = await asyncio.to_thread(ended_page, path, facts, provider)
        uploads.began(facts.started, path)
        owner = Owner(facts.started.run, canaries=await _canaries(canaries, facts.started.run.namespace))
        uploads.ended(page, owner.looked_for(provider.secrets if provider else None))
        found += 1
    return found


def _told(path: Path) -> tuple[Told, str]:
    try:
        facts, stop = told(path)
    except InvalidInput as error:
        return Told(), str(error)
    return facts, stop.why


async def _provider(providers: Providers, facts: Told) -> Peer | None:
    assert facts.started is not None
    if facts.started.wire == TOOL:
        return ToolServer(facts.started.provider, "")
    try:
        return await providers.get(facts.started.run.namespace, facts.started.provider)
    except ApiUnavailable:
        raise  # it comes back, and then usage is counted and the scan knows what to look for
    except FairtrialError as error:
        say("provider of a left journal unknown", logging.WARNING, reason=error.reason, message=str(error))
        return None


async def _canaries(canaries: Canaries, namespace: str) -> dict[str, bytes] | None:
    try:
        return await canaries.get(namespace)
    except ApiUnavailable:
        raise
    except FairtrialError as error:
        say("canaries of a left journal unknown", logging.WARNING, reason=error.reason, message=str(error))
        return None


def ended_page(path: Path, facts: Told, provider: Peer | None) -> Exchange:
    """The page of an exchange that nobody ended: what its journal shows, and usage as far as it was seen."""
    started, request, response = facts.started, facts.request, facts.response
    assert started is not None
    semantics = provider.semantics if provider else None
    asked, answered, first_ms = _read(path, facts, semantics)
    usage = answered.usage if answered and semantics else None
    reason = NOT_FORWARDED if not facts.forwarded else "gateway_restarted" if provider else "provider_unknown"
    nothing = semantics or Semantics(cached_inside_input=False, reasoning_inside_output=False)
    headers = (
        [(name.encode("latin-1"), value.encode("latin-1")) for name, value in response.headers] if response else []
    )
    return replace(
        page(started, asked, answered, headers),
        ending="complete" if facts.response_whole else "gateway_restarted",
        kind=TOOL if started.wire == TOOL else asked.call.kind if asked else "",
        message="" if facts.response_whole else _MESSAGE,
        status=response.status if response else None,
        ttfb_ms=facts.response_ms,
        ttft_ms=first_ms if answered and answered.first_usable else None,
        ttlb_ms=facts.last_ms if facts.response_whole else None,
        request_bytes=facts.request_bytes,
        response_bytes=facts.response_bytes,
        usage=usage or _no_usage(started.wire, reason, nothing),
        session=session_of((name, value) for name, value in request.headers) if request else {},
    )


def _no_usage(wire: str, reason: str, semantics: Semantics) -> Usage:
    if wire == TOOL or reason == NOT_FORWARDED:
        why = TOOL if wire == TOOL else reason
        return Usage("not_applicable", why, unavailable(why, semantics))
    return Usage("absent", reason, unavailable(reason, semantics))


def _read(
    path: Path, facts: Told, semantics: Semantics | None
) -> tuple[RequestFacts | None, ResponseFacts | None, int | None]:
    """What the request asked, what its answer said as far as it came, and when the first usable part of it had come."""
    assert facts.started is not None
    is_model = facts.started.wire != TOOL and facts.request is not None
    found = find(facts.request.method, facts.request.target) if is_model and facts.request else None
    if found is None:
        return None, None, None
    wire, call = BY_NAME[found[0].name], found[1]
    body, reader, plain = bytearray(), None, None
    asked: RequestFacts | None = None
    first_ms: int | None = None
    neutral = semantics or Semantics(cached_inside_input=False, reasoning_inside_output=False)

    def take(frame: Frame) -> None:
        nonlocal asked, reader, plain, first_ms
        if frame.kind == Kind.REQUEST_BODY:
            body.extend(frame.payload)
        elif frame.kind == Kind.REQUEST_END and facts.request:
            asked = wire.read_request(
                call, b"".join(Plain(coding(facts.request.headers), REQUEST_LIMIT).pieces(bytes(body)))
            )
            body.clear()
        elif frame.kind == Kind.RESPONSE_HEAD and asked and facts.response:
            reader = wire.reader(asked, neutral, facts.response.status)
            plain = Plain(coding(facts.response.headers), SCAN_LIMIT)
        elif frame.kind == Kind.RESPONSE_BODY and reader and plain:
            _feed(reader, plain, frame.payload)
            if first_ms is None and reader.usable:
                first_ms = frame.ms

    told(path, take)
    answered = reader.finish() if reader else None
    whole_ms = facts.last_ms if facts.response_whole else None
    return asked, answered, whole_ms if first_ms is None else first_ms


def _feed(reader: Reader, plain: Plain, chunk: bytes) -> None:
    for piece in plain.pieces(chunk):
        reader.feed(piece)
