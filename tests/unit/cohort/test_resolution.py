"""What of the objects that a cohort names is missing or other than it says, each with its field."""

from dataclasses import replace
from typing import Any

import pytest

from fairtrial.api import BenchmarkCohort
from fairtrial.cohort.preregistration import Found, document, provider_names, task_names
from fairtrial.cohort.resolution import problems_of
from fairtrial.testing import make_cohort, make_resource_class, make_task
from tests.unit.cohort.test_preregistration import OLD, SEALED_AS, found, provider


def said(cohort: BenchmarkCohort, objects: Found) -> list[str]:
    return [str(problem) for problem in problems_of(cohort, objects)]


def test_objects_are_there_and_are_what_was_meant():
    cohort = make_cohort()
    assert problems_of(cohort, found(cohort)) == []
    nothing = Found({}, None, {})
    assert [problem.field for problem in problems_of(cohort, nothing)] == [
        "spec.tasks[0].name",
        "spec.tasks[1].name",
        "spec.execution.resourceClassName",
    ]


def test_a_changed_archive_is_named_with_both_digests():
    cohort = make_cohort()
    other = make_task("task-1", publicArchive={"sha256": "7" * 64, "size": 1})
    (problem,) = problems_of(cohort, Found(found(cohort).tasks | {"task-1": other}, make_resource_class(), {}))  # type: ignore[operator]
    assert problem.field == "spec.tasks[0].publicSha256"
    assert "a" * 64 in problem.message
    assert "7" * 64 in problem.message


def test_providers_and_variants_belong_to_what_must_be_there():
    variant = {"candidate": "twice", "name": "task-1-v2", "publicSha256": "1" * 64, "sealedSha256": "2" * 64}
    raw = make_cohort().as_json()["spec"]
    raw["tasks"][0]["variants"] = [variant]
    raw["candidates"][1]["modelProviderRef"] = {"name": "own"}
    cohort = make_cohort(**raw)
    assert task_names(cohort) == ["task-1", "task-1-v2", "task-2"]
    assert provider_names(cohort) == ["own"]
    fields = [problem.field for problem in problems_of(cohort, found(cohort))]
    assert fields == ["spec.tasks[0].variants[0].name", "spec.candidates[1].modelProviderRef"]
    made = document(cohort, Found(found(cohort).tasks, make_resource_class(), {"own": provider("own")}))
    assert made["resolved"]["providers"]["own"]["model"]["id"] == "model-1"
    assert made["candidates"][1]["modelProvider"] == "own"


def test_the_provider_of_all_is_needed_by_those_without_one_of_their_own():
    raw: Any = make_cohort(execution={"network": {"modelProviderRef": {"name": "common"}}}).as_json()["spec"]
    cohort = make_cohort(**raw)
    assert said(cohort, found(cohort)) == [
        "spec.execution.network.modelProviderRef: there is no ModelProvider 'common' here; create it."
    ]
    for candidate in raw["candidates"]:
        candidate["modelProviderRef"] = {"name": "own"}
    cohort = make_cohort(**raw)
    assert problems_of(cohort, replace(found(cohort), providers={"own": provider("own")})) == []


# --- variants ---------------------------------------------------------------------------------------------------------
STEP = {"name": "only", "prompt": "Do it.", "wallSeconds": 600}
OTHER_REQUESTS: dict[str, dict[str, Any]] = {
    "prompt": {"steps": [STEP | {"prompt": "Do it, in app/main.py."}]},
    "time": {"steps": [STEP | {"wallSeconds": 601}]},
    "limits": {"limits": {"wallSeconds": 60}},
    "publicCriteria": {"publicCriteria": ["It is in app/main.py."]},
    "toolServers": {"toolServers": ["search"]},
    "evaluateSeconds": {"evaluateSeconds": 60},
}


def with_variant(**spec: Any) -> list[str]:
    """What is said of a cohort whose treatment works on a fixture of its own; `spec` is what else is its own."""
    variant = {"candidate": "twice", "name": "task-1-v2", "publicSha256": "1" * 64, "sealedSha256": "2" * 64}
    raw: Any = make_cohort().as_json()["spec"]
    raw["tasks"][0]["variants"] = [variant]
    cohort = make_cohort(**raw)
    archives = {"publicArchive": {"sha256": "1" * 64, "size": 1}, "sealedArchive": {"sha256": "2" * 64, "size": 1}}
    return said(
        cohort,
        replace(found(cohort), tasks={**found(cohort).tasks, "task-1-v2": make_task("task-1-v2", **archives | spec)}),
    )


def test_a_variant_differs_in_its_fixture():
    assert with_variant(language="rust", preflight=[{"name": "one", "argv": ["true"], "expectExit": [0]}]) == []


@pytest.mark.parametrize("what", OTHER_REQUESTS)
def test_a_variant_is_the_same_request_under_the_same_budgets(what: str):
    (told,) = with_variant(**OTHER_REQUESTS[what])

    (key,) = OTHER_REQUESTS[what]
    assert told.startswith(f"spec.tasks[0].variants[0]: task 'task-1-v2' has other {key} than 'task-1'")


# --- amendments -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("amends", "there", "field", "says"),
    [
        (OLD, None, "spec.amends", "there is no cohort 'old' here"),
        (OLD, make_cohort("old"), "spec.amends", "is not sealed, so there is nothing to amend"),
        (
            OLD | {"preregistrationSha256": "6" * 64},
            make_cohort("old", status=SEALED_AS),
            "spec.amends.preregistrationSha256",
            f"was sealed as {'5' * 64}",
        ),
    ],
)
def test_an_amendment_names_a_cohort_that_was_sealed(amends: Any, there: Any, field: str, says: str):
    cohort = make_cohort("new", amends=amends)
    (problem,) = problems_of(cohort, replace(found(cohort), amended=there))
    assert problem.field == field
    assert says in problem.message
