"""`make down` leaves nothing mounted or running, and an interrupted start can be undone and repeated.

It is tried on a second cluster in namespaces of its own, so the one that other tests use goes on.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from local_cluster import binaries, cache

ROOT = Path(__file__).parents[3]
Ask = Callable[..., Any]


@pytest.fixture(scope="module")
def ask() -> Iterator[Ask]:
    """Asks the second cluster's program; its cache has this one's programs and nothing else."""
    binaries.build_all()
    folder = Path(tempfile.mkdtemp(prefix="ft-"))  # short: sockets have names of at most 107 bytes
    (folder / "binaries").symlink_to(cache.root() / "binaries")
    apart = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
    program = [sys.executable, str(Path(__file__).with_name("aside.py")), str(folder)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    with (
        (folder / "log").open("w") as log,
        subprocess.Popen(
            [*apart, *program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, env=environment
        ) as started,
    ):
        assert started.stdin
        assert started.stdout

        def answer(*words: str) -> Any:
            print(*words, file=started.stdin, flush=True)
            line = started.stdout.readline() if started.stdout else ""
            assert line, f"{words}: {(folder / 'log').read_text()[-3000:]}"
            return json.loads(line)

        yield answer
        started.stdin.close()
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def before(ask: Ask) -> Any:
    """What there is before anything was started."""
    return ask("left")


@pytest.mark.parametrize("component", ["etcd", "containerd", "kubelet"])
def test_a_start_that_was_killed_is_undone(ask: Ask, before: Any, component: str) -> None:
    assert ask("command", "up", component) == -9
    assert ask("left")["processes"], "it was killed before anything ran"

    assert ask("command", "down") == 0

    assert ask("left") == before | {"state": ["logs"]}


def test_a_start_that_was_killed_is_repeated_and_nothing_outlives_its_end(ask: Ask, before: Any) -> None:
    assert ask("command", "up", "kube-scheduler") == -9

    assert ask("command", "up") == 0
    assert ask("pod") == "Running"
    running = ask("left")
    assert all(running[what] != before[what] for what in ("mounts", "processes", "links", "rules", "cgroups"))

    assert ask("command", "down") == 0
    assert ask("left") == before | {"state": ["logs"]}
