"""The runs of a schedule: good objects, with the identity that the schedule gave them."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fairtrial import names
from fairtrial.api import BenchmarkRun, parse
from fairtrial.api.base import digest
from fairtrial.api.run import Replaced
from fairtrial.cohort.preregistration import document
from fairtrial.cohort.runs import replacement_manifest, run_manifest
from fairtrial.cohort.schedule import schedule_of
from fairtrial.testing import COHORT_UID, confirmatory, make_cohort
from tests.unit.cohort.test_preregistration import found

SHA = "8" * 64


def test_a_run_says_all_that_it_needs():
    cohort = make_cohort(execution={"limits": {"wallSeconds": 60}, "network": {"modelProviderRef": {"name": "p"}}})
    entry = schedule_of(cohort).entries[3]

    run = parse(BenchmarkRun, made := run_manifest(cohort, entry, preregistration_sha256=SHA))

    assert run.metadata.name == "cohort-1-00004"
    assert run.metadata.labels == {names.COHORT_LABEL: "cohort-1"}
    assert made["metadata"]["ownerReferences"][0]["uid"] == COHORT_UID
    spec = run.spec
    task = next(task for task in cohort.spec.tasks if task.name == entry.task)
    assert (spec.task_ref.name, spec.task_ref.public_sha256, spec.task_ref.sealed_sha256) == (
        task.name,
        task.public_sha256,
        task.sealed_sha256,
    )
    assert (spec.candidate.name, spec.repetition, spec.block) == (entry.candidate, entry.repetition, entry.block)
    assert spec.limits.wall_seconds == 60
    assert spec.network.model_provider_ref is not None
    assert spec.cohort_ref is not None
    assert (spec.cohort_ref.name, spec.cohort_ref.index) == ("cohort-1", 4)
    assert spec.cohort_ref.preregistration_sha256 == SHA
    assert spec.replaces is None


def test_the_queue_of_the_cohort_is_its_runs():
    cohort = make_cohort(execution={"queue": "trials"})
    manifests = [run_manifest(one, schedule_of(one).entries[0]) for one in (cohort, make_cohort())]

    assert [parse(BenchmarkRun, one).spec.queue for one in manifests] == ["trials", None]


def test_a_replacement_keeps_the_identity_and_names_whose_place_it_takes():
    cohort = make_cohort()
    entry = schedule_of(cohort).entries[0]
    scheduled = run_manifest(cohort, entry)

    made = replacement_manifest(cohort, entry, Replaced(name=entry.run, uid="u-1"), 1)

    assert made["metadata"]["name"] == f"{entry.run}-r1"
    assert made["spec"].pop("replaces") == {"name": entry.run, "uid": "u-1"}
    assert made["spec"] == scheduled["spec"]
    parse(BenchmarkRun, made)


def test_a_candidate_gets_its_own_variant_and_its_own_provider():
    variant = {"candidate": "twice", "name": "task-1-v2", "publicSha256": "1" * 64, "sealedSha256": "2" * 64}
    raw: Any = make_cohort().as_json()["spec"]
    raw["tasks"][0]["variants"] = [variant]
    raw["candidates"][1]["modelProviderRef"] = {"name": "own"}
    raw["execution"]["network"] = {"modelProviderRef": {"name": "common"}}
    cohort = make_cohort(**raw)
    runs = {
        entry.candidate: run_manifest(cohort, entry)["spec"]
        for entry in schedule_of(cohort).entries
        if entry.task == "task-1"
    }
    assert runs["twice"]["taskRef"] == {"name": "task-1-v2", "publicSha256": "1" * 64, "sealedSha256": "2" * 64}
    assert runs["once"]["taskRef"]["name"] == "task-1"
    assert runs["twice"]["network"] == {"modelProviderRef": {"name": "own"}}
    assert runs["once"]["network"] == {"modelProviderRef": {"name": "common"}}


def test_the_records_of_a_run_have_the_configuration_digest_that_was_preregistered():
    cohort = make_cohort(**confirmatory())
    sealed = {one["name"]: one["configurationSha256"] for one in document(cohort, found(cohort))["candidates"]}
    for entry in schedule_of(cohort).entries[:4]:
        run = parse(BenchmarkRun, run_manifest(cohort, entry))
        assert digest(run.spec.candidate.as_json()) == sealed[entry.candidate]


@given(st.integers(1, 100), st.from_regex(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?", fullmatch=True))
def test_every_run_of_any_cohort_is_one_that_the_api_takes(number: int, name: str):
    cohort = make_cohort(name)
    entry = schedule_of(cohort).entries[-1]
    for made in (
        run_manifest(cohort, entry),
        replacement_manifest(cohort, entry, Replaced(name=entry.run, uid="u"), number),
    ):
        assert parse(BenchmarkRun, made).metadata.name.startswith(entry.run)
