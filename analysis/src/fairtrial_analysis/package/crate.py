"""RO-Crate 1.2 metadata (Process Run Crate): what the package is, for people and for archives. Pure.

It describes and proves nothing: no check rests on it. Its one date is the latest that the ledger holds.
"""

from typing import Any

from fairtrial import documents
from fairtrial_analysis.package.bag import SOFTWARE, version
from fairtrial_analysis.report.model import Report

JsonObject = dict[str, Any]
CONTEXT = "https://w3id.org/ro/crate/1.2/context"
CONFORMS = "https://w3id.org/ro/crate/1.2"
PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
_SOFTWARE_ID, _ACTION_ID = "#analysis-software", "#analysis"
_JSON = "application/json"
_FILES = {
    "preregistration.json": ("All that was fixed before the first run", _JSON),
    "commitments.json": ("Digests of what stays sealed until it is released", _JSON),
    "analysis/request.json": ("What was analysed, and with what", _JSON),
    "analysis/report.json": ("The report, canonical JSON", _JSON),
    "analysis/report.html": ("The report, for reading", "text/html"),
    "analysis/runs.csv": ("Every run, as a table", "text/csv"),
    "analysis/runs.parquet": ("Every run, as a table", "application/vnd.apache.parquet"),
}
_FOLDERS = {
    "ledger/": "What was decided and what happened, in order",
    "runs/": "Record, statements, artifacts and model calls of each run",
    "tasks/": "What agents were given, by digest",
}
_RESULTS = [path for path in _FILES if path.startswith("analysis/") and path != "analysis/request.json"]


def metadata(report: Report) -> bytes:
    """ro-crate-metadata.json of the package's `data/`."""
    files = [
        {"@id": path, "@type": "File", "name": name, "encodingFormat": media} for path, (name, media) in _FILES.items()
    ]
    folders = [{"@id": path, "@type": "Dataset", "name": name} for path, name in _FOLDERS.items()]
    parts = sorted((*_FILES, *_FOLDERS))
    graph = [_descriptor(), _root(report, parts), _software(), _action(report), _profile(), *files, *folders]
    return documents.dump({"@context": CONTEXT, "@graph": sorted(graph, key=lambda one: str(one["@id"]))})


def _descriptor() -> JsonObject:
    return {
        "@id": "ro-crate-metadata.json",
        "@type": "CreativeWork",
        "about": {"@id": "./"},
        "conformsTo": {"@id": CONFORMS},
    }


def _root(report: Report, parts: list[str]) -> JsonObject:
    cohort = report.cohort
    return {
        "@id": "./",
        "@type": "Dataset",
        "name": f"Evidence of cohort {cohort.namespace}/{cohort.name}",
        "description": cohort.question or f"A {cohort.stage} cohort.",
        "identifier": f"{cohort.namespace}/{cohort.name}/{cohort.uid}",
        "datePublished": report.provenance.as_of,
        "license": "Not stated: ask whoever published the package.",
        "conformsTo": {"@id": PROFILE},
        "hasPart": [{"@id": path} for path in parts],
        "mentions": {"@id": _ACTION_ID},
    }


def _software() -> JsonObject:
    return {"@id": _SOFTWARE_ID, "@type": "SoftwareApplication", "name": f"{SOFTWARE}-analysis", "version": version()}


def _action(report: Report) -> JsonObject:
    return {
        "@id": _ACTION_ID,
        "@type": "CreateAction",
        "name": f"Analysis of {report.provenance.ledger_size} ledger entries",
        "instrument": {"@id": _SOFTWARE_ID},
        "object": [{"@id": "preregistration.json"}, {"@id": "ledger/"}, {"@id": "runs/"}],
        "result": [{"@id": path} for path in sorted(_RESULTS)],
        "endTime": report.provenance.as_of,
    }


def _profile() -> JsonObject:
    return {"@id": PROFILE, "@type": "CreativeWork", "name": "Process Run Crate", "version": "0.5"}
