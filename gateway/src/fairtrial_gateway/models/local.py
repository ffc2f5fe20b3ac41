"""The same calls and the same journal on somebody's own machine: one provider, one key, a folder for a store."""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator
from pathlib import Path

from aiohttp import web

from fairtrial import names
from fairtrial.documents import RunIdentity
from fairtrial.evidence.layout import Layout
from fairtrial.journal import summary
from fairtrial.journal.summary import Exchange
from fairtrial.wires import BY_NAME, find
from fairtrial.wires.headers import take_token
from fairtrial_gateway.metrics import Metrics
from fairtrial_gateway.models.budgets import Budgets
from fairtrial_gateway.models.client import without_defaults
from fairtrial_gateway.models.exchange import Declined
from fairtrial_gateway.models.folder import FolderSink
from fairtrial_gateway.models.lifecycle import Lifecycle, answer_in_dialect
from fairtrial_gateway.models.measures import Measures
from fairtrial_gateway.models.parties import Party, Provider
from fairtrial_gateway.models.proxy import Proxy
from fairtrial_gateway.models.routes import target_of
from fairtrial_gateway.models.settings import ModelSettings
from fairtrial_gateway.models.spool import Spool
from fairtrial_gateway.models.steps import Steps
from fairtrial_gateway.models.storing import Storing
from fairtrial_gateway.models.uploads import Uploads
from fairtrial_gateway.models.upstream import Upstream
from fairtrial_gateway.models.workers import Threads

RUN = RunIdentity("local", "local", "local")
HEADER_BYTES = 64 * 1024
LAST_SECONDS = 10.0


class LocalModels:
    """A gateway for one person's agent."""

    def __init__(self, provider: Provider, folder: Path, key: str) -> None:
        base = Layout().run(RUN.namespace, RUN.name, RUN.uid).base + "/"
        self._sink = FolderSink(folder, base)
        self._settings = ModelSettings(spool_dir=str(folder / "spool"))
        self._key, self._party = key, Party(RUN, provider)
        self.url = ""

    @contextlib.asynccontextmanager
    async def serving(self, host: str, port: int) -> AsyncIterator["LocalModels"]:
        """Serve until left; then every journal is in the folder, or in its spool if it could not be moved."""
        settings, layout = self._settings, Layout()
        spool = Spool(settings.spool_path, settings.spool_bytes)
        uploads = Uploads(spool, Threads(Storing(self._sink, layout), settings.uploads), settings.uploads)
        upstream, budgets = Upstream(settings), Budgets(self._sink, layout)
        self._proxy = Proxy(
            settings,
            Lifecycle(spool, uploads, Measures(Metrics()), settings.run_calls),
            upstream,
            budgets,
            Steps(self._sink, layout),
        )
        app = web.Application()
        app.router.add_route("*", names.MODEL_PATH + "/{path:.*}", self._call)
        app.on_response_prepare.append(without_defaults)
        runner = web.AppRunner(
            app,
            access_log=None,
            handle_signals=False,
            max_line_size=HEADER_BYTES,
            max_field_size=HEADER_BYTES,
            auto_decompress=False,
            shutdown_timeout=1.0,
        )
        await runner.setup()
        try:
            await web.TCPSite(runner, host, port).start()
            address = runner.addresses[0]
            self.url = f"http://{address[0]}:{address[1]}{names.MODEL_PATH}"
            yield self
        finally:
            await runner.cleanup()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LAST_SECONDS):
                    await uploads.settled()
            await uploads.close()
            await upstream.close()
            budgets.close()
            with contextlib.suppress(OSError):
                settings.spool_path.rmdir()

    @property
    def left(self) -> int:
        """How many journals are in the spool still."""
        return len(list(self._settings.spool_path.glob("*.ftj")))

    def pages(self) -> list[Exchange]:
        """Every exchange that is in the folder, by time."""
        layout = Layout().run(RUN.namespace, RUN.name, RUN.uid)
        keys = [key for key in self._sink.keys(layout.exchanges()) if key.endswith("/exchange.json")]
        return [summary.load(self._sink.get(key), name=key) for key in keys]

    async def _call(self, request: web.Request) -> web.StreamResponse:
        target = target_of(request, names.MODEL_PATH)
        wire, call = find(request.method, target) or (BY_NAME[self._party.provider.spec.wire], None)
        token = take_token(request.raw_headers, target.partition("?")[2])
        try:
            if not secrets.compare_digest(token.value.encode(), self._key.encode()):
                raise Declined(401, "unauthenticated", "unauthenticated: this is not the key that the gateway printed.")
            return await self._proxy.handle(request, target, wire, call, self._party)
        except Declined as declined:
            return answer_in_dialect(wire, call, declined)
