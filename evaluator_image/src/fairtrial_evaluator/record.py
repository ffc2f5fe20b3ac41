"""The evaluator pod's sidecar: it alone holds the sealed part and the token that stores results, and it judges.

Submitted code runs in the next container, in another PID and mount namespace, and reaches this one only through what
its parent reports. A recorder that was restarted finds its mark in the spool and accepts no connection: whoever came
then might be submitted code. It reports an error instead.
"""

import contextlib
import os
import secrets
import signal
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from fairtrial import documents, failure, names
from fairtrial.channel import Channel, Listener
from fairtrial.documents import Artifact, EvaluationPlan, EvaluationReport
from fairtrial.errors import ChannelBroken, FairtrialError, GatewayRefused
from fairtrial.gateway_client import GatewayClient
from fairtrial.task.packed import EVALUATION_FILE, Evaluation
from fairtrial_evaluator.protocol import Remote
from fairtrial_evaluator.report import report_of
from fairtrial_evaluator.session import EvaluationStopped, Session, not_reached

REPORT = "evaluation/report.json"
ENV_POD_UID = "FAIRTRIAL_POD_UID"
_CONFLICT = 409
_TICK_SECONDS = 1.0


@dataclass(frozen=True)
class Places:
    """Where things are; the defaults are a pod's."""

    sealed: Path = Path(names.SEALED_DIR)
    socket: Path = Path(names.CHANNEL_SOCKET)
    spool: Path = Path(names.SPOOL_DIR)


class StoredEvidence:
    """Evidence that goes to the store as it comes."""

    def __init__(self, client: GatewayClient) -> None:
        self._client = client

    def put(self, name: str, data: bytes, media_type: str) -> Artifact:
        """Keep one artifact."""
        return self._client.put_artifact(f"evaluation/{name}", data, media_type=media_type)


def record(
    places: Places, plan: EvaluationPlan, client: GatewayClient, pod_uid: str, terminating: threading.Event
) -> EvaluationReport:
    """Judge one evaluation and store its report; a report that is there already stands."""
    sealed = read_sealed(places.sealed)
    evaluation = documents.load(Evaluation, sealed.get(EVALUATION_FILE, b""), name=EVALUATION_FILE)
    try:
        channel = _connection(places, plan, terminating)
    except EvaluationStopped as error:
        report = _unconnected(plan, pod_uid, evaluation, error.message)
        _store(client, report)
        return report
    with channel:
        session = Session(
            evaluation=evaluation,
            sealed=sealed,
            launcher=evaluation.launcher,
            remote=Remote(channel),
            evidence=StoredEvidence(client),
            token=secrets.token_hex(16),
            deadline=time.monotonic() + plan.wall_seconds,
        )
        session.evaluate()
        digests = {"bundle": plan.bundle_sha256, "sealed": plan.sealed_sha256, "snapshot": plan.snapshot_sha256}
        report = report_of(session, plan.run, pod_uid=pod_uid, **digests)
        _store(client, report)
        # Only now may the other container end: with it the kubelet begins to end this one.
        with contextlib.suppress(ChannelBroken):
            session.remote.end()
    return report


def main() -> int:
    """Run as the pod's sidecar, until the kubelet asks for the end: a sidecar that ends sooner is started again."""
    terminating = threading.Event()

    def on_sigterm(_number: int, _frame: FrameType | None) -> None:
        terminating.set()

    signal.signal(signal.SIGTERM, on_sigterm)
    try:
        plan = documents.load(EvaluationPlan, os.environ.get(names.ENV_PLAN, ""), name=names.ENV_PLAN)
        client = GatewayClient.from_env(deadline_seconds=plan.upload_seconds)
        record(Places(), plan, client, os.environ.get(ENV_POD_UID, ""), terminating)
    except (FairtrialError, OSError, KeyError) as error:
        failure.report(error)
        return failure.FINAL
    while not terminating.wait(_TICK_SECONDS):
        pass
    return 0


def _unconnected(plan: EvaluationPlan, pod_uid: str, evaluation: Evaluation, reason: str) -> EvaluationReport:
    return EvaluationReport(
        run=plan.run,
        pod_uid=pod_uid,
        verdict="error",
        reason=reason,
        bundle_sha256=plan.bundle_sha256,
        sealed_sha256=plan.sealed_sha256,
        snapshot_sha256=plan.snapshot_sha256,
        checks=not_reached(evaluation.checks),
        launcher=evaluation.launcher,
    )


def _store(client: GatewayClient, report: EvaluationReport) -> None:
    try:
        client.put_artifact(REPORT, documents.dump(report), media_type="application/json")
    except GatewayRefused as error:
        if error.status != _CONFLICT:  # a report that is there already stands
            raise


def _connection(places: Places, plan: EvaluationPlan, terminating: threading.Event) -> Channel:
    mark = places.spool / "accepting"
    if mark.exists():
        raise EvaluationStopped("recorder_restarted: it had lost its connection")
    mark.touch()
    listener = Listener(places.socket)
    deadline = time.monotonic() + plan.wall_seconds
    while not terminating.is_set() and time.monotonic() < deadline:
        try:
            return listener.accept(_TICK_SECONDS)
        except TimeoutError:
            continue
    listener.close()
    raise EvaluationStopped("checks_lost: the container that runs checks never connected")


def read_sealed(folder: Path) -> dict[str, bytes]:
    """Every file of the sealed part."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


if __name__ == "__main__":
    sys.exit(main())
