"""The documents that a package adds: what was analysed, what is promised for later, what is held back. Pure."""

from collections.abc import Iterable
from typing import Any

from fairtrial import documents
from fairtrial_analysis.package.listing import File
from fairtrial_analysis.report.model import Report

WITHHELD_BECAUSE = "a credential or canary was found, or not looked for, where it lies"


def request(report: Report) -> dict[str, Any]:
    """What was analysed and with what: the same request gives the same report."""
    cohort, made = report.cohort, report.provenance
    return {
        "schemaVersion": 1,
        "kind": "AnalysisRequest",
        "cohort": {"namespace": cohort.namespace, "name": cohort.name, "uid": cohort.uid},
        "preregistrationSha256": cohort.preregistration_sha256,
        "ledger": {"size": made.ledger_size, "headSha256": made.ledger_head},
        "analysis": {"version": made.analysis_version, "image": made.analysis_image, "seed": made.seed},
        "signing": made.signing,
        "ruleSha256": made.rule_sha256,
        "conventionsSha256": made.conventions_sha256,
    }


def commitments(preregistration: dict[str, Any]) -> bytes:
    """What was fixed before the first run and stays hidden until it is released, by digest."""
    tasks = preregistration["resolved"]["tasks"]
    sealed = [{"task": name, "sealedSha256": task["sealedSha256"]} for name, task in sorted(tasks.items())]
    images = [{"task": name, "evaluatorImage": task["evaluatorImage"]} for name, task in sorted(tasks.items())]
    made = {"schemaVersion": 1, "kind": "Commitments", "sealedArchives": sealed, "evaluatorImages": images}
    return documents.dump(made)


def withheld(files: Iterable[File]) -> bytes:
    """What is held back: it can be told by its hash, and is not in the manifest."""
    listed = [{"path": f"data/{one.path}", "size": one.size, "sha256": one.sha256} for one in files]
    return documents.dump({"schemaVersion": 1, "kind": "Withheld", "because": WITHHELD_BECAUSE, "files": listed})
