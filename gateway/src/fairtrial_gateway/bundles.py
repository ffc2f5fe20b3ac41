"""Reading: a task's archives by digest, and a run's artifacts, streamed with memory bounded."""

from aiohttp import web

from fairtrial.evidence.layout import Layout
from fairtrial.evidence.objects import OCTETS, Download
from fairtrial_gateway.access import Access
from fairtrial_gateway.metrics import Metrics
from fairtrial_gateway.parts import StoreThreads
from fairtrial_gateway.policy import may_fetch_bundle, may_fetch_sealed, may_read_artifact


class Bundles:
    """The handlers of everything that pods may read."""

    def __init__(self, access: Access, threads: StoreThreads, layout: Layout, metrics: Metrics) -> None:
        self._access, self._threads, self._layout, self._metrics = access, threads, layout, metrics

    def routes(self) -> list[web.RouteDef]:
        """What this module serves."""
        return [
            web.get("/v1/bundles/{sha256}", self.bundle, allow_head=False),
            web.get("/v1/sealed/{sha256}", self.sealed, allow_head=False),
            web.get("/v1/artifacts/{name:.+}", self.artifact, allow_head=False),
        ]

    async def bundle(self, request: web.Request) -> web.StreamResponse:
        """The public archive of the run's task."""
        sha256 = request.match_info["sha256"]
        await self._access.admit(request, may_fetch_bundle, sha256)
        return await self._stream(request, self._layout.public_archive(sha256))

    async def sealed(self, request: web.Request) -> web.StreamResponse:
        """The sealed archive of the run's task, for its evaluator."""
        sha256 = request.match_info["sha256"]
        await self._access.admit(request, may_fetch_sealed, sha256)
        return await self._stream(request, self._layout.sealed_archive(sha256))

    async def artifact(self, request: web.Request) -> web.StreamResponse:
        """An artifact of the same run, for its evaluator."""
        name = request.match_info["name"]
        run = (await self._access.admit(request, may_read_artifact, name)).run
        return await self._stream(
            request, self._layout.run(run.namespace, run.name, run.uid, run.cohort).artifact(name)
        )

    async def _stream(self, request: web.Request, key: str) -> web.StreamResponse:
        """Send an object. Damage that shows only at its end cuts the connection, so that nobody takes it for whole."""
        download = await self._threads.run(self._threads.store.open, key)
        response = web.StreamResponse(headers={"Content-Type": OCTETS, "Content-Length": str(download.size)})
        try:
            chunk = await self._threads.run(_next, download)  # what fails here still gets a proper answer
            await response.prepare(request)
            while chunk:
                await response.write(chunk)
                self._metrics.bytes.labels("out").inc(len(chunk))
                chunk = await self._threads.run(_next, download)
            await response.write_eof()
        except BaseException:
            if response.prepared and request.transport:
                request.transport.abort()
            raise
        finally:
            await self._threads.run(download.close)
        return response


def _next(download: Download) -> bytes:
    return next(download, b"")
