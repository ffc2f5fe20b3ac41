"""A control plane of the measurement's own: etcd, API server, scheduler, controller manager, kwok, an S3 server.

Nothing is shared with a running local cluster: other ports, another data folder, and everything ends with `stop`. The
programs are the local cluster's, from its cache; kwok and Argo Workflows are built beside them the first time.
"""

import base64
import json
import secrets
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from benchmarks.cohort_scale.processes import Process, Usage
from local_cluster import binaries

HERE = Path(__file__).parent
BUILT_HERE = {
    "kwok": "sigs.k8s.io/kwok/cmd/kwok",
    "argo-workflows": "github.com/argoproj/argo-workflows/v4/cmd/workflow-controller",
}
ETCD, ETCD_PEER, API, MANAGER, SCHEDULER, KWOK, S3, OPERATOR_HEALTH = (
    27379, 27380, 27443, 27257, 27259, 27247, 27070, 27081,
)  # fmt: skip
BUCKET, REGION = "cohort-scale", "us-east-1"
# Who calls. Everybody but the two daemons, which have roles of their own, may do everything.
USERS = ("client", "operator", "recorder", "kwok", "argo", "system:kube-scheduler", "system:kube-controller-manager")
# What is not measured is not written down: leases, and what others read; but that kwok need not read all anew is seen.
AUDIT_POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
  - level: None
    resources: [{group: coordination.k8s.io}]
  - level: None
    users: [client, recorder, "system:apiserver", "system:kube-scheduler"]
    verbs: [get, list, watch]
  - level: None
    users: [kwok]
    verbs: [get]
  - level: Metadata
"""
# The daemons' own limits on requests: 50/s for the scheduler, 20/s for each controller, unless they are raised.
RAISED = {"kube-api-qps": 5000, "kube-api-burst": 5000}


def programs(*, argo: bool) -> dict[str, Path]:
    """Every program by name; builds what the cache lacks, Argo Workflows only where it is asked for."""
    found = binaries.build_all() | {"kwok": _built("kwok")}
    return found | ({"argo": _built("argo-workflows")} if argo else {})


def _built(name: str) -> Path:
    return binaries.build(name, BUILT_HERE[name], HERE / "binaries") / name


class ControlPlane:
    """A fresh control plane in `folder`. With `raised` its daemons' limits on requests are out of the way."""

    def __init__(self, folder: Path, found: dict[str, Path], *, raised: bool, stages: str) -> None:
        self.folder, self._programs, self._raised, self._stages = folder, found, raised, stages
        self.audit = folder / "audit.log"
        self.processes: dict[str, Process] = {}
        self._tokens = {user: secrets.token_hex(16) for user in USERS}
        self._s3 = {"AWS_ACCESS_KEY_ID": "SCALE", "AWS_SECRET_ACCESS_KEY": secrets.token_hex(16)}

    # --- for everybody who connects -----------------------------------------------------------------------------------
    def kubeconfig(self, user: str) -> Path:
        """A kubeconfig of one user."""
        path = self.folder / f"kubeconfig-{user.replace(':', '-')}"
        cluster = {"server": f"https://127.0.0.1:{API}", "insecure-skip-tls-verify": True}
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "x",
            "clusters": [{"name": "x", "cluster": cluster}],
            "users": [{"name": "x", "user": {"token": self._tokens[user]}}],
            "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
        }
        path.write_text(yaml.safe_dump(document))
        return path

    def environment(self, user: str) -> dict[str, str]:
        """The variables by which our programs find API server and store."""
        return {
            "KUBECONFIG": str(self.kubeconfig(user)),
            "FAIRTRIAL_S3_ENDPOINT": f"http://127.0.0.1:{S3}",
            "FAIRTRIAL_S3_BUCKET": BUCKET,
            "AWS_DEFAULT_REGION": REGION,
            **self._s3,
        }

    def run(self, name: str, command: list[str], env: dict[str, str] | None = None) -> Process:
        """Start one more process that ends with the control plane."""
        made = self.processes[name] = Process(name, command, self.folder, env)
        return made

    def kubectl(self, *arguments: str | Path) -> None:
        """Call kubectl as the client."""
        command = [str(self._programs["kubectl"]), f"--kubeconfig={self.kubeconfig('client')}", *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env={"HOME": str(self.folder)})
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr}")

    def usage(self) -> dict[str, Usage]:
        """What every running process has used."""
        return {name: process.usage() for name, process in self.processes.items() if process.running}

    def stored_bytes(self) -> int:
        """What etcd holds, without what has been overwritten or deleted."""
        newest = self._etcd("kv/range", {"key": base64.b64encode(b"\0").decode()})["header"]["revision"]
        self._etcd("kv/compaction", {"revision": newest, "physical": True})
        self._etcd("maintenance/defragment", {})
        return int(self._etcd("maintenance/status", {})["dbSizeInUse"])

    # --- start and stop -----------------------------------------------------------------------------------------------
    def start(self) -> None:
        """Start everything; returns when the API server and the store answer."""
        self._write_files()
        self._start("etcd", self._etcd_flags()).wait_for(f"http://127.0.0.1:{ETCD}/health")
        token = self._tokens["client"]
        self._start("kube-apiserver", self._api_flags()).wait_for(f"https://127.0.0.1:{API}/readyz", token=token)
        for name, port in (("kube-controller-manager", MANAGER), ("kube-scheduler", SCHEDULER)):
            self._start(name, self._daemon_flags(name, port)).wait_for(f"https://127.0.0.1:{port}/healthz")
        self._start(
            "kwok",
            {
                "kubeconfig": self.kubeconfig("kwok"),
                "manage-all-nodes": "true",
                "server-address": f"127.0.0.1:{KWOK}",
                "config": self.folder / "stages.yaml",
            },
        ).wait_for(f"http://127.0.0.1:{KWOK}/healthz")
        self._start_s3()

    def stop(self) -> None:
        """Stop everything, the last one first."""
        for process in reversed(self.processes.values()):
            process.stop(patience=10)

    def _start(self, name: str, flags: dict[str, Any]) -> Process:
        command = [str(self._programs[name]), *(f"--{flag}={value}" for flag, value in flags.items())]
        # It stands for other machines. Where it lags, the API server cuts its watch, and it reads all pods anew.
        return self.run(name, ["nice", "-n", "-15", *command] if name == "kwok" else command)

    def _write_files(self) -> None:
        self.folder.mkdir(parents=True)
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        form = (serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL)
        (self.folder / "accounts.key").write_bytes(key.private_bytes(*form, serialization.NoEncryption()))
        (self.folder / "audit.yaml").write_text(AUDIT_POLICY)
        (self.folder / "stages.yaml").write_text(self._stages)
        rows = (
            f"{token},{user},{user}{'' if user.startswith('system:') else ',system:masters'}\n"
            for user, token in self._tokens.items()
        )
        (self.folder / "tokens.csv").write_text("".join(rows))

    def _etcd_flags(self) -> dict[str, Any]:
        client, peer = f"http://127.0.0.1:{ETCD}", f"http://127.0.0.1:{ETCD_PEER}"
        return {
            "data-dir": self.folder / "etcd",
            "unsafe-no-fsync": "true",
            "listen-client-urls": client,
            "advertise-client-urls": client,
            "listen-peer-urls": peer,
            "initial-advertise-peer-urls": peer,
            "initial-cluster": f"default={peer}",
            "quota-backend-bytes": 8 * 2**30,
            "log-level": "warn",
        }

    def _api_flags(self) -> dict[str, Any]:
        return {
            "bind-address": "127.0.0.1",
            "secure-port": API,
            "cert-dir": self.folder / "certificates",
            "etcd-servers": f"http://127.0.0.1:{ETCD}",
            "service-cluster-ip-range": "198.19.16.0/20",
            "authorization-mode": "RBAC",
            "token-auth-file": self.folder / "tokens.csv",
            "service-account-issuer": "https://kubernetes.default.svc",
            "service-account-key-file": self.folder / "accounts.key",
            "service-account-signing-key-file": self.folder / "accounts.key",
            "audit-policy-file": self.folder / "audit.yaml",
            "audit-log-path": self.audit,
            "audit-log-maxsize": 100_000,
        }

    def _daemon_flags(self, name: str, port: int) -> dict[str, Any]:
        path = self.kubeconfig(f"system:{name}")
        flags: dict[str, Any] = {
            "kubeconfig": path,
            "authentication-kubeconfig": path,
            "authorization-kubeconfig": path,
            "bind-address": "127.0.0.1",
            "secure-port": port,
            "leader-elect": "false",
        }
        if name == "kube-controller-manager":
            key = self.folder / "accounts.key"
            flags |= {"use-service-account-credentials": "true", "service-account-private-key-file": key}
            # Else it deletes ended pods from 12,500 on, and kwok reads all pods anew each time, on half a core.
            flags["terminated-pod-gc-threshold"] = 0
        return flags | (RAISED if self._raised else {})

    def _start_s3(self) -> None:
        for name in ("objects", "versions", "users"):
            (self.folder / "s3" / name).mkdir(parents=True)
        data = self.folder / "s3"
        command = [str(self._programs["versitygw"]), f"--port=127.0.0.1:{S3}", f"--region={REGION}"]
        command += [f"--iam-dir={data / 'users'}", "--health=/health", "--quiet", "--keep-alive"]
        command += ["posix", f"--versioning-dir={data / 'versions'}", str(data / "objects")]
        root = {"ROOT_ACCESS_KEY": self._s3["AWS_ACCESS_KEY_ID"], "ROOT_SECRET_KEY": self._s3["AWS_SECRET_ACCESS_KEY"]}
        self.run("s3", command, root).wait_for(f"http://127.0.0.1:{S3}/health")

    def _etcd(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        request = urllib.request.Request(f"http://127.0.0.1:{ETCD}/v3/{path}", json.dumps(body).encode())
        with opener.open(request, timeout=120) as answer:
            found: dict[str, Any] = json.loads(answer.read())
            return found
