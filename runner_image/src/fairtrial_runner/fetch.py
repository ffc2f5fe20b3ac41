"""The init container: verify and lay out everything that an agent pod works with, before anything untrusted runs."""

import os
import shutil
import sys
from pathlib import Path

from fairtrial import archive, documents, failure, names, runtime
from fairtrial.documents import AgentPlan
from fairtrial.errors import FairtrialError, GatewayUnavailable
from fairtrial.gateway_client import GatewayClient
from fairtrial_runner.home import lay_files
from fairtrial_runner.places import Places

_RUNTIME_SOURCE = Path("/opt/fairtrial/runtime")  # where the image keeps it


def fetch(places: Places, plan: AgentPlan, client: GatewayClient, runtime_source: Path) -> None:
    """Lay out the workspace, the runtime, the candidate's files and the plan. Starts from empty folders if repeated."""
    for folder in (places.shared, places.workspace):
        _empty(folder)
    client.download(f"/v1/bundles/{plan.bundle_sha256}", places.bundle, sha256=plan.bundle_sha256)
    with places.bundle.open("rb") as file:
        archive.extract(archive.chunks_of(file), places.workspace, sha256=plan.bundle_sha256)
    places.project.mkdir(exist_ok=True)
    runtime.copy(runtime_source, places.runtime)
    places.candidate.mkdir()
    lay_files(places.candidate, plan.candidate_files, "files", 0o444)
    places.plan.write_bytes(documents.dump(plan))


def _empty(folder: Path) -> None:
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def main() -> int:
    """Run as the pod's init container; exit 1 is final, 75 means that the gateway or store was not there in time."""
    places = Places.in_pod()
    try:
        plan = documents.load(AgentPlan, os.environ.get(names.ENV_PLAN, ""), name=names.ENV_PLAN)
        client = GatewayClient.from_env(deadline_seconds=plan.fetch_seconds)
        fetch(places, plan, client, _RUNTIME_SOURCE)
    except GatewayUnavailable as error:
        failure.report(error, places.termination_log)
        return failure.TEMPORARY
    except (FairtrialError, OSError, KeyError) as error:
        failure.report(error, places.termination_log)
        return failure.FINAL
    return 0


if __name__ == "__main__":
    sys.exit(main())
