"""Calls that come to nothing before there is a provider to forward them to: where each is told, and to whom.

What is proven to come from a run's own agent pod is journalled for that run, as far as it is not closed; of anything
else the gateway keeps a count beside all runs, which nobody can use to write into another's evidence.
"""

import contextlib
import logging
from collections import Counter

from aiohttp import web

from fairtrial import names
from fairtrial.documents import RunIdentity
from fairtrial.errors import FairtrialError
from fairtrial.wires.base import Call, Wire
from fairtrial_gateway.access import Refused
from fairtrial_gateway.logs import say
from fairtrial_gateway.models.assembly import ModelCalls
from fairtrial_gateway.models.canaries import CanariesUnreadable
from fairtrial_gateway.models.exchange import Declined, Dialect
from fairtrial_gateway.models.lifecycle import answer_in_dialect
from fairtrial_gateway.models.parties import Owner, Peer, ToolServer, Unusable
from fairtrial_gateway.policy import Run
from fairtrial_gateway.refusals import NOBODY, REMARKABLE, RefusalLog, word


class TurnedAway:
    """Answers calls that are not forwarded, and sees to it that they are not forgotten."""

    def __init__(self, calls: ModelCalls, refusals: RefusalLog) -> None:
        self._calls, self._refusals = calls, refusals
        self._counted: Counter[str] = Counter()  # recorded refusals, by the run's UID

    async def answer(
        self,
        request: web.Request,
        target: str,
        asked: tuple[Dialect, Call | None],
        error: Declined | Refused | FairtrialError,
        tool: str = "",
    ) -> web.StreamResponse:
        """The answer to a call that comes to nothing: journalled for the run that it is proven to be of."""
        declined, run = declined_of(error), _of_its_own(error)
        if run is not None and self._may_record(run):
            peer = ToolServer(tool, "") if tool else Unusable(run.provider, asked[0].name)
            return await self._recorded(request, target, asked, run, peer, declined)
        self._calls.measures.unrecorded(declined.refusal)
        if declined.status in REMARKABLE:
            who = error.who if isinstance(error, Refused) else NOBODY
            self._refusals.note(declined.refusal, declined.status, request.remote or "", who)
        response = answer_in_dialect(*asked, declined)
        if not request.content.at_eof():
            response.force_close()  # what is left of the body is not wanted
        return response

    async def unusable(
        self, request: web.Request, target: str, asked: tuple[Wire, Call | None], run: Run, error: FairtrialError
    ) -> web.StreamResponse:
        """Refuse a call whose provider can't be used, and record it: the run must not look as if nobody had called."""
        if not self._may_record(run):
            raise error
        say("model call not served", logging.WARNING, reason=error.reason, message=str(error))
        what = f"ModelProvider {run.provider}" if not isinstance(error, CanariesUnreadable) else "canarySecrets"
        message = f"provider_unusable: {what} can't be used; whoever set it up must look."
        declined = Declined(503, "provider_unusable", message, retry_after=5)
        return await self._recorded(request, target, asked, run, Unusable(run.provider, asked[0].name), declined)

    def _may_record(self, run: Run) -> bool:
        self._counted[run.uid] += 1
        return self._counted[run.uid] <= self._calls.settings.recorded_refusals

    async def _recorded(
        self,
        request: web.Request,
        target: str,
        asked: tuple[Dialect, Call | None],
        run: Run,
        peer: Peer,
        declined: Declined,
    ) -> web.StreamResponse:
        """Refuse a call of a run, and journal it."""
        lifecycle, canaries = self._calls.lifecycle, None
        with contextlib.suppress(FairtrialError):  # then nobody can say that none is in it
            canaries = await self._calls.canaries.get(run.namespace)
        try:
            live = lifecycle.begin(request, target, *asked, Owner(identity(run), run.cohort, "", canaries), peer)
        except Declined as full:
            self._calls.measures.unrecorded(full.refusal)
            return answer_in_dialect(*asked, full)

        async def refuse() -> None:
            raise declined

        return await lifecycle.run(live, refuse(), lambda _: None)


def declined_of(error: Declined | Refused | FairtrialError) -> Declined:
    """What an error means for an agent."""
    if isinstance(error, Declined):
        return error
    if isinstance(error, Refused):
        refusal = error.refusal
        return Declined(refusal.status, word(refusal.reason), refusal.message, retry_after=refusal.retry_after)
    say("model call not served", logging.WARNING, reason=error.reason, message=str(error))
    return Declined(503, error.reason, "The gateway cannot serve this call now.", retry_after=5)


def _of_its_own(error: Exception) -> Run | None:
    """The run whose agent pod is proven to have called, if it still takes calls; a run with its record is closed."""
    admitted = error.admitted if isinstance(error, Refused) and error.refusal.status in REMARKABLE else None
    if admitted is None or admitted.role != names.AGENT or admitted.run.ended:
        return None
    return admitted.run if admitted.run.provider or admitted.run.tool_servers else None


def identity(run: Run) -> RunIdentity:
    """A run as documents name it."""
    return RunIdentity(run.namespace, run.name, run.uid)
