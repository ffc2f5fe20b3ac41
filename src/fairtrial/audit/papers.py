"""The documents that a package adds: what was analysed, what is hidden until its release, what is held back."""

import hashlib
from collections.abc import Mapping
from typing import Any

from fairtrial.audit.documents import load, reading
from fairtrial.audit.files import Listed
from fairtrial.audit.folder import Folder
from fairtrial.audit.ledger import Ledger
from fairtrial.audit.preregistration import Plan

JsonObject = dict[str, Any]
REQUEST, COMMITMENTS, WITHHELD = "data/analysis/request.json", "data/commitments.json", "data/withheld.json"
_ARCHIVES = (("data/tasks/sha256/", "publicSha256"), ("data/sealed/sha256/", "sealedSha256"))


def request(folder: Folder, plan: Plan, ledger: Ledger) -> JsonObject | None:
    """What was analysed, held against what is there and what was sealed."""
    said, findings = load(folder, REQUEST), folder.findings
    if said is None:
        return None
    if not isinstance(said, dict) or (said.get("schemaVersion"), said.get("kind")) != (1, "AnalysisRequest"):
        findings.add("VERSION_UNKNOWN", REQUEST, "Is no AnalysisRequest of schema version 1.")
        return None
    with reading(findings, REQUEST):
        expected = {
            "cohort": {"namespace": plan.namespace, "name": plan.cohort, "uid": plan.uid},
            "preregistrationSha256": plan.sha256,
            "ledger": {"size": ledger.size, "headSha256": ledger.head},
        }
        for key, value in expected.items():
            if said[key] != value:
                findings.add("REQUEST_MISMATCH", REQUEST, f"Its {key} is {said[key]}; the package has {value}.")
        if said["ledger"]["size"] > ledger.size:
            findings.add("LEDGER_TRUNCATED", REQUEST, f"Knows {said['ledger']['size']} entries.")
        sealed = plan.raw["spec"].get("analysis")
        analysis = said["analysis"]
        for key in ("version", "image", "seed") if sealed else ():
            if key == "image" and analysis[key] is None:
                findings.remark("The analysis does not say which image it ran in.")
            elif analysis[key] != sealed.get(key, 0):
                says = f"The {key} of the analysis is {analysis[key]}; {sealed.get(key, 0)} was preregistered."
                findings.add("ANALYSIS_NOT_PREREGISTERED", REQUEST, says)
    return said


def bag_info(folder: Folder, plan: Plan) -> None:
    """Whose bag it is."""
    data = folder.read("bag-info.txt")
    line = f"External-Identifier: {plan.namespace}/{plan.cohort}/{plan.uid}"
    if data is not None and line.encode() not in data.split(b"\n"):
        folder.findings.add("COHORT_MISMATCH", "bag-info.txt", f"Does not say {line}.")


def archives(folder: Folder, listed: Listed, plan: Plan) -> None:
    """Tasks' archives by the digests that were preregistered: public ones always, sealed ones once released."""
    with reading(folder.findings, COMMITMENTS):
        tasks = plan.raw["resolved"]["tasks"]
        said = load(folder, COMMITMENTS)
        expected = {
            "schemaVersion": 1,
            "kind": "Commitments",
            "sealedArchives": [{"task": name, "sealedSha256": tasks[name]["sealedSha256"]} for name in sorted(tasks)],
            "evaluatorImages": [
                {"task": name, "evaluatorImage": tasks[name]["evaluatorImage"]} for name in sorted(tasks)
            ],
        }
        if said != expected:
            folder.findings.add("COMMITMENT_MISMATCH", COMMITMENTS, "Is not what the preregistration commits to.")
        for prefix, key in _ARCHIVES:
            committed = {task[key] for task in tasks.values()}
            for path in folder.below(prefix):
                name = path.removeprefix(prefix)
                if name not in committed:
                    folder.findings.add("COMMITMENT_MISMATCH", path, "No task of the cohort has this archive.")
                elif listed.payload.get(path) != name:
                    folder.findings.add("COMMITMENT_MISMATCH", path, "Is not the archive that was committed to.")
        for digest in sorted({task["publicSha256"] for task in tasks.values()}):
            if f"data/tasks/sha256/{digest}" not in listed.manifest:
                folder.findings.add("FILE_MISSING", f"data/tasks/sha256/{digest}", "A task's public archive.")
        if not any(folder.below("data/sealed/")):
            folder.findings.remark("The hidden parts of the tasks are committed to by hash, and not released here.")


def withheld(folder: Folder) -> Mapping[str, str]:
    """The digests of files that are held back, by path."""
    said = load(folder, WITHHELD)
    if said is None:
        return {}
    with reading(folder.findings, WITHHELD):
        if (said["schemaVersion"], said["kind"]) != (1, "Withheld"):
            folder.findings.add("VERSION_UNKNOWN", WITHHELD, "Is no list of schema version 1.")
        if said["files"]:
            folder.findings.remark(f"{len(said['files'])} files are held back: {said['because']}.")
        return {str(one["path"]): str(one["sha256"]) for one in said["files"]}
    return {}


def digest_of_package(folder: Folder) -> str:
    """What a package is called by: the SHA-256 of its manifest."""
    return hashlib.sha256(folder.read("manifest-sha256.txt") or b"").hexdigest()
