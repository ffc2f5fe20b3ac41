"""Kueue in the local cluster, for tests of queues: built from its Go module, installed by the module's own chart."""

import json
import subprocess
import time
from pathlib import Path
from typing import Any

from local_cluster import binaries, images
from local_cluster.progress import step

RELEASE = NAMESPACE = "kueue-system"
MODULE = "sigs.k8s.io/kueue"
SOURCE = binaries.SOURCES / "kueue"
# Only pods are of interest here: every other kind would get webhooks that stand in the way of other tests.
CONFIGURATION = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
health: {healthProbeBindAddress: ":8081"}
metrics: {bindAddress: ":8443"}
webhook: {port: 9443}
leaderElection: {leaderElect: false}
controller: {groupKindConcurrency: {Pod: 5, Workload.kueue.x-k8s.io: 5, LocalQueue.kueue.x-k8s.io: 1}}
clientConnection: {qps: 50, burst: 100}
integrations: {frameworks: [pod]}
managedJobsNamespaceSelector:
  matchLabels: {fairtrial.dev/enabled: "true"}
"""

_TRIED = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: tried}
spec: {namespaceSelector: {}}
"""


def image() -> str:
    """The reference, by digest, of Kueue's image in the running cluster; about six minutes to build the first time."""
    folder = binaries.build("kueue", f"{MODULE}/cmd/kueue")
    archive = images.build(images.Image("kueue", SOURCE / "Dockerfile", folder, arguments={}))
    return images.load("kueue", archive)


def chart() -> Path:
    """The chart that the module brings."""
    return binaries.module(SOURCE, MODULE) / "charts" / "kueue"


def install() -> None:
    """Install it and wait until its webhooks answer. Safe to repeat."""
    with step("install Kueue and wait until it is ready"):
        _helm("upgrade", "--install", RELEASE, str(chart()), "--create-namespace", "--wait", "--timeout", "5m",
              values=_values(image()))  # fmt: skip
        _wait_for_webhooks()


def uninstall() -> None:
    """Take it away again, its webhooks with it: while they are there, no pod is made without them."""
    _helm("uninstall", RELEASE, "--wait", "--ignore-not-found")


def _wait_for_webhooks(seconds: float = 120) -> None:
    """Ready is said before the webhooks listen: try one, without making anything, until it answers."""
    deadline = time.monotonic() + seconds
    while True:
        done = subprocess.run(
            ["kubectl", "apply", "--dry-run=server", "-f", "-"],
            input=_TRIED,
            text=True,
            capture_output=True,
            check=False,
        )
        if done.returncode == 0:
            return
        if time.monotonic() > deadline:
            raise RuntimeError(f"Kueue's webhooks did not answer in {seconds:.0f} s: {done.stderr.strip()}")
        time.sleep(1)


def _values(reference: str) -> dict[str, Any]:
    name, _, digest = reference.rpartition(":")
    small = {"requests": {"cpu": "50m", "memory": "128Mi"}, "limits": {"cpu": "1", "memory": "512Mi"}}
    # The chart joins the two by a colon: a digest fits as well as a tag.
    manager = {"image": {"repository": name, "tag": digest, "pullPolicy": "IfNotPresent"}, "resources": small}
    return {
        "controllerManager": {"manager": manager},
        "managerConfig": {"controllerManagerConfigYaml": CONFIGURATION},
    }


def _helm(*arguments: str, values: dict[str, Any] | None = None) -> None:
    given = ["--values", "-"] if values is not None else []
    done = subprocess.run(
        ["helm", *arguments, "--namespace", NAMESPACE, *given],
        input=json.dumps(values or {}),
        text=True,
        capture_output=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"helm {arguments[0]} of Kueue failed: {done.stderr.strip()}")
