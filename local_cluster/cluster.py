"""Bring the cluster up, take it down, and hand it to tests. `up` may be called in any state, also a broken one."""

import fcntl
import shutil
import subprocess
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from local_cluster import (
    binaries,
    build_environment,
    cache,
    certificates,
    control_plane,
    images,
    layout,
    leftovers,
    network,
    node,
    packages,
    processes,
    prune,
    s3,
)
from local_cluster.processes import Component
from local_cluster.progress import say, step

LOW_DISK_GIB = 10
# The order matters: the enforcer goes first, so that no pod has a network without it, and etcd goes last.
STOP_ORDER = (
    "network-policies",
    "kube-proxy",
    "kubelet",
    "kube-scheduler",
    "kube-controller-manager",
    "s3",
    "containerd",
    "kube-apiserver",
    "etcd",
)


@dataclass(frozen=True)
class Cluster:
    """A running cluster: where it is, and how tests disturb it."""

    kubeconfig: Path
    s3_endpoint: str
    s3_access_key: str
    s3_secret_key: str
    bucket: str
    images: Mapping[str, str]
    bin_dir: Path

    def environment(self) -> dict[str, str]:
        """The variables that kubectl, boto3 and our own programs look for."""
        return {
            "KUBECONFIG": str(self.kubeconfig),
            "FAIRTRIAL_S3_ENDPOINT": self.s3_endpoint,
            "FAIRTRIAL_S3_BUCKET": self.bucket,
            "AWS_ACCESS_KEY_ID": self.s3_access_key,
            "AWS_SECRET_ACCESS_KEY": self.s3_secret_key,
            "AWS_DEFAULT_REGION": s3.REGION,
        }

    def stop_component(self, name: str) -> None:
        """Stop one daemon, such as `s3` or `kubelet`, and leave it stopped."""
        processes.stop(_described(name).name)

    def start_component(self, name: str) -> None:
        """Start it again and wait until it is healthy."""
        processes.ensure(_described(name))


def up(*, with_images: bool = False, also: Collection[str] = ()) -> Cluster:
    """A healthy cluster, whatever was there before. Building our own images too is a choice, since it takes longer;
    `also` names further ones, such as those of agents."""
    with _only_one():
        packages.ensure()
        _say_disk_space()
        programs = binaries.build_all()
        _start_over_after_a_reboot()
        certificates.ensure()
        certificates.write_kubeconfigs()
        _link_programs(programs)
        network.set_up()
        node.make_cgroups()
        for component in control_plane.components(programs):
            _ensure(component)
        _kubectl("apply", "--server-side", "-f", "-", stdin=node.NETWORK_POLICIES_ROLE)
        _ensure(node.containerd())
        images.load_pause(programs["pause"])
        for component in (node.network_policies(programs), node.kubelet(programs), node.kube_proxy(programs)):
            _ensure(component)
        _ensure(s3.component(programs))
        s3.make_bucket(s3.DEFAULT_BUCKET)
        _wait_until_usable()
        if with_images:
            images.build_and_load_all(also)
            prune.after_builds()
    return _running()


def load_images(also: Collection[str] = ()) -> dict[str, str]:
    """Build what changed and load it into the running cluster; the references by digest."""
    with _only_one():
        loaded = images.build_and_load_all(also)
        prune.after_builds()
    return loaded


def clean(*, all_of_it: bool = False) -> None:
    """Remove from the cache what this checkout does not describe; a running cluster keeps all that it has."""
    with _only_one():
        prune.prune(all_of_it=all_of_it)
        _say_disk_space()


def current() -> Cluster | None:
    """The running cluster, or None."""
    return _running() if processes.pid("kube-apiserver") and layout.kubeconfig().exists() else None


def down(*, purge_state: bool = False, keep_s3: bool = False) -> None:
    """Stop and remove everything that `up` made, except the cache of programs and images (and, if asked, S3 data)."""
    with _only_one():
        for name in STOP_ORDER:
            if name == "containerd":
                # Nobody restarts a pod any more; containerd still collects the shims that end now.
                with step("end all pods"):
                    leftovers.kill_pods()
            with step(f"stop {name}"):
                processes.stop(name)
        processes.terminate(set(processes.marked()))
        _clean_up(keep_s3=keep_s3)
        if purge_state and not keep_s3:
            shutil.rmtree(layout.state(), ignore_errors=True)


def status() -> list[tuple[str, int | None, bool]]:
    """(name, pid if running, healthy) for every component."""
    rows = []
    for component in _all_components():
        pid = processes.pid(component.name)
        rows.append((component.name, pid, bool(pid) and processes.healthy(component)))
    return rows


def _all_components() -> list[Component]:
    programs = binaries.build_all()
    return [
        *control_plane.components(programs),
        node.containerd(),
        node.network_policies(programs),
        node.kubelet(programs),
        node.kube_proxy(programs),
        s3.component(programs),
    ]


def _described(name: str) -> Component:
    known = {component.name: component for component in _all_components()}
    if name not in known:
        raise KeyError(f"no component `{name}`; there are {', '.join(known)}")
    return known[name]


def _running() -> Cluster:
    root = s3.credentials()
    return Cluster(
        kubeconfig=layout.kubeconfig(),
        s3_endpoint=layout.S3_URL,
        s3_access_key=root.access_key,
        s3_secret_key=root.secret_key,
        bucket=s3.DEFAULT_BUCKET,
        images=images.loaded(),
        bin_dir=layout.state() / "bin",
    )


def _ensure(component: Component) -> None:
    if processes.pid(component.name) and processes.healthy(component) and processes.is_current(component):
        return
    with step(f"start {component.name}"):
        processes.ensure(component)


def _start_over_after_a_reboot() -> None:
    """A machine that was restarted has mounts, sockets and addresses gone, but their files still there: begin anew."""
    layout.state().mkdir(parents=True, exist_ok=True, mode=0o700)
    noted = layout.state() / "boot"
    if noted.exists() and noted.read_text() != processes.boot():
        say("  the machine was restarted since the last `up`: starting with a fresh cluster, S3 data is kept")
        _clean_up(keep_s3=True)
    noted.write_text(processes.boot())


def _clean_up(*, keep_s3: bool) -> None:
    with step("remove mounts, cgroups, network and state"):
        leftovers.remove()
        leftovers.unmount_below(build_environment.folder())  # of a build that failed or was interrupted
        shutil.rmtree(build_environment.run_folder(), ignore_errors=True)
        network.tear_down()
        for item in layout.state().glob("*"):
            if item == layout.logs() or (keep_s3 and item == layout.s3_data()):
                continue
            if item.is_dir() and not item.is_symlink():
                shutil.rmtree(item)
            else:
                item.unlink()


def _link_programs(programs: Mapping[str, Path]) -> None:
    folder = layout.state() / "bin"
    folder.mkdir(exist_ok=True)
    for name in ("kubectl", "helm"):
        link = folder / name
        link.unlink(missing_ok=True)
        link.symlink_to(programs[name])


def _wait_until_usable() -> None:
    """Until the node takes pods and a pod in `default` would be admitted."""

    def usable() -> bool:
        ready = "{.status.conditions[?(@.type=='Ready')].status}"
        return (
            _kubectl("get", "node", layout.NODE, "-o", f"jsonpath={ready}", check=False) == "True"
            and _kubectl("get", "serviceaccount", "default", "-o", "name", check=False) != ""
        )

    if not usable():
        with step("wait for the node to be Ready"):
            _wait_for(usable, seconds=90)


def _wait_for(condition: Callable[[], bool], *, seconds: int) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise processes.ComponentFailed(f"the node is not Ready after {seconds} s; see {layout.logs()}/kubelet.log")
        time.sleep(0.5)


def _kubectl(*arguments: str, stdin: str | None = None, check: bool = True) -> str:
    command = [str(layout.state() / "bin" / "kubectl"), f"--kubeconfig={layout.kubeconfig()}", *arguments]
    # Without the caller's variables: a proxy would not find the cluster.
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, env={"HOME": "/root"}, check=False)
    if done.returncode and check:
        raise processes.ComponentFailed(f"`kubectl {' '.join(arguments)}` failed: {done.stderr.strip()}")
    return done.stdout.strip()


def _say_disk_space() -> None:
    layout.state().mkdir(parents=True, exist_ok=True, mode=0o700)
    free = shutil.disk_usage(layout.state()).free / 2**30
    low = "" if free >= LOW_DISK_GIB else f"; less than {LOW_DISK_GIB} GiB may not be enough"
    say(f"  {free:.0f} GiB free for {cache.root()}{low}")


@contextmanager
def _only_one() -> Iterator[None]:
    """Two `up`s, or an `up` and a `down`, at the same time would undo each other's work."""
    cache.root().mkdir(parents=True, exist_ok=True)
    with (cache.root() / "cluster.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("  waiting for another `python -m local_cluster` to finish")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
