"""Installs the Helm chart and prepares the demo's namespace, on the local cluster or on somebody's own."""

import json
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from examples.demo import signing
from fairtrial.cli.kubectl import Kubectl
from local_cluster.progress import step

ROOT = Path(__file__).parents[2]
SYSTEM_NAMESPACE = "fairtrial-system"
RUN_NAMESPACE = "fairtrial-demo"
RELEASE = "fairtrial"
STORE_SECRET = "fairtrial-store"
OUR_IMAGES = ("operator", "gateway", "runner", "evaluator", "analysis")


@dataclass(frozen=True)
class Target:
    """A cluster and a store to demonstrate on."""

    context: str | None
    images: dict[str, str]  # name → image by digest
    endpoint: str
    bucket: str
    access_key: str
    secret_key: str
    values: dict[str, Any] = field(default_factory=dict)  # the user's own, which win over the demo's
    probes: list[dict[str, Any]] = field(default_factory=list)
    local: bool = True

    @property
    def own_keys(self) -> bool:
        """Whether the demo's development keys sign: unless the user's values name others."""
        return "signing" not in self.values


def install(target: Target) -> None:
    """The chart, its store Secret, and a namespace that takes part. Safe to repeat; returns when all are ready."""
    kubectl = Kubectl(target.context)
    with step("prepare the namespaces, the store's Secret, and development keys to sign with"):
        if target.own_keys:
            signing.ensure()
        kubectl.apply(_prerequisites(target))
    with step("install the Helm chart and wait until operator and gateway are ready"):
        command = ["helm", "upgrade", "--install", RELEASE, str(ROOT / "charts" / "fairtrial")]
        command += ["--namespace", SYSTEM_NAMESPACE, "--wait", "--timeout", "2m", "--values", "-"]
        # CRDs that were applied by hand before, or kept by an earlier uninstall, become the chart's.
        command += ["--take-ownership", "--force-conflicts"]
        if target.context:
            command += ["--kube-context", target.context]
        done = subprocess.run(
            command, input=json.dumps(chart_values(target)), text=True, capture_output=True, check=False
        )
        if done.returncode != 0:
            raise SystemExit(f"helm failed:\n{done.stdout}{done.stderr}\n{_why_not_ready(kubectl)}")
    with step("apply the resource classes"):
        for file in sorted((ROOT / "examples" / "resource-classes").glob("*.yaml")):
            kubectl.apply(file.read_text())


def chart_values(target: Target) -> dict[str, Any]:
    """The chart's values for this target. On the local cluster the canary is the only thing to probe."""
    values: dict[str, Any] = {
        "images": {name: target.images[name] for name in OUR_IMAGES},
        "store": {"endpoint": target.endpoint, "bucket": target.bucket, "existingSecret": STORE_SECRET},
    }
    if target.own_keys:
        values["signing"] = signing.values()
    if target.local:
        values["gateway"] = {"replicas": 1}
        values["isolation"] = {"probes": target.probes, "clusterDns": ""}  # it has no DNS
    return _merged(values, target.values)


def _merged(ours: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Any]:
    """Both, with `theirs` where they differ; as Helm merges values."""
    both = {
        key: _merged(ours[key], value) if isinstance(value, dict) and isinstance(ours.get(key), dict) else value
        for key, value in theirs.items()
    }
    return ours | both


def _prerequisites(target: Target) -> str:
    restricted = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn")}
    objects: list[dict[str, Any]] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM_NAMESPACE, "labels": restricted}},
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": RUN_NAMESPACE, "labels": restricted | {"fairtrial.dev/enabled": "true"}},
        },
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": STORE_SECRET, "namespace": SYSTEM_NAMESPACE},
            "stringData": {"accessKeyId": target.access_key, "secretAccessKey": target.secret_key},
        },
        *(signing.secrets(SYSTEM_NAMESPACE) if target.own_keys else ()),
    ]
    return "\n---\n".join(json.dumps(item) for item in objects)


def _why_not_ready(kubectl: Kubectl) -> str:
    pods = kubectl.run("get", "pods", "-n", SYSTEM_NAMESPACE, "-o", "wide")
    events = kubectl.run("get", "events", "-n", SYSTEM_NAMESPACE, "--sort-by=.lastTimestamp")
    logs = []
    for part in ("operator", "gateway"):
        try:
            logs.append(kubectl.run("logs", "-n", SYSTEM_NAMESPACE, f"deploy/{RELEASE}-{part}", "--tail=20"))
        except Exception as error:  # the pod may not exist yet; the rest of the report still helps
            logs.append(str(error))
    return "\n".join([pods, "\n".join(events.splitlines()[-12:]), *logs])


def existing_store() -> dict[str, str]:
    """The store that CONTEXT= users name by the same variables that every part reads."""
    names = ("FAIRTRIAL_S3_ENDPOINT", "FAIRTRIAL_S3_BUCKET", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
    missing = [name for name in names if not os.environ.get(name)]
    if missing:
        raise SystemExit(f"error: set {', '.join(missing)} to use your own S3 store; README.md, “Your own cluster”.")
    return {name: os.environ[name] for name in names}
