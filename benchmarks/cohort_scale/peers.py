"""The same pods by others: a bare client loop, batch/v1 Jobs, Argo Workflows; one pod for each unit or two in a row.

Each keeps `parallelism` units under way, as a cohort does: a unit that ends makes room for the next.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairtrial_operator.cache import Key, Object
from fairtrial_operator.informer import Informer
from fairtrial_operator.kube import NAMESPACES, PODS, Kube, Resource

from benchmarks.cohort_scale.control_plane import HERE, ControlPlane
from benchmarks.cohort_scale.objects import IMAGE, NAMESPACE, obj, pod_spec, prepare, prepare_pods
from local_cluster import binaries

JOBS = Resource("batch/v1", "Job", "jobs")
WORKFLOWS = Resource("argoproj.io/v1alpha1", "Workflow", "workflows")
CONFIG_MAPS = Resource("v1", "ConfigMap", "configmaps")
ARGO_MODULE = "github.com/argoproj/argo-workflows/v4"
ARGO_HEALTH = "http://127.0.0.1:6060/healthz"
SETTLE_SECONDS, STALLED_SECONDS = 15.0, 300.0
ENDED = ("Succeeded", "Failed", "Error")


@dataclass(frozen=True)
class Peer:
    """A system: what is created for a unit (one object, or one after the other), and when that is over."""

    resource: Resource
    bodies: Callable[[str, int], list[Object]]  # of a unit's name and how many pods it has
    over: Callable[[Object], bool]
    users: tuple[str, ...]
    prepare: Callable[[ControlPlane, Kube, dict[str, Path]], Any] | None = None


async def run(
    peer: Peer, plane: ControlPlane, kube: Kube, found: dict[str, Path], *, units: int, pods: int, parallelism: int
) -> dict[str, Any]:
    """Carry out `units` of so many pods each."""
    await prepare(kube)
    await prepare_pods(kube)
    if peer.prepare is not None:
        await peer.prepare(plane, kube, found)
    ends: dict[str, asyncio.Event] = {}

    def changed(key: Key, live: Object | None) -> None:
        if live is not None and key.name in ends and peer.over(live):
            ends[key.name].set()

    async def carry_out(numbers: "asyncio.Queue[int]") -> None:
        while not numbers.empty():
            for body in peer.bodies(f"u-{numbers.get_nowait():06}", pods):
                end = ends[body["metadata"]["name"]] = asyncio.Event()
                await kube.create(peer.resource, body)
                async with asyncio.timeout(STALLED_SECONDS + units):  # a unit is queued behind all others at worst
                    await end.wait()

    numbers: asyncio.Queue[int] = asyncio.Queue()
    for number in range(units):
        numbers.put_nowait(number)
    informer = Informer(kube, peer.resource, changed=changed)
    watching = asyncio.create_task(informer.run())
    await informer.synced.wait()
    before, cpu = plane.stored_bytes(), plane.usage()
    await asyncio.gather(*(carry_out(numbers) for _ in range(parallelism)))
    watching.cancel()
    used = plane.usage()
    answer: dict[str, Any] = {"etcdBytesPerUnit": round((plane.stored_bytes() - before) / units)}
    if "argo" in used:
        seconds = used["argo"].cpu - cpu["argo"].cpu
        answer |= {
            "controllerCpuSecondsPer1000": round(seconds / units * 1000, 2),
            "peakMB": round(used["argo"].peak, 1),
        }
    return answer


# --- a bare client loop -----------------------------------------------------------------------------------------------
def _pods(name: str, count: int) -> list[Object]:
    return [obj(PODS, f"{name}-{number}", NAMESPACE, spec=pod_spec()) for number in range(count)]


def _pod_over(live: Object) -> bool:
    return live.get("status", {}).get("phase") in ENDED


# --- Jobs -------------------------------------------------------------------------------------------------------------
def _jobs(name: str, count: int) -> list[Object]:
    spec = {"backoffLimit": 0, "template": {"spec": pod_spec()}}
    return [obj(JOBS, f"{name}-{number}", NAMESPACE, spec=spec) for number in range(count)]


def _job_over(live: Object) -> bool:
    conditions = live.get("status", {}).get("conditions") or ()
    return any(one["type"] in ("Complete", "Failed") and one["status"] == "True" for one in conditions)


# --- Argo Workflows ---------------------------------------------------------------------------------------------------
def _workflow(name: str, count: int) -> list[Object]:
    """One workflow of one container, or of that many in a row. Argo adds an init and a wait container to each pod."""
    container = {key: value for key, value in pod_spec()["containers"][0].items() if key != "volumeMounts"}
    steps = [[{"name": f"step-{number}", "template": "agent"}] for number in range(count)]
    templates: list[Object] = [{"name": "agent", "container": container | {"name": "main"}}]
    templates += [{"name": "all", "steps": steps}] if count > 1 else []
    spec = {"entrypoint": "all" if count > 1 else "agent", "templates": templates, "serviceAccountName": "default"}
    return [obj(WORKFLOWS, name, NAMESPACE, spec=spec)]


def _workflow_over(live: Object) -> bool:
    return live.get("status", {}).get("phase") in ENDED


async def _start_argo(plane: ControlPlane, kube: Kube, found: dict[str, Path], *flags: str) -> None:
    live = await kube.get(NAMESPACES, NAMESPACE)
    # The containers that Argo adds are not as restricted as our namespaces ask for.
    await kube.patch(NAMESPACES, live, [{"op": "remove", "path": "/metadata/labels"}])
    module = await asyncio.to_thread(binaries.module, HERE / "binaries" / "argo-workflows", ARGO_MODULE)
    crds = module / "manifests" / "base" / "crds" / "full"
    files = [argument for crd in sorted(crds.glob("argoproj.io_*.yaml")) for argument in ("-f", crd)]
    await asyncio.to_thread(plane.kubectl, "apply", "--server-side", *files)
    await asyncio.to_thread(plane.kubectl, "wait", "--for=condition=Established", "--timeout=60s", *files)
    await kube.create(CONFIG_MAPS, obj(CONFIG_MAPS, "workflow-controller-configmap", NAMESPACE))
    command = [str(found["argo"]), "--namespaced", f"--managed-namespace={NAMESPACE}", f"--namespace={NAMESPACE}"]
    command += [f"--executor-image={IMAGE}", f"--kubeconfig={plane.kubeconfig('argo')}", *flags]
    # Simulated nodes report no task results: it must not wait for them.
    patience = {"LEADER_ELECTION_DISABLE": "true", "TASK_RESULT_TIMEOUT_DURATION": "1s"}
    argo = plane.run("argo", command, patience)
    await asyncio.to_thread(argo.wait_for, ARGO_HEALTH)
    # The API server makes its caches of new kinds anew for some seconds; what is created meanwhile Argo may never see.
    await asyncio.sleep(SETTLE_SECONDS)


async def _start_tuned_argo(plane: ControlPlane, kube: Kube, found: dict[str, Path]) -> None:
    await _start_argo(plane, kube, found, "--qps=500", "--burst=500", "--workflow-workers=64")


JOB_CONTROLLER = "system:serviceaccount:kube-system:job-controller"
PEERS = {
    "bare": Peer(PODS, _pods, _pod_over, ("client",)),
    "jobs": Peer(JOBS, _jobs, _job_over, ("client", JOB_CONTROLLER)),
    "argo": Peer(WORKFLOWS, _workflow, _workflow_over, ("client", "argo"), _start_argo),
    "argo-tuned": Peer(WORKFLOWS, _workflow, _workflow_over, ("client", "argo"), _start_tuned_argo),
}
