"""What integration tests stand on: a running cluster, its kubectl, our CRDs, and a namespace of the test's own."""

import json
import os
import secrets
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import local_cluster
from fairtrial import names

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Answer:
    """What one call of kubectl ended with."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Kubectl:
    """kubectl of the running cluster. `kubectl("get", "brun")` fails the test if kubectl fails; `try_` does not."""

    cluster: local_cluster.Cluster

    def __call__(self, *arguments: str, stdin: Any = None) -> str:
        answer = self.try_(*arguments, stdin=stdin)
        assert answer.code == 0, f"kubectl {' '.join(arguments)}: {answer.err}"
        return answer.out

    def try_(self, *arguments: str, stdin: Any = None) -> Answer:
        """Call kubectl; anything but text on standard input is sent as JSON."""
        text = stdin if stdin is None or isinstance(stdin, str) else json.dumps(stdin)
        done = subprocess.run(
            [str(self.cluster.bin_dir / "kubectl"), *arguments],
            env=os.environ | self.cluster.environment(),
            input=text,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        return Answer(done.returncode, done.stdout, done.stderr)

    def get(self, *arguments: str) -> dict[str, Any]:
        """The parsed JSON of `kubectl get …`."""
        parsed: dict[str, Any] = json.loads(self("get", *arguments, "-o", "json"))
        return parsed


@pytest.fixture(scope="session")
def cluster() -> local_cluster.Cluster:
    """The local cluster: the running one, or one that is started now and left running."""
    return local_cluster.current() or local_cluster.up()


@pytest.fixture(scope="session")
def kubectl(cluster: local_cluster.Cluster) -> Kubectl:
    """kubectl, with our CRDs applied as they lie in the repository."""
    ready = Kubectl(cluster)
    ready("apply", "--server-side", "--force-conflicts", "--field-manager=fairtrial-crds", "-f", str(ROOT / "crds"))
    ready("wait", "--for=condition=Established", "--timeout=60s", "-f", str(ROOT / "crds"))
    return ready


@pytest.fixture(scope="session")
def new_namespace(kubectl: Kubectl) -> Iterator[Callable[..., str]]:
    """Make a namespace under a fresh name; all are deleted at the end of the session, which nobody waits for."""
    made: list[str] = []

    def make(**labels: str) -> str:
        name = f"test-{secrets.token_hex(4)}"
        metadata = {"name": name, "labels": labels}
        kubectl("create", "-f", "-", stdin={"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
        made.append(name)
        return name

    yield make
    for name in made:
        kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture
def namespace(new_namespace: Callable[..., str]) -> str:
    """A namespace of this test's own, with Pod Security `restricted`. No operator that may be installed serves it."""
    return new_namespace(**{names.NAMESPACE_LABEL: "integration", "pod-security.kubernetes.io/enforce": "restricted"})
