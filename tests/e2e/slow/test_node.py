"""A node that goes away with its pods, and one that runs out of memory: the runs are invalid, and say which it was."""

import dataclasses
import json
import time
from collections.abc import Iterator

import pytest
import yaml

import local_cluster
from fairtrial.cli.kubectl import Kubectl, KubectlFailed
from local_cluster import binaries, layout, node, processes
from tests.e2e.conftest import Run, World
from tests.e2e.test_disruptions import LONG, facts, start_long_run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
ROOMY = """
apiVersion: fairtrial.dev/v1alpha1
kind: ResourceClass
metadata: {name: roomy}
spec:
  requests: {cpu: 50m, memory: 64Mi, ephemeralStorage: 64Mi}
  limits: {cpu: "1", memory: 4Gi, ephemeralStorage: 512Mi}
  workspaceSize: 64Mi
  homeSize: 16Mi
  tmpSize: 64Mi
  deadlines: {snapshotSeconds: 20, evaluateSeconds: 120, uploadSeconds: 20}
"""
MIB = 2**20
HOG_MIB, PRESSURE_AT_MIB = 2000, 1000  # what the agent takes, and how much less than now may be left
HOG = f"held = bytearray({HOG_MIB << 20}); held[::4096] = b'x' * len(held[::4096]); import time; time.sleep(600)"


@pytest.fixture(scope="module", autouse=True)
def roomy() -> None:
    Kubectl().apply(ROOMY)


@pytest.fixture
def easily_pressed(cluster: local_cluster.Cluster) -> Iterator[None]:
    """A kubelet that sees pressure as soon as a gigabyte less than now is free."""
    stats = json.loads(Kubectl().run("get", "--raw", f"/api/v1/nodes/{layout.NODE}/proxy/stats/summary"))
    threshold = stats["node"]["memory"]["availableBytes"] // MIB - PRESSURE_AT_MIB
    described = node.kubelet(binaries.build_all())
    path = next(path for path in described.files if path.name == "kubelet.yaml")
    config = yaml.safe_load(described.files[path])
    config["evictionHard"]["memory.available"] = f"{threshold}Mi"
    config["evictionPressureTransitionPeriod"] = "5s"
    files = {**described.files, path: yaml.safe_dump(config)}
    processes.ensure(dataclasses.replace(described, files=files))
    yield
    cluster.start_component("kubelet")


def test_a_node_that_is_lost_makes_its_runs_invalid(world: World, cluster: local_cluster.Cluster) -> None:
    """The only node goes, and the operator's pod with it. Where no node is left, Kubernetes taints none to empty it."""
    name = start_long_run(world, resourceClassName="roomy")
    cluster.stop_component("kubelet")
    try:
        Kubectl().run("delete", "node", layout.NODE)
        until = time.monotonic() + 180
        while not collected(world, f"{name}-agent"):
            assert time.monotonic() < until, "nobody collected the pod of a node that is gone"
            time.sleep(2)
    finally:
        cluster.start_component("kubelet")

    assert facts(world.recorded(name, seconds=400)) == ("invalid", "evaluation_infra_error", "node_lost")


def collected(world: World, pod: str) -> bool:
    """Whether the garbage collector of pods has been there; with the record stored, the pod may be gone by then."""
    try:
        conditions = world.kubectl.get("pod", pod)["status"].get("conditions", [])
    except KubectlFailed:
        return True
    return any(one["type"] == "DisruptionTarget" for one in conditions)


def test_a_node_under_memory_pressure_evicts_and_the_run_is_invalid(world: World, easily_pressed: None) -> None:
    example = world.example(LONG, resourceClassName="roomy", limits={"wallSeconds": 600, "graceSeconds": 3})
    example["spec"]["candidate"] |= {"name": "hog", "argv": ["python3", "-c", HOG]}
    name = world.apply(example)

    run: Run = world.recorded(name, seconds=300)

    assert facts(run) == ("invalid", "evaluation_infra_error", "evicted")
    assert "low on resource: memory" in run["status"]["agentPod"]["facts"]["message"]
