"""A second local cluster aside from the first: in namespaces of its own, it can be started, interrupted and stopped.

Run by `unshare --mount --net --pid --fork --mount-proc` as `aside.py CACHE`: takes one command per line on standard
input, answers each with one line of JSON on standard output. What namespaces do not part is parted here: sysfs, the
folders at fixed places, and the cgroup's name.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from local_cluster import build_environment, cache, cluster, layout, leftovers, network, node

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "left"},
    "spec": {
        "containers": [
            {
                "name": "pause",
                "image": node.PAUSE_IMAGE,
                "imagePullPolicy": "Never",
                "volumeMounts": [{"name": "memory", "mountPath": "/memory"}],
            }
        ],
        "volumes": [{"name": "memory", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}],
    },
}
FIXED = ("/var/log", "/var/lib/cni", "/var/lib/kubelet", "/run")


def part() -> None:
    """Hide what the first cluster uses. Mounts are private to this namespace."""
    cgroups = Path("/mnt")
    run("mount", "--rbind", "/sys/fs/cgroup", str(cgroups))
    run("mount", "-t", "sysfs", "sysfs", "/sys")  # shows the interfaces of this network namespace
    run("mount", "--rbind", str(cgroups), "/sys/fs/cgroup")
    run("umount", "--recursive", str(cgroups))
    for folder in FIXED:
        Path(folder).mkdir(parents=True, exist_ok=True)
        run("mount", "-t", "tmpfs", "tmpfs", folder)
    run("ip", "link", "set", "lo", "up")
    for name in network.SYSCTLS:  # each network has its own; it begins with those of a cluster that may run beside it
        Path("/proc/sys", *name.split(".")).write_text("0")


def left() -> dict[str, Any]:
    """Whatever a cluster may leave: mounts, processes, links, rules, cgroups, settings, files at fixed places."""
    mounts = Path("/proc/self/mounts").read_text()
    return {
        "mounts": sorted(map(str, leftovers.mounts_below(cache.root(), mounts))),
        "processes": sorted(command for pid in Path("/proc").iterdir() if (command := command_of(pid))),
        "links": sorted(path.name for path in Path("/sys/class/net").iterdir()),
        "rules": sorted(rules()),
        "cgroups": sorted(str(path) for root in node.cgroup_hierarchies() for path in root.glob(layout.CGROUP)),
        "sysctls": {name: value(name) for name in (*network.SYSCTLS, *network.TOUCHED_BY_COMPONENTS)},
        "files": sorted(
            str(path) for folder in FIXED for path in Path(folder).rglob("*") if path.is_symlink() or not path.is_dir()
        ),
        "state": sorted(path.name for path in layout.state().glob("*")) if layout.state().exists() else [],
        "builds": sorted(map(str, build_environment.run_folder().glob("*"))),
    }


def rules() -> list[str]:
    """Netfilter rules and chains of this network namespace, without their counters."""
    listed = subprocess.run(["nft", "--stateless", "list", "ruleset"], capture_output=True, text=True, check=True)
    return [line.strip() for line in listed.stdout.splitlines() if line.strip() not in ("", "}")]


def value(sysctl: str) -> str | None:
    path = Path("/proc/sys", *sysctl.split("."))
    return path.read_text().strip() if path.exists() else None


def command_of(entry: Path) -> str:
    """The command of a process that is neither this one nor a thread of the kernel; "" otherwise."""
    if not entry.name.isdigit() or int(entry.name) == os.getpid():
        return ""
    try:
        return (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def run(*command: str) -> None:
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)


def command(name: str, *until: str) -> int:
    """`python -m local_cluster NAME`; killed, as nobody can catch, once a component of the name `until` was noted."""
    program = f"from local_cluster import layout; layout.CGROUP = {layout.CGROUP!r}; "
    program += f"import sys; from local_cluster.__main__ import main; sys.exit(main([{name!r}]))"
    started = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.DEVNULL, stdout=sys.stderr)
    noted = layout.state() / "pids" / f"{until[0]}.json" if until else None
    while started.poll() is None:
        if noted and noted.exists():
            started.kill()
        try:
            started.wait(0.05)
        except subprocess.TimeoutExpired:
            continue
    return started.returncode


def pod() -> str:
    """Run a pod with a volume in memory, whose process must be killed to end; answers with its phase."""
    running = cluster.current()
    assert running
    kubectl = [str(running.bin_dir / "kubectl"), f"--kubeconfig={running.kubeconfig}"]
    subprocess.run([*kubectl, "apply", "-f", "-"], input=json.dumps(POD), text=True, check=True, stdout=sys.stderr)
    subprocess.run(
        [*kubectl, "wait", "--for=condition=Ready", "pod/left", "--timeout=60s"], check=True, stdout=sys.stderr
    )
    shown = subprocess.run(
        [*kubectl, "get", "pod", "left", "--output=jsonpath={.status.phase}"],
        capture_output=True,
        text=True,
        check=True,
    )
    return shown.stdout


COMMANDS: dict[str, Callable[..., Any]] = {"left": left, "command": command, "pod": pod}

if __name__ == "__main__":
    os.environ["FAIRTRIAL_CACHE"] = sys.argv[1]
    layout.CGROUP = f"fairtrial-{cache.root().name}"
    part()
    for line in sys.stdin:
        name, *arguments = line.split()
        print(json.dumps(COMMANDS[name](*arguments)), flush=True)
