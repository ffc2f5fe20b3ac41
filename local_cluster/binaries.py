"""The cluster's programs, built once from the Go module proxy with the versions that binaries/*/go.sum pin."""

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from local_cluster import cache
from local_cluster.progress import step


class ProgramNotBuilt(Exception):
    """The Go compiler refused or could not fetch what it needs; its own words stand above the message."""


SOURCES = Path(__file__).parent / "binaries"
KUBERNETES_PROGRAMS = (
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kube-proxy",
    "kubelet",
    "kubectl",
)
# Smallest first, so that somebody who watches sees progress before the long one.
TOOLS = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "versitygw": "github.com/versity/versitygw/cmd/versitygw",
    "pause": ".",
    "network-policies": ".",
    "helm": "helm.sh/helm/v4/cmd/helm",
}


def kubernetes_version() -> str:
    """The Kubernetes release that binaries/kubernetes/go.mod pins, such as `v1.36.3`."""
    text = (SOURCES / "kubernetes" / "go.mod").read_text()
    found = re.search(r"k8s\.io/kubernetes (v\S+)", text)
    assert found, "binaries/kubernetes/go.mod requires no k8s.io/kubernetes"
    return found.group(1)


def build_all() -> dict[str, Path]:
    """Every program's path by name. Builds what the cache lacks: about ten minutes on two cores the first time."""
    programs = {name: build(name, package) / name for name, package in TOOLS.items()}
    kubernetes = build("kubernetes", ".")
    return programs | {name: kubernetes / name for name in KUBERNETES_PROGRAMS}


def go_environment() -> dict[str, str]:
    """Go as it builds everywhere alike; what it downloads and compiles lies in our cache, and can be removed there."""
    kept = {"GOCACHE": str(cache.root() / "go" / "build"), "GOMODCACHE": str(cache.root() / "go" / "modules")}
    return {"CGO_ENABLED": "0", "GOFLAGS": "-modcacherw", **kept}


def module(source: Path, path: str) -> Path:
    """The folder of the module `path` as source/go.sum pins it. Fetched if need be: `prune` and an emptied cache leave
    programs without the modules they were built from, which bring charts and CRDs too.
    """
    command = ["go", "mod", "download", "-json", path]
    done = subprocess.run(
        command, cwd=source, check=False, capture_output=True, text=True, env=os.environ | go_environment()
    )
    if done.returncode:
        told = f"{done.stderr.strip()} {json.loads(done.stdout or '{}').get('Error', '')}".strip()
        raise ProgramNotBuilt(f"{path} can't be fetched from the Go module proxy (`go env GOPROXY`): {told}")
    return Path(json.loads(done.stdout)["Dir"])


def build(name: str, package: str, sources: Path = SOURCES) -> Path:
    """The cache's folder with the program `name`, built if need be from `package` as sources/name/go.sum pins it.

    Where sources/name/mended.json stands, one place of one file of a module is replaced, for the reason that it gives.
    """
    source = sources / name
    version = kubernetes_version()
    flags = "-s -w"
    if name == "kubernetes":
        # The API server serves this version to clients, and the kubelet refuses to run without one.
        flags += "".join(
            f" -X k8s.io/{where}/version.gitVersion={version}" for where in ("component-base", "client-go/pkg")
        )

    def make(target: Path) -> None:
        with step(f"build {name} from the Go module proxy"), _mended(source) as folder:
            command = ["go", "build", "-trimpath", "-ldflags", flags, "-o", str(target / name), package]
            done = subprocess.run(command, cwd=folder, check=False, env=os.environ | go_environment())
        if done.returncode:
            raise ProgramNotBuilt(
                f"`go build` of {name} failed. It takes Go 1.26 or later (`go version`), a way to a Go module proxy "
                f"(`go env GOPROXY`) and some GiB of disk for {cache.root()}; then start the same command again."
            )
        if name == "kubernetes":
            for program in KUBERNETES_PROGRAMS:
                (target / program).symlink_to(name)

    return cache.entry("binaries", name, cache.files_key([source], flags), make)


@contextmanager
def _mended(source: Path) -> Iterator[Path]:
    """The folder to build in: `source`, or a copy that takes the module of source/mended.json from a mended copy."""
    if not (source / "mended.json").exists():
        yield source
        return
    wanted = json.loads((source / "mended.json").read_text())
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        shutil.copy(source / "go.sum", folder)
        replaced = f"\nreplace {wanted['module']} => ./mended\n"
        (folder / "go.mod").write_text((source / "go.mod").read_text() + replaced)
        shutil.copytree(module(source, wanted["module"]), folder / "mended")
        file = folder / "mended" / wanted["file"]
        published = file.read_text()
        if published.count(wanted["published"]) != 1:
            raise ProgramNotBuilt(f"{source / 'mended.json'}: {wanted['file']} has not its `published` once.")
        file.write_text(published.replace(wanted["published"], wanted["mended"]))
        yield folder
