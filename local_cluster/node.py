"""The node: containerd, the kubelet, kube-proxy and the enforcer of NetworkPolicy, with their configuration.

The unusual settings are for machines that are themselves guests: no right to lower an OOM score, cgroup v1, and a disk
that is shared and fuller than it looks. Each says so where it is made.
"""

import json
from collections.abc import Mapping
from pathlib import Path

import yaml

from local_cluster import layout, network
from local_cluster.layout import BRIDGE_ADDRESS, PORTS
from local_cluster.packages import CNI_PLUGINS, program
from local_cluster.processes import Component

PAUSE_IMAGE = "localhost/fairtrial/pause:local"
CGROUP_ROOT = Path("/sys/fs/cgroup")

# Nothing could be pulled again, so the kubelet must never clean up images or evict for a disk that others fill. Memory
# is ours to watch.
DISK_IS_NOT_OURS = {
    "imageGCHighThresholdPercent": 100,
    "imageGCLowThresholdPercent": 99,
    "evictionHard": {
        "nodefs.available": "0%",
        "nodefs.inodesFree": "0%",
        "imagefs.available": "0%",
        "imagefs.inodesFree": "0%",
        "memory.available": "100Mi",
    },
}

# What the enforcer may do: read whom a policy selects, and tell about it.
NETWORK_POLICIES_ROLE = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "fairtrial:network-policies"}
rules:
  - {apiGroups: [""], resources: [pods, namespaces], verbs: [list, watch]}
  - {apiGroups: [networking.k8s.io], resources: [networkpolicies], verbs: [list, watch]}
  - {apiGroups: ["", events.k8s.io], resources: [events], verbs: [create, patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: "fairtrial:network-policies"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "fairtrial:network-policies"}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: network-policies}]
"""


def containerd() -> Component:
    """Our own containerd beside any other: own root, own state, own socket."""
    config = layout.state() / "config" / "containerd.toml"
    cni = layout.state() / "cni" / "config" / "10-fairtrial.conflist"
    return Component(
        "containerd",
        (program("containerd"), "--config", str(config)),
        f"http://127.0.0.1:{PORTS.containerd_health}/v1/metrics",
        (PORTS.containerd_health,),
        files={config: containerd_config(layout.state(), cni.parent), cni: network.cni_config()},
    )


def containerd_config(state: Path, cni: Path) -> str:
    """containerd's configuration, version 2."""
    return f"""\
version = 2
root = "{state}/containerd"
state = "{state}/containerd-run"

[grpc]
  address = "{layout.containerd_socket()}"

[metrics]
  address = "127.0.0.1:{PORTS.containerd_health}"

[plugins."io.containerd.internal.v1.opt"]
  path = "{state}/containerd-opt"

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE_IMAGE}"
  # A guest without CAP_SYS_RESOURCE may not lower a score, and every sandbox would fail for trying.
  restrict_oom_score_adj = true
  # Below our own state, so that `down` finds them.
  netns_mounts_under_state_dir = true

  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{CNI_PLUGINS}"
    conf_dir = "{cni}"

  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"

    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"

      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
        Root = "{state}/runc"
"""


def kubelet(programs: Mapping[str, Path]) -> Component:
    """The kubelet, on the bridge's address: the API server reaches it there, and nobody from outside."""
    config, resolv = layout.state() / "config" / "kubelet.yaml", layout.state() / "config" / "resolv.conf"
    flags = (
        f"--config={config}",
        f"--kubeconfig={layout.kubeconfig('kubelet-client')}",
        f"--hostname-override={layout.NODE}",
        f"--node-ip={BRIDGE_ADDRESS}",
        f"--root-dir={layout.kubelet_root()}",
        f"--cert-dir={layout.state() / 'kubelet-certificates'}",
    )
    return Component(
        "kubelet",
        (str(programs["kubelet"]), *flags),
        f"http://127.0.0.1:{PORTS.kubelet_health}/healthz",
        (PORTS.kubelet, PORTS.kubelet_health),
        files={config: yaml.safe_dump(kubelet_config(resolv)), resolv: "nameserver 127.0.0.1\n"},
    )


def kubelet_config(resolv: Path) -> dict[str, object]:
    """The kubelet's configuration; what is not here is at its default."""
    certificates = layout.certificates()
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": BRIDGE_ADDRESS,
        "port": PORTS.kubelet,
        "healthzPort": PORTS.kubelet_health,
        "tlsCertFile": str(certificates / "kubelet.crt"),
        "tlsPrivateKeyFile": str(certificates / "kubelet.key"),
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(certificates / "cluster-ca.crt")},
        },
        "authorization": {"mode": "Webhook"},
        "containerRuntimeEndpoint": f"unix://{layout.containerd_socket()}",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{layout.CGROUP}",
        "failCgroupV1": False,
        "failSwapOn": False,
        "oomScoreAdj": 0,
        "maxPods": 110,
        "serializeImagePulls": False,
        "makeIPTablesUtilChains": False,
        "podLogsDir": str(layout.pod_logs()),
        "volumePluginDir": str(layout.state() / "volume-plugins"),
        # There is no DNS server. Looking up a name fails at once inside the pod instead of after ten seconds.
        "clusterDNS": ["127.0.0.1"],
        "clusterDomain": "cluster.local",
        "resolvConf": str(resolv),
        **DISK_IS_NOT_OURS,
    }


def kube_proxy(programs: Mapping[str, Path]) -> Component:
    """kube-proxy in nftables mode; it leaves the machine's conntrack settings alone."""
    config = layout.state() / "config" / "kube-proxy.yaml"
    settings = {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "clientConnection": {"kubeconfig": str(layout.kubeconfig("kube-proxy"))},
        "hostnameOverride": layout.NODE,
        "clusterCIDR": layout.POD_RANGE,
        "healthzBindAddress": f"127.0.0.1:{PORTS.kube_proxy_health}",
        "metricsBindAddress": f"127.0.0.1:{PORTS.kube_proxy_metrics}",
        "nodePortAddresses": [f"{BRIDGE_ADDRESS}/32"],
        "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
    }
    return Component(
        "kube-proxy",
        (str(programs["kube-proxy"]), f"--config={config}"),
        f"http://127.0.0.1:{PORTS.kube_proxy_health}/livez",
        (PORTS.kube_proxy_health, PORTS.kube_proxy_metrics),
        files={config: json.dumps(settings, indent=2)},
    )


def network_policies(programs: Mapping[str, Path]) -> Component:
    """The enforcer that the rules of network.py ask about every new connection."""
    certificates = layout.certificates()
    flags = {
        "server": layout.API_URL,
        "ca": certificates / "cluster-ca.crt",
        "cert": certificates / "network-policies.crt",
        "key": certificates / "network-policies.key",
        "node": layout.NODE,
        "policy-queue": layout.POLICY_QUEUE,
        "guard-queue": layout.GUARD_QUEUE,
        "health": f"127.0.0.1:{PORTS.network_policies_health}",
    }
    return Component(
        "network-policies",
        (str(programs["network-policies"]), *(f"-{name}={value}" for name, value in flags.items())),
        f"http://127.0.0.1:{PORTS.network_policies_health}/healthz",
        (PORTS.network_policies_health,),
    )


def make_cgroups() -> None:
    """The cgroup that holds all pods, in every hierarchy of this machine; the kubelet insists that it exists."""
    for hierarchy in cgroup_hierarchies():
        (hierarchy / layout.CGROUP).mkdir(exist_ok=True)


def cgroup_hierarchies() -> list[Path]:
    """The root of every cgroup file system: one with cgroup v2, one per controller with v1."""
    mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    return [Path(mount[1]) for mount in mounts if mount[2] in {"cgroup", "cgroup2"}]
