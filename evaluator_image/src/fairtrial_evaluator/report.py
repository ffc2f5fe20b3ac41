"""The evaluator's report: the session's judgement with the identity of what was judged."""

from collections.abc import Sequence

from fairtrial.documents import Artifact, EvaluationReport, RunIdentity
from fairtrial_evaluator.session import Session

PATHS_MAX = 1000


def report_of(
    session: Session, run: RunIdentity, *, pod_uid: str, bundle: str, sealed: str, snapshot: str
) -> EvaluationReport:
    """Put the report together. Pure: the same session gives the same bytes."""
    artifacts: Sequence[Artifact] = [artifact for check in session.checks for artifact in check.evidence]
    environment = dict(session.hello.environment)
    if session.hello.skipped:
        environment["skipped"] = session.hello.skipped
    return EvaluationReport(
        run=run,
        pod_uid=pod_uid,
        verdict=session.verdict,
        reason=session.reason,
        bundle_sha256=bundle,
        sealed_sha256=sealed,
        snapshot_sha256=snapshot,
        protected_touched=session.hello.protected_touched[:PATHS_MAX],
        checks=list(session.checks),
        negative_control=session.negative_control,
        launcher=list(session.launcher),
        environment=environment,
        artifacts=list(artifacts),
        timings_ms=dict(session.timings_ms),
    )
