"""A process is stopped only if it is the very one that was started."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from local_cluster import leftovers, processes
from local_cluster.processes import Component


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FAIRTRIAL_CACHE", str(tmp_path))
    return tmp_path / "cluster"


def sleeper(name: str = "sleeper", seconds: int = 60, **environment: str) -> Component:
    command = (sys.executable, "-c", f"import time; print('up', flush=True); time.sleep({seconds})")
    return Component(name, command, "http://127.0.0.1:1/", environment=environment)


def test_a_started_component_is_found_and_stopped() -> None:
    processes.start(sleeper())

    pid = processes.pid("sleeper")
    assert pid
    assert os.getsid(pid) == pid, "it must not die with the terminal of the command that started it"

    processes.stop("sleeper")
    assert processes.pid("sleeper") is None
    assert processes.identity(pid) is None


def test_a_recycled_pid_is_left_alone(own_state: Path) -> None:
    stranger = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    record = {"pid": stranger.pid, "identity": "another boot:1", "fingerprint": ""}
    (own_state / "pids").mkdir(parents=True)
    (own_state / "pids" / "etcd.json").write_text(json.dumps(record))

    assert processes.pid("etcd") is None
    processes.stop("etcd")

    assert stranger.poll() is None
    stranger.kill()
    stranger.wait()


def test_a_component_whose_start_was_never_noted_is_stopped_too(own_state: Path) -> None:
    processes.start(sleeper())
    pid = processes.pid("sleeper")
    (own_state / "pids" / "sleeper.json").unlink()

    processes.stop("sleeper")

    assert pid
    assert processes.identity(pid) is None


def test_stopping_one_component_leaves_the_others() -> None:
    processes.start(sleeper("one"))
    processes.start(sleeper("one-more"))

    processes.stop("one")

    assert processes.pid("one-more")
    processes.stop("one-more")


def test_a_component_is_current_until_its_description_changes() -> None:
    processes.start(sleeper())

    assert processes.is_current(sleeper())
    assert not processes.is_current(sleeper(seconds=61))
    assert not processes.is_current(sleeper(SETTING="new"))
    processes.stop("sleeper")


def test_a_component_that_ends_at_once_is_started_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "START_PAUSE", 0)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    program = f"""
import http.server, pathlib, sys
tries = pathlib.Path({str(tmp_path / "tries")!r})
tries.write_text(tries.read_text() + "x" if tries.exists() else "x")
if len(tries.read_text()) < 3: sys.exit("what it needs is not there yet")
class Well(http.server.BaseHTTPRequestHandler):
    def do_GET(self): self.send_response(200); self.end_headers()
http.server.HTTPServer(("127.0.0.1", {port}), Well).serve_forever()
"""
    late = Component("late", (sys.executable, "-c", program), f"http://127.0.0.1:{port}/")

    processes.ensure(late, patience=10)

    assert processes.healthy(late)
    assert (tmp_path / "tries").read_text() == "xxx"
    processes.stop("late")


def test_a_component_that_ends_at_once_is_reported_with_its_last_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "START_PAUSE", 0)
    command = (sys.executable, "-c", "import sys; sys.exit('no disk left')")
    broken = Component("broken", command, "http://127.0.0.1:1/")

    with pytest.raises(processes.ComponentFailed, match="no disk left"):
        processes.ensure(broken, patience=5)


def test_nothing_has_the_identity_of_a_process_that_does_not_exist() -> None:
    assert processes.identity(2**22 + 1) is None
    assert processes.identity(os.getpid()) == processes.identity(os.getpid())


def test_processes_are_listed_while_their_cgroups_go_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, pid in (("kept", 11), ("going", 12)):
        (tmp_path / "pods" / name).mkdir(parents=True)
        (tmp_path / "pods" / name / "cgroup.procs").write_text(f"{pid}\n")
    listing = os.scandir

    def scandir(path: str) -> object:
        if Path(path).name == "going":
            Path(path, "cgroup.procs").unlink()
            Path(path).rmdir()
        return listing(path)

    monkeypatch.setattr(os, "scandir", scandir)

    assert list(leftovers.processes_below(tmp_path)) == [11]
