"""The real API server and the real store, and a proxy before the store that misbehaves on order."""

import http.client
import os
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

import pytest

import local_cluster
from benchmarks.gateway_world import GatewayWorld, RunningGateway
from fairtrial.evidence.store import Patience, S3Settings, S3Store
from tests.rude_server import Orders, RudeHandler, serving


@dataclass
class FaultProxy(Orders):
    """Forwards to the store, unless it is `away`; its orders are for methods, with faults `drop` and `cut`."""

    target: str = ""
    away: bool = False


class Handler(RudeHandler):
    proxy: FaultProxy

    def do(self) -> None:
        if self.proxy.away:
            return self.drop()
        body = self.body()
        order = self.proxy.take(self.command, self.path)
        if order and order.status:
            return self.error(order.status, order.what)
        connection = http.client.HTTPConnection(urlsplit(self.proxy.target).netloc, timeout=60)
        connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        self.fault = order.what if order else ""
        headers = {n: v for n, v in answer.getheaders() if n.lower() not in ("transfer-encoding", "connection")}
        return self.answer(answer.status, data, headers)


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
    proxy = FaultProxy(target=world.env["FAIRTRIAL_S3_ENDPOINT"])
    with serving(Handler, proxy=proxy) as proxy.url:
        yield proxy


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
