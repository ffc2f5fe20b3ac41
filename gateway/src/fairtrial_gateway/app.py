"""The server put together: routes of each module, one way to answer errors, health and metrics."""

import functools
import logging
import socket
import time
from collections.abc import Awaitable, Callable

from aiohttp import web

from fairtrial.errors import Conflict, DigestMismatch, FairtrialError, NotStored, StoreError
from fairtrial.evidence.layout import Layout
from fairtrial.evidence.objects import ObjectStore
from fairtrial.signing.keys import SigningKey
from fairtrial_gateway.access import CALLER, Access, Refused
from fairtrial_gateway.artifacts import Artifacts
from fairtrial_gateway.bundles import Bundles
from fairtrial_gateway.connections import IdleReaper
from fairtrial_gateway.evaluations import Evaluations
from fairtrial_gateway.health import Health
from fairtrial_gateway.identity import Identity
from fairtrial_gateway.kubernetes import ApiUnavailable
from fairtrial_gateway.logs import LOG, say
from fairtrial_gateway.metrics import Metrics
from fairtrial_gateway.models.assembly import ModelCalls
from fairtrial_gateway.models.client import without_defaults
from fairtrial_gateway.models.routes import Models
from fairtrial_gateway.parts import StoreThreads
from fairtrial_gateway.policy import Refusal
from fairtrial_gateway.refusals import REMARKABLE, RefusalLog
from fairtrial_gateway.scans import Scans
from fairtrial_gateway.settings import Settings
from fairtrial_gateway.steps import StepNotices

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
REFUSALS = web.AppKey("refusals", RefusalLog)
QUIET = {"/healthz", "/readyz", "/metrics"}
_SPARE_THREADS = 16  # for reads, beside one for each upload


class Gateway:
    """One gateway: its parts, and the application that serves them."""

    def __init__(
        self,
        settings: Settings,
        identity: Identity,
        store: ObjectStore,
        layout: Layout,
        metrics: Metrics,
        calls: ModelCalls | None = None,
        key: SigningKey | None = None,
    ) -> None:
        self.settings, self.health, self.metrics = settings, Health(), metrics
        self._counted = functools.cache(metrics.requests.labels)
        self.threads = StoreThreads(store, settings.max_uploads + _SPARE_THREADS, settings.store_writers)
        self.refusals = RefusalLog(store, layout, socket.gethostname(), metrics)
        access = Access(identity, self.health, metrics)
        evaluations = Evaluations(self.threads, layout, key)
        scans = Scans(calls, self.threads, layout, settings.scan_seconds) if calls else None
        self.artifacts = Artifacts(access, self.threads, layout, settings, metrics, evaluations, scans)
        bundles = Bundles(access, self.threads, layout, metrics)
        self.reaper = IdleReaper(settings.header_seconds)
        self.app = web.Application(middlewares=[self.reaper.begun, self._account, answer_errors])
        self.app.add_routes([*bundles.routes(), *self.artifacts.routes(), *self._routes()])
        self.app[REFUSALS] = self.refusals
        self.calls = calls
        if calls:
            self.app.add_routes(StepNotices(access, calls.steps).routes())
            self.app.add_routes(Models(access, calls, self.refusals).routes())
            self.app.on_response_prepare.append(without_defaults)

    @property
    def under_way(self) -> int:
        """Uploads and model calls that are not finished."""
        return self.artifacts.slots.taken + (self.calls.busy if self.calls else 0)

    def _routes(self) -> list[web.RouteDef]:
        return [
            web.get("/healthz", self._healthz),
            web.get("/readyz", self._readyz),
            web.get("/metrics", self._metrics),
        ]

    async def _healthz(self, _request: web.Request) -> web.Response:
        return web.json_response({"alive": True})  # the loop runs; what else could a restart mend?

    async def _readyz(self, _request: web.Request) -> web.Response:
        body = {"ready": self.health.ready, "waiting": self.health.waiting, "draining": self.health.draining}
        return web.json_response(body, status=200 if self.health.ready else 503)

    async def _metrics(self, _request: web.Request) -> web.Response:
        return web.Response(body=self.metrics.text(), headers={"Content-Type": "text/plain; version=0.0.4"})

    @web.middleware
    async def _account(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Count and log every request; never its headers."""
        started = time.monotonic()
        response = await handler(request)
        resource = request.match_info.route.resource
        route = resource.canonical if resource else "other"
        self._counted(route, _known_method(request.method), response.status).inc()
        if route in QUIET:
            return response
        who = request.get(CALLER)
        facts = {"namespace": who.caller.namespace, "pod": who.caller.pod_name, "run": who.run.name} if who else {}
        say(
            "request",
            method=_known_method(request.method),
            path=request.path[:300],
            status=response.status,
            ms=round((time.monotonic() - started) * 1000),
            **facts,
        )
        return response


@web.middleware
async def answer_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Every error becomes `{"reason", "message"}` with its status. What had begun to stream was cut by its handler."""
    try:
        return await handler(request)
    except web.HTTPException as error:
        refusal = Refusal(error.status, error.reason.title().replace(" ", ""), f"{request.method}: {error.reason}.")
    except ConnectionError:
        refusal = Refusal(400, "ClientGone", "The client went away.")
    except Refused as error:
        refusal = error.refusal
        if refusal.status in REMARKABLE:
            request.app[REFUSALS].note(refusal.reason, refusal.status, request.remote or "", error.who)
    except FairtrialError as error:
        refusal = _refusal_of(error)
        say("failed", logging.WARNING, reason=error.reason, message=str(error), path=request.path[:300])
    except Exception:  # noqa: BLE001 — the last resort: the caller gets an answer, the log a trace
        LOG.exception("unexpected error")
        refusal = Refusal(500, "Unexpected", "An error that nobody foresaw; the gateway's log has its trace.")
    headers = {"Retry-After": str(refusal.retry_after)} if refusal.retry_after is not None else {}
    response = web.json_response(
        {"reason": refusal.reason, "message": refusal.message}, status=refusal.status, headers=headers
    )
    if not request.content.at_eof():
        response.force_close()  # what is left of the body is not wanted
    return response


def _refusal_of(error: FairtrialError) -> Refusal:
    if isinstance(error, Conflict):
        return Refusal(
            409, "Conflict", f"Another object lies there: it has SHA-256 {error.theirs}, yours {error.ours}."
        )
    if isinstance(error, NotStored):
        return Refusal(404, "NotStored", "There is no such object.")
    if isinstance(error, DigestMismatch):
        return Refusal(
            500, "StoredContentDamaged", "What is stored differs from what was stored; see the gateway's log."
        )
    if isinstance(error, StoreError | ApiUnavailable):
        return Refusal(503, error.reason, "The store or the Kubernetes API cannot serve this now.", retry_after=2)
    return Refusal(500, error.reason, "The request could not be served; see the gateway's log.")


def _known_method(method: str) -> str:
    return method if method in {"GET", "PUT", "HEAD", "POST", "DELETE"} else "other"
