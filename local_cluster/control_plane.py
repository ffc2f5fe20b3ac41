"""The control plane: etcd, the API server, the controller manager and the scheduler, as they run in any cluster.

Admission and feature gates stay at their defaults, so what is accepted here is accepted elsewhere. Two things differ
from a production cluster, both for speed on a test machine: etcd does not wait for the disk, and nobody elects leaders.
"""

from collections.abc import Mapping
from pathlib import Path

from local_cluster import layout
from local_cluster.layout import BRIDGE_ADDRESS, PORTS
from local_cluster.processes import Component

# Who did what to which object, without bodies: enough to count a program's writes.
AUDIT_POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - level: Metadata
"""


def components(programs: Mapping[str, Path]) -> list[Component]:
    """The control plane's daemons in the order in which they need each other."""
    return [_etcd(programs), _api(programs), _controller_manager(programs), _scheduler(programs)]


def _etcd(programs: Mapping[str, Path]) -> Component:
    certificates = layout.certificates()
    client, peer = f"https://127.0.0.1:{PORTS.etcd}", f"http://127.0.0.1:{PORTS.etcd_peer}"
    flags = {
        "name": layout.NODE,
        "data-dir": layout.state() / "etcd",
        "unsafe-no-fsync": "true",
        "listen-client-urls": client,
        "advertise-client-urls": client,
        "listen-peer-urls": peer,
        "initial-advertise-peer-urls": peer,
        "initial-cluster": f"{layout.NODE}={peer}",
        "cert-file": certificates / "etcd.crt",
        "key-file": certificates / "etcd.key",
        "client-cert-auth": "true",
        "trusted-ca-file": certificates / "etcd-ca.crt",
        "listen-metrics-urls": f"http://127.0.0.1:{PORTS.etcd_health}",
        "auto-compaction-retention": "1h",
        "log-level": "warn",
    }
    health = f"http://127.0.0.1:{PORTS.etcd_health}/health"
    return Component("etcd", _command(programs["etcd"], flags), health, (PORTS.etcd, PORTS.etcd_peer))


def _api(programs: Mapping[str, Path]) -> Component:
    certificates, audit_policy = layout.certificates(), layout.state() / "config" / "audit-policy.yaml"
    flags: dict[str, object] = {
        # All interfaces, so that 127.0.0.1 works too; network.py drops what comes from outside the machine.
        "bind-address": "0.0.0.0",  # noqa: S104
        "secure-port": PORTS.api,
        "advertise-address": BRIDGE_ADDRESS,
        "service-cluster-ip-range": layout.SERVICE_RANGE,
        "allow-privileged": "true",
        "authorization-mode": "Node,RBAC",
        "enable-admission-plugins": "NodeRestriction",
        "client-ca-file": certificates / "cluster-ca.crt",
        "tls-cert-file": certificates / "api.crt",
        "tls-private-key-file": certificates / "api.key",
        "etcd-servers": f"https://127.0.0.1:{PORTS.etcd}",
        "etcd-cafile": certificates / "etcd-ca.crt",
        "etcd-certfile": certificates / "api-to-etcd.crt",
        "etcd-keyfile": certificates / "api-to-etcd.key",
        "kubelet-certificate-authority": certificates / "cluster-ca.crt",
        "kubelet-client-certificate": certificates / "api-to-kubelet.crt",
        "kubelet-client-key": certificates / "api-to-kubelet.key",
        "kubelet-preferred-address-types": "InternalIP",
        **_extension_flags(certificates),
        "service-account-issuer": "https://kubernetes.default.svc.cluster.local",
        "service-account-key-file": certificates / "service-accounts.pub",
        "service-account-signing-key-file": certificates / "service-accounts.key",
        "audit-policy-file": audit_policy,
        "audit-log-path": layout.logs() / "audit.log",
        "audit-log-maxsize": 500,
        "audit-log-maxbackup": 1,
        "shutdown-delay-duration": "0s",
    }
    health = f"https://127.0.0.1:{PORTS.api}/readyz"
    command = _command(programs["kube-apiserver"], flags)
    return Component("kube-apiserver", command, health, (PORTS.api,), files={audit_policy: AUDIT_POLICY})


def _extension_flags(certificates: Path) -> dict[str, object]:
    """How the API server introduces its callers to an extension API server behind it."""
    return {
        "requestheader-client-ca-file": certificates / "front-proxy-ca.crt",
        "requestheader-allowed-names": "api-to-aggregated",
        "requestheader-username-headers": "X-Remote-User",
        "requestheader-group-headers": "X-Remote-Group",
        "requestheader-extra-headers-prefix": "X-Remote-Extra-",
        "proxy-client-cert-file": certificates / "api-to-aggregated.crt",
        "proxy-client-key-file": certificates / "api-to-aggregated.key",
    }


def _controller_manager(programs: Mapping[str, Path]) -> Component:
    certificates, kubeconfig = layout.certificates(), layout.kubeconfig("controller-manager")
    flags = {
        "kubeconfig": kubeconfig,
        "authentication-kubeconfig": kubeconfig,
        "authorization-kubeconfig": kubeconfig,
        "bind-address": "127.0.0.1",
        "secure-port": PORTS.controller_manager,
        "leader-elect": "false",
        "use-service-account-credentials": "true",
        "root-ca-file": certificates / "cluster-ca.crt",
        "service-account-private-key-file": certificates / "service-accounts.key",
        "cluster-signing-cert-file": certificates / "cluster-ca.crt",
        "cluster-signing-key-file": certificates / "cluster-ca.key",
    }
    health = f"https://127.0.0.1:{PORTS.controller_manager}/healthz"
    command = _command(programs["kube-controller-manager"], flags)
    return Component("kube-controller-manager", command, health, (PORTS.controller_manager,))


def _scheduler(programs: Mapping[str, Path]) -> Component:
    kubeconfig = layout.kubeconfig("scheduler")
    flags = {
        "kubeconfig": kubeconfig,
        "authentication-kubeconfig": kubeconfig,
        "authorization-kubeconfig": kubeconfig,
        "bind-address": "127.0.0.1",
        "secure-port": PORTS.scheduler,
        "leader-elect": "false",
    }
    health = f"https://127.0.0.1:{PORTS.scheduler}/healthz"
    return Component("kube-scheduler", _command(programs["kube-scheduler"], flags), health, (PORTS.scheduler,))


def _command(program: Path, flags: Mapping[str, object]) -> tuple[str, ...]:
    return (str(program), *(f"--{name}={value}" for name, value in flags.items()))
