"""A gateway outside the cluster, with a real API server for identity and a real store: for measurements and tests.

Needs kubectl with rights to create namespaces, custom resources and tokens, and the variables of the store (see
local_cluster). Everything lies in one namespace and one bucket of its own.
"""

import base64
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairtrial import names
from local_cluster import s3
from local_cluster.s3 import Credentials

ROOT = Path(__file__).parents[1]
PUBLIC, SEALED = "a" * 64, "b" * 64
ROLE_RULES = [
    {"apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"], "verbs": ["create"]},
    {"apiGroups": [names.GROUP], "resources": ["benchmarkruns", "modelproviders"], "verbs": ["get"]},
]


class GatewayWorld:
    """One namespace, one bucket, and the gateways started in them."""

    def __init__(self, env: Mapping[str, str] = os.environ, *, lock: bool = False) -> None:
        self.env = dict(env)
        self.namespace = f"gateway-{secrets.token_hex(4)}"
        self.env["FAIRTRIAL_S3_BUCKET"] = self.namespace
        self._folder = tempfile.TemporaryDirectory(prefix="fairtrial-gateway-")
        self.folder = Path(self._folder.name)
        self.processes: list[subprocess.Popen[bytes]] = []
        keys = Credentials(self.env["AWS_ACCESS_KEY_ID"], self.env["AWS_SECRET_ACCESS_KEY"])
        self.s3 = s3.client_at(self.env["FAIRTRIAL_S3_ENDPOINT"], keys)
        self.s3.create_bucket(Bucket=self.namespace, ObjectLockEnabledForBucket=lock)
        self._set_up_cluster()

    def close(self) -> None:
        """End the gateways and delete the namespace, the role and the bucket's objects where it lets us."""
        for process in self.processes:
            process.kill()
            process.wait()
        self.kubectl("delete", "clusterrole,clusterrolebinding", self.namespace, "--ignore-not-found")
        self.kubectl("delete", "benchmarkruns", "--all", "-n", self.namespace, "--wait=false")
        self.kubectl("delete", "namespace", self.namespace, "--wait=false")
        self._empty_bucket()
        self._folder.cleanup()

    def kubectl(self, *arguments: str, stdin: object = None) -> str:
        """Run kubectl; its standard output."""
        data = json.dumps(stdin) if stdin is not None else None
        done = subprocess.run(
            ["kubectl", *arguments], input=data, env=self.env, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"kubectl {' '.join(arguments)}: {done.stderr}")
        return done.stdout

    def create(self, *objects: dict[str, Any]) -> None:
        """Create objects in the namespace."""
        for each in objects:
            self.kubectl("create", "-n", self.namespace, "-f", "-", stdin=each)

    def run(self, name: str) -> str:
        """A run with its two pods, which nothing schedules, named in its status; returns the run's UID."""
        self.create(_run(name), *(_pod(f"{name}-{role}") for role in (names.AGENT, names.EVALUATOR)))
        pods = {
            role: {"name": f"{name}-{role}", "uid": self.pod_uid(f"{name}-{role}")} for role in ("agent", "evaluator")
        }
        task = {
            "version": 1,
            "publicSha256": PUBLIC,
            "sealedSha256": SEALED,
            "evaluatorImage": f"registry.example/evaluator@sha256:{'e' * 64}",
        }
        self.status(name, {"task": task, "agentPod": pods["agent"], "evaluatorPod": pods["evaluator"]})
        return self.kubectl("get", "benchmarkrun", name, "-n", self.namespace, "-o", "jsonpath={.metadata.uid}")

    def status(self, run: str, status: dict[str, Any]) -> None:
        """Merge fields into a run's status."""
        patch = json.dumps({"status": status})
        self.kubectl(
            "patch", "benchmarkrun", run, "-n", self.namespace, "--subresource=status", "--type=merge", "-p", patch
        )

    def pod(self, name: str) -> None:
        """A pod that nothing schedules."""
        self.create(_pod(name))

    def pod_uid(self, name: str) -> str:
        """A pod's UID."""
        return self.kubectl("get", "pod", name, "-n", self.namespace, "-o", "jsonpath={.metadata.uid}")

    def token(self, pod: str, audience: str, account: str = names.SERVICE_ACCOUNT) -> str:
        """A real token of the service account, bound to the pod, good for one audience."""
        return self.kubectl(
            *("create", "token", account, "-n", self.namespace, f"--audience={audience}", "--duration=10m"),
            *("--bound-object-kind=Pod", f"--bound-object-name={pod}", f"--bound-object-uid={self.pod_uid(pod)}"),
        ).strip()

    def start_gateway(self, **env: str) -> "RunningGateway":
        """Start a gateway process and wait until it is ready."""
        gateway = self.launch_gateway(**env)
        gateway.until_ready()
        return gateway

    def launch_gateway(self, **env: str) -> "RunningGateway":
        """Start a gateway process."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        log = self.folder / f"gateway-{port}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "fairtrial_gateway"],
                env=self.env
                | {
                    "FAIRTRIAL_GATEWAY_HOST": "127.0.0.1",
                    "FAIRTRIAL_GATEWAY_PORT": str(port),
                    "FAIRTRIAL_GATEWAY_SPOOL_DIR": str(self.folder / f"spool-{port}"),
                    "FAIRTRIAL_KUBERNETES_URL": self._kubernetes["server"],
                    "FAIRTRIAL_KUBERNETES_CA_FILE": str(self.folder / "ca.crt"),
                    "FAIRTRIAL_KUBERNETES_TOKEN_FILE": str(self.folder / "token"),
                    **MALLOC,
                    **env,
                },
                stderr=output,
            )
        self.processes.append(process)
        return RunningGateway(process, port, log)

    def _set_up_cluster(self) -> None:
        config = json.loads(self.kubectl("config", "view", "--raw", "-o", "json"))
        self._kubernetes = config["clusters"][0]["cluster"]
        (self.folder / "ca.crt").write_bytes(base64.b64decode(self._kubernetes["certificate-authority-data"]))
        crds = ("--field-manager=fairtrial-crds", "-f", str(ROOT / "crds"))
        self.kubectl("apply", "--server-side", "--force-conflicts", *crds)
        self.kubectl("create", "-f", "-", stdin=_object("v1", "Namespace", self.namespace))
        self.create(
            _object("v1", "ServiceAccount", names.SERVICE_ACCOUNT),
            _object("v1", "ServiceAccount", "gateway"),
            _object("rbac.authorization.k8s.io/v1", "ClusterRole", self.namespace) | {"rules": ROLE_RULES},
            _object("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", self.namespace)
            | {
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": self.namespace},
                "subjects": [{"kind": "ServiceAccount", "name": "gateway", "namespace": self.namespace}],
            },
        )
        token = self.kubectl("create", "token", "gateway", "-n", self.namespace, "--duration=1h")
        (self.folder / "token").write_text(token.strip())

    def _empty_bucket(self) -> None:
        listed = self.s3.list_objects_v2(Bucket=self.namespace).get("Contents", [])
        for each in listed:
            self.s3.delete_object(Bucket=self.namespace, Key=each["Key"])


# As in the gateway's image: big blocks go back to the system when they are freed.
MALLOC = {"MALLOC_ARENA_MAX": "2", "MALLOC_MMAP_THRESHOLD_": "1048576", "MALLOC_TRIM_THRESHOLD_": "1048576"}


class RunningGateway:
    """A gateway process."""

    def __init__(self, process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
        self.process, self.port, self._log = process, port, log
        self.url = f"http://127.0.0.1:{port}"

    def log(self) -> str:
        """Everything that it logged."""
        return self._log.read_text()

    def until_ready(self, seconds: float = 30) -> None:
        """Wait for /readyz to say yes."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                with urllib.request.urlopen(f"{self.url}/readyz", timeout=5):
                    return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError(f"the gateway did not get ready:\n{self.log()}")

    def rss(self) -> int:
        """Resident bytes now."""
        return self._memory("VmRSS")

    def peak_rss(self) -> int:
        """The most resident bytes since the start, or since `reset_peak`."""
        return self._memory("VmHWM")

    def reset_peak(self) -> None:
        """Forget the peak so far."""
        Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")

    def cpu_seconds(self) -> float:
        """Processor time used so far, by programs and by the kernel for them."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self, seconds: float = 40) -> int:
        """Tell it to end and wait; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(seconds)

    def _memory(self, field: str) -> int:
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(f"{field}:"):
                return int(line.split()[1]) * 1024
        raise RuntimeError(f"the kernel does not tell {field}")


def _object(api_version: str, kind: str, name: str) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}}


def _run(name: str) -> dict[str, Any]:
    image = f"registry.example/agent@sha256:{'d' * 64}"
    return _object(names.API_VERSION, "BenchmarkRun", name) | {
        "spec": {
            "taskRef": {"name": "task-1"},
            "candidate": {"name": "candidate-1", "version": "1.0", "image": image, "argv": ["/bin/agent"]},
            "resourceClassName": "small",
        }
    }


def _pod(name: str) -> dict[str, Any]:
    return _object("v1", "Pod", name) | {
        "spec": {
            "serviceAccountName": names.SERVICE_ACCOUNT,
            "automountServiceAccountToken": False,
            "nodeSelector": {"fairtrial.dev/nowhere": "true"},
            "containers": [{"name": "pause", "image": "registry.example/pause"}],
        }
    }
