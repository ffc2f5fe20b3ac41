"""The pod network: a bridge, the sysctls and netfilter rules around it, and the CNI configuration that uses it.

Three rules hold whatever the policies say. Pods reach pods, services and this machine, never anything beyond it. A new
connection passes only if the enforcer (binaries/network-policies) lets it, so a dead enforcer means no traffic. And
there is no IPv6 on the bridge, since nothing would judge it.

Everything here can be set up twice and taken down from any state.
"""

import json
import subprocess
from pathlib import Path

from local_cluster import layout

CHAIN_PREFIX = "FAIRTRIAL-"
# Fixed, because a bridge without an address of its own takes one from its ports, and pods' ARP entries then go stale.
BRIDGE_MAC = "02:fa:1e:12:00:01"

IPTABLES = f"""\
*mangle
:FAIRTRIAL-PREROUTING - [0:0]
:FAIRTRIAL-FORWARD - [0:0]
:FAIRTRIAL-INPUT - [0:0]
-A FAIRTRIAL-PREROUTING -i {layout.BRIDGE} ! -s {layout.POD_RANGE} -j DROP
-A FAIRTRIAL-PREROUTING -i {layout.BRIDGE} -m conntrack --ctstate NEW -j NFQUEUE --queue-num {layout.GUARD_QUEUE}
-A FAIRTRIAL-FORWARD -i {layout.BRIDGE} -m conntrack --ctstate NEW -j NFQUEUE --queue-num {layout.POLICY_QUEUE}
-A FAIRTRIAL-FORWARD -o {layout.BRIDGE} -m conntrack --ctstate NEW -j NFQUEUE --queue-num {layout.POLICY_QUEUE}
-A FAIRTRIAL-INPUT -i {layout.BRIDGE} -m conntrack --ctstate NEW -j NFQUEUE --queue-num {layout.POLICY_QUEUE}
COMMIT
*filter
:FAIRTRIAL-FORWARD - [0:0]
:FAIRTRIAL-INPUT - [0:0]
-A FAIRTRIAL-FORWARD -i {layout.BRIDGE} -o {layout.BRIDGE} -j ACCEPT
-A FAIRTRIAL-FORWARD -i {layout.BRIDGE} -j DROP
-A FAIRTRIAL-FORWARD -o {layout.BRIDGE} -j DROP
-A FAIRTRIAL-INPUT -i lo -j RETURN
-A FAIRTRIAL-INPUT -i {layout.BRIDGE} -j ACCEPT
-A FAIRTRIAL-INPUT -d {layout.CLUSTER_RANGE} -j DROP
-A FAIRTRIAL-INPUT -p tcp --dport {layout.PORTS.api} -j DROP
COMMIT
"""
IP6TABLES = f"""\
*mangle
:FAIRTRIAL-PREROUTING - [0:0]
-A FAIRTRIAL-PREROUTING -i {layout.BRIDGE} -j DROP
COMMIT
"""
RULESETS = {"iptables": IPTABLES, "ip6tables": IP6TABLES}

SYSCTLS = {
    "net.ipv4.ip_forward": "1",
    "net.bridge.bridge-nf-call-iptables": "1",
    "net.bridge.bridge-nf-call-ip6tables": "1",
}
# The kubelet and kube-proxy set these by themselves; they are noted so that `down` can put the old values back.
TOUCHED_BY_COMPONENTS = (
    "vm.overcommit_memory",
    "vm.panic_on_oom",
    "kernel.panic",
    "kernel.panic_on_oops",
    "kernel.keys.root_maxkeys",
    "kernel.keys.root_maxbytes",
    "net.ipv4.conf.all.route_localnet",
    "net.netfilter.nf_conntrack_max",
)


def set_up() -> None:
    """Make the bridge, its routes and rules, or repair them."""
    _save_sysctls()
    for name, value in SYSCTLS.items():
        if not _sysctl_path(name).exists():
            _run("modprobe", "br_netfilter", check=False)
        _sysctl_path(name).write_text(value)
    if not Path("/sys/class/net", layout.BRIDGE).exists():
        _run("ip", "link", "add", layout.BRIDGE, "address", BRIDGE_MAC, "type", "bridge")
    _run("ip", "address", "replace", f"{layout.BRIDGE_ADDRESS}/16", "dev", layout.BRIDGE)
    _run("ip", "link", "set", layout.BRIDGE, "up")
    # Without this route a request to a service would leave the machine whenever kube-proxy is not running.
    _run("ip", "route", "replace", layout.SERVICE_RANGE, "dev", layout.BRIDGE, "src", layout.BRIDGE_ADDRESS)
    for tool, text in _supported_rulesets().items():
        _run(f"{tool}-restore", "--noflush", stdin=text)
        for table, hook, chain in jumps(text):
            if not _succeeds(tool, "-t", table, "-C", hook, "-j", chain):
                _run(tool, "-t", table, "-I", hook, "1", "-j", chain)


def tear_down() -> None:
    """Remove the bridge and every rule of ours and of kube-proxy, and put the sysctls back."""
    for tool, text in _supported_rulesets().items():
        for table, hook, chain in jumps(text):
            while _succeeds(tool, "-t", table, "-D", hook, "-j", chain):
                pass
            _succeeds(tool, "-t", table, "-F", chain)
            _succeeds(tool, "-t", table, "-X", chain)
        _remove_empty_tables(tool)
    for family, table in (("ip", "kube-proxy"), ("ip6", "kube-proxy"), ("inet", "kube-network-policies")):
        _succeeds("nft", "delete", "table", family, table)
    _succeeds("ip", "link", "delete", layout.BRIDGE)
    _succeeds("conntrack", "-D", "-s", layout.CLUSTER_RANGE)
    _restore_sysctls()


def jumps(ruleset: str) -> list[tuple[str, str, str]]:
    """(table, built-in chain, our chain) for each of our chains in a ruleset; the names say where each hangs."""
    found, table = [], ""
    for line in ruleset.splitlines():
        if line.startswith("*"):
            table = line[1:]
        elif line.startswith(f":{CHAIN_PREFIX}"):
            chain = line[1:].split()[0]
            found.append((table, chain.removeprefix(CHAIN_PREFIX), chain))
    return found


def cni_config() -> str:
    """The CNI network: one bridge for all pods, no address translation, addresses kept in our own state."""
    bridge = {
        "type": "bridge",
        "bridge": layout.BRIDGE,
        "isGateway": True,
        "ipMasq": False,
        "hairpinMode": True,
        "ipam": {
            "type": "host-local",
            "dataDir": str(layout.state() / "cni" / "addresses"),
            "ranges": [[{"subnet": layout.POD_RANGE, "gateway": layout.BRIDGE_ADDRESS}]],
            "routes": [{"dst": "0.0.0.0/0"}],
        },
    }
    return json.dumps({"cniVersion": "1.0.0", "name": layout.CNI_NETWORK, "plugins": [bridge]}, indent=2)


def _remove_empty_tables(tool: str) -> None:
    """iptables makes a table when it is first used and never removes it; one that says nothing can go."""
    saved = subprocess.run([f"{tool}-save"], capture_output=True, text=True, check=False).stdout
    for table in empty_tables(saved):
        _succeeds("nft", "delete", "table", "ip6" if tool == "ip6tables" else "ip", table)


def empty_tables(saved: str) -> list[str]:
    """The tables in the output of iptables-save that hold nothing but built-in chains which accept."""
    empty = []
    for block in saved.split("COMMIT"):
        lines = [line for line in block.splitlines() if line and not line.startswith("#")]
        if lines and all(line.split()[1] == "ACCEPT" for line in lines[1:]):
            empty.append(lines[0].removeprefix("*"))
    return empty


def _supported_rulesets() -> dict[str, str]:
    has_ipv6 = Path("/proc/net/if_inet6").exists()
    return {tool: text for tool, text in RULESETS.items() if tool == "iptables" or has_ipv6}


def _sysctl_path(name: str) -> Path:
    return Path("/proc/sys", *name.split("."))


def _saved_sysctls() -> Path:
    return layout.state() / "sysctls.json"


def _save_sysctls() -> None:
    if _saved_sysctls().exists():
        return
    paths = {name: _sysctl_path(name) for name in (*SYSCTLS, *TOUCHED_BY_COMPONENTS)}
    values = {name: path.read_text().strip() for name, path in paths.items() if path.exists()}
    temporary = _saved_sysctls().with_suffix(".tmp")
    temporary.write_text(json.dumps(values))
    temporary.rename(_saved_sysctls())


def _restore_sysctls() -> None:
    if not _saved_sysctls().exists():
        return
    for name, value in json.loads(_saved_sysctls().read_text()).items():
        path = _sysctl_path(name)
        if path.exists() and path.read_text().strip() != value:
            path.write_text(value)
    _saved_sysctls().unlink()


def _run(*command: str, stdin: str | None = None, check: bool = True) -> None:
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
    if check and done.returncode:
        raise RuntimeError(f"`{' '.join(command)}` failed: {done.stderr.strip()}")


def _succeeds(*command: str) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
