"""The evaluator pod's init container: fixture, sealed part and submission, verified and laid out before all else."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from fairtrial import documents, failure, names, runtime
from fairtrial.archive import chunks_of, extract
from fairtrial.documents import EvaluationPlan
from fairtrial.errors import FairtrialError, GatewayUnavailable
from fairtrial.gateway_client import GatewayClient
from fairtrial.task.packed import PROJECT, PUBLIC_FILE, PublicTask
from fairtrial_evaluator.checks import LAYOUT_FILE, Layout
from fairtrial_evaluator.layout import restore_protected
from fairtrial_evaluator.trees import delete

_SKIPPED_MAX = 200


@dataclass(frozen=True)
class Places:
    """Where things go; the defaults are a pod's."""

    base: Path = Path(names.BASE_DIR)
    sealed: Path = Path(names.SEALED_DIR)
    workspace: Path = Path(names.WORKSPACE_DIR)
    shared: Path = Path(names.SHARED_DIR)


def fetch(places: Places, plan: EvaluationPlan, client: GatewayClient, runtime_source: Path | None) -> None:
    """Lay everything out. Starts from empty folders if it is repeated."""
    for folder in (places.base, places.sealed, places.workspace, places.shared):
        for entry in folder.iterdir():
            delete(entry)
    bundle = f"/v1/bundles/{plan.bundle_sha256}"
    _lay_out(client, bundle, plan.bundle_sha256, places.base, places.base)
    _lay_out(client, f"/v1/sealed/{plan.sealed_sha256}", plan.sealed_sha256, places.sealed, places.base)
    snapshot = f"/v1/artifacts/{plan.snapshot_artifact}"
    skipped = _lay_out(client, snapshot, plan.snapshot_sha256, places.workspace, places.base, hostile=True)
    (places.base / PROJECT).mkdir(exist_ok=True)
    task = documents.load(PublicTask, (places.base / PUBLIC_FILE).read_bytes(), name=PUBLIC_FILE)
    project, fixture = places.workspace / PROJECT, places.base / PROJECT
    touched = restore_protected(project, fixture, task.protected, task.generated)
    (places.base / LAYOUT_FILE).write_bytes(documents.dump(Layout(touched, skipped[:_SKIPPED_MAX])))
    if runtime_source is not None:
        runtime.copy(runtime_source, places.shared / "runtime")


def main() -> int:
    """Run as the pod's init container; exit 1 is final, 75 means that the gateway or store was not there in time."""
    try:
        plan = documents.load(EvaluationPlan, os.environ.get(names.ENV_PLAN, ""), name=names.ENV_PLAN)
        client = GatewayClient.from_env(deadline_seconds=plan.fetch_seconds)
        fetch(Places(), plan, client, Path(names.RUNTIME_IN_IMAGE))
    except GatewayUnavailable as error:
        failure.report(error)
        return failure.TEMPORARY
    except (FairtrialError, OSError, KeyError) as error:
        failure.report(error)
        return failure.FINAL
    return 0


def _lay_out(
    client: GatewayClient, path: str, sha256: str, target: Path, scratch: Path, *, hostile: bool = False
) -> list[str]:
    file = scratch / f".{sha256}.tar"
    client.download(path, file, sha256=sha256)
    try:
        with file.open("rb") as opened:
            return extract(chunks_of(opened), target, sha256=sha256, unsafe="skip" if hostile else "refuse").skipped
    finally:
        file.unlink()


if __name__ == "__main__":
    sys.exit(main())
