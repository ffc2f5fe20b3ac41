"""Reading a call's request, and what is refused before it is forwarded. The words are for the agent's author."""

import asyncio
import contextlib

import aiohttp
from aiohttp import web

from fairtrial.api.provider import ModelProviderSpec
from fairtrial.wires import BY_NAME
from fairtrial.wires.pin import violations
from fairtrial_gateway.models.decompress import Plain, coding_of
from fairtrial_gateway.models.exchange import Declined, Live
from fairtrial_gateway.models.failures import AgentGone
from fairtrial_gateway.models.parties import Budget
from fairtrial_gateway.models.settings import ModelSettings


async def body(live: Live, settings: ModelSettings) -> bytes:
    """The whole body, journalled as it comes; nothing is forwarded before it is there and read."""
    parts: list[bytes] = []
    try:
        content, whole = live.request.content, False
        there = content.is_eof()  # nothing is waited for
        async with contextlib.nullcontext() if there else asyncio.timeout(settings.request_seconds):
            while not whole and (chunk := await content.readany()):
                live.request_bytes += len(chunk)
                if live.request_bytes > settings.max_request_bytes:
                    raise too_large(live.request_bytes, settings.max_request_bytes)
                whole = content.at_eof()
                live.recording.request_body(chunk, last=whole)
                parts.append(chunk)
    except TimeoutError as error:
        raise Declined(408, "too_slow", "The body of the call did not come in time.") from error
    except (aiohttp.ClientError, ConnectionError, aiohttp.http.HttpProcessingError) as error:
        raise AgentGone("The agent went away before its request was whole.") from error
    live.recording.request_end()
    return b"".join(parts)


def check(live: Live, spec: ModelProviderSpec, raw: bytes, most: int) -> None:
    """Refuse what this run may not ask, and learn from the request what its answer is read by."""
    if live.call is None:
        raise Declined(404, "unknown_path", "The gateway forwards no calls of this method and path.")
    if live.dialect.name != spec.wire:
        message = f"This run's provider speaks {spec.wire}; the call is one of {live.dialect.name}."
        raise Declined(400, "wrong_wire", message)
    live.facts = BY_NAME[spec.wire].read_request(live.call, _plain(live.request, raw, most))
    if live.facts.problem:
        raise Declined(400, "bad_request", f"The request cannot be read: {live.facts.problem}.")
    if found := violations(spec.model.id, spec.model.parameters, live.facts):
        raise Declined(400, found[0].kind, f"{found[0].kind}: {'; '.join(each.message for each in found)}.")


def check_countable(live: Live, budget: Budget) -> None:
    """Where tokens or money are limited, an answer that would not tell what it used is not asked for."""
    if live.facts and not live.facts.asks_usage and budget.counts_usage:
        message = "wrong_parameter: this run's tokens are limited, so a stream must ask for its usage (include_usage)."
        raise Declined(400, "wrong_parameter", message)


def too_large(size: int, most: int) -> Declined:
    """The refusal of a body over the limit."""
    return Declined(413, "body_too_large", f"A request may have {most} bytes; this one has {size} or more.")


def _plain(request: web.Request, raw: bytes, most: int) -> bytes:
    """The body without its content coding: some agents compress their requests."""
    coding = coding_of(request.raw_headers)
    if not coding:
        return raw
    plain = Plain(coding, most)
    read = b"".join(plain.pieces(raw))
    if plain.problem:
        raise Declined(400, "bad_request", f"The request cannot be read: {plain.problem}.")
    return read
