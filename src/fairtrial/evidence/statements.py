"""What is signed about a cohort's documents, in the words of in-toto. Pure: made from the documents alone.

So a statement that is made again after a crash has the same bytes, and an auditor can make it from the record and see
that nothing else was signed.
"""

import re
from collections.abc import Iterator
from typing import Any

from fairtrial.attest import statement
from fairtrial.attest.statement import Statement
from fairtrial.documents import EvaluationReport
from fairtrial.evidence.layout import sha256
from fairtrial.evidence.package_paths import sealed
from fairtrial.evidence.record_model import Record

RUN = "https://fairtrial.dev/attestation/run/v1"  # SLSA's buildType
OPERATOR = "https://fairtrial.dev/operator"  # SLSA's builder
PREREGISTRATION_FILE, RECORD_FILE, REPORT_FILE = "preregistration.json", "record.json", "evaluation/report.json"
SNAPSHOT, DIFF = "snapshot", "diff"
_BY_DIGEST = re.compile(r"^(?P<name>.*)@sha256:(?P<digest>[0-9a-f]{64})$")
# The predicate knows no "could not be judged". It is neither a pass nor a failure of what was tested.
_RESULTS = {"passed": "PASSED", "failed": "FAILED", "error": "WARNED"}
JsonObject = dict[str, Any]


def preregistration(data: bytes, held: JsonObject) -> Statement:
    """About the preregistration `held`, whose stored bytes are `data`."""
    predicate = {key: held[key] for key in ("cohort", "scheduleSha256", "constitutionSha256", "decisionRuleSha256")}
    runs = {"runs": len(held["schedule"]["entries"])}
    return Statement.of([(PREREGISTRATION_FILE, sha256(data))], statement.PREREGISTRATION, predicate | runs)


def release(data: bytes, held: JsonObject) -> Statement:
    """About all hidden archives that the preregistration `held`, whose stored bytes are `data`, commits to."""
    tasks = sorted(held["resolved"]["tasks"].items())
    archives = [{"task": name, "sealedSha256": task["sealedSha256"]} for name, task in tasks]
    predicate = {"cohort": held["cohort"], "preregistrationSha256": sha256(data), "sealedArchives": archives}
    digests = sorted({one["sealedSha256"] for one in archives})
    return Statement.of([(sealed(one), one) for one in digests], statement.RELEASE, predicate)


def provenance(record: Record, data: bytes) -> Statement:
    """About a record, whose bytes are `data`: SLSA provenance v1 of the run that it tells of."""
    subjects = [(RECORD_FILE, sha256(data))]
    if record.patch.snapshot is not None and record.patch.snapshot.artifact is not None:
        subjects.append((SNAPSHOT, record.patch.snapshot.artifact.sha256))
    if record.patch.diff is not None:
        subjects.append((DIFF, record.patch.diff.sha256))
    identity, configuration, environment = record.identity, record.configuration, record.environment
    times = record.timings.timestamps
    metadata = {
        "invocationId": identity.uid,
        "startedOn": times.get("agentStarted"),
        "finishedOn": times.get("evaluated") or times.get("agentFinished"),
    }
    predicate = {
        "buildDefinition": {
            "buildType": RUN,
            "externalParameters": {
                "namespace": identity.namespace,
                "run": identity.run,
                "task": identity.task.name,
                "repetition": identity.repetition,
                "candidate": {
                    "name": configuration.name,
                    "version": configuration.version,
                    "configurationSha256": configuration.configuration_sha256,
                },
                "lineage": record.lineage.as_json(),
            },
            "internalParameters": {
                "resourceClass": environment.resource_class,
                "networkPolicy": environment.network_policy,
            },
            "resolvedDependencies": list(_dependencies(record)),
        },
        "runDetails": {
            "builder": {"id": OPERATOR},
            "metadata": {key: value for key, value in metadata.items() if value is not None},
            "byproducts": [{"name": one.name, "digest": {"sha256": one.sha256}} for one in record.artifacts],
        },
    }
    return Statement.of(subjects, statement.PROVENANCE, predicate)


def evaluation(report: EvaluationReport, data: bytes) -> Statement:
    """About an evaluator's report, whose bytes are `data`: in-toto test-result v0.1 of the snapshot that it judged.

    `warnedTests` are the checks that could not judge. Verdict, report, public archive and run are fields of our own.
    """
    named = {
        state: [one.name for one in report.checks if one.state == state] for state in ("passed", "failed", "error")
    }
    predicate = {
        "result": _RESULTS[report.verdict],
        "configuration": [{"name": "sealed", "digest": {"sha256": one}} for one in (report.sealed_sha256,) if one],
        "passedTests": named["passed"],
        "warnedTests": named["error"],
        "failedTests": named["failed"],
        "verdict": report.verdict,
        "reportSha256": sha256(data),
        "publicArchiveSha256": report.bundle_sha256,
        "run": {"namespace": report.run.namespace, "name": report.run.name, "uid": report.run.uid},
    }
    # An evaluation that broke before it saw a snapshot can only be about what it says itself.
    judged = (SNAPSHOT, report.snapshot_sha256) if report.snapshot_sha256 else (REPORT_FILE, sha256(data))
    return Statement.of([judged], statement.TEST_RESULT, predicate)


def _dependencies(record: Record) -> Iterator[JsonObject]:
    """What the run was made from: images as asked for and as resolved, and the task's two archives."""
    environment, task = record.environment, record.identity.task
    images = {"image/candidate": environment.candidate_image}
    if environment.evaluator_image.state == "measured":
        images["image/evaluator"] = str(environment.evaluator_image.value)
    images |= {f"container/{name}": image for name, image in sorted(environment.resolved_images.items())}
    for name, image in images.items():
        found = _BY_DIGEST.match(image)
        yield {"name": name, "uri": image} | ({"digest": {"sha256": found["digest"]}} if found else {})
    for name, value in (("archive/public", task.public_sha256), ("archive/sealed", task.sealed_sha256)):
        if value.state == "measured":
            yield {"name": name, "digest": {"sha256": str(value.value)}}
