"""One cluster, one installation and one namespace for all end-to-end tests; every example run is applied at once."""

import json
import os
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

import local_cluster
from examples.demo import __main__ as demo
from examples.demo.install import ROOT, Target, install
from fairtrial.cli.kubectl import Kubectl
from fairtrial.cli.watch import is_recorded
from fairtrial.evidence import layout
from fairtrial.evidence.store import S3Store

Run = dict[str, Any]
NO_SUCH_IMAGE = f"localhost/fairtrial/analysis@sha256:{'0' * 64}"  # that may analyse, and that no registry has
CLASSES = """
apiVersion: fairtrial.dev/v1alpha1
kind: ResourceClass
metadata: {name: impatient}
spec:
  requests: {cpu: 50m, memory: 64Mi, ephemeralStorage: 64Mi}
  limits: {cpu: "1", memory: 256Mi, ephemeralStorage: 512Mi}
  workspaceSize: 64Mi
  homeSize: 16Mi
  tmpSize: 64Mi
  deadlines:
    schedulingSeconds: 20
    pullingSeconds: 20
    setupSeconds: 60
    snapshotSeconds: 60
    evaluateSeconds: 120
    uploadSeconds: 60
---
apiVersion: fairtrial.dev/v1alpha1
kind: ResourceClass
metadata: {name: nowhere}
spec:
  requests: {cpu: 50m, memory: 64Mi, ephemeralStorage: 64Mi}
  limits: {cpu: "1", memory: 256Mi, ephemeralStorage: 512Mi}
  workspaceSize: 64Mi
  homeSize: 16Mi
  tmpSize: 64Mi
  nodeSelector: {fairtrial.dev/there-is: no-such-node}
  deadlines:
    schedulingSeconds: 20
    pullingSeconds: 20
    setupSeconds: 60
    snapshotSeconds: 60
    evaluateSeconds: 120
    uploadSeconds: 60
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whichever test comes first builds the images, which takes minutes where the cache has none."""
    for item in items:
        if Path(__file__).parent in item.path.parents and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(1800))


@pytest.fixture(scope="session")
def cluster() -> Iterator[local_cluster.Cluster]:
    """The local cluster with every image built and loaded; left running, as `make test` found or started it."""
    running = local_cluster.up(with_images=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{running.bin_dir}{os.pathsep}{os.environ['PATH']}")
        for name, value in running.environment().items():
            patch.setenv(name, value)
        yield running


@pytest.fixture(scope="session")
def installed(cluster: local_cluster.Cluster) -> Target:
    """The chart, installed the way `make demo` does it."""
    target = replace(demo.target_of(cluster), values={"analysis": {"images": [NO_SUCH_IMAGE]}})
    install(target)
    return target


class World:
    """What a test does to the cluster, in one line each."""

    def __init__(self, target: Target, namespace: str) -> None:
        self.target = target
        self.namespace = namespace
        self.kubectl = Kubectl(None, namespace)
        self.store = S3Store.from_env()

    def apply(self, run: Run) -> str:
        """Apply one run; returns its name."""
        self.kubectl.apply(yaml.safe_dump(run))
        return str(run["metadata"]["name"])

    def example(self, file: str, name: str | None = None, **spec: Any) -> Run:
        """An example run with its images pinned, renamed and with some spec fields replaced."""
        (run,) = demo.example_runs(self.target.images, (file,))
        run["metadata"] = {"name": name or f"{file[:40]}-{uuid.uuid4().hex[:6]}"}
        run["spec"] |= spec
        return run

    def get(self, name: str) -> Run:
        """The run as the API server has it."""
        return self.kubectl.get("benchmarkruns.fairtrial.dev", name)

    def wait(self, name: str, until: Callable[[Run], bool], seconds: float = 240) -> Run:
        """The run once `until` holds; fails with its whole status if it never does."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            run = self.get(name)
            if until(run):
                return run
            time.sleep(0.5)
        raise AssertionError(f"{name} did not get there in {seconds} s:\n{json.dumps(run.get('status'), indent=1)}")

    def recorded(self, name: str, seconds: float = 300) -> Run:
        """The run once its record is stored."""
        return self.wait(name, is_recorded, seconds)

    def record(self, run: Run) -> dict[str, Any]:
        """The stored record, after comparing its bytes with the hash in the status."""
        named = run["status"]["record"]
        data = self.store.get(layout.key_of_uri(named["uri"]))
        assert layout.sha256(data) == named["sha256"]
        parsed: dict[str, Any] = json.loads(data)
        return parsed

    def artifact(self, run: Run, name: str) -> bytes:
        """One artifact of a run."""
        base = layout.key_of_uri(run["status"]["record"]["uri"]).removesuffix("record.json")
        return self.store.get(f"{base}artifacts/{name}")

    def condition(self, run: Run, kind: str) -> dict[str, Any]:
        """One condition of a run, {} if it has none of that type."""
        found = [c for c in run.get("status", {}).get("conditions", []) if c["type"] == kind]
        return found[0] if found else {}


def make_namespace(kubectl: Kubectl, name: str) -> None:
    """A namespace that takes part."""
    labels = {"fairtrial.dev/enabled": "true", "pod-security.kubernetes.io/enforce": "restricted"}
    kubectl.apply(json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}))


@pytest.fixture(scope="session")
def world(installed: Target) -> Iterator[World]:
    """A fresh namespace with every example task pushed."""
    namespace = f"e2e-{uuid.uuid4().hex[:6]}"
    make_namespace(Kubectl(), namespace)
    Kubectl().apply(CLASSES)
    demo.push_tasks(installed, namespace)
    yield World(installed, namespace)
    Kubectl().run("delete", "namespace", namespace, "--wait=false")


@pytest.fixture(scope="session")
def example_runs(world: World) -> dict[str, Run]:
    """Every run of examples/runs, applied together: they wait for each other's capacity, not for each other's test."""
    names = sorted(path.stem for path in (ROOT / "examples" / "runs").glob("*.yaml"))
    runs = {name: world.example(name, name) for name in names}
    world.kubectl.apply(yaml.safe_dump_all(list(runs.values())))
    return runs
