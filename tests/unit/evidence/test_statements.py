"""What is signed about a record and an evaluation: every digest behind them, the same each time."""

from fairtrial.attest import statement
from fairtrial.evidence import statements
from fairtrial.evidence.layout import sha256
from fairtrial.evidence.record import assemble
from fairtrial.testing import agent_report, evaluation_report, make_finished_run

RECORD = assemble(make_finished_run(), agent_report(), evaluation_report(), agent_report().artifacts[:1])
DATA = RECORD.to_bytes()


def test_a_record_is_signed_with_its_snapshot_and_its_diff() -> None:
    made = statements.provenance(RECORD, DATA)

    assert made.predicate_type == "https://slsa.dev/provenance/v1"
    assert made.digests == {
        "record.json": sha256(DATA),
        "snapshot": RECORD.patch.snapshot.artifact.sha256,  # type: ignore[union-attr]
        "diff": RECORD.patch.diff.sha256,  # type: ignore[union-attr]
    }


def test_provenance_names_what_went_in_and_all_that_came_out() -> None:
    made = statements.provenance(RECORD, DATA).predicate
    needs = {one["name"]: one for one in made["buildDefinition"]["resolvedDependencies"]}

    task = RECORD.identity.task
    assert needs["archive/public"]["digest"] == {"sha256": task.public_sha256.value}
    assert needs["archive/sealed"]["digest"] == {"sha256": task.sealed_sha256.value}
    assert needs["image/candidate"]["uri"] == RECORD.configuration.image
    assert len(needs["image/candidate"]["digest"]["sha256"]) == 64
    assert {name for name in needs if name.startswith("container/")} == {
        f"container/{name}" for name in RECORD.environment.resolved_images
    }
    assert made["runDetails"]["byproducts"] == [
        {"name": one.name, "digest": {"sha256": one.sha256}} for one in RECORD.artifacts
    ]
    assert made["runDetails"]["metadata"]["invocationId"] == RECORD.identity.uid
    outside = made["buildDefinition"]["externalParameters"]
    assert outside["lineage"] == RECORD.lineage.as_json()
    assert outside["candidate"]["configurationSha256"] == RECORD.configuration.configuration_sha256


def test_a_run_that_left_nothing_is_signed_all_the_same() -> None:
    record = assemble(make_finished_run(), None, None)

    made = statements.provenance(record, record.to_bytes())

    assert list(made.digests) == ["record.json"]
    assert statement.parse(made.to_bytes()) == made


def test_the_same_record_gives_the_same_statement() -> None:
    again = assemble(make_finished_run(), agent_report(), evaluation_report(), agent_report().artifacts[:1])

    assert statements.provenance(again, again.to_bytes()).to_bytes() == statements.provenance(RECORD, DATA).to_bytes()


def test_an_evaluation_names_what_was_judged_by_which_tests_and_how() -> None:
    report = evaluation_report()

    made = statements.evaluation(report, b"report")

    assert made.predicate_type == "https://in-toto.io/attestation/test-result/v0.1"
    assert made.digests == {"snapshot": report.snapshot_sha256}
    assert made.predicate["reportSha256"] == sha256(b"report")
    assert made.predicate["result"] == "PASSED"
    assert made.predicate["configuration"] == [{"name": "sealed", "digest": {"sha256": report.sealed_sha256}}]
    assert made.predicate["passedTests"] == [one.name for one in report.checks]
    assert made.predicate["run"]["uid"] == report.run.uid


def test_an_evaluation_that_could_not_judge_neither_passes_nor_fails_anything() -> None:
    made = statements.evaluation(evaluation_report(verdict="error", snapshot_sha256="", checks=[]), b"report")

    assert (made.predicate["result"], made.predicate["verdict"]) == ("WARNED", "error")
    assert list(made.digests) == ["evaluation/report.json"]
    assert statement.parse(made.to_bytes()) == made
