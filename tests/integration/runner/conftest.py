"""An agent pod without a cluster: record and launch as in a pod, in a root that holds busybox and nothing else.

launch is PID 1 of a PID namespace of its own, everything runs as the pod's user, and the gateway is a stand-in that
speaks real HTTP. Needs root, as namespaces and chroot do.
"""

import io
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from fairtrial_runner.testing import TOKEN, GatewayStandIn

from fairtrial import archive, documents, names, runtime
from fairtrial.documents import AgentPlan, AgentReport, RunIdentity, Step

REPOSITORY = Path(__file__).parents[3]
BUSYBOX = shutil.which("busybox")
FIXTURE = {"project/a.py": b"x = 1\n", "project/data.txt": b"one\ntwo\n", "TASK.md": b"Do it.\n", "task.json": b"{}"}

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="needs root for namespaces")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.getuid() != 0 or BUSYBOX is None:
        for item in items:
            if "integration/runner" in str(item.path):
                item.add_marker(pytest.mark.skip(reason="needs root and a static busybox"))


def bundle(contents: Mapping[str, bytes] = FIXTURE) -> bytes:
    made = io.BytesIO()
    archive.pack(dict(contents), made)
    return made.getvalue()


@pytest.fixture(scope="session")
def runtime_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("runtime") / "runtime"
    runtime.build(target, [REPOSITORY / "runner_image/src/fairtrial_runner"])
    return target


@dataclass
class Pod:
    """One pod's root file system and processes."""

    root: Path
    gateway: GatewayStandIn
    runtime_folder: Path
    plan: AgentPlan
    image_env: dict[str, str] = field(default_factory=dict)  # what the candidate's image sets
    launch: "subprocess.Popen[bytes] | None" = None
    record: "subprocess.Popen[bytes] | None" = None
    processes: list["subprocess.Popen[bytes]"] = field(default_factory=list)
    own_network: bool = False  # of launch; without it, ports of anything on this machine are in its sight

    @property
    def errors(self) -> Path:
        """What all containers said on standard error."""
        return self.root.with_name("errors")

    def lay_out(self) -> None:
        """The image's folders and the pod's volumes."""
        for folder in ("bin", "proc", "dev", "tmp", "opt/fairtrial", "fairtrial", "workspace", "home/agent", "spool"):
            (self.root / folder).mkdir(parents=True)
        for folder in ("run/fairtrial", "var/run/secrets/fairtrial"):
            (self.root / folder).mkdir(parents=True)
        shutil.copy(str(BUSYBOX), self.root / "bin/busybox")
        for name in (
            "sh",
            "sleep",
            "kill",
            "head",
            "yes",
            "setsid",
            "cat",
            "printf",
            "ln",
            "mkfifo",
            "nc",
            "touch",
            "mkdir",
            "chmod",
            "dd",
            "env",
            "rm",
        ):
            (self.root / "bin" / name).symlink_to("busybox")
        subprocess.run(["cp", "-al", self.runtime_folder, self.root / "opt/fairtrial/runtime"], check=True)
        for device, number in (("null", 3), ("zero", 5)):
            os.mknod(self.root / "dev" / device, 0o666 | 0o020000, os.makedev(1, number))
            (self.root / "dev" / device).chmod(0o666)
        (self.root / "dev/termination-log").touch()
        (self.root / "dev/termination-log").chmod(0o666)
        (self.root / names.TOKEN_FILE.lstrip("/")).write_text(TOKEN)
        for folder in ("tmp", "fairtrial", "workspace", "home/agent", "spool", "run/fairtrial"):
            os.chown(self.root / folder, names.USER_ID, names.USER_ID)
        self.root.chmod(0o755)

    def set_up(self) -> None:
        """The recorder, until it has laid everything out."""
        self.start_record()
        wait_for((self.root / names.PLAN_FILE.lstrip("/")).exists, 60)

    def start_record(self) -> None:
        """The recorder and, as its hook does it, the runtime for launch."""
        told = {names.ENV_PLAN: documents.dump(self.plan).decode(), "FAIRTRIAL_POD_UID": "pod-uid", "TMPDIR": "/spool"}
        self.record = self._start("fairtrial_runner.record", told, own=True)
        runtime_in_pod = self.root / names.RUNTIME_DIR.lstrip("/")
        if not runtime_in_pod.exists():
            subprocess.run(["cp", "-al", self.runtime_folder, runtime_in_pod], check=True)

    def start(self) -> None:
        self.launch = self._start("fairtrial_runner.launch", self.image_env, own=False)

    def run(self, timeout: float = 60) -> AgentReport:
        """The pod's whole life; the report."""
        self.start_record()
        self.start()
        assert self.launch is not None
        self.launch.wait(timeout)
        return self.finish()

    def finish(self, timeout: float = 60) -> AgentReport:
        """What the kubelet does once the main container has ended."""
        assert self.record is not None
        self.record.send_signal(signal.SIGTERM)
        assert self.record.wait(timeout) == 0, self.termination()
        return self.report()

    def report(self) -> AgentReport:
        return documents.load(AgentReport, self.gateway.artifacts["agent/report.json"])

    def stream(self, name: str) -> bytes:
        prefix = f"agent/streams/{name}/"
        return b"".join(data for key, data in sorted(self.gateway.artifacts.items()) if key.startswith(prefix))

    def termination(self) -> str:
        return (self.root / "dev/termination-log").read_text()

    def launch_pid(self) -> int:
        """launch's PID as the machine sees it."""
        return self.launch_pids()[0]

    def launch_pids(self) -> list[int]:
        """The same, but empty where launch has not started yet or has just ended."""
        assert self.launch is not None
        try:
            return [
                int(p) for p in Path(f"/proc/{self.launch.pid}/task/{self.launch.pid}/children").read_text().split()
            ]
        except OSError:
            return []

    def _start(self, module: str, env: dict[str, str], *, own: bool) -> "subprocess.Popen[bytes]":
        """Start one container's process; `own` containers use the runtime of their image, launch the shared one."""
        home = "/opt/fairtrial/runtime" if own else names.RUNTIME_DIR
        argv = [part.replace(names.RUNTIME_DIR, home) for part in names.runtime_command(module)]
        enter = ["chroot", f"--userspec={names.USER_ID}:{names.USER_ID}", str(self.root), *argv]
        script = 'mount -t proc proc "$0/proc" && exec "$@"'
        apart = ["--net"] if self.own_network else []
        inside = ["sh", "-c", script, str(self.root), *enter]
        command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", *apart, *inside]
        if own:  # one process is enough, and its PID is the one to signal
            command = ["unshare", "--mount", "sh", "-c", script, str(self.root), *enter]
        base = {"PATH": "/bin:/usr/bin:/sbin:/usr/sbin", names.ENV_GATEWAY: self.gateway.url}
        with self.errors.open("ab") as errors:
            process = subprocess.Popen(command, env={**base, **names.RUNTIME_ENV, **env}, stderr=errors)
        self.processes.append(process)
        return process

    def close(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()


@pytest.fixture
def pod(tmp_path: Path, runtime_folder: Path) -> Iterator[Pod]:
    with GatewayStandIn() as gateway:
        digest = gateway.add_bundle(bundle())
        plan = AgentPlan(RunIdentity("ns", "run", "uid"), digest, [step("true")], grace_seconds=1, snapshot_seconds=60)
        made = Pod(tmp_path / "root", gateway, runtime_folder, plan)
        made.lay_out()
        # The way there must be open for the pod's user.
        for parent in (tmp_path, *tmp_path.parents):
            if parent.stat().st_mode & 0o001 == 0:
                parent.chmod(parent.stat().st_mode | 0o011)
        yield made
        made.close()


def step(script: str, seconds: int = 20, **facts: str) -> Step:
    return replace(Step("main", ["/bin/sh", "-c", script], seconds), **facts)


def wait_for(condition, seconds: float = 10.0) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "did not happen in time"
        time.sleep(0.02)
