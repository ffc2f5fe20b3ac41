"""CRDs follow the chart. Tried with the chart's own template over a CRD of a group that nobody else uses.

The whole chart can be in a cluster once; that it brings exactly the generated CRDs is seen in `test_templates.py`.
"""

import copy
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import local_cluster
from fairtrial.testing import make_task
from tests.integration.conftest import Kubectl

ROOT = Path(__file__).parents[3]
GROUP = "upgraded.fairtrial.dev"
NAME = f"benchmarktasks.{GROUP}"
Crd = dict[str, Any]
Install = Callable[..., None]


@pytest.fixture
def crd(kubectl: Kubectl) -> Iterator[Crd]:
    """A generated CRD in a group of its own, without names that would stand for others'."""
    made: Crd = yaml.safe_load((ROOT / "crds" / "benchmarktasks.yaml").read_text())
    made["metadata"]["name"] = NAME
    made["spec"]["group"] = GROUP
    made["spec"]["names"].pop("shortNames", None)
    made["spec"]["names"].pop("categories", None)
    yield made
    kubectl("delete", "crd", NAME, "--ignore-not-found", "--wait=true", "--timeout=60s")


@pytest.fixture
def install(cluster: local_cluster.Cluster, namespace: str, tmp_path: Path) -> Install:
    """`helm upgrade --install`, as the documentation says it, of a chart with our template and this CRD."""
    chart = tmp_path / "chart"
    (chart / "templates").mkdir(parents=True)
    (chart / "generated" / "crds").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: crds\nversion: 0.1.0\n")
    shutil.copy(ROOT / "charts" / "fairtrial" / "templates" / "crds.yaml", chart / "templates")

    def helm(*arguments: str) -> None:
        done = subprocess.run(
            [str(cluster.bin_dir / "helm"), *arguments, "--namespace", namespace, "--wait", "--timeout", "1m"],
            env=os.environ | cluster.environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr

    def install(crd: Crd | None, *flags: str) -> None:
        if crd is None:
            helm("uninstall", "crds")
            return
        (chart / "generated" / "crds" / "benchmarktasks.yaml").write_text(yaml.safe_dump(crd))
        helm("upgrade", "--install", "crds", str(chart), *flags)

    return install


def older(crd: Crd) -> Crd:
    """What an earlier release might have had: one column fewer, and a field that there is no more."""
    before = copy.deepcopy(crd)
    (version,) = before["spec"]["versions"]
    version["additionalPrinterColumns"].pop()
    version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["formerly"] = {"type": "string"}
    return before


def live(kubectl: Kubectl) -> Crd:
    return json.loads(kubectl("get", "crd", NAME, "--show-managed-fields", "-o", "json"))


def test_an_upgrade_makes_the_crd_what_the_chart_has(kubectl: Kubectl, install: Install, crd: Crd) -> None:
    install(older(crd))
    assert live(kubectl)["spec"]["versions"] == older(crd)["spec"]["versions"]

    install(crd)

    assert live(kubectl)["spec"]["versions"] == crd["spec"]["versions"]


def test_it_is_applied_on_the_server(kubectl: Kubectl, install: Install, crd: Crd) -> None:
    install(older(crd))
    install(crd)

    owners = [each for each in live(kubectl)["metadata"]["managedFields"] if "f:versions" in json.dumps(each)]
    assert [(each["manager"], each["operation"]) for each in owners] == [("helm", "Apply")]


def test_one_that_was_applied_by_hand_becomes_the_charts(kubectl: Kubectl, install: Install, crd: Crd) -> None:
    kubectl("apply", "--server-side", "-f", "-", stdin=older(crd))

    install(crd, "--take-ownership", "--force-conflicts")

    assert live(kubectl)["spec"]["versions"] == crd["spec"]["versions"]


def test_what_there_is_of_its_kind_outlives_an_upgrade_and_an_uninstall(
    kubectl: Kubectl, install: Install, crd: Crd, namespace: str
) -> None:
    install(older(crd))
    kubectl("wait", "--for=condition=Established", "--timeout=30s", f"crd/{NAME}")
    kept = make_task().as_json() | {"apiVersion": f"{GROUP}/v1alpha1", "metadata": {"name": "kept"}}
    kubectl("apply", "-n", namespace, "--server-side", "-f", "-", stdin=kept)

    install(crd)
    install(None)

    assert kubectl.get(NAME, "kept", "-n", namespace)["spec"] == kept["spec"]
