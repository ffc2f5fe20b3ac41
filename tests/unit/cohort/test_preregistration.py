"""The preregistration: all that was fixed, in bytes that never differ, and checks that find what was changed."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from fairtrial.api import BenchmarkCohort, ModelProvider, parse
from fairtrial.cohort.preregistration import (
    Found,
    document,
    resolved_in,
    schedule_in,
    spec_in,
    spec_sha256,
    to_bytes,
    verify,
)
from fairtrial.cohort.resolution import problems_of
from fairtrial.cohort.schedule import schedule_of
from fairtrial.errors import InvalidInput
from fairtrial.testing import COHORT_UID, EVALUATOR_IMAGE, confirmatory, make_cohort, make_resource_class, make_task


def found(cohort: BenchmarkCohort) -> Found:
    """Every object that a cohort names, as it says."""
    tasks = {
        task.name: make_task(
            task.name,
            publicArchive={"sha256": task.public_sha256, "size": 1},
            sealedArchive={"sha256": task.sealed_sha256, "size": 1},
        )
        for task in cohort.spec.tasks
    }
    return Found(tasks, make_resource_class(), {})


def provider(name: str, uid: str = "u", model: str = "model-1") -> ModelProvider:
    spec = {
        "url": "https://models.example",
        "wire": "openaiChat",
        "credentialSecretRef": {"name": "key", "key": "token"},
        "model": {"id": model},
        "usage": {"cachedInsideInput": True, "reasoningInsideOutput": True},
    }
    return parse(ModelProvider, {"metadata": {"name": name, "uid": uid}, "spec": spec})


def sealed(**changes: Any) -> dict[str, Any]:
    cohort = make_cohort(**confirmatory() | changes)
    made: dict[str, Any] = json.loads(to_bytes(document(cohort, found(cohort))))
    return made


def test_it_holds_all_that_was_fixed():
    cohort = make_cohort(**confirmatory())
    made = sealed()

    assert made["cohort"]["specSha256"] == spec_sha256(cohort)
    assert made["spec"]["constitution"]["permittedClaim"] == "As the protocol says."
    assert len(made["spec"]["controls"]) == 8
    assert made["spec"]["decisionRule"]["conditions"][0]["metric"] == "success_rate"
    assert made["spec"]["analysis"]["version"] == "1"
    assert made["spec"]["replacement"] == {"reasons": ["host_failure", "provider_outage"], "maxPerCell": 2}
    assert made["resolved"]["tasks"]["task-1"]["evaluatorImage"] == EVALUATOR_IMAGE
    assert made["candidates"][1]["configuration"]["argv"] == ["/bin/agent", "--twice", "{prompt}"]
    assert made["candidates"][1]["role"] == "treatment"
    assert (made["schedule"]["seed"], made["schedule"]["algorithm"]) == (20260723, "sha256-blocks-v1")
    assert len(made["schedule"]["entries"]) == 20
    assert made["scheduleSha256"] == schedule_of(cohort).sha256
    assert schedule_in(made) == schedule_of(cohort)


def test_sealing_again_gives_the_same_bytes_whatever_may_change_afterwards():
    first = make_cohort(**confirmatory())
    again = make_cohort(
        **confirmatory() | {"seal": True, "suspend": True, "cancel": {"reason": "r"}},
        metadata={"generation": 7, "resourceVersion": "99"},
        status={"phase": "Sealed"},
    )
    assert to_bytes(document(first, found(first))) == to_bytes(document(again, found(again)))


def test_the_order_of_lists_in_the_file_changes_neither_schedule_nor_digests_of_candidates():
    one, other = sealed(), sealed(candidates=list(reversed(make_cohort().as_json()["spec"]["candidates"])))
    assert one["scheduleSha256"] == other["scheduleSha256"]
    assert one["candidates"] == other["candidates"]


def test_what_is_sealed_is_found_good():
    cohort = make_cohort(**confirmatory())
    assert verify(to_bytes(document(cohort, found(cohort)))) == []
    pilot = make_cohort()
    assert verify(to_bytes(document(pilot, found(pilot)))) == []


@pytest.mark.parametrize("spec", [confirmatory(), {}, {"mode": "endToEnd"}], ids=["confirmatory", "pilot", "declared"])
def test_the_spec_that_was_sealed_is_read_as_it_was_applied(spec: dict[str, Any]):
    cohort = make_cohort(**spec)
    found_spec = spec_in(document(cohort, found(cohort)))

    assert found_spec.as_json() == cohort.spec.as_json()


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("spec", [], "no spec"),
        ("candidates", None, "no spec or no candidates"),
        ("candidates", [{"name": "a"}], "candidates"),
        ("tasks", [{"name": "t"}], "tasks"),
    ],
)
def test_a_spec_that_is_none_is_refused_with_its_field(key: str, value: Any, why: str):
    with pytest.raises(InvalidInput, match=why):
        spec_in(sealed() | {key: value})


@pytest.mark.parametrize("where", ["spec", "schedule"])
def test_more_runs_than_a_cohort_may_have_are_refused_before_anything_is_made_of_them(where: str):
    made = sealed()
    made[where]["repetitions"] = 10**30

    assert any("more than 20000 runs" in problem.message for problem in verify(to_bytes(made)))
    if where == "schedule":
        with pytest.raises(InvalidInput, match="more than 20000 runs"):
            schedule_in(made)


def swap(made: dict[str, Any]) -> None:
    entries = made["schedule"]["entries"]
    entries[0]["candidate"], entries[1]["candidate"] = entries[1]["candidate"], entries[0]["candidate"]


CHANGES: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "two arms swapped": (swap, "schedule.entries[0]"),
    "another seed": (lambda made: made["spec"]["schedule"].update(seed=2), "schedule"),
    "a run dropped": (lambda made: made["schedule"]["entries"].pop(), "schedule.entries"),
    "a run added": (
        lambda made: made["schedule"]["entries"].append(made["schedule"]["entries"][0]),
        "schedule.entries",
    ),
    "a run renamed": (lambda made: made["schedule"]["entries"][4].update(run="x"), "schedule.entries[4]"),
    "fewer repetitions": (lambda made: made["spec"].update(repetitions=4), "schedule.entries"),
    "the schedule's own seed": (lambda made: made["schedule"].update(seed=2), "schedule"),
    "its digest": (lambda made: made.update(scheduleSha256="0" * 64), "scheduleSha256"),
    "another claim": (lambda made: made["spec"]["constitution"].update(permittedClaim="All."), "constitutionSha256"),
    "a wider margin": (
        lambda made: made["spec"]["decisionRule"]["conditions"][0].update(threshold="-0.90"),
        "decisionRuleSha256",
    ),
    "another argv": (
        lambda made: made["candidates"][0]["configuration"].update(argv=["x"]),
        "candidates[0].configurationSha256",
    ),
    "a field missing": (lambda made: made.pop("schedule"), "preregistration"),
    "an unknown field in the schedule": (lambda made: made["schedule"].update(note=1), "preregistration"),
    "an unknown algorithm": (lambda made: made["spec"]["schedule"].update(algorithm="v2"), "preregistration"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_was_changed_is_found(name: str):
    change, field = CHANGES[name]
    made = sealed()
    change(made)
    assert [problem.field for problem in verify(to_bytes(made)) if problem.field.startswith(field)]


def test_a_schedule_that_does_not_match_its_seed_is_shown_at_its_first_difference():
    made = sealed()
    swap(made)
    message = next(str(one) for one in verify(to_bytes(made)) if one.field.startswith("schedule.entries"))
    assert "seed 20260723 makes it cohort-1-00001 (" in message


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"{}", b'{"a":1,"a":2}', b"\xff"])
def test_what_is_no_preregistration_is_said_to_be_none(data: bytes):
    assert [problem.field for problem in verify(data)] == ["preregistration"]


def test_other_bytes_of_the_same_document_are_not_what_was_sealed():
    data = json.dumps(sealed(), sort_keys=True).encode()
    assert [str(problem) for problem in verify(data)] == ["preregistration: is not in its canonical form."]


# --- objects after the seal -------------------------------------------------------------------------------------------
def anew(**spec: Any) -> Any:
    """The first task as somebody deleted it and made it again."""
    return make_task("task-1", metadata={"uid": "another"}, **spec)


def edited(**spec: Any) -> Any:
    """The resource class as somebody edited it."""
    return make_resource_class(metadata={"generation": 9}, **spec)


OTHER_PROMPT = [{"name": "main", "prompt": "Do as you like.", "wallSeconds": 600}]
ONE = provider("m")


@pytest.mark.parametrize(
    ("task", "resource_class", "model", "told"),
    [
        (make_task("task-1"), make_resource_class(), ONE, None),
        (anew(), edited(), provider("m", "another"), None),  # to the same effect
        (anew(publicArchive={"sha256": "7" * 64, "size": 1}), make_resource_class(), ONE, "publicSha256"),
        (anew(steps=OTHER_PROMPT), make_resource_class(), ONE, "prompts"),
        (anew(evaluatorImage=f"localhost/e@sha256:{'8' * 64}"), make_resource_class(), ONE, "evaluatorImage"),
        (make_task("task-1"), edited(limits={"memory": "3Gi"}), ONE, "ResourceClass 'small' has another spec"),
        (make_task("task-1"), make_resource_class(), provider("m", "another", "model-2"), "has another model"),
    ],
)
def test_an_object_that_is_another_than_was_sealed_is_named(task: Any, resource_class: Any, model: Any, told: Any):
    cohort = make_cohort(execution={"network": {"modelProviderRef": {"name": "m"}}})
    before = Found({"task-1": make_task("task-1")}, make_resource_class(), {"m": ONE})

    changed = resolved_in(document(cohort, before)).changed(task, resource_class, model)

    assert [told in one.message for one in changed] == ([True] if told else [])


def test_a_preregistration_without_what_was_resolved_is_refused():
    with pytest.raises(InvalidInput, match="resolved"):
        resolved_in({"resolved": {"tasks": {}, "providers": {}}})


# --- amendments -------------------------------------------------------------------------------------------------------
OLD = {"name": "old", "reason": "A typo in the question."}
SEALED_AS = {"preregistrationSha256": "5" * 64}


@pytest.mark.parametrize(
    ("amends", "there", "uid"),
    [
        (OLD, make_cohort("old", status=SEALED_AS), {"uid": COHORT_UID}),
        (OLD | SEALED_AS, make_cohort("old", status=SEALED_AS), {"uid": COHORT_UID}),
        (OLD | SEALED_AS, None, {}),  # its object is gone; what it sealed lies in the store
    ],
)
def test_what_is_sealed_says_which_preregistration_it_amends(amends: Any, there: Any, uid: Any):
    cohort = make_cohort("new", amends=amends)
    objects = replace(found(cohort), amended=there)

    assert problems_of(cohort, objects) == []
    made = document(cohort, objects)

    assert made["resolved"]["amends"] == {"name": "old"} | SEALED_AS | uid
    assert verify(to_bytes(made)) == []
    assert "amends" not in document(make_cohort(), found(make_cohort()))["resolved"]


def test_the_same_class_is_no_other_where_a_newer_version_digests_it_differently():
    made = document(make_cohort(), found(make_cohort()))
    made["resolved"]["resourceClass"]["specSha256"] = "9" * 64  # as a version with fewer fields had it
    assert resolved_in(made).changed(make_task("task-1"), make_resource_class(), None) == []
