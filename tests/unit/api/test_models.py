"""What the models accept and refuse. The same inputs meet the API server in tests/integration/api."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairtrial.api import BenchmarkCohort, BenchmarkRun, PodFacts, ResolvedTask, parse, quantity_value
from fairtrial.errors import InvalidInput
from fairtrial.testing import make_finished_run, make_resource_class, make_run, make_task

DIGEST = "a" * 64


def refusal(make: Any, **spec: Any) -> str:
    with pytest.raises(InvalidInput) as caught:
        make(**spec)
    return str(caught.value)


def test_an_unknown_field_is_refused_by_its_path():
    said = refusal(make_run, candidate={"imagee": "x"})
    assert "spec.candidate.imagee: there is no such field" in said


def test_an_image_without_a_digest_is_refused_with_the_way_to_find_it():
    said = refusal(make_run, candidate={"image": "registry.example/agent:1.0"})
    assert "spec.candidate.image" in said
    assert "@sha256:" in said
    assert "crane digest" in said


@pytest.mark.parametrize("image", ["a@sha256:" + "A" * 64, "@sha256:" + DIGEST, "a b@sha256:" + DIGEST, "a@sha256:aa"])
def test_odd_image_names_are_refused(image: str):
    refusal(make_run, candidate={"image": image})


@pytest.mark.parametrize("image", ["a", "localhost:5000/a/b", "registry.example/a/b_c:1.0-x"])
def test_an_image_with_a_digest_is_accepted(image: str):
    assert make_run(candidate={"image": f"{image}@sha256:{DIGEST}"}).spec.candidate.image.startswith(image)


def test_1gb_is_refused_with_what_to_write_instead():
    said = refusal(make_resource_class, limits={"memory": "1GB"})
    assert "spec.limits.memory" in said
    assert "use 1G or 1Gi" in said


@pytest.mark.parametrize("text", ["0", "-1", "1e3", "1 Gi", "Gi", "", "1gi", "1.5.1", "1K", "1Gi\n", "٣"])
def test_what_is_no_positive_quantity_is_refused(text: str):
    refusal(make_resource_class, limits={"memory": text})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("500m", "0.5"),
        ("2", "2"),
        ("1.5", "1.5"),
        (".5", "0.5"),
        ("1k", "1000"),
        ("1Ki", "1024"),
        ("2Gi", "2147483648"),
    ],
)
def test_quantities_have_their_value(text: str, value: str):
    assert quantity_value(text) == Decimal(value)


def test_a_request_above_its_limit_is_refused():
    said = refusal(make_resource_class, requests={"cpu": "1500m"}, limits={"cpu": "1"})
    assert "requests.cpu must not exceed limits.cpu" in said
    assert make_resource_class(requests={"cpu": "1000m"}, limits={"cpu": "1"}).spec.requests.cpu == "1000m"


def test_a_long_name_is_refused_with_the_reason():
    make_run("r" * 52)
    said = refusal(lambda: make_run("r" * 53))
    assert "at most 52 characters" in said
    assert "-evaluator" in said


@pytest.mark.parametrize("name", ["a.b", "A", "-a", "a-", "a_b"])
def test_a_name_that_is_no_label_is_refused(name: str):
    assert "metadata.name" in refusal(lambda: make_run(name))


def test_an_empty_argv_is_refused():
    assert "argv must not be empty" in refusal(make_run, candidate={"argv": []})
    assert "argv must not be empty" in refusal(make_run, candidate={"argv": [""]})


def test_two_steps_of_one_name_are_refused():
    step = {"name": "one", "prompt": "x", "wallSeconds": 1}
    assert "two steps share a name" in refusal(make_task, steps=[step, step])
    assert "at least one step" in refusal(make_task, steps=[])


def test_the_harness_keeps_its_environment_variables():
    assert "FAIRTRIAL_" in refusal(make_run, candidate={"env": [{"name": "FAIRTRIAL_PLAN", "value": "x"}]})


@pytest.mark.parametrize("name", ["../x", "a/b", ".hidden", ""])
def test_candidate_files_have_plain_names(name: str):
    assert "candidate.files" in refusal(make_run, candidate={"files": {name: "x"}})


def test_candidate_files_are_bounded_together():
    assert make_run(candidate={"files": {"a": "x" * 65535, "b": "x"}}).spec.candidate.files["b"] == "x"
    assert "65536 characters together" in refusal(make_run, candidate={"files": {"a": "x" * 65536, "b": "x"}})


@pytest.mark.parametrize("value", [True, "5", 5.0, 0, 10**9])
def test_seconds_are_bounded_whole_numbers(value: Any):
    refusal(make_run, limits={"wallSeconds": value})


def test_a_steps_limit_is_not_above_the_runs():
    limits = {"modelCalls": 5, "wallSeconds": 60}
    assert make_run(limits=limits | {"perStep": {"modelCalls": 5, "wallSeconds": 1}}).spec.limits.per_step
    assert "perStep.modelCalls must not be above" in refusal(make_run, limits=limits | {"perStep": {"modelCalls": 6}})
    assert "perStep.wallSeconds must not be above" in refusal(
        make_run, limits=limits | {"perStep": {"wallSeconds": 61}}
    )
    assert make_run(limits={"perStep": {"modelTokens": 6}}).spec.limits.per_step


def test_limits_of_steps_that_limit_nothing_are_refused():
    assert "perStep must name at least one limit" in refusal(make_run, limits={"perStep": {}})


def test_status_reads_over_what_a_newer_operator_wrote():
    run = make_run(status={"phase": "Running", "future": 1, "agentPod": {"name": "a", "uid": "u", "future": 1}})
    assert run.status.phase == "Running"


def test_a_confirmatory_cohort_needs_its_rule_and_analysis():
    candidate = make_run().spec.candidate.as_json()
    spec: dict[str, Any] = {
        "stage": "confirmatory",
        "mode": "mechanism",
        "constitution": {},
        "tasks": [{"name": "t", "publicSha256": DIGEST, "sealedSha256": DIGEST}],
        "candidates": [candidate, candidate | {"name": "other"}],
        "repetitions": 5,
        "schedule": {"seed": 1},
        "execution": {"resourceClassName": "small"},
    }
    raw = {"metadata": {"name": "c"}, "spec": spec}
    with pytest.raises(InvalidInput, match="decisionRule and analysis must be set") as caught:
        parse(BenchmarkCohort, raw)
    assert "constitution.sampling must be stated" in str(caught.value)  # all at once
    assert "controls.tokenBudget must be stated" in str(caught.value)
    assert parse(BenchmarkCohort, raw | {"spec": spec | {"stage": "pilot"}}).spec.repetitions == 5


def test_a_run_survives_being_written_and_read():
    run = make_finished_run()
    assert parse(BenchmarkRun, run.as_json()) == run
    assert run.as_json()["status"]["agentPod"]["facts"]["imageIDs"]


def test_nothing_unset_is_written():
    assert "null" not in str(make_run().as_json()).replace("None", "null")
    assert PodFacts(phase="Gone").as_json() == {
        "phase": "Gone",
        "reason": "",
        "message": "",
        "deletionRequested": False,
        "nodeLost": False,
        "imageIDs": {},
        "containers": {},
    }


def test_a_run_keeps_the_hash_of_every_prompt():
    task = make_task(steps=[{"name": "one", "prompt": "Grüße", "wallSeconds": 1}])
    kept = ResolvedTask.of(task).prompts
    assert list(kept) == ["one"]
    assert kept != ResolvedTask.of(make_task(steps=[{"name": "one", "prompt": "Gruesse", "wallSeconds": 1}])).prompts


@given(st.text(max_size=12))
def test_any_text_is_read_as_a_quantity_or_refused(text: str):
    try:
        value = quantity_value(text)
    except ValueError:
        return
    assert value >= 0
    assert text.isascii()
