"""`make demo CONTEXT=…`: somebody's own cluster and store, as the README says it.

The cluster is the local one under another name. Whatever looks at the kubeconfig's current context, at the store of the
local cluster, or into its cache finds nothing there.
"""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

import local_cluster
from examples.demo import __main__ as demo
from examples.demo.install import OUR_IMAGES, ROOT, RUN_NAMESPACE, Target
from fairtrial.cli.kubectl import Kubectl
from local_cluster import cache as local_cache
from local_cluster import layout

CRD = "benchmarktasks.fairtrial.dev"
STORE = ("FAIRTRIAL_S3_ENDPOINT", "FAIRTRIAL_S3_BUCKET", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
OUTCOMES = {
    "noop-parse-defect": "failed",
    "reference-busybox": "passed",
    "reference-node-feature": "passed",
    "reference-parse-defect": "passed",
    "tamperer-parse-defect": "failed",
    "wrong-parse-defect": "failed",
}


@dataclass(frozen=True)
class Theirs:
    """What somebody with a cluster of their own has."""

    environment: dict[str, str]
    values: Path
    cache: Path

    def demo(self, context: str) -> subprocess.CompletedProcess[str]:
        """What `make demo CONTEXT=… VALUES=…` runs."""
        command = [sys.executable, "-m", "examples.demo", "--context", context, "--values", str(self.values)]
        return subprocess.run(command, cwd=ROOT, env=self.environment, capture_output=True, text=True, check=False)


def kubeconfig_of(cluster: local_cluster.Cluster) -> dict[str, Any]:
    """The cluster's own access under other names, behind a current context that leads nowhere."""
    own = yaml.safe_load(cluster.kubeconfig.read_text())
    access = {"cluster": own["clusters"][0]["cluster"], "user": own["users"][0]["user"]}
    nowhere = {"name": "nowhere", "cluster": {"server": "https://127.0.0.1:1"}}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "nowhere",
        "clusters": [{"name": "their-cluster", "cluster": access["cluster"]}, nowhere],
        "users": [{"name": "their-user", "user": access["user"]}],
        "contexts": [
            {"name": "theirs", "context": {"cluster": "their-cluster", "user": "their-user"}},
            {"name": "nowhere", "context": {"cluster": "nowhere", "user": "their-user"}},
        ],
    }


@pytest.fixture(scope="module")
def theirs(cluster: local_cluster.Cluster, installed: Target, tmp_path_factory: pytest.TempPathFactory) -> Theirs:
    """The values are those that are installed, so that nothing restarts under other tests."""
    folder = tmp_path_factory.mktemp("theirs")
    (folder / "kubeconfig").write_text(json.dumps(kubeconfig_of(cluster)))
    values = {
        "images": {name: installed.images[name] for name in OUR_IMAGES},
        "exampleImages": {name: installed.images[name] for name in demo.EXAMPLE_IMAGES},
        "gateway": {"replicas": 1},
        "isolation": {"probes": [], "clusterDns": ""},
        **installed.values,
    }
    (folder / "values.yaml").write_text(yaml.safe_dump(values))
    store = {name: cluster.environment()[name] for name in STORE}
    path = os.pathsep.join([str(cluster.bin_dir), str(Path(sys.executable).parent), "/usr/bin", "/bin"])
    shell = {"PATH": path, "HOME": str(folder), "KUBECONFIG": str(folder / "kubeconfig")}
    cache = folder / "cache"
    cache.mkdir()
    (cache / "sources").symlink_to(
        local_cache.root() / "sources"
    )  # packages that tasks are made of; all else is not theirs
    return Theirs(shell | store | {"FAIRTRIAL_CACHE": str(cache)}, folder / "values.yaml", cache)


@pytest.fixture(scope="module")
def told(theirs: Theirs) -> Iterator[str]:
    """The output of a demo on a cluster with an older CRD."""
    kubectl = Kubectl()
    crd = kubectl.get("crd", CRD)
    columns = crd["spec"]["versions"][0]["additionalPrinterColumns"]
    remove = [{"op": "remove", "path": f"/spec/versions/0/additionalPrinterColumns/{len(columns) - 1}"}]
    kubectl.run("patch", "crd", CRD, "--type=json", "--patch", json.dumps(remove))
    running = components()

    done = theirs.demo("theirs")

    assert done.returncode == 0, done.stdout + done.stderr
    assert components() == running, "a component of the local cluster was started or stopped"
    yield done.stdout
    Kubectl(None, RUN_NAMESPACE).run("delete", "benchmarkruns", "--selector", f"{demo.DEMO_LABEL}=true", "--wait=false")


def components() -> dict[str, str]:
    """What is noted of each daemon: its process and when that was started."""
    return {note.name: note.read_text() for note in (layout.state() / "pids").glob("*.json")}


def test_every_run_ends_as_on_the_local_cluster(told: str) -> None:
    rows = dict(re.findall(r"^([a-z-]+) +(passed|failed|invalid|void|cancelled|—) ", told, flags=re.MULTILINE))

    assert rows == OUTCOMES


def test_every_record_is_named_and_the_commands_that_are_shown_find_it(told: str, theirs: Theirs) -> None:
    assert len(re.findall(r"^  s3://\S+/record\.json +sha256:[0-9a-f]{64}$", told, flags=re.MULTILINE)) == len(OUTCOMES)

    shown = [line.split("#")[0] for line in told.splitlines() if line.startswith(("  kubectl ", "  fairtrial record "))]
    assert len(shown) == 3
    for line in shown:
        done = subprocess.run(shlex.split(line), env=theirs.environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{line}: {done.stderr}"
        assert "noop-parse-defect" in done.stdout


def test_the_crds_become_those_of_the_chart(told: str) -> None:
    written = yaml.safe_load((ROOT / "crds" / "benchmarktasks.yaml").read_text())

    assert Kubectl().get("crd", CRD)["spec"]["versions"] == written["spec"]["versions"]


def test_nothing_is_built_or_kept_in_the_cache(told: str, theirs: Theirs) -> None:
    assert told
    assert [path.name for path in theirs.cache.iterdir()] == ["sources"]


def test_a_cluster_that_does_not_answer_is_told_in_words(theirs: Theirs) -> None:
    done = theirs.demo("nowhere")

    assert done.returncode == 1
    assert "✗ kubectl apply: " in done.stderr
    assert "127.0.0.1:1" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", STORE)
def test_a_variable_of_the_store_that_is_missing_is_named(theirs: Theirs, name: str) -> None:
    without = {key: value for key, value in theirs.environment.items() if key != name}

    done = Theirs(without, theirs.values, theirs.cache).demo("theirs")

    assert done.returncode == 1
    assert f"error: set {name} to use your own S3 store" in done.stderr
