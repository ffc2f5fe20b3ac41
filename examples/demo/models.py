"""A model for the demo's agents: the scripted provider on the cluster, and the objects through which runs call it."""

import hashlib
import json
from pathlib import Path
from typing import Any

import yaml

from examples import render
from examples.demo.install import ROOT, Target
from fairtrial.cli.kubectl import Kubectl
from local_cluster.progress import step

NAMESPACE, NAME = "fairtrial-demo-models", "scripted-provider"
SCRIPTS = ROOT / "examples" / "scripts"
_FOLDER = ROOT / "examples" / "provider"


def deploy(target: Target, script: Path) -> str:
    """Start the provider, or another script on it; its address, once it answers there."""
    kubectl = Kubectl(target.context, NAMESPACE)
    with step(f"start the scripted provider with {script.name}"):
        kubectl.apply(yaml.safe_dump_all(provider(target.images, script.read_text())))
        kubectl.run("rollout", "status", f"deployment/{NAME}", "--timeout=120s")
    # By number: not every cluster has a DNS.
    return f"http://{kubectl.get('service', NAME)['spec']['clusterIP']}:8099"


def provider(images: dict[str, str], script: str) -> list[dict[str, Any]]:
    """The provider's objects. Another script makes other pods, since a running one keeps what it read. Pure."""
    namespace, *others = render.render_file(_FOLDER / "provider.yaml", images)
    for item in others:
        if item["kind"] == "Deployment":
            digest = hashlib.sha256(script.encode()).hexdigest()
            item["spec"]["template"]["metadata"]["annotations"] = {"script-sha256": digest}
    config = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": NAME, "namespace": NAMESPACE},
        "data": {"script.yaml": script},
    }
    return [namespace, config, *others]


def declare(kubectl: Kubectl, url: str) -> None:
    """The Secret and the ModelProviders, one for each wire. They are never edited, so those at another address go."""
    wanted = model_providers(url)
    with step("declare the provider's four wires as ModelProviders"):
        for item in wanted:
            if item["kind"] == "ModelProvider":
                kubectl.run("delete", "modelprovider", item["metadata"]["name"], "--ignore-not-found")
        kubectl.apply(yaml.safe_dump_all(wanted))


def model_providers(url: str) -> list[dict[str, Any]]:
    """The objects of models.yaml at another address. Pure."""
    items: list[dict[str, Any]] = list(yaml.safe_load_all((_FOLDER / "models.yaml").read_text()))
    for item in items:
        if item["kind"] == "ModelProvider":
            item["spec"]["url"] = url
    return items


def answered(target: Target, model: str) -> list[dict[str, Any]]:
    """What the provider says it answered to requests for this model: its own log, one entry for each request."""
    logs = Kubectl(target.context, NAMESPACE).run("logs", f"deployment/{NAME}", "--tail=-1")
    seen = [json.loads(line) for line in logs.splitlines() if line.startswith("{")]
    return [one for one in seen if one["model"] == model]
