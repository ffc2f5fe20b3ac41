"""What is measured with: a node without end, a namespace, tasks, a class, a cohort of N runs, and its pods."""

from typing import Any

from fairtrial_operator import build
from fairtrial_operator.build import PodSettings
from fairtrial_operator.kube import CLASSES, COHORTS, NAMESPACES, NODES, SERVICE_ACCOUNTS, TASKS, Kube, Object, Resource

from fairtrial import names
from fairtrial.testing import SEALED_SHA256, make_cohort, make_resource_class, make_run, make_task

NAMESPACE, SYSTEM, COHORT = "trials", "fairtrial", "scale"
TASKS_OF_COHORT, CANDIDATES = 10, 2  # so that N runs are N / 20 repetitions
IMAGE = f"localhost/simulated@sha256:{'d' * 64}"
GATEWAY = "http://198.19.16.9:8080"
LABELS = {names.NAMESPACE_LABEL: "true", "pod-security.kubernetes.io/enforce": "restricted"}


async def prepare(kube: Kube) -> None:
    """Everything but the runs."""
    room = {"cpu": "100k", "memory": "1000Ti", "ephemeral-storage": "1000Ti", "pods": "1M"}
    node = obj(NODES, "simulated", None, status={"allocatable": room, "capacity": room})
    await kube.create(NODES, node)
    for name, labels in ((SYSTEM, {}), (NAMESPACE, LABELS)):
        await kube.create(NAMESPACES, obj(NAMESPACES, name, None, metadata={"labels": labels}))


async def prepare_runs(kube: Kube) -> None:
    """What a cohort's runs refer to."""
    await kube.create(CLASSES, obj(CLASSES, "small", None, spec=make_resource_class().spec.as_json()))
    for number in range(TASKS_OF_COHORT):
        spec = make_task(publicArchive={"sha256": _public(number), "size": 10240}).spec.as_json()
        await kube.create(TASKS, obj(TASKS, f"task-{number}", NAMESPACE, spec=spec))


async def prepare_pods(kube: Kube) -> None:
    """What the same pods need where nobody else makes it."""
    await kube.create(SERVICE_ACCOUNTS, obj(SERVICE_ACCOUNTS, names.SERVICE_ACCOUNT, NAMESPACE))


def cohort(runs: int, parallelism: int) -> Object:
    """A sealed pilot of that many runs."""
    if runs % (TASKS_OF_COHORT * CANDIDATES):
        raise ValueError(f"{runs} runs can't be made of {TASKS_OF_COHORT} tasks and {CANDIDATES} candidates")
    spec = make_cohort(namespace=NAMESPACE).spec.as_json() | {
        "tasks": [
            {"name": f"task-{number}", "publicSha256": _public(number), "sealedSha256": SEALED_SHA256}
            for number in range(TASKS_OF_COHORT)
        ],
        "repetitions": runs // (TASKS_OF_COHORT * CANDIDATES),
        "execution": {"resourceClassName": "small", "parallelism": parallelism},
        "seal": True,
    }
    return obj(COHORTS, COHORT, NAMESPACE, spec=spec)


def _public(number: int) -> str:
    return f"{number:064x}"


def pod_spec() -> Object:
    """The spec of an agent's pod, as the operator makes it, for peers to create."""
    settings = PodSettings(IMAGE, IMAGE, GATEWAY)
    run = make_run(namespace=NAMESPACE)
    made: Object = build.agent_pod(run, make_task(), make_resource_class(), settings)["spec"]
    return made


def obj(resource: Resource, name: str, namespace: str | None, *, metadata: Any = None, **more: Any) -> Object:
    """An object of a kind."""
    base: Object = {"name": name} | ({"namespace": namespace} if namespace else {}) | dict(metadata or {})
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": base} | more
