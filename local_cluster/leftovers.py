"""What outlives the daemons: pods with their shims, mounts, network namespaces, cgroups and links.

Everything is found by where it is (our cgroup, our state folder, our socket), not by a list that somebody kept, so it
is found after a crash too, and nothing of another cluster on the machine is touched.
"""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

from local_cluster import layout, node, processes

CONTAINER_LOG_LINKS = Path("/var/log/containers")
CNI_RESULTS = Path("/var/lib/cni/results")
KUBELET_DEVICES = Path("/var/lib/kubelet/device-plugins")
# Folders outside our state that the runtime insists on; removed when nobody else has anything in them.
SHARED_FOLDERS = (
    CONTAINER_LOG_LINKS,
    CNI_RESULTS,
    CNI_RESULTS.parent,
    Path("/run/containerd/s"),
    Path("/run/containerd"),
    KUBELET_DEVICES,
    KUBELET_DEVICES.parent,
)


def kill_pods() -> None:
    """End every process of every pod, then the shims that watched them. Containers cannot refuse: this is SIGKILL."""
    for _ in range(20):  # a container may be forking while it is killed
        pids = set(_pod_processes())
        if not pids:
            break
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
    processes.terminate(set(_shims()), patience=3.0)


def remove() -> None:
    """Unmount and remove what the pods left, inside our state and in the few places that cannot be moved there."""
    for address in layout.state().glob("containerd-run/io.containerd.runtime.v2.task/*/*/address"):
        Path(address.read_text().removeprefix("unix://")).unlink(missing_ok=True)
    unmount_below(layout.state())
    for hierarchy in node.cgroup_hierarchies():
        _remove_cgroup(hierarchy / layout.CGROUP)
    if CONTAINER_LOG_LINKS.is_dir():
        for link in CONTAINER_LOG_LINKS.iterdir():
            if link.is_symlink() and link.readlink().is_relative_to(layout.pod_logs()):
                link.unlink()
    for sandbox in layout.state().glob("containerd/io.containerd.grpc.v1.cri/sandboxes/*"):
        for result in CNI_RESULTS.glob(f"*-{sandbox.name}-*"):
            result.unlink()
    for name in ("kubelet.sock", "kubelet_internal_checkpoint"):
        (KUBELET_DEVICES / name).unlink(missing_ok=True)
    for folder in SHARED_FOLDERS:
        try:
            folder.rmdir()
        except OSError:
            continue  # not there, or not only ours


def unmount_below(folder: Path) -> None:
    """Unmount everything below a folder, innermost first; what is busy goes away when it no longer is."""
    for point in mounts_below(folder, Path("/proc/self/mounts").read_text()):
        if subprocess.run(["umount", str(point)], capture_output=True, check=False).returncode:
            subprocess.run(["umount", "--lazy", str(point)], capture_output=True, check=False)


def mounts_below(folder: Path, mounts: str) -> list[Path]:
    """The mount points below a folder in the text of /proc/mounts, latest first."""
    points = [Path(line.split()[1].encode().decode("unicode_escape")) for line in mounts.splitlines()]
    return [point for point in reversed(points) if point.is_relative_to(folder)]


def _pod_processes() -> Iterator[int]:
    for hierarchy in node.cgroup_hierarchies():
        yield from processes_below(hierarchy / layout.CGROUP)


def processes_below(cgroup: Path) -> Iterator[int]:
    """The processes in a cgroup and its children. Shims remove cgroups meanwhile: what is gone has no processes."""
    for folder, _, _ in os.walk(cgroup):  # not Path.glob, which raises when a folder goes away under it
        try:
            listed = (Path(folder) / "cgroup.procs").read_text()
        except OSError:
            continue
        yield from map(int, listed.split())


def _shims() -> Iterator[int]:
    socket = str(layout.containerd_socket()).encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                arguments = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"containerd-shim" in arguments[0] and socket in arguments:
                yield int(entry.name)


def _remove_cgroup(cgroup: Path) -> None:
    for folder, _, _ in os.walk(cgroup, topdown=False):
        try:
            Path(folder).rmdir()
        except OSError:
            continue
