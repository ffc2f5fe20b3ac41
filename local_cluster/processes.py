"""Start, watch and stop the cluster's daemons without a service manager.

A daemon outlives the command that starts it. What is written down about it is its pid *and* the moment the kernel says
it started, so a pid that was given to somebody else since is never signalled. Each daemon also carries a mark in its
environment: a process whose starter was killed before it could write anything down is still found by that.
"""

import contextlib
import json
import os
import signal
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from local_cluster import cache, layout
from local_cluster.packages import SEARCH_PATH

MARK = "FAIRTRIAL_CLUSTER_COMPONENT"
TERM_SECONDS = 15.0
# As often a daemon that ends at once is started again, as a service manager would: the kubelet does so when containerd
# answers its health address but not yet the kubelet.
STARTS = 4
START_PAUSE = 1.0


class ComponentFailed(Exception):
    """A component did not become healthy: the message has its last lines and the path of its log."""


class PortTaken(Exception):
    """Another process listens on a port that a component needs: the message says which one."""


@dataclass(frozen=True)
class Component:
    """A daemon: how it is started, what is written for it first, and where it says that it is well."""

    name: str
    command: tuple[str, ...]
    health: str
    ports: tuple[int, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[Path, str] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """Changes when the daemon would have to be restarted to follow its description."""
        pairs = [f"{name}={value}" for name, value in self.environment.items()]
        return cache.key(*self.command, *pairs, *self.files.values())

    @property
    def log(self) -> Path:
        """Everything that the daemon prints."""
        return layout.logs() / f"{self.name}.log"


def ensure(component: Component, *, patience: float = 60.0) -> None:
    """Leave the component running as described and healthy, restarting it when it is neither."""
    if pid(component.name) and not is_current(component):
        stop(component.name)
    if pid(component.name) and wait_healthy(component, patience=min(patience, 20.0)):
        return
    for _ in range(STARTS):
        stop(component.name)
        start(component)
        if wait_healthy(component, patience=patience):
            return
        if pid(component.name):
            break
        time.sleep(START_PAUSE)
    raise ComponentFailed(f"{component.name} is not healthy; see {component.log}\n{_last_lines(component.log)}")


def is_current(component: Component) -> bool:
    """Whether the component was last started from exactly this description."""
    return _record(component.name).get("fingerprint") == component.fingerprint


def start(component: Component) -> None:
    """Start a daemon that is not running."""
    for port in component.ports:
        if holder := port_holder(port):
            raise PortTaken(f"{component.name} needs port {port}, which is held by {holder}")
    for path, text in component.files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    component.log.parent.mkdir(parents=True, exist_ok=True)
    output = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    started = os.posix_spawn(
        component.command[0],
        component.command,
        {"PATH": SEARCH_PATH, "HOME": "/root", **component.environment, MARK: _mark(component.name)},
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(component.log), output, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
        setsigdef=[signal.SIGPIPE],
    )
    record = {"pid": started, "identity": identity(started), "fingerprint": component.fingerprint}
    path = _record_path(component.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(record))
    temporary.rename(path)


def stop(name: str) -> None:
    """Stop a component: politely, then for good. Also stops one whose start was interrupted before it was noted."""
    found = {*marked(name)}
    if known := pid(name):
        found.add(known)
    terminate(found)
    _record_path(name).unlink(missing_ok=True)


def terminate(pids: set[int], patience: float = TERM_SECONDS) -> None:
    """End these processes, and no process that gets one of their numbers meanwhile."""
    waiting = {number: identity(number) for number in pids}
    for sent, seconds in ((signal.SIGTERM, patience), (signal.SIGKILL, 5.0)):
        for number, who in waiting.items():
            if who and identity(number) == who:
                os.kill(number, sent)
        deadline = time.monotonic() + seconds
        while waiting and time.monotonic() < deadline:
            waiting = {number: who for number, who in waiting.items() if who and identity(number) == who}
            time.sleep(0.05)


def pid(name: str) -> int | None:
    """The component's pid, if the very process that was started is still there."""
    record = _record(name)
    if not record:
        return None
    number = int(str(record["pid"]))
    return number if identity(number) == record["identity"] is not None else None


def identity(number: int) -> str | None:
    """What tells a process from a later one with the same pid: the boot, and its start in clock ticks since.

    None if there is no such process, or only a dead one that nobody has collected.
    """
    try:
        text = Path(f"/proc/{number}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = text.rpartition(")")[2].split()  # the name before it may hold spaces and parentheses
    if fields[0] in "ZX":
        _collect(number)
        return None
    return f"{boot()}:{fields[19]}"


def boot() -> str:
    """This boot of the machine, as the kernel names it."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def marked(name: str | None = None) -> Iterator[int]:
    """Processes that carry our mark: one component's, or all. Containerd's shims inherit its mark and do not count."""
    wanted = f"{MARK}={_mark(name or '')}".encode()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            variables = (entry / "environ").read_bytes().split(b"\0")
            command = (entry / "comm").read_text()
        except OSError:
            continue
        ours = any(v == wanted if name else v.startswith(wanted) for v in variables)
        if ours and not command.startswith("containerd-shim") and int(entry.name) != os.getpid():
            yield int(entry.name)


def wait_healthy(component: Component, *, patience: float) -> bool:
    """Whether the component answers 200 in time; gives up at once when its process ends."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        if not pid(component.name):
            return False
        if healthy(component):
            return True
        time.sleep(0.1)
    return False


def healthy(component: Component) -> bool:
    """Whether the component's health address answers 200 right now."""
    # The components sign their own loopback certificates; who answers is not in doubt, only whether.
    unverified = ssl.create_default_context()
    unverified.check_hostname = False
    unverified.verify_mode = ssl.CERT_NONE
    handlers = (urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=unverified))
    try:
        with urllib.request.build_opener(*handlers).open(component.health, timeout=3) as answer:
            return bool(answer.status == 200)  # noqa: PLR2004
    except (urllib.error.URLError, OSError):
        return False


def port_holder(port: int) -> str | None:
    """Who listens on a TCP port of this machine, as `ss` tells it."""
    found = subprocess.run(
        ["ss", "-Hltnp", f"sport = :{port}"], capture_output=True, text=True, check=False, env={"PATH": SEARCH_PATH}
    ).stdout.strip()
    return found.split("users:")[-1] if found else None


def _collect(number: int) -> None:
    with contextlib.suppress(ChildProcessError):  # somebody else's child
        os.waitpid(number, os.WNOHANG)


def _mark(name: str) -> str:
    return f"{layout.state()}:{name}"


def _record_path(name: str) -> Path:
    return layout.state() / "pids" / f"{name}.json"


def _record(name: str) -> dict[str, object]:
    try:
        return dict(json.loads(_record_path(name).read_text()))
    except FileNotFoundError:
        return {}


def _last_lines(log: Path, count: int = 15) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-count:]) if log.exists() else "(no log)"
