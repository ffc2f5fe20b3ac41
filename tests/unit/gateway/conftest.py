"""A gateway on a local socket, with a store in memory and a small Kubernetes API that knows a few tokens and runs."""

import base64
import json
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from fairtrial_gateway.app import Gateway
from fairtrial_gateway.identity import Identity
from fairtrial_gateway.kubernetes import KubernetesApi
from fairtrial_gateway.metrics import Metrics
from fairtrial_gateway.settings import Settings

from fairtrial.evidence.layout import Layout, RunLayout
from fairtrial.evidence.store import MemoryStore

RUN_UID, AGENT_UID, EVALUATOR_UID = "run-uid", "agent-uid", "evaluator-uid"
PUBLIC, SEALED = "a" * 64, "b" * 64


def jwt(claims: dict[str, Any]) -> str:
    """A token that looks like one; only the fake API server believes it."""
    return ".".join(
        base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in ({}, claims, 0)
    )


@dataclass
class FakeKubernetes:
    """What the API server knows, and what it was asked."""

    reviews: dict[str, dict[str, Any]] = field(default_factory=dict)
    runs: dict[str, dict[str, Any]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    status: int = 200

    def token(self, pod: str, uid: str, audience: str, lifetime: int = 600, account: str = "fairtrial-run") -> str:
        token = jwt({"exp": int(time.time()) + lifetime, "pod": pod, "uid": uid, "aud": audience})
        extra = {"authentication.kubernetes.io/pod-name": [pod], "authentication.kubernetes.io/pod-uid": [uid]}
        user = {"username": f"system:serviceaccount:team:{account}", "extra": extra}
        self.reviews[token] = {"authenticated": True, "user": user, "audiences": [audience]}
        return token

    async def review(self, request: web.Request) -> web.Response:
        self.asked.append("review")
        if self.status != 200:
            return web.json_response({"reason": "Forbidden"}, status=self.status)
        token = (await request.json())["spec"]["token"]
        return web.json_response({"status": self.reviews.get(token, {"authenticated": False})}, status=201)

    async def run(self, request: web.Request) -> web.Response:
        self.asked.append("run")
        name = request.match_info["name"]
        if name not in self.runs:
            return web.json_response({"reason": "NotFound", "details": {"name": name}}, status=404)
        return web.json_response(self.runs[name])


def run_object(**status: Any) -> dict[str, Any]:
    full = {
        "agentPod": {"uid": AGENT_UID},
        "evaluatorPod": {"uid": EVALUATOR_UID},
        "task": {"publicSha256": PUBLIC, "sealedSha256": SEALED},
    }
    return {"metadata": {"namespace": "team", "name": "r1", "uid": RUN_UID}, "spec": {}, "status": full | status}


@dataclass
class Served:
    """A running gateway and everything around it."""

    url: str
    kubernetes: FakeKubernetes
    store: MemoryStore
    gateway: Gateway
    session: aiohttp.ClientSession
    server: TestServer
    run: RunLayout = field(default_factory=lambda: Layout().run("team", "r1", RUN_UID))

    @property
    def port(self) -> int:
        return int(self.url.rsplit(":", 1)[1])

    def recorder(self) -> str:
        return self.kubernetes.token("r1-agent", AGENT_UID, "fairtrial/record")

    def evaluator(self) -> str:
        return self.kubernetes.token("r1-evaluator", EVALUATOR_UID, "fairtrial/evaluate")

    async def call(self, method: str, path: str, token: str = "", data: Any = None, **headers: str):
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if token:
            sent["Authorization"] = f"Bearer {token}"
        async with self.session.request(method, self.url + path, data=data, headers=sent) as answer:
            body = await answer.read()
            return (
                answer.status,
                json.loads(body) if answer.content_type == "application/json" else body,
                answer.headers,
            )


@pytest.fixture
async def kubernetes() -> AsyncIterator[tuple[FakeKubernetes, str]]:
    fake = FakeKubernetes(runs={"r1": run_object()})
    app = web.Application()
    app.router.add_post("/apis/authentication.k8s.io/v1/tokenreviews", fake.review)
    app.router.add_get("/apis/fairtrial.dev/v1alpha1/namespaces/team/benchmarkruns/{name}", fake.run)
    server = TestServer(app)
    await server.start_server()
    yield fake, str(server.make_url("")).rstrip("/")
    await server.close()


@pytest.fixture
def settings(kubernetes: tuple[FakeKubernetes, str], tmp_path: Path) -> Settings:
    (tmp_path / "token").write_text("the-gateways-own-token")
    base = Settings(kubernetes[1], "", str(tmp_path / "token"))
    return replace(base, max_artifact_bytes=20_000_000, idle_seconds=0.3, header_seconds=0.3, upload_seconds=5)


@pytest.fixture
async def served(kubernetes: tuple[FakeKubernetes, str], settings: Settings) -> AsyncIterator[Served]:
    api, store = KubernetesApi(settings), MemoryStore()
    gateway = Gateway(settings, Identity(api, 30), store, Layout(), Metrics())
    server = TestServer(gateway.app)
    await server.start_server(lingering_time=0.2)
    async with aiohttp.ClientSession() as session:
        yield Served(str(server.make_url("")).rstrip("/"), kubernetes[0], store, gateway, session, server)
    await server.close()
    await api.close()
    gateway.threads.close()
