"""What the agent's surroundings are: read once before it starts, so that two runs can be compared afterwards."""

import hashlib
import os
import platform
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairtrial import names
from fairtrial.documents import AgentPlan
from fairtrial.process import Command, machine, run

_CGROUP = Path("/sys/fs/cgroup")
# Fact → where a container sees its own limit: cgroup v2, then v1.
_LIMITS = {
    "cpuMax": ("cpu.max", "cpu/cpu.cfs_quota_us"),
    "cpuPeriod": ("cpu.max", "cpu/cpu.cfs_period_us"),
    "memoryMax": ("memory.max", "memory/memory.limit_in_bytes"),
    "pidsMax": ("pids.max", "pids/pids.max"),
}
_TOOLS = ("git", "python3", "node", "go", "rustc", "java", "gcc", "bash")
_TOOL_ARGUMENTS = {"go": ["version"]}
_MOUNTS_MAX = 100


def inherited(env: Mapping[str, str]) -> dict[str, str]:
    """The container's environment without what was set for the runtime or names the cluster's services. Pure."""
    return {k: v for k, v in env.items() if k not in names.RUNTIME_ENV and not k.startswith("KUBERNETES_")}


def describe(plan: AgentPlan, candidate: Path, env: Mapping[str, str]) -> dict[str, Any]:
    """The environment record: facts that a result may depend on, none of them secret. Runs nothing of the image."""
    return {
        "kernel": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "hostname": platform.node(),
        "osRelease": _os_release(),
        "processors": {"online": os.cpu_count(), "usable": len(os.sched_getaffinity(0))},
        "memoryTotalKiB": _memory_total(),
        "cgroup": cgroup_limits(_CGROUP),
        "machineState": machine.state(),
        "mounts": _mounts(),
        "user": {"uid": os.getuid(), "gid": os.getgid(), "groups": sorted(os.getgroups())},
        "variables": sorted(env),
        "hashes": hashes(plan, candidate),
    }


def tools(env: Mapping[str, str], *, alone: bool) -> dict[str, str]:
    """The versions of the image's own tools, as they tell them."""
    return {tool: version for tool in _TOOLS if (version := _version(tool, env, alone=alone)) is not None}


def hashes(plan: AgentPlan, candidate: Path) -> dict[str, Any]:
    """Digests of what the candidate was told: argv and standard input of each step, its files."""
    files = {
        str(path.relative_to(candidate)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(candidate.rglob("*"))
        if path.is_file()
    }
    steps = [
        {"name": step.name, "argv": _digest("\0".join(step.argv)), "stdin": _digest(step.stdin)} for step in plan.steps
    ]
    return {"steps": steps, "files": files}


def cgroup_limits(root: Path) -> dict[str, str | None]:
    """The limits as the container's own cgroup states them; None where it cannot be seen."""
    found: dict[str, str | None] = {}
    for fact, (second, first) in _LIMITS.items():
        found[fact] = _first_line(root / second) or _first_line(root / first)
    return found


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def _first_line(path: Path) -> str | None:
    try:
        return path.read_text("utf-8").partition("\n")[0].strip() or None
    except (OSError, ValueError):
        return None


def _os_release() -> str | None:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME")
    except OSError:
        return None


def _memory_total() -> int | None:
    words = (_first_line(Path("/proc/meminfo")) or "").split()
    return int(words[1]) if len(words) > 1 and words[1].isdecimal() else None


def _mounts() -> list[str]:
    """Mount point, file system and options of each mount but those of the kernel's own views."""
    lines = []
    for line in Path("/proc/self/mounts").read_text("utf-8", "replace").splitlines():
        _, point, kind, options = line.split(" ")[:4]
        if not point.startswith(("/proc", "/sys", "/dev/")):
            flags = [o for o in options.split(",") if o in ("ro", "rw", "noexec", "nosuid", "nodev")]
            lines.append(f"{point} {kind} {','.join(flags)}")
    return sorted(lines)[:_MOUNTS_MAX]


def _version(tool: str, env: Mapping[str, str], *, alone: bool) -> str | None:
    """The first line that a tool says of its version; None where the image lacks it."""
    path = shutil.which(tool, path=env.get("PATH", os.defpath))
    if path is None:
        return None
    said = bytearray()

    def listen(_stream: str, data: bytes) -> None:
        said.extend(data[: 1000 - len(said)])

    argv = [path, *_TOOL_ARGUMENTS.get(tool, ["--version"])]
    ended = run(Command(argv, Path("/"), env, deadline_seconds=5, grace_seconds=0.1), output=listen, alone=alone)
    if ended.exit_code != 0:
        return None  # a shim for a tool that is not there
    line = said.decode("utf-8", "replace").partition("\n")[0].strip()
    return "".join(c for c in line if c.isprintable())[:200]
