"""A stand-in for the gateway, over real HTTP, for tests of what talks to it: stores in memory, fails when told to."""

import base64
import hashlib
import http.server
import json
import threading
import time
from http import HTTPStatus
from types import TracebackType
from typing import Self

TOKEN = "test-token"  # noqa: S105 — no secret


class GatewayStandIn:
    """Serves bundles, takes artifacts create-only; `refuse` and `down_until` make it fail."""

    def __init__(self) -> None:
        self.bundles: dict[str, bytes] = {}
        self.artifacts: dict[str, bytes] = {}
        self.refuse: list[int] = []  # statuses for the next requests
        self.down_until = 0.0  # time.monotonic() until which everything is answered 503
        self.requests = 0
        stand_in = self

        class Handler(_Handler):
            gateway = stand_in

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def add_bundle(self, data: bytes) -> str:
        """Make a bundle available; its digest."""
        digest = hashlib.sha256(data).hexdigest()
        self.bundles[digest] = data
        return digest


class _Handler(http.server.BaseHTTPRequestHandler):
    gateway: GatewayStandIn

    def do_GET(self) -> None:
        data = self.gateway.bundles.get(self.path.removeprefix("/v1/bundles/"))
        if not self._refused():
            if data is None:
                self._answer(HTTPStatus.FORBIDDEN, {"message": "this run has no such bundle"})
            else:
                self._send(HTTPStatus.OK, data)

    def do_PUT(self) -> None:
        data = self.rfile.read(int(self.headers["Content-Length"]))
        if self._refused():
            return
        digest = hashlib.sha256(data).digest()
        name = self.path.removeprefix("/v1/artifacts/")
        if self.path.startswith("/v1/steps/"):
            name = f"agent/steps/{int(self.path.rpartition('/')[2]):02d}.json"
        elif self.headers["Content-Digest"] != f"sha-256=:{base64.b64encode(digest).decode()}:":
            self._answer(HTTPStatus.BAD_REQUEST, {"message": "the content does not have its digest"})
            return
        stored = self.gateway.artifacts.setdefault(name, data)
        status = HTTPStatus.CREATED if stored is data else HTTPStatus.OK
        if stored != data:
            status = HTTPStatus.CONFLICT
        self._answer(status, {"name": name, "size": len(stored), "sha256": hashlib.sha256(stored).hexdigest()})

    def _refused(self) -> bool:
        self.gateway.requests += 1
        status = self.gateway.refuse.pop(0) if self.gateway.refuse else 0
        if time.monotonic() < self.gateway.down_until:
            status = HTTPStatus.SERVICE_UNAVAILABLE
        if self.headers["Authorization"] != f"Bearer {TOKEN}":
            status = HTTPStatus.UNAUTHORIZED
        if status:
            self._answer(status, {"message": "refused by the test"})
        return bool(status)

    def _answer(self, status: int, body: dict[str, object]) -> None:
        self._send(status, json.dumps(body).encode())

    def _send(self, status: int, data: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 — the name is the base class's
        """Say nothing."""
