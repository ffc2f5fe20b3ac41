"""What operator and evaluator signed about each run, and the analysis about the package."""

from collections.abc import Mapping
from typing import Any

from fairtrial.attest import statement, trust
from fairtrial.attest.trust import TrustList
from fairtrial.audit import signatures
from fairtrial.audit.documents import reading
from fairtrial.audit.files import SIGNATURE, SIGNED_TAGS, Listed
from fairtrial.audit.flow import RUNS, path_of
from fairtrial.audit.folder import Folder
from fairtrial.audit.preregistration import PATH as PREREGISTRATION
from fairtrial.audit.times import NOWHERE, Known, Times

JsonObject = dict[str, Any]
SEALED = "data/preregistration.sigstore.json"
REPORT_FILE = "evaluation/report.json"
_RESULTS = {"passed": "PASSED", "failed": "FAILED", "error": "WARNED"}  # it could not judge: neither of the two
_REPORT = "evaluation/report.json"


def package(
    folder: Folder, listed: Listed, trusted: TrustList, request: Any, known: Known = NOWHERE
) -> JsonObject | None:
    """The predicate that the analysis signed over the package's lists."""
    said = signatures.statement(
        folder, trusted, SIGNATURE, trust.PACKAGE, statement.PACKAGE, known=known, missing="SIG_MISSING"
    )
    if said is None:
        return None
    signatures.covers(
        folder, SIGNATURE, said, [(path, listed.tags[path]) for path in SIGNED_TAGS if path in listed.tags]
    )
    with reading(folder.findings, SIGNATURE):
        own = {key: value for key, value in said.predicate.items() if key != "verdict"}
        if request is not None and own != request:
            folder.findings.add("STATEMENT_MISMATCH", SIGNATURE, "Speaks of another request than data/analysis has.")
    return said.predicate


def preregistration(folder: Folder, listed: Listed, trusted: TrustList, times: Times) -> None:
    """The operator's statement about the preregistration."""
    known, roles = times.of_preregistration(), trust.PREREGISTRATION
    said = signatures.statement(
        folder, trusted, SEALED, roles, statement.PREREGISTRATION, known=known, missing="SIG_MISSING"
    )
    signatures.covers(folder, SEALED, said, [("preregistration.json", listed.payload.get(PREREGISTRATION, ""))])


def runs(folder: Folder, listed: Listed, trusted: TrustList, records: Mapping[str, JsonObject], times: Times) -> None:
    """The operator's statement about each record, and the evaluator's about what it judged."""
    for run, record in records.items():
        known = times.of(times.ledger.records.get(run))
        with reading(folder.findings, path_of(run)):
            _record(folder, listed, trusted, run, record, known)
            _evaluation(folder, trusted, run, record, known)


def _record(folder: Folder, listed: Listed, trusted: TrustList, run: str, record: JsonObject, known: Known) -> None:
    path = f"{RUNS}{run}/record.sigstore.json"
    said = signatures.statement(
        folder, trusted, path, trust.RECORD, statement.PROVENANCE, known=known, missing="SIG_MISSING"
    )
    if said is None:
        return
    artifacts = {one["sha256"] for one in record["artifacts"]}
    if listed.payload.get(path_of(run)) not in said.digests.values():
        folder.findings.add("SUBJECT_MISMATCH", path, "Is about another record.")
    elif set(said.digests.values()) - artifacts - {listed.payload.get(path_of(run))}:
        folder.findings.add("SUBJECT_MISMATCH", path, "Is about a file that the record does not list.")
    else:
        with reading(folder.findings, path):
            _same(folder, path, _provenance(said.predicate), _of_record(record))


def _provenance(predicate: JsonObject) -> JsonObject:
    definition, details = predicate["buildDefinition"], predicate["runDetails"]
    return {
        **{key: definition["externalParameters"][key] for key in ("namespace", "run", "task", "repetition", "lineage")},
        "configuration": definition["externalParameters"]["candidate"]["configurationSha256"],
        "uid": details["metadata"]["invocationId"],
        "byproducts": [(one["name"], one["digest"]["sha256"]) for one in details["byproducts"]],
    }


def _of_record(record: JsonObject) -> JsonObject:
    identity = record["identity"]
    return {
        **{key: identity[key] for key in ("namespace", "run", "repetition", "uid")},
        "task": identity["task"]["name"],
        "lineage": record["lineage"],
        "configuration": record["configuration"]["configurationSha256"],
        "byproducts": [(one["name"], one["sha256"]) for one in record["artifacts"]],
    }


def _same(folder: Folder, path: str, said: JsonObject, wanted: JsonObject) -> None:
    """That a predicate says of the record what the record says."""
    for key, value in wanted.items():
        if said.get(key) != value:
            folder.findings.add("STATEMENT_MISMATCH", path, f"Its {key} is {said.get(key)}; the record has {value}.")


def _evaluation(folder: Folder, trusted: TrustList, run: str, record: JsonObject, known: Known) -> None:
    path, evaluation = f"{RUNS}{run}/evaluation.sigstore.json", record["evaluation"]
    verdict = evaluation["verdict"].get("value")
    missing = "EVAL_MISSING" if verdict else ""
    said = signatures.statement(
        folder, trusted, path, trust.EVALUATION, statement.TEST_RESULT, known=known, missing=missing
    )
    if said is None:
        return
    artifacts = {one["name"]: one["sha256"] for one in record["artifacts"]}
    # an evaluation that broke before it saw a snapshot is about its own report
    judged = evaluation["snapshotSha256"].get("value") or artifacts.get(REPORT_FILE)
    if set(said.digests.values()) != {judged}:
        folder.findings.add("EVAL_SUBJECT_MISMATCH", path, f"Is about another snapshot than {judged}.")
        return
    result = _RESULTS.get(verdict, "WARNED")
    if said.predicate.get("result") != result:
        folder.findings.add("EVAL_RESULT_MISMATCH", path, f"Says {said.predicate.get('result')}, not {result}.")
    for key, state in (("passedTests", "passed"), ("failedTests", "failed"), ("warnedTests", "error")):
        names = sorted(check["name"] for check in evaluation["checks"] if check["state"] == state)
        if sorted(said.predicate.get(key, [])) != names:
            folder.findings.add("EVAL_RESULT_MISMATCH", path, f"Its {key} are not the record's checks that {state}.")
    with reading(folder.findings, path):
        identity, predicate = record["identity"], said.predicate
        wanted: JsonObject = {"run": {"namespace": identity["namespace"], "name": run, "uid": identity["uid"]}}
        told = {"run": predicate["run"], "sealed": [one["digest"]["sha256"] for one in predicate["configuration"]]}
        if "value" in identity["task"]["sealedSha256"]:
            wanted["sealed"] = [identity["task"]["sealedSha256"]["value"]]
        if REPORT_FILE in artifacts:
            wanted["reportSha256"], told["reportSha256"] = artifacts[REPORT_FILE], predicate["reportSha256"]
        _same(folder, path, told, wanted)
