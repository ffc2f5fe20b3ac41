"""The environment record holds what a result may depend on, and by its hash all that the candidate was told."""

import hashlib
import os
import platform
from pathlib import Path

from fairtrial_runner import environment

from fairtrial.documents import AgentPlan, RunIdentity, Step


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def plan(*steps: Step) -> AgentPlan:
    return AgentPlan(RunIdentity("trials", "run-1", "uid-1"), "1" * 64, list(steps))


def test_the_machine_its_limits_and_the_user_are_told(tmp_path: Path) -> None:
    found = environment.describe(plan(), tmp_path, {"HOME": "/h", "KEY": "a secret"})

    assert found["kernel"] == f"Linux {os.uname().release}"
    assert found["machine"] == platform.machine()
    assert found["processors"]["usable"] == len(os.sched_getaffinity(0))
    assert found["memoryTotalKiB"] > 0
    assert found["cgroup"].keys() == {"cpuMax", "cpuPeriod", "memoryMax", "pidsMax"}
    assert found["user"]["uid"] == os.getuid()
    assert any(mount.startswith("/ ") for mount in found["mounts"])


def test_variables_are_named_and_their_values_are_not(tmp_path: Path) -> None:
    found = environment.describe(plan(), tmp_path, {"HOME": "/h", "KEY": "a secret"})

    assert found["variables"] == ["HOME", "KEY"]
    assert "a secret" not in repr(found)


def test_instructions_are_hashed_step_by_step_and_file_by_file(tmp_path: Path) -> None:
    (tmp_path / "skills").mkdir()
    (tmp_path / "skills" / "AGENTS.md").write_text("Be brief.")
    steps = Step("one", ["agent", "-p"], 60, "Do it."), Step("two", ["agent"], 60)

    found = environment.describe(plan(*steps), tmp_path, {})["hashes"]

    assert found == {
        "files": {"skills/AGENTS.md": sha("Be brief.")},
        "steps": [
            {"name": "one", "argv": sha("agent\0-p"), "stdin": sha("Do it.")},
            {"name": "two", "argv": sha("agent"), "stdin": sha("")},
        ],
    }


def test_tools_are_told_as_they_tell_themselves_and_one_that_only_pretends_is_not(tmp_path: Path) -> None:
    for name, does in (("git", "echo git version 2.1; echo more"), ("node", "echo none; exit 1")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{does}\n")
        (tmp_path / name).chmod(0o755)

    assert environment.tools({"PATH": str(tmp_path)}, alone=False) == {"git": "git version 2.1"}
