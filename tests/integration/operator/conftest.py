"""A real API server and a real S3 server; the operator as a process; and a scripted kubelet in place of a real one.

Pods are scheduled to a node object that no kubelet serves, so that nothing happens to them but what a test says.
Each test session has a label value, a bucket prefix and namespaces of its own, and disturbs nobody else's.
"""

import asyncio
import json
import os
import secrets
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from fairtrial_operator.kube import (
    CLASSES,
    EVENTS,
    LEASES,
    NAMESPACES,
    NODES,
    PODS,
    PROVIDERS,
    RUNS,
    TASKS,
    Kube,
    NotFound,
    Object,
    Resource,
)

import local_cluster
from fairtrial import names
from fairtrial.attest.trust import TrustedKey, TrustList
from fairtrial.documents import RunIdentity, dump
from fairtrial.errors import FairtrialError
from fairtrial.evidence.layout import Layout, RunLayout
from fairtrial.evidence.store import S3Settings, S3Store
from fairtrial.signing import keys as signing_keys
from fairtrial.testing import agent_report, evaluation_report, make_resource_class, make_task
from local_cluster import s3

ROOT = Path(__file__).parents[3]
HOOK = Path(__file__).with_name("crash_hook.py")
IMAGE = f"localhost/fairtrial/stand-in@sha256:{'d' * 64}"
BUCKET = "operator-tests"
NODE_LABEL = "fairtrial.dev/test"
LONG_AGO = "2026-01-01T00:00:00Z"


@dataclass
class World:
    """Where a test's objects live."""

    token: str
    environ: dict[str, str]
    store: S3Store
    log: Path
    trust: TrustList
    kube: Kube = field(init=False)
    beating: "asyncio.Task[None]" = field(init=False)
    classes: list[str] = field(default_factory=list)

    @property
    def system(self) -> str:
        return f"op-{self.token}-system"

    @property
    def namespace(self) -> str:
        return f"op-{self.token}"

    @property
    def node(self) -> str:
        return f"op-{self.token}-node"

    @property
    def value(self) -> str:
        return f"op-{self.token}"

    def layout(self, run: Object) -> RunLayout:
        metadata = run["metadata"]
        return Layout(self.store.settings.prefix).run(metadata["namespace"], metadata["name"], metadata["uid"])

    def record(self, run: Object) -> bytes:
        return self.store.get(self.layout(run).record())

    async def create(self, name: str = "run-1", **spec: Any) -> Object:
        """Create a run of the one task in the one class."""
        candidate = {"name": "c", "version": "1", "image": IMAGE, "argv": ["/bin/agent", "{prompt}"]}
        base = {"taskRef": {"name": "task-1"}, "candidate": candidate, "resourceClassName": self.value}
        return await self.kube.create(RUNS, obj(RUNS, name, self.namespace, spec=base | spec))

    async def change(self, resource: Resource, name: str, patch: Object) -> Object:
        """Merge a patch into an object, as a person would."""
        path = resource.path(self.namespace if resource.namespaced else None, name)
        return await self.kube._request("PATCH", path, body=patch, media_type="application/merge-patch+json")

    async def find(self, resource: Resource, name: str) -> Object | None:
        try:
            return await self.kube.get(resource, name, self.namespace if resource.namespaced else None)
        except NotFound:
            return None

    async def when(self, name: str, holds: Callable[[Object], Any], what: str, seconds: float = 90) -> Object:
        """The run as soon as its status is as it should be."""

        async def look() -> Object | None:
            live = await self.find(RUNS, name)
            return live if live is not None and holds(live.get("status") or {}) else None

        found: Object = await until(look, f"run {name}: {what}", seconds)
        return found

    async def recorded(self, name: str = "run-1") -> Object:
        return await self.when(name, lambda status: status.get("record"), "is recorded")

    async def released(self, name: str = "run-1", seconds: float = 90) -> Object:
        async def look() -> Object | None:
            live = await self.find(RUNS, name)
            return live if live is not None and not live["metadata"].get("finalizers") else None

        found: Object = await until(look, f"run {name} is released", seconds)
        return found

    async def gone(self, resource: Resource, name: str, seconds: float = 90) -> None:
        async def look() -> bool:
            return await self.find(resource, name) is None

        await until(look, f"{name} is gone", seconds)

    async def create_class(self, name: str, **spec: Any) -> str:
        """Another resource class; removed with the others."""
        self.classes.append(name)
        await self.kube.create(CLASSES, resource_class(self, name, **spec))
        return name

    async def all(self, resource: Resource) -> list[Object]:
        return await list_all(self.kube, resource, self.namespace)

    async def events(self) -> list[Object]:
        """The events that the operator posted."""
        return [e for e in await self.all(EVENTS) if (e.get("source") or {}).get("component") == names.FIELD_MANAGER]

    async def remove_node(self) -> None:
        await self.kube.delete(NODES, await self.kube.get(NODES, self.node))

    @staticmethod
    async def until(found: Callable[[], Any], what: str) -> Any:
        return await until(found, what)

    def calls(self) -> list[list[str]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []

    @staticmethod
    def condition(status: Object, kind: str) -> tuple[str, str]:
        found = next((one for one in status.get("conditions") or [] if one["type"] == kind), None)
        return (found["status"], found["reason"]) if found else ("", "")


# --- the cluster ------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="session")
def cluster_environ() -> dict[str, str]:
    try:
        cluster = local_cluster.current()
    except (OSError, FairtrialError, RuntimeError) as error:
        pytest.skip(f"the local cluster is not up: {error}")
    if cluster is None:
        pytest.skip("the local cluster is not up")
    s3.make_bucket(BUCKET, lock=False)
    told = subprocess.run([sys.executable, "-m", "local_cluster", "env"], cwd=ROOT, capture_output=True, check=True)
    exports = dict(
        line.removeprefix("export ").split("=", 1) for line in told.stdout.decode().splitlines() if "=" in line
    )
    environ = {key: value.strip("'\"") for key, value in exports.items() if key != "PATH"}
    kubectl = ["kubectl", "apply", "--server-side", "--force-conflicts", "-f", str(ROOT / "crds")]
    path = os.environ["PATH"]
    subprocess.run(kubectl, env={"KUBECONFIG": str(cluster.kubeconfig), "PATH": path}, capture_output=True, check=True)
    return environ | {"KUBECONFIG": str(cluster.kubeconfig), "PATH": path}


@pytest.fixture
def world(cluster_environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    token = secrets.token_hex(4)
    environ = cluster_environ | {
        "FAIRTRIAL_S3_BUCKET": BUCKET,
        "FAIRTRIAL_S3_PREFIX": f"{token}/",
        "FAIRTRIAL_NAMESPACE": f"op-{token}-system",
        "FAIRTRIAL_NAMESPACE_SELECTOR": f"{names.NAMESPACE_LABEL}=op-{token}",
        "FAIRTRIAL_RUNNER_IMAGE": IMAGE,
        "FAIRTRIAL_EVALUATOR_IMAGE": IMAGE,
        "FAIRTRIAL_GATEWAY_URL": "http://198.19.0.9:8080",
        "FAIRTRIAL_IDENTITY": "operator-0",
        "FAIRTRIAL_LEASE_SECONDS": "3",
        "FAIRTRIAL_HEALTH_PORT": "0",
        "FAIRTRIAL_PROBES": "[]",
    }
    monkeypatch.setenv("KUBECONFIG", environ["KUBECONFIG"])
    key = signing_keys.new(tmp_path / "operator.key")
    environ |= {signing_keys.KEY_VARIABLE: f"file:{tmp_path / 'operator.key'}"}
    store = S3Store(S3Settings.from_env(environ))
    yield World(token, environ, store, tmp_path / "calls.jsonl", TrustList((TrustedKey("operator", key.public),)))
    store.close()


@pytest.fixture
async def kube(world: World) -> AsyncIterator[Kube]:
    kube = world.kube = await Kube.connect()
    labels = {"pod-security.kubernetes.io/enforce": "restricted", names.NAMESPACE_LABEL: world.value}
    await create_namespace(kube, world.system, {})
    await create_namespace(kube, world.namespace, labels)
    await kube.create(NODES, fake_node(world.node, world.token))
    await kube.create(CLASSES, resource_class(world))
    await kube.create(TASKS, task(world))
    await kube.create(PROVIDERS, provider(world))
    world.beating = asyncio.create_task(heartbeat(kube, world.node))
    yield kube
    world.beating.cancel()
    await asyncio.gather(world.beating, return_exceptions=True)
    await clean_up(kube, world)
    await kube.close()


async def heartbeat(kube: Kube, node: str) -> None:
    """What a kubelet does to be believed alive."""
    while True:
        spec = {"holderIdentity": node, "leaseDurationSeconds": 40, "renewTime": datetime.now(UTC).isoformat()}
        await kube.apply(LEASES, obj(LEASES, node, "kube-node-lease", spec=spec))
        await asyncio.sleep(8)


async def create_namespace(kube: Kube, name: str, labels: dict[str, str]) -> None:
    await kube.create(NAMESPACES, obj(NAMESPACES, name, None, metadata={"labels": labels}))


async def clean_up(kube: Kube, world: World) -> None:
    for run in await list_all(kube, RUNS, world.namespace):
        if names.RUN_FINALIZER in (run["metadata"].get("finalizers") or []):
            await kube.set_finalizer(RUNS, run, names.RUN_FINALIZER, present=False)
    for pod in await list_all(kube, PODS, world.namespace):
        held = names.POD_FINALIZER in (pod["metadata"].get("finalizers") or [])
        left = await kube.set_finalizer(PODS, pod, names.POD_FINALIZER, present=False) if held else pod
        await kube.delete(PODS, left, grace=0)
    await kube.delete(LEASES, await kube.get(LEASES, world.node, "kube-node-lease"))
    for resource, name in ((NODES, world.node), *((CLASSES, name) for name in [world.value, *world.classes])):
        try:
            await kube.delete(resource, await kube.get(resource, name))
        except NotFound:
            continue
    for name in (world.namespace, world.system):
        try:
            await kube.delete(NAMESPACES, await kube.get(NAMESPACES, name))
        except NotFound:
            continue


async def list_all(kube: Kube, resource: Resource, namespace: str) -> list[Object]:
    found, token = list[Object](), ""
    while True:
        page = await kube.list_page(resource, fields=f"metadata.namespace={namespace}", token=token)
        found += page["items"]
        token = page["metadata"].get("continue", "")
        if not token:
            return [item | {"apiVersion": resource.api_version, "kind": resource.kind} for item in found]


# --- objects ----------------------------------------------------------------------------------------------------------
def obj(resource: Resource, name: str, namespace: str | None, *, metadata: Any = None, **more: Any) -> Object:
    base: Object = {"name": name} | ({"namespace": namespace} if namespace else {}) | dict(metadata or {})
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": base} | more


def fake_node(name: str, token: str) -> Object:
    ready = {"type": "Ready", "status": "True", "reason": "Test", "message": "", "lastHeartbeatTime": LONG_AGO}
    room = {"cpu": "64", "memory": "64Gi", "ephemeral-storage": "640Gi", "pods": "100"}
    return obj(
        NODES,
        name,
        None,
        metadata={"labels": {NODE_LABEL: token}},
        spec={"taints": [{"key": NODE_LABEL, "value": token, "effect": "NoSchedule"}]},
        status={"conditions": [ready], "capacity": room, "allocatable": room},
    )


def resource_class(world: World, name: str = "", **spec: Any) -> Object:
    """The class of pods that only the fake node takes."""
    place = {
        "nodeSelector": {NODE_LABEL: world.token},
        "tolerations": [{"key": NODE_LABEL, "operator": "Exists"}],
    }
    return obj(CLASSES, name or world.value, None, spec=make_resource_class().spec.as_json() | place | spec)


def task(world: World, name: str = "task-1") -> Object:
    return obj(TASKS, name, world.namespace, spec=make_task().spec.as_json())


def provider(world: World, name: str = "provider-1") -> Object:
    spec = {
        "url": "http://models.example",
        "wire": "openaiChat",
        "credentialSecretRef": {"name": "key", "key": "token"},
        "model": {"id": "model-1"},
        "usage": {"cachedInsideInput": True, "reasoningInsideOutput": True},
    }
    return obj(PROVIDERS, name, world.namespace, spec=spec)


# --- the operator as a process ----------------------------------------------------------------------------------------
@dataclass
class Process:
    """One operator. `crash` makes it die before or after its n-th mutating call about a run."""

    world: World
    output: Path
    popen: "subprocess.Popen[bytes] | None" = None

    def start(self, **environ: str) -> "Process":
        told = self.world.environ | {"FAIRTRIAL_TEST_CALLS": str(self.world.log)} | environ
        with self.output.open("ab") as file:
            self.popen = subprocess.Popen([sys.executable, str(HOOK)], env=told, stdout=file, stderr=file)
        return self

    def stop(self) -> int:
        assert self.popen is not None
        self.popen.terminate()
        return self.popen.wait(20)

    def kill(self) -> None:
        if self.popen is not None and self.popen.poll() is None:
            self.popen.kill()
            self.popen.wait()

    async def died(self, seconds: float = 90) -> int:
        assert self.popen is not None
        return await asyncio.to_thread(self.popen.wait, seconds)


@pytest.fixture
def operators(world: World, tmp_path: Path) -> Iterator[Callable[[], Process]]:
    made: list[Process] = []

    def make() -> Process:
        made.append(Process(world, tmp_path / f"operator-{len(made)}.log"))
        return made[-1]

    yield make
    for one in made:
        one.kill()
        sys.stdout.write(one.output.read_text() if one.output.exists() else "")


# --- waiting ----------------------------------------------------------------------------------------------------------
async def until(found: Callable[[], Any], what: str, seconds: float = 90) -> Any:
    """Poll an async question until it answers with something true."""
    deadline = asyncio.get_running_loop().time() + seconds
    while True:
        answer = await found()
        if answer:
            return answer
        if asyncio.get_running_loop().time() > deadline:
            raise AssertionError(f"{what} did not happen within {seconds} s")
        await asyncio.sleep(0.05)


# --- the scripted kubelet ---------------------------------------------------------------------------------------------
@dataclass
class Kubelet:
    """Plays a pod's life on the API server, and its recorder's last upload in the store."""

    world: World
    task_resource: Resource = TASKS

    def task(self, name: str) -> Object:
        return task(self.world, name)

    def stop_beating(self) -> None:
        self.world.beating.cancel()

    async def forget(self, name: str) -> None:
        """The kubelet's last word about a deleted pod: it is gone from the node."""

        async def free() -> Object | None:
            pod = await self.world.find(PODS, name)
            return pod if pod is None or not pod["metadata"].get("finalizers") else {}

        async def freed() -> bool:
            return await free() != {}

        await until(freed, f"pod {name} is released")
        pod = await free()
        if pod:
            await self.world.kube.delete(PODS, pod, grace=0)

    def stranger(self, name: str) -> Object:
        """A pod that is nobody's, as restricted as the namespace wants it."""
        profile = {"type": "RuntimeDefault"}
        security = {"runAsNonRoot": True, "runAsUser": 1, "allowPrivilegeEscalation": False, "seccompProfile": profile}
        security |= {"capabilities": {"drop": ["ALL"]}}
        containers = [{"name": "x", "image": IMAGE, "securityContext": security}]
        return obj(PODS, name, self.world.namespace, spec={"containers": containers, "nodeSelector": {"no": "where"}})

    async def pod(self, name: str, seconds: float = 90) -> Object:
        async def look() -> Object | None:
            return await self.world.find(PODS, name)

        found: Object = await until(look, f"pod {name} exists", seconds)
        return found

    async def scheduled(self, name: str) -> Object:
        """The pod once the real scheduler has given it the fake node."""

        async def look() -> Object | None:
            pod = await self.world.find(PODS, name)
            return pod if pod is not None and pod["spec"].get("nodeName") else None

        found: Object = await until(look, f"pod {name} is scheduled", 90)
        return found

    async def status(self, pod: Object, status: Object) -> None:
        path = PODS.path(pod["metadata"]["namespace"], pod["metadata"]["name"], "status")
        merge = "application/merge-patch+json"
        await self.world.kube._request("PATCH", path, body={"status": status}, media_type=merge)

    async def start(self, name: str, main: str) -> Object:
        pod = await self.scheduled(name)
        at = pod["metadata"]["creationTimestamp"]
        over = {"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": at, "finishedAt": at}}
        running = {"running": {"startedAt": at}}
        await self.status(
            pod,
            {
                "phase": "Running",
                "initContainerStatuses": [*fetched(main, over), container("record", running)],
                "containerStatuses": [container(main, running)],
            },
        )
        return pod

    async def end(self, name: str, main: str, *, phase: str = "Succeeded", code: int = 0, **more: Any) -> Object:
        pod = await self.pod(name)
        at = pod["metadata"]["creationTimestamp"]
        over = {"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": at, "finishedAt": at}}
        last = {"exitCode": code, "reason": "Error" if code else "Completed", "startedAt": at, "finishedAt": at}
        statuses = [*fetched(main, over), container("record", over)]
        body = {"phase": phase, "initContainerStatuses": statuses}
        await self.status(pod, body | {"containerStatuses": [container(main, {"terminated": last})]} | more)
        return pod

    async def agent(self, live: Object, **report: Any) -> Object:
        """The agent pod's whole life, with a report of its own end."""
        name = names.agent_pod(live["metadata"]["name"])
        await self.start(name, names.CONTAINER_AGENT)
        pod = await self.pod(name)
        await asyncio.to_thread(self.report_agent, live, pod, **report)
        return await self.end(name, names.CONTAINER_AGENT)

    def report_agent(self, live: Object, pod: Object, **report: Any) -> None:
        made = agent_report(pod_uid=pod["metadata"]["uid"], run=identity(live), **report)
        self.world.store.put(self.world.layout(live).artifact("agent/report.json"), dump(made))

    async def evaluator(self, live: Object, **report: Any) -> Object:
        name = names.evaluator_pod(live["metadata"]["name"])
        pod = await self.start(name, names.CONTAINER_CHECKS)
        await asyncio.to_thread(self.report_evaluation, live, pod, **report)
        return await self.end(name, names.CONTAINER_CHECKS)

    def report_evaluation(self, live: Object, pod: Object, **report: Any) -> None:
        made = evaluation_report(pod_uid=pod["metadata"]["uid"], run=identity(live), **report)
        self.world.store.put(self.world.layout(live).artifact("evaluation/report.json"), dump(made))


def fetched(main: str, over: Object) -> list[Object]:
    """The evaluator's init container; an agent pod has none."""
    return [container("fetch", over)] if main == names.CONTAINER_CHECKS else []


def container(name: str, state: Object) -> Object:
    running = "running" in state
    common = {"name": name, "image": IMAGE, "imageID": IMAGE, "ready": running, "restartCount": 0}
    return common | {"state": state, "started": running}


def identity(live: Object) -> RunIdentity:
    return RunIdentity(live["metadata"]["namespace"], live["metadata"]["name"], live["metadata"]["uid"])


@pytest.fixture
def kubelet(world: World, kube: Kube) -> Kubelet:
    return Kubelet(world)
