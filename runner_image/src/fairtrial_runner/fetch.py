"""Lay out everything that an agent pod works with, verified, before anything untrusted runs.

The recorder does it, beside its proof of the isolation: launch waits for its word. The runtime is not among it: launch
could not wait for it, so the pod copies it before the agent's container is started.
"""

import shutil

from fairtrial import archive, documents
from fairtrial.documents import AgentPlan
from fairtrial.gateway_client import GatewayClient
from fairtrial_runner.home import lay_files
from fairtrial_runner.places import Places


def fetch(places: Places, plan: AgentPlan, client: GatewayClient) -> None:
    """Lay out the workspace, the candidate's files and, last of all, the plan.

    Starts anew if it was broken off, and does nothing once it was done: an agent may be at work by then.
    """
    if places.plan.exists():
        return
    _empty(places)
    client.download(f"/v1/bundles/{plan.bundle_sha256}", places.bundle, sha256=plan.bundle_sha256)
    with places.bundle.open("rb") as file:
        archive.extract(archive.chunks_of(file), places.workspace, sha256=plan.bundle_sha256)
    places.project.mkdir(exist_ok=True)
    places.candidate.mkdir()
    lay_files(places.candidate, plan.candidate_files, "files", 0o444)
    unfinished = places.plan.with_suffix(".part")
    unfinished.write_bytes(documents.dump(plan))
    unfinished.replace(places.plan)


def _empty(places: Places) -> None:
    for entry in (*places.workspace.iterdir(), places.candidate):
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink(missing_ok=True)
