"""Every name, address, port and path of the cluster, so that two modules never disagree and `down` misses nothing."""

from dataclasses import dataclass
from pathlib import Path

from local_cluster import cache

NODE = "fairtrial"
BRIDGE = "fairtrial0"
CNI_NETWORK = "fairtrial-pods"
CONTAINERD_NAMESPACE = "k8s.io"  # the one that the kubelet's runtime interface uses

# 198.18.0.0/15 is set aside for benchmarks (RFC 2544): no address here can be mistaken for a real host.
CLUSTER_RANGE = "198.18.0.0/15"
POD_RANGE = "198.18.0.0/16"
BRIDGE_ADDRESS = "198.18.0.1"
SERVICE_RANGE = "198.19.0.0/20"
API_SERVICE_ADDRESS = "198.19.0.1"

# All cgroups of pods live below this one, so that whatever runs in it is ours and may be killed by `down`.
CGROUP = "fairtrial-cluster"

# The numbers of the two netfilter queues that binaries/network-policies serves.
POLICY_QUEUE = 26100
GUARD_QUEUE = 26101


@dataclass(frozen=True)
class Ports:
    """Ports on this machine, away from the usual ones so that another cluster or server can stay."""

    api: int = 26443
    etcd: int = 26379
    etcd_peer: int = 26380
    etcd_health: int = 26381
    controller_manager: int = 26257
    scheduler: int = 26259
    containerd_health: int = 26247
    kubelet: int = 26250
    kubelet_health: int = 26248
    kube_proxy_health: int = 26256
    kube_proxy_metrics: int = 26249
    network_policies_health: int = 26080
    s3: int = 26070


PORTS = Ports()
API_URL = f"https://{BRIDGE_ADDRESS}:{PORTS.api}"
S3_URL = f"http://{BRIDGE_ADDRESS}:{PORTS.s3}"


def state() -> Path:
    """The folder of everything that belongs to the running cluster and goes away with it."""
    return cache.root() / "cluster"


def certificates() -> Path:
    """Keys and certificates, made once per cluster."""
    return state() / "certificates"


def kubeconfig(user: str = "admin") -> Path:
    """The kubeconfig of one user; people use `admin`."""
    return state() / ("kubeconfig" if user == "admin" else f"kubeconfigs/{user}")


def logs() -> Path:
    """One file per component, and the API server's audit log."""
    return state() / "logs"


def containerd_socket() -> Path:
    """Where our own containerd listens."""
    return state() / "containerd.sock"


def kubelet_root() -> Path:
    """The kubelet's volumes and checkpoints."""
    return state() / "kubelet"


def pod_logs() -> Path:
    """The containers' own output, as `kubectl logs` reads it."""
    return state() / "pod-logs"


def s3_data() -> Path:
    """Objects, their old versions, users and the root credentials of the S3 server."""
    return state() / "s3"


def images_file() -> Path:
    """Which image names are loaded, and under which digest."""
    return state() / "images.json"
