"""Where agents call models, `/model/…` with the provider's own paths behind it, and tools, `/tool/NAME/…`."""

import re
import time
from decimal import Decimal
from urllib.parse import urlsplit

from aiohttp import web

from fairtrial import names
from fairtrial.errors import FairtrialError
from fairtrial.wires import BY_NAME, find
from fairtrial.wires.base import CHAT
from fairtrial.wires.headers import take_token
from fairtrial_gateway.access import Access, May, Refused
from fairtrial_gateway.models.assembly import ModelCalls
from fairtrial_gateway.models.exchange import Declined
from fairtrial_gateway.models.parties import Budget, Owner, Party
from fairtrial_gateway.models.spending import time_limit
from fairtrial_gateway.models.steps import Step
from fairtrial_gateway.models.tools import ToolDialect, is_below
from fairtrial_gateway.models.turned_away import TurnedAway, identity
from fairtrial_gateway.policy import Run, may_call_model, may_call_tool
from fairtrial_gateway.refusals import RefusalLog


class Models:
    """The front door: who calls, for which run, and with which provider or tool server."""

    def __init__(self, access: Access, calls: ModelCalls, refusals: RefusalLog) -> None:
        self._access, self._calls = access, calls
        self._turned_away = TurnedAway(calls, refusals)

    def routes(self) -> list[web.RouteDef]:
        """What this module serves."""
        return [
            web.route("*", names.MODEL_PATH + "/{path:.*}", self.model),
            web.route("*", names.TOOL_PATH + "/{name}", self.tool),
            web.route("*", names.TOOL_PATH + "/{name}/{path:.*}", self.tool),
        ]

    async def model(self, request: web.Request) -> web.StreamResponse:
        """One model call. Errors come in the shape of the wire that is called."""
        target = target_of(request, names.MODEL_PATH)
        found = find(request.method, target)
        wire, call = found or (BY_NAME[CHAT], None)
        try:
            query = target.partition("?")[2]
            run = await self._admit(request, query, may_call_model, target)
            try:
                party = await self._party(run)
            except FairtrialError as error:
                return await self._turned_away.unusable(request, target, (wire, call), run, error)
            if found is None:
                wire = BY_NAME[party.provider.spec.wire]
            return await self._calls.proxy.handle(request, target, wire, call, party)
        except (Declined, Refused, FairtrialError) as error:
            return await self._turned_away.answer(request, target, (wire, call), error)

    async def tool(self, request: web.Request) -> web.StreamResponse:
        """One call of a tool server."""
        rest = target_of(request, f"{names.TOOL_PATH}/")
        name = re.split("[/?]", rest, maxsplit=1)[0]
        target = rest.removeprefix(name)
        try:
            run = await self._admit(request, "", may_call_tool, name)
            if not is_below(target):
                raise Declined(404, "unknown_path", "A tool server's path has no dot segments.")
            budget = budget_of(run.limits)
            step = await self._step(run, budget)
            canaries = await self._calls.canaries.get(run.namespace)
            owner = Owner(identity(run), run.cohort, step.name if step else "", canaries)
            return await self._calls.tools.handle(request, name, target, owner, time_limit(budget, step))
        except (Declined, Refused, FairtrialError) as error:
            return await self._turned_away.answer(request, target, (ToolDialect(), None), error, tool=name)

    async def _admit(self, request: web.Request, query: str, may: May, what: str) -> Run:
        token = take_token(request.raw_headers, query)
        if token.problem:
            raise Declined(401, "unauthenticated", f"unauthenticated: {token.problem}.")
        recent = self._calls.settings.run_ttl
        return (await self._access.admit_token(request, token.value, may, what, recent=recent)).run

    async def _party(self, run: Run) -> Party:
        provider = await self._calls.providers.get(run.namespace, run.provider)
        if run.provider_uid is not None and run.provider_uid != provider.uid:
            message = f"ModelProvider {provider.name} is not the one that this run was accepted with."
            raise Declined(400, "wrong_provider", message)
        budget = budget_of(run.limits)
        step, canaries = await self._step(run, budget), await self._calls.canaries.get(run.namespace)
        return Party(identity(run), provider, run.cohort, budget, step, canaries)

    async def _step(self, run: Run, budget: Budget) -> Step | None:
        """The step that the run is in. Its time is not called over by a note that a newer one may have followed."""
        steps = self._calls.steps
        if budget.per_step is None and budget.wall_seconds is None:
            step = await steps.guessed(identity(run), run.cohort)
        else:
            step = await steps.current(identity(run), run.cohort)
        limit = time_limit(budget, step)
        if limit is not None and time.time() >= limit.at:
            return await steps.current(identity(run), run.cohort, sure=True)
        return step


def budget_of(limits: dict[str, object]) -> Budget:
    """The budget in a run's `spec.limits`, which the API server has checked."""

    def number(name: str) -> int | None:
        value = limits.get(name)
        return value if isinstance(value, int) else None

    cost, each = limits.get("modelCost"), limits.get("perStep")
    return Budget(
        number("modelCalls"),
        number("modelTokens"),
        Decimal(str(cost)) if cost is not None else None,
        number("wallSeconds"),
        budget_of(each) if isinstance(each, dict) else None,
    )


def target_of(request: web.Request, prefix: str) -> str:
    """Path and query behind a prefix, byte for byte as they were sent."""
    raw = request.raw_path
    if not raw.startswith("/"):  # the absolute form, as for a proxy
        parts = urlsplit(raw)
        raw = parts.path + (f"?{parts.query}" if parts.query else "")
    return raw.removeprefix(prefix)
