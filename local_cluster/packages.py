"""Debian packages that the cluster stands on. What is missing is installed; what is there is left as it is."""

import os
import shutil
import subprocess
from pathlib import Path

from local_cluster.progress import step

# A program that shows that the package is there, and the package. Looking for programs, not for packages, also accepts
# a machine that has them from elsewhere.
PROGRAMS = {
    "containerd": "containerd",
    "ctr": "containerd",
    "runc": "runc",
    "buildah": "buildah",
    "mmdebstrap": "mmdebstrap",
    "iptables": "iptables",
    "nft": "nftables",
    "conntrack": "conntrack",
    "ip": "iproute2",
    "ss": "iproute2",
    "busybox": "busybox-static",  # all that the images of the runner's tests hold; the cluster itself needs none
}
CNI_PLUGINS = "/usr/lib/cni"
# Debian puts these where a service's PATH often does not look.
SEARCH_PATH = os.pathsep.join(["/usr/sbin", "/sbin", "/usr/local/sbin", os.environ.get("PATH", os.defpath)])


class MissingProgram(Exception):
    """A program that cannot be installed here is needed: the message says which and why."""


def ensure() -> None:
    """Install the packages whose programs are not there, and check for the compiler that builds the rest."""
    if os.geteuid() != 0:
        raise MissingProgram("the local cluster makes a bridge, mounts and cgroups: run it as root")
    if not shutil.which("go"):
        raise MissingProgram("`go` (1.26 or later) is not in PATH; the cluster's programs are built with it")
    if wanted := missing():
        install(wanted)


def missing() -> list[str]:
    """The packages that are not installed, each once."""
    wanted = {package for program, package in PROGRAMS.items() if not shutil.which(program, path=SEARCH_PATH)}
    if not Path(CNI_PLUGINS, "bridge").exists():
        wanted.add("containernetworking-plugins")
    return sorted(wanted)


def provide(name: str, package: str) -> str:
    """The full path of a program that only some tests need; its package is installed when it is first asked for."""
    if not shutil.which(name, path=SEARCH_PATH):
        if os.geteuid() != 0:
            raise MissingProgram(f"`{name}` is not installed: run `apt-get install {package}` as root")
        install([package])
    return program(name)


def install(wanted: list[str]) -> None:
    """Install packages, without the services that they would start."""
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
    with step(f"install Debian packages: {' '.join(wanted)}"):
        for command in (["apt-get", "update"], ["apt-get", "install", "-y", "--no-install-recommends", *wanted]):
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
            if done.returncode:
                raise MissingProgram(f"`{' '.join(command)}` failed:\n{done.stdout[-1500:]}{done.stderr[-1500:]}")


def program(name: str) -> str:
    """The full path of an installed program."""
    found = shutil.which(name, path=SEARCH_PATH)
    if not found:
        raise MissingProgram(f"`{name}` is not installed; `python -m local_cluster up` installs it")
    return found
