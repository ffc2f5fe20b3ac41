"""Where agents call their models: `/model/…`, with the provider's own paths behind it."""

import logging
from decimal import Decimal
from urllib.parse import urlsplit

from aiohttp import web

from fairtrial import names
from fairtrial.documents import RunIdentity
from fairtrial.errors import FairtrialError
from fairtrial.wires import BY_NAME, find
from fairtrial.wires.base import CHAT
from fairtrial.wires.headers import take_token
from fairtrial_gateway.access import Access, Refused
from fairtrial_gateway.logs import say
from fairtrial_gateway.models.exchange import Declined
from fairtrial_gateway.models.parties import Budget, Party
from fairtrial_gateway.models.providers import Providers
from fairtrial_gateway.models.proxy import Proxy, answer_in_dialect
from fairtrial_gateway.policy import Run, may_call_model


class Models:
    """The front door: who calls, for which run, and with which provider."""

    def __init__(self, access: Access, providers: Providers, proxy: Proxy) -> None:
        self._access, self._providers, self._proxy = access, providers, proxy

    def routes(self) -> list[web.RouteDef]:
        """What this module serves."""
        return [web.route("*", names.MODEL_PATH + "/{path:.*}", self.call)]

    async def call(self, request: web.Request) -> web.StreamResponse:
        """One model call. Errors come in the shape of the wire that is called."""
        target = target_of(request)
        found = find(request.method, target)
        wire, call = found or (BY_NAME[CHAT], None)
        try:
            token = take_token(request.raw_headers, target.partition("?")[2])
            if token.problem:
                raise Declined(401, "unauthenticated", f"unauthenticated: {token.problem}.")
            admitted = await self._access.admit_token(
                request, token.value, may_call_model, target, recent=self._proxy.settings.run_ttl
            )
            party = await self._party(admitted.run)
            if found is None:
                wire = BY_NAME[party.provider.spec.wire]
            return await self._proxy.handle(request, target, wire, call, party)
        except Declined as error:
            declined = error
        except Refused as error:
            refusal = error.refusal
            declined = Declined(refusal.status, refusal.reason, refusal.message, retry_after=refusal.retry_after)
        except FairtrialError as error:
            say("model call not served", logging.WARNING, reason=error.reason, message=str(error))
            declined = Declined(503, error.reason, "The gateway cannot serve this call now.", retry_after=5)
        self._proxy.measures.unrecorded(declined.refusal)
        response = answer_in_dialect(wire, call, declined)
        if not request.content.at_eof():
            response.force_close()  # what is left of the body is not wanted
        return response

    async def _party(self, run: Run) -> Party:
        provider = await self._providers.get(run.namespace, run.provider)
        if run.provider_uid is not None and run.provider_uid != provider.uid:
            message = f"ModelProvider {provider.name} is not the one that this run was accepted with."
            raise Declined(400, "wrong_provider", message)
        return Party(RunIdentity(run.namespace, run.name, run.uid), provider, run.cohort, budget_of(run.limits))


def budget_of(limits: dict[str, object]) -> Budget:
    """The budget in a run's `spec.limits`, which the API server has checked."""
    calls, tokens, cost = (limits.get(name) for name in ("modelCalls", "modelTokens", "modelCost"))
    return Budget(
        calls if isinstance(calls, int) else None,
        tokens if isinstance(tokens, int) else None,
        Decimal(str(cost)) if cost is not None else None,
    )


def target_of(request: web.Request) -> str:
    """Path and query behind `/model`, byte for byte as they were sent."""
    raw = request.raw_path
    if not raw.startswith("/"):  # the absolute form, as for a proxy
        parts = urlsplit(raw)
        raw = parts.path + (f"?{parts.query}" if parts.query else "")
    return raw.removeprefix(names.MODEL_PATH)
