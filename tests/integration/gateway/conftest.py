"""The real API server and the real store, and a proxy before the store that misbehaves on order."""

import http.client
import os
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import pytest

import local_cluster
from benchmarks.gateway_world import GatewayWorld, RunningGateway
from fairtrial.evidence.store import Patience, S3Settings, S3Store


@dataclass
class FaultProxy:
    """Forwards to the store; `orders` are (method, text in the path, what): `503`, `409`, `drop`, `cut` or `away`."""

    target: str
    url: str = ""
    away: bool = False
    orders: list[tuple[str, str, str]] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def order(self, method: str, path: str, what: str, times: int = 1) -> None:
        self.orders += [(method, path, what)] * times

    def take(self, method: str, path: str) -> str:
        with self.lock:
            for order in self.orders:
                if order[0] == method and order[1] in path:
                    self.orders.remove(order)
                    self.done.append(order[2])
                    return order[2]
        return ""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    proxy: FaultProxy

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
        pass

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except (ConnectionError, ValueError):
            self.close_connection = True

    def do(self) -> None:
        if self.proxy.away:
            return self.drop()
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        what = self.proxy.take(self.command, self.path)
        if what.isdecimal():
            code = {"503": "SlowDown", "409": "ConditionalRequestConflict"}[what]
            return self.send(int(what), f"<Error><Code>{code}</Code></Error>".encode())
        connection = http.client.HTTPConnection(urlsplit(self.proxy.target).netloc, timeout=60)
        connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        if what == "drop":
            return self.drop()
        headers = {n: v for n, v in answer.getheaders() if n.lower() not in ("transfer-encoding", "connection")}
        return self.send(answer.status, data, headers, cut=what == "cut")

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = do  # noqa: N815 — the names that the server looks up

    def send(self, status: int, data: bytes, headers: dict[str, str] | None = None, *, cut: bool = False) -> None:
        self.send_response_only(status)
        for name, value in ({"Content-Length": str(len(data))} | (headers or {})).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data[: len(data) // 2] if cut else data)
        if cut:
            self.drop()

    def drop(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)


@pytest.fixture(scope="session")
def world(cluster: local_cluster.Cluster, kubectl: object) -> Iterator[GatewayWorld]:
    """One namespace and one bucket for all tests of the gateway."""
    path = f"{cluster.bin_dir}{os.pathsep}{os.environ['PATH']}"
    world = GatewayWorld(os.environ | cluster.environment() | {"PATH": path}, lock=True)
    yield world
    world.close()


@pytest.fixture
def proxy(world: GatewayWorld) -> Iterator[FaultProxy]:
    """Before the store, and out of the way unless told otherwise."""
    proxy = FaultProxy(world.env["FAIRTRIAL_S3_ENDPOINT"])
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"proxy": proxy}))
    server.daemon_threads = True
    proxy.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield proxy
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def store(world: GatewayWorld, proxy: FaultProxy) -> Iterator[S3Store]:
    """The real store behind the proxy."""
    settings = S3Settings.from_env(world.env | {"FAIRTRIAL_S3_ENDPOINT": proxy.url})
    store = S3Store(settings, patience=Patience(attempts=5, first_pause=0.01))
    yield store
    store.close()


@pytest.fixture(scope="session")
def gateway(world: GatewayWorld) -> RunningGateway:
    """A gateway that the tests share; its process ends with the world."""
    return world.start_gateway()
