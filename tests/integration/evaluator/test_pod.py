"""An evaluator pod's three containers as processes: fetch, record and checks, with a small gateway between them."""

import base64
import hashlib
import io
import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from fairtrial_evaluator import fetch as fetching
from fairtrial_evaluator import record as recording

from fairtrial import documents
from fairtrial.archive import pack
from fairtrial.documents import EvaluationPlan, EvaluationReport, RunIdentity
from fairtrial.errors import DigestMismatch
from fairtrial.gateway_client import GatewayClient
from fairtrial.task.load import load
from fairtrial.task.pack import complete, public_archive, sealed_archive
from fairtrial.task.scaffold import create

RUN = RunIdentity("team", "run", "uid")
AS_PID_1 = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "--kill-child"]


class Gateway(ThreadingHTTPServer):
    """Gives what is put into `objects` and keeps what is stored, once."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.objects: dict[str, bytes] = {}


class Handler(BaseHTTPRequestHandler):
    server: Gateway

    def do_GET(self) -> None:
        data = self.server.objects.get(self.path)
        self.answer(200 if data is not None else 404, data or b"{}")

    def do_PUT(self) -> None:
        data = self.rfile.read(int(self.headers["Content-Length"]))
        digest = base64.b64encode(hashlib.sha256(data).digest()).decode()
        assert self.headers["Content-Digest"] == f"sha-256=:{digest}:"
        known = self.server.objects.setdefault(self.path, data)
        self.answer(201 if known == data else 409, b"{}")

    def answer(self, status: int, data: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        return


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    with Gateway() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


class Pod:
    """The volumes of one evaluator pod."""

    def __init__(self, root: Path, gateway: Gateway, solved: bool) -> None:
        self.root, self.gateway = root, gateway
        for name in ("base", "sealed", "workspace", "shared", "spool", "channel", "tmp"):
            (root / name).mkdir()
        (root / "token").write_text("t")
        self.client = GatewayClient(
            f"http://127.0.0.1:{gateway.server_port}", token_file=root / "token", deadline_seconds=10
        )
        self.plan = self._store(solved)
        self.fetch_places = fetching.Places(root / "base", root / "sealed", root / "workspace", root / "shared")
        self.record_places = recording.Places(root / "sealed", root / "channel/s", root / "spool")

    def _store(self, solved: bool) -> EvaluationPlan:
        folder = self.root / "t"
        create(folder, "feature")
        yaml = folder / "sealed/evaluation.yaml"
        yaml.write_text(yaml.read_text().replace("[python3]", json.dumps([sys.executable])))
        with complete(load(folder)) as found:
            public, sealed = public_archive(found), sealed_archive(found)
        code = (
            (folder / "sealed/reference/src/durations.py").read_bytes()
            if solved
            else b"def parse_duration(x): return 1"
        )
        sink = io.BytesIO()
        pack(
            {"TASK.md": b"x", "project/src/durations.py": code, "project/conftest.py": b"import os; os._exit(0)"}, sink
        )
        snapshot = sink.getvalue()
        digest = hashlib.sha256(snapshot).hexdigest()
        self.gateway.objects |= {
            f"/v1/bundles/{public.sha256}": public.data,
            f"/v1/sealed/{sealed.sha256}": sealed.data,
            "/v1/artifacts/agent/snapshot.tar": snapshot,
        }
        return EvaluationPlan(RUN, public.sha256, sealed.sha256, "agent/snapshot.tar", digest, wall_seconds=120)

    def fetch(self) -> None:
        fetching.fetch(self.fetch_places, self.plan, self.client, None)

    def record(self, terminating: threading.Event | None = None) -> EvaluationReport:
        return recording.record(self.record_places, self.plan, self.client, "pod", terminating or threading.Event())

    def start_checks(self, *wrapper: str) -> "subprocess.Popen[bytes]":
        argv = [*wrapper, sys.executable, "-P", "-m", "fairtrial_evaluator.checks"]
        argv += ["--socket", str(self.root / "channel/s"), "--base", str(self.root / "base")]
        argv += ["--submission", str(self.root / "workspace/project"), "--work", str(self.root / "tmp")]
        return subprocess.Popen(argv)


@pytest.mark.parametrize(("solved", "verdict"), [(True, "passed"), (False, "failed")])
def test_a_snapshot_is_fetched_judged_and_reported(
    tmp_path: Path, gateway: Gateway, solved: bool, verdict: str
) -> None:
    pod = Pod(tmp_path, gateway, solved)
    pod.fetch()
    checks = pod.start_checks()

    report = pod.record()

    assert checks.wait(20) == 0
    assert (report.verdict, report.negative_control, report.pod_uid) == (verdict, "passed", "pod")
    assert report.protected_touched == ["conftest.py"]
    assert gateway.objects["/v1/artifacts/evaluation/report.json"] == documents.dump(report)
    stored = {path.removeprefix("/v1/artifacts/") for path in gateway.objects}
    assert {artifact.name for artifact in report.artifacts} <= stored
    assert "evaluation/results/behaviour/submission/results.txt" in stored


def test_checks_runs_as_pid_1_of_a_container(tmp_path: Path, gateway: Gateway) -> None:
    if not shutil.which("unshare") or subprocess.run([*AS_PID_1, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no PID namespaces here")
    pod = Pod(tmp_path, gateway, solved=True)
    pod.fetch()
    checks = pod.start_checks(*AS_PID_1)

    report = pod.record()

    assert checks.wait(20) == 0
    assert report.verdict == "passed", report.reason


def test_a_sealed_part_that_is_not_what_the_run_names_is_refused(tmp_path: Path, gateway: Gateway) -> None:
    pod = Pod(tmp_path, gateway, solved=True)
    gateway.objects[f"/v1/sealed/{pod.plan.sealed_sha256}"] = b"other"

    with pytest.raises(DigestMismatch):
        pod.fetch()


def test_checks_that_never_connect_are_an_error(tmp_path: Path, gateway: Gateway) -> None:
    pod = Pod(tmp_path, gateway, solved=True)
    pod.fetch()
    terminating = threading.Event()
    terminating.set()

    report = pod.record(terminating)

    assert report.verdict == "error"
    assert report.reason.startswith("checks_lost")
    assert [check.state for check in report.checks] == ["error"]


def test_a_restarted_recorder_accepts_nobody(tmp_path: Path, gateway: Gateway) -> None:
    pod = Pod(tmp_path, gateway, solved=True)
    pod.fetch()
    (tmp_path / "spool/accepting").touch()

    assert pod.record().reason.startswith("recorder_restarted")
