"""Every request passes here: from its bearer token to a decided yes, or a `Refused` with status and text."""

from collections.abc import Callable
from dataclasses import dataclass

from aiohttp import web

from fairtrial_gateway.health import Health
from fairtrial_gateway.identity import Identity
from fairtrial_gateway.metrics import Metrics
from fairtrial_gateway.policy import Caller, Refusal, Run, acts_for, claimed
from fairtrial_gateway.refusals import NOBODY, Who

May = Callable[[Caller, str, Run, str], Refusal | None]


class Refused(Exception):
    """A decided no."""

    def __init__(
        self,
        status: int,
        reason: str,
        message: str,
        retry_after: int | None = None,
        *,
        caller: Caller | None = None,
        admitted: "Admitted | None" = None,
    ) -> None:
        self.refusal = Refusal(status, reason, message, retry_after)
        self.caller, self.admitted = caller, admitted  # as far as they are proven; `admitted` for something else
        super().__init__(message)

    @property
    def who(self) -> Who:
        """What is proven of the caller."""
        if self.caller is None:
            return NOBODY
        run = self.admitted.run.name if self.admitted else ""
        return Who(self.caller.namespace, self.caller.pod_name, self.caller.pod_uid, run)


@dataclass(frozen=True)
class Admitted:
    """A caller whose request was allowed, and for which run."""

    caller: Caller
    role: str
    run: Run


CALLER = web.RequestKey("caller", Admitted)


class Access:
    """Identifies callers and asks the policy."""

    def __init__(self, identity: Identity, health: Health, metrics: Metrics) -> None:
        self._identity, self._health, self._metrics = identity, health, metrics

    async def admit(self, request: web.Request, may: May, what: str) -> Admitted:
        """Who is calling and for which run, if `may` allows it `what`; `Refused` otherwise."""
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        return await self.admit_token(request, token.strip() if scheme.lower() == "bearer" else "", may, what)

    async def admit_token(
        self, request: web.Request, token: str, may: May, what: str, *, recent: float = 0
    ) -> Admitted:
        """The same for a token that came another way. With `recent` the run may be known from so long ago."""
        if not self._health.ready:
            reasons = "; ".join(self._health.waiting.values()) or "it is shutting down"
            raise Refused(503, "NotReady", f"The gateway is not ready: {reasons}", retry_after=2)
        if not token:
            raise self._failed(Refusal(401, "Unauthenticated", "A bearer token is needed."))
        caller = await self._identity.caller(token)
        if isinstance(caller, Refusal):
            raise self._failed(caller)
        claim = claimed(caller)
        if isinstance(claim, Refusal):
            raise self._failed(claim, caller)
        role, run_name = claim
        admitted = await self._decide(caller, role, run_name, may, what, recent)
        request[CALLER] = admitted
        return admitted

    async def still(self, admitted: Admitted, may: May, what: str) -> None:
        """Decide again with the run as it is now: it may have ended while a body was on its way."""
        await self._decide(admitted.caller, admitted.role, admitted.run.name, may, what)

    async def _decide(
        self, caller: Caller, role: str, run_name: str, may: May, what: str, recent: float = 0
    ) -> Admitted:
        if recent:
            run = await self._identity.recent_run(caller.namespace, run_name, recent)
        else:
            run = await self._identity.run(caller.namespace, run_name)
        if isinstance(run, Refusal):
            raise self._failed(run, caller)
        admitted = Admitted(caller, role, run)
        if refusal := may(caller, role, run, what):
            raise self._failed(refusal, caller, admitted if acts_for(caller, role, run) else None)
        return admitted

    def _failed(self, refusal: Refusal, caller: Caller | None = None, admitted: Admitted | None = None) -> Refused:
        self._metrics.identity_failures.labels(refusal.reason).inc()
        return Refused(
            refusal.status, refusal.reason, refusal.message, refusal.retry_after, caller=caller, admitted=admitted
        )
