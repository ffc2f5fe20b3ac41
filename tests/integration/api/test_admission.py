"""What the real API server accepts and refuses, and that it says what to do. No operator runs in these namespaces."""

import copy
import json
import re
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from fairtrial import names
from fairtrial.api import KINDS, BenchmarkCohort, BenchmarkCohortStatus, CohortCounts, condition, parse
from fairtrial.api.cohort import CONSTITUTION_LISTS, CONSTITUTION_TEXTS
from fairtrial.api.conditions import SEALED
from fairtrial.api.constitution import Controls
from fairtrial.api.run import Replaced
from fairtrial.cohort.preregistration import spec_sha256
from fairtrial.cohort.runs import replacement_manifest, run_manifest
from fairtrial.cohort.schedule import schedule_of
from fairtrial.errors import InvalidInput
from fairtrial.testing import confirmatory, make_cohort, make_finished_run, make_resource_class, make_run, make_task

ROOT = Path(__file__).parents[3]
DIGEST = "a" * 64
Object = dict[str, Any]


@pytest.fixture(scope="module")
def bench(new_namespace: Callable[..., str]) -> str:
    """A namespace that no operator serves, whichever is installed: nobody touches what lies in it."""
    return new_namespace(**{names.NAMESPACE_LABEL: "integration"})


def envelope(kind: str, name: str, namespace: str | None, spec: Object) -> Object:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": names.API_VERSION, "kind": kind, "metadata": metadata, "spec": spec}


def run(namespace: str, name: str = "", **spec: Any) -> Object:
    return envelope("BenchmarkRun", name or fresh(), namespace, make_run().as_json()["spec"] | spec)


def task(namespace: str, **spec: Any) -> Object:
    return envelope("BenchmarkTask", fresh(), namespace, make_task().as_json()["spec"] | spec)


def resource_class(**spec: Any) -> Object:
    return envelope("ResourceClass", fresh(), None, make_resource_class().as_json()["spec"] | spec)


def provider(namespace: str, **spec: Any) -> Object:
    good = {
        "url": "https://models.example/v1",
        "wire": "openaiChat",
        "credentialSecretRef": {"name": "key", "key": "token"},
        "model": {"id": "model-1"},
        "usage": {"cachedInsideInput": True, "reasoningInsideOutput": True},
    }
    return envelope("ModelProvider", fresh(), namespace, good | spec)


def cohort(namespace: str, **spec: Any) -> Object:
    return envelope("BenchmarkCohort", fresh(), namespace, make_cohort().as_json()["spec"] | spec)


def confirmatory_cohort(namespace: str, **spec: Any) -> Object:
    good = make_cohort(**confirmatory()).as_json()["spec"]
    merged = {key: good[key] | spec.pop(key) for key in ("constitution", "controls") if key in spec}
    return cohort(namespace, **good | merged | spec)


def rule(**condition: Any) -> Object:
    made = confirmatory()["decisionRule"]
    return {"decisionRule": made | {"conditions": [made["conditions"][0] | condition]}}


def fresh() -> str:
    return f"x-{secrets.token_hex(5)}"


def candidate(**changes: Any) -> Object:
    made: Object = make_run().as_json()["spec"]["candidate"]
    return made | changes


def empty(path: str) -> Any:
    return [] if path.split(".")[1] in CONSTITUTION_LISTS else ""


def two_conditions() -> Object:
    made: Object = confirmatory()["decisionRule"]
    return made | {"conditions": made["conditions"] * 2}


MUST_BE_STATED = [
    *(f"constitution.{key}" for key in (*CONSTITUTION_TEXTS, *CONSTITUTION_LISTS)),
    *(f"controls.{info.alias}" for info in Controls.model_fields.values()),
]
STEP = {"name": "one", "prompt": "x", "wallSeconds": 1}
CHECK = {"name": "one", "argv": ["true"], "expectExit": [0]}
NAMED = {"name": "x" * 53}
BAD_INPUTS: dict[str, tuple[Callable[[str], Object], str, str]] = {
    "image by tag": (lambda ns: run(ns, candidate=candidate(image="agent:1")), "spec.candidate.image", "crane digest"),
    "upper-case digest": (lambda ns: run(ns, candidate=candidate(image="a@sha256:" + "A" * 64)), ".image", "@sha256:"),
    "empty argv": (lambda ns: run(ns, candidate=candidate(argv=[])), "spec.candidate.argv", "name the program first"),
    "empty program": (lambda ns: run(ns, candidate=candidate(argv=[""])), "spec.candidate.argv", "name the program"),
    "variable twice": (
        lambda ns: run(ns, candidate=candidate(env=[{"name": "A"}, {"name": "A"}])),
        "spec.candidate.env",
        "share a name",
    ),
    "reserved variable": (
        lambda ns: run(ns, candidate=candidate(env=[{"name": "FAIRTRIAL_PLAN"}])),
        "spec.candidate.env[0].name",
        "FAIRTRIAL_",
    ),
    "file outside": (
        lambda ns: run(ns, candidate=candidate(files={"../x": ""})),
        "spec.candidate.files",
        "plain names",
    ),
    "files too large": (
        lambda ns: run(ns, candidate=candidate(files={"a": "x" * 65536, "b": "x"})),
        "spec.candidate.files",
        "65536 characters together",
    ),
    "home file outside": (
        lambda ns: run(ns, candidate=candidate(homeFiles={".config/../../x": ""})),
        "spec.candidate.homeFiles",
        "plain names",
    ),
    "home files too large": (
        lambda ns: run(ns, candidate=candidate(homeFiles={"a": "x" * 65536, ".b/c": "x"})),
        "spec.candidate.homeFiles",
        "65536 characters together",
    ),
    "budget as a word": (
        lambda ns: run(ns, limits={"modelCost": "a lot"}),
        "spec.limits.modelCost",
        "decimal number in quotes",
    ),
    "digest with prefix": (
        lambda ns: run(ns, taskRef={"name": "t", "publicSha256": "sha256:" + "a" * 57}),
        "spec.taskRef.publicSha256",
        "without the prefix",
    ),
    "task name": (lambda ns: run(ns, taskRef={"name": "a.b"}), "spec.taskRef.name", "lower-case letters"),
    "a step's calls above the run's": (
        lambda ns: run(ns, limits={"modelCalls": 2, "perStep": {"modelCalls": 3}}),
        "spec.limits.perStep",
        "must not be above modelCalls",
    ),
    "limits of steps that limit nothing": (
        lambda ns: run(ns, limits={"perStep": {}}),
        "spec.limits.perStep",
        "must name at least one limit",
    ),
    "no seconds": (lambda ns: run(ns, limits={"wallSeconds": 0}), "spec.limits.wallSeconds", "greater than or equal"),
    "long run name": (lambda ns: run(ns, "r" * 53), "at most 52 characters", "'-evaluator'"),
    "dotted run name": (lambda ns: run(ns, "a.b"), "metadata.name", "replace dots"),
    "no steps": (lambda ns: task(ns, steps=[]), "spec.steps", "at least one step"),
    "step twice": (lambda ns: task(ns, steps=[STEP, STEP]), "spec.steps", "two steps share a name"),
    "preflight twice": (lambda ns: task(ns, preflight=[CHECK, CHECK]), "spec.preflight", "share a name"),
    "no exit code": (lambda ns: task(ns, preflight=[CHECK | {"expectExit": []}]), "expectExit", "at least one exit"),
    "empty preflight": (lambda ns: task(ns, preflight=[CHECK | {"argv": []}]), "spec.preflight[0].argv", "program"),
    "1GB": (
        lambda _: resource_class(limits={"cpu": "1", "memory": "1GB", "ephemeralStorage": "1Gi"}),
        "spec.limits.memory",
        "use 1G or 1Gi",
    ),
    "nothing": (lambda _: resource_class(workspaceSize="0"), "spec.workspaceSize", "positive number"),
    "request above limit": (
        lambda _: resource_class(requests={"memory": "1025Mi"}),
        "spec.requests.memory",
        "lower the request or raise the limit",
    ),
    "requested CPUs above limit": (lambda _: resource_class(requests={"cpu": "1001m"}), "spec.requests.cpu", "lower"),
    "credentials in a URL": (
        lambda ns: provider(ns, url="https://a:b@models.example"),
        "spec.url",
        "without credential",
    ),
    "price as a word": (
        lambda ns: provider(
            ns,
            pricing={
                "snapshot": "s",
                "currency": "USD",
                "effectiveDate": "2026-01-01",
                "perMillionTokens": {"input": "1e-3"},
            },
        ),
        "perMillionTokens.input",
        "decimal number in quotes",
    ),
    "long cohort name": (
        lambda ns: cohort(ns) | {"metadata": {"name": "c" * 253, "namespace": ns}},
        "metadata.name must have at most 63 characters",
        "labels hold no more",
    ),
    "confirmatory without a rule": (
        lambda ns: cohort(ns, stage="confirmatory"),
        "spec.stage",
        "decisionRule and analysis must be set",
    ),
    **{
        f"confirmatory without {path}": (
            lambda ns, path=path: confirmatory_cohort(ns, **{path.split(".")[0]: {path.split(".")[1]: empty(path)}}),  # type: ignore[misc]
            f"spec.{path}",
            f"{path} must be stated if stage is confirmatory",
        )
        for path in MUST_BE_STATED
    },
    "one repetition in a confirmatory cohort": (
        lambda ns: confirmatory_cohort(ns, repetitions=1),
        "spec.repetitions",
        "at least 5 if stage is confirmatory",
    ),
    "one candidate in a confirmatory cohort": (
        lambda ns: confirmatory_cohort(ns, candidates=[candidate()]),
        "spec.candidates",
        "at least two if stage is confirmatory",
    ),
    "rule without conditions": (
        lambda ns: confirmatory_cohort(ns, decisionRule={"name": "r", "conditions": []}),
        "spec.decisionRule.conditions",
        "at least one condition",
    ),
    "threshold as a word": (
        lambda ns: confirmatory_cohort(ns, **rule(threshold="a bit")),
        "spec.decisionRule.conditions[0].threshold",
        "decimal number in quotes",
    ),
    "condition twice": (
        lambda ns: confirmatory_cohort(ns, decisionRule=two_conditions()),
        "spec.decisionRule.conditions",
        "two conditions share a name",
    ),
    "task twice": (
        lambda ns: cohort(ns, tasks=[{"name": "t", "publicSha256": DIGEST, "sealedSha256": DIGEST}] * 2),
        "spec.tasks",
        "two tasks share a name",
    ),
    "no tasks": (lambda ns: cohort(ns, tasks=[]), "spec.tasks", "at least one task"),
    "empty arm": (lambda ns: cohort(ns, candidates=[]), "spec.candidates", "at least one candidate"),
    "gate twice": (
        lambda ns: cohort(ns, gates=[{"name": "g", "says": "x"}] * 2),
        "spec.gates",
        "two gates share a name",
    ),
    "evidence without an address": (
        lambda ns: cohort(ns, gates=[{"name": "g", "says": "x", "evidence": [{"uri": "here", "sha256": DIGEST}]}]),
        "spec.gates[0].evidence[0].uri",
        "an address with a scheme",
    ),
    "more runs than a cohort holds": (
        lambda ns: cohort(ns, repetitions=1000, candidates=[candidate(name=f"c{n}") for n in range(11)]),
        "spec.repetitions",
        "at most 20000 runs",
    ),
    "candidate twice": (
        lambda ns: cohort(ns, candidates=[candidate(), candidate()]),
        "spec.candidates",
        "two candidates share a name",
    ),
}


@pytest.mark.parametrize("name", BAD_INPUTS)
def test_bad_input_is_refused_with_the_field_and_the_way_out(kubectl: Any, bench: str, name: str):
    make, field, way_out = BAD_INPUTS[name]

    answer = kubectl.try_("create", "--dry-run=server", "-f", "-", stdin=make(bench))

    assert answer.code != 0
    assert field in answer.err
    assert way_out in answer.err


@pytest.mark.parametrize("name", [name for name in BAD_INPUTS if name != "no seconds"])
def test_the_command_line_refuses_the_same_with_the_same_sentence(name: str):
    made, _, way_out = BAD_INPUTS[name][0]("trials"), *BAD_INPUTS[name][1:]
    with pytest.raises(InvalidInput) as caught:
        parse(KINDS[made["kind"]], made)
    assert way_out in str(caught.value)


# What the schema itself refuses: the server and pydantic say so in words of their own.
BAD_COHORTS: dict[str, tuple[Object, str, str]] = {
    "a seed that is text": ({"schedule": {"seed": "7"}}, "spec.schedule.seed", "must be of type integer"),
    "a seed that is no integer": ({"schedule": {"seed": 7.5}}, "spec.schedule.seed", "must be of type integer"),
    "an unknown metric": (rule(metric="joy"), "spec.decisionRule.conditions[0].metric", "Unsupported value"),
    "an unknown mode": ({"mode": "paired"}, "spec.mode", "Unsupported value"),
    "an unknown algorithm": ({"schedule": {"seed": 1, "algorithm": "v2"}}, "spec.schedule.algorithm", "Unsupported"),
    "a reason nobody preregisters": ({"replacement": {"reasons": ["unknown"]}}, "spec.replacement.reasons[0]", "Unsup"),
    "no repetition": ({"repetitions": 0}, "spec.repetitions", "greater than or equal to 1"),
    "a task's name of 253 characters": (
        {"tasks": [{"name": "t" * 253, "publicSha256": DIGEST, "sealedSha256": DIGEST}]},
        "spec.tasks[0].name",
        "Too long",
    ),
    "a candidate's name of 253 characters": (
        {"candidates": [candidate(name="c" * 253)]},
        "spec.candidates[0].name",
        "Too long",
    ),
    "a queue's name of 253 characters": (
        {"execution": {"resourceClassName": "small", "queue": "q" * 253}},
        "spec.execution.queue",
        "Too long",
    ),
    "an amendment without a reason": ({"amends": {"name": "old"}}, "spec.amends.reason", "Required value"),
}


@pytest.mark.parametrize("name", BAD_COHORTS)
def test_a_cohort_that_does_not_fit_the_schema_is_refused_with_its_field(kubectl: Any, bench: str, name: str):
    change, field, said = BAD_COHORTS[name]
    made = cohort(bench, **change)

    answer = kubectl.try_("create", "--dry-run=server", "-f", "-", stdin=made)

    assert answer.code != 0
    assert field in answer.err
    assert said in answer.err
    with pytest.raises(InvalidInput, match=re.escape(field)):
        parse(KINDS["BenchmarkCohort"], made)


def test_the_largest_cohort_is_accepted(kubectl: Any, bench: str):
    tasks = [{"name": f"t{n}", "publicSha256": f"{n:064x}", "sealedSha256": DIGEST} for n in range(250)]
    arms = [candidate(name=f"c{n}") for n in range(16)]
    made = cohort(bench, tasks=tasks, candidates=arms)  # 20,000 runs
    kubectl("create", "-f", "-", stdin=made)
    assert patch(kubectl, bench, made, {"seal": True}).code == 0


def test_cohorts_of_one_name_in_two_namespaces_are_two(kubectl: Any, bench: str, new_namespace: Callable[..., str]):
    other = new_namespace(**{names.NAMESPACE_LABEL: "integration"})
    for namespace in (bench, other):
        made = cohort(namespace)
        kubectl("create", "-f", "-", stdin=made | {"metadata": {"name": "twin", "namespace": namespace}})
    assert kubectl.get("bcohort", "twin", "-n", other)["metadata"]["namespace"] == other


@pytest.mark.parametrize("make", [cohort, confirmatory_cohort])
def test_a_cohort_read_from_the_server_is_what_was_planned(kubectl: Any, bench: str, make: Any):
    """The defaults that the server fills in are those of the models: both seal the same spec, and plan the same."""
    made = make(bench)
    kubectl("create", "-f", "-", stdin=made)
    read = parse(BenchmarkCohort, kubectl.get("bcohort", made["metadata"]["name"], "-n", bench))
    written = parse(BenchmarkCohort, made)
    assert spec_sha256(read) == spec_sha256(written)
    assert schedule_of(read).to_bytes() == schedule_of(written).to_bytes()


def test_a_scheduled_run_is_accepted(kubectl: Any, bench: str):
    made = cohort(bench)
    kubectl("create", "-f", "-", stdin=made)
    read = parse(BenchmarkCohort, kubectl.get("bcohort", made["metadata"]["name"], "-n", bench))
    entry = schedule_of(read).entries[0]
    scheduled = run_manifest(read, entry, preregistration_sha256=DIGEST)
    kubectl("create", "-f", "-", stdin=scheduled)
    first = kubectl.get("brun", entry.run, "-n", bench)["metadata"]
    replacement = replacement_manifest(read, entry, Replaced(name=entry.run, uid=first["uid"]), 1)
    kubectl("create", "-f", "-", stdin=replacement)
    listed = kubectl("get", "brun", "-n", bench, "-l", f"{names.COHORT_LABEL}={read.metadata.name}", "-o", "name")
    assert len(listed.split()) == 2


@pytest.mark.parametrize("make", [run, task, cohort, confirmatory_cohort, provider, lambda _: resource_class()])
def test_good_input_is_accepted_by_both(kubectl: Any, bench: str, make: Any):
    made = make(bench)
    kubectl("create", "--dry-run=server", "-f", "-", stdin=made)
    parse(KINDS[made["kind"]], made)


def test_an_unknown_field_is_refused(kubectl: Any, bench: str):
    answer = kubectl.try_("create", "--dry-run=server", "-f", "-", stdin=run(bench, taksRef={"name": "x"}))
    assert answer.code != 0
    assert 'unknown field "spec.taksRef"' in answer.err


@pytest.mark.parametrize("length", [52])
def test_the_longest_allowed_run_name_is_accepted(kubectl: Any, bench: str, length: int):
    kubectl("create", "--dry-run=server", "-f", "-", stdin=run(bench, "r" * length))


def test_defaults_appear(kubectl: Any, bench: str):
    made = kubectl.try_("create", "--dry-run=server", "-o", "json", "-f", "-", stdin=minimal_run(bench))
    spec = json.loads(made.out)["spec"]
    assert spec["limits"] == {"graceSeconds": 10}
    assert (spec["repetition"], spec["suspend"], spec["candidate"]["stdin"]) == (1, False, "none")


def minimal_run(namespace: str) -> Object:
    one = {key: candidate()[key] for key in ("name", "version", "image", "argv")}
    spec = {"taskRef": {"name": "t"}, "candidate": one, "resourceClassName": "small"}
    return envelope("BenchmarkRun", fresh(), namespace, spec)


# --- immutability -----------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def stored(kubectl: Any, bench: str) -> Object:
    """A run with a block and without a cohort, so that one optional field can be removed and another added."""
    made = run(bench, block="block-1", candidate=candidate(argv=["a", "b"], env=[{"name": "A"}, {"name": "B"}]))
    kubectl("create", "-f", "-", stdin=made)
    return made


CHANGES: dict[str, tuple[Object, str]] = {
    "task": ({"taskRef": {"name": "other"}}, "taskRef can't change"),
    "a digest that was not named": ({"taskRef": {"name": "task-1", "publicSha256": DIGEST}}, "taskRef can't change"),
    "image": ({"candidate": {"image": "b@sha256:" + DIGEST}}, "candidate can't change"),
    "order of argv": ({"candidate": {"argv": ["b", "a"]}}, "candidate can't change"),
    "order of env": ({"candidate": {"env": [{"name": "B"}, {"name": "A"}]}}, "candidate can't change"),
    "a file": ({"candidate": {"files": {"a": "b"}}}, "candidate can't change"),
    "resource class": ({"resourceClassName": "large"}, "resourceClassName can't change"),
    "limit added": ({"limits": {"wallSeconds": 5}}, "limits can't change"),
    "grace": ({"limits": {"graceSeconds": 11}}, "limits can't change"),
    "network opened": ({"network": {"modelProviderRef": {"name": "p"}}}, "network can't change"),
    "repetition": ({"repetition": 2}, "repetition can't change"),
    "block removed": ({"block": None}, "block can't change"),
    "cohort added": ({"cohortRef": {"name": "c"}}, "cohortRef can't change"),
    "replaced added": ({"replaces": {"name": "r", "uid": "u"}}, "replaces can't change"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_run_cannot_be_edited(kubectl: Any, bench: str, stored: Object, name: str):
    change, said = CHANGES[name]

    answer = patch(kubectl, bench, stored, change)

    assert answer.code != 0
    assert said in answer.err


def patch(kubectl: Any, namespace: str, made: Object, spec: Object, *more: str) -> Any:
    target = (made["kind"].lower(), made["metadata"]["name"])
    body = json.dumps({"spec": spec})
    return kubectl.try_("patch", "-n", namespace, *target, "--type=merge", "-p", body, *more)


def test_a_run_can_be_suspended_and_cancelled_once(kubectl: Any, bench: str):
    made = run(bench)
    kubectl("create", "-f", "-", stdin=made)
    for suspend in (True, False):
        assert patch(kubectl, bench, made, {"suspend": suspend}).code == 0
    assert patch(kubectl, bench, made, {"cancel": {"reason": "wrong task"}}).code == 0
    for change in ({"cancel": None}, {"cancel": {"reason": "another"}}):
        answer = patch(kubectl, bench, made, change)
        assert answer.code != 0
        assert "cancel can't be unset or changed" in answer.err
    assert patch(kubectl, bench, made, {"suspend": True}).code == 0


def test_a_task_cannot_be_edited(kubectl: Any, bench: str):
    made = task(bench)
    kubectl("create", "-f", "-", stdin=made)
    for change in ({"version": 2}, {"limits": {"wallSeconds": 9}}, {"generated": ["*.log"]}):
        answer = patch(kubectl, bench, made, change)
        assert answer.code != 0
        assert "push the task under a new version" in answer.err


def test_what_calls_are_counted_and_priced_by_cannot_be_edited_but_caps_can(kubectl: Any, bench: str):
    made = provider(bench)
    kubectl("create", "-f", "-", stdin=made)
    for change in (
        {"model": {"id": "other"}},
        {"url": "https://other.example"},
        {"usage": {"cachedInsideInput": False}},
    ):
        answer = patch(kubectl, bench, made, change)
        assert answer.code != 0
        assert "make a new object with another name" in answer.err
    assert patch(kubectl, bench, made, {"maxConcurrency": 2, "credentialSecretRef": {"name": "new"}}).code == 0


def test_a_cohort_can_be_edited_until_it_is_sealed(kubectl: Any, bench: str):
    made = cohort(bench)
    kubectl("create", "-f", "-", stdin=made)
    assert patch(kubectl, bench, made, {"repetitions": 6}).code == 0
    amends = {"name": "old", "reason": "A typo in the question."}
    assert patch(kubectl, bench, made, {"seal": True, "amends": amends}).code == 0
    changes: list[tuple[Object, str]] = [
        ({"repetitions": 7}, "repetitions"),
        ({"seal": False}, "seal"),
        ({"amends": None}, "amends"),
        ({"stage": "confirmatory"}, "stage"),
        ({"constitution": {"permittedClaim": "All."}}, "constitution"),
        ({"treatment": None}, "treatment"),
        ({"controls": {"model": "another"}}, "controls"),
        ({"gates": [{"name": "late", "says": "x"}]}, "gates"),
        ({"tasks": list(reversed(made["spec"]["tasks"]))}, "tasks"),
        ({"candidates": list(reversed(made["spec"]["candidates"]))}, "candidates"),
        ({"schedule": {"seed": 2}}, "schedule"),
        ({"execution": {"parallelism": 99}}, "execution"),
        ({"replacement": {"maxPerCell": 9}}, "replacement"),
        (rule(), "decisionRule"),
        ({"analysis": {"version": "2", "image": f"a@sha256:{DIGEST}"}}, "analysis"),
    ]
    for change, field in changes:
        answer = patch(kubectl, bench, made, change)
        assert answer.code != 0
        assert f"{field} can't change once it is sealed" in answer.err
    assert patch(kubectl, bench, made, {"suspend": True}).code == 0


def test_a_status_of_any_cohort_is_kept_whole_and_shown(kubectl: Any, bench: str):
    made = cohort(bench)
    kubectl("create", "-f", "-", stdin=made)
    counts = CohortCounts(scheduled=20, replacements=1, pending=5, running=4, passed=7, failed=3, invalid=2)
    status = BenchmarkCohortStatus(
        observed_generation=1,
        conditions=(condition(SEALED, "True", "Stored", generation=1, now="2026-01-01T12:00:00Z"),),
        phase="Running",
        preregistration_uri="s3://evidence/preregistration.json",
        preregistration_sha256=DIGEST,
        schedule_sha256=DIGEST,
        counts=counts,
        next_index=16,
        progress="12/21",
        eta="25m",
    ).as_json()
    name = made["metadata"]["name"]
    target = ("bcohort", name, "-n", bench, "--subresource=status", "--type=merge")
    kubectl("patch", *target, "-p", json.dumps({"status": status}))

    assert kubectl.get("bcohort", name, "-n", bench)["status"] == status
    head, line = kubectl("get", "bcohort", name, "-n", bench).splitlines()
    columns = ["NAME", "STAGE", "SEALED", "PHASE", "PROGRESS", "PASSED", "FAILED", "INVALID", "ETA", "VERDICT", "AGE"]
    assert head.split() == columns
    assert line.split()[1:9] == ["pilot", "True", "Running", "12/21", "7", "3", "2", "25m"]
    kubectl("wait", "bcohort", name, "-n", bench, "--for=condition=Sealed", "--timeout=5s")


# --- reading ----------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def finished(kubectl: Any, bench: str) -> str:
    """A run with a status as an operator leaves it."""
    made = run(bench, taskRef={"name": "task-of-finished"}, cohortRef={"name": "cohort-of-finished"})
    kubectl("create", "-f", "-", stdin=made)
    name = str(made["metadata"]["name"])
    status = make_finished_run(name).as_json()["status"] | {
        "phase": "Done",
        "outcome": "invalid",
        "invalidity": "host_failure",
        "cause": "evaluation_infra_error",
        "reason": "node_drained",
        "record": {"uri": "s3://evidence/record.json", "sha256": DIGEST},
    }
    target = ("brun", name, "-n", bench, "--subresource=status", "--type=merge")
    kubectl("patch", *target, "-p", json.dumps({"status": status}))
    return name


def test_a_status_as_the_models_write_it_is_kept_whole(kubectl: Any, bench: str, finished: str):
    kept = kubectl.get("brun", finished, "-n", bench)
    written = make_finished_run(finished).as_json()["status"]
    assert {key: kept["status"][key] for key in written} == written
    assert parse(KINDS["BenchmarkRun"], kept).as_json()["status"] == kept["status"] | {"conditions": []}


def test_a_status_write_does_not_change_the_spec(kubectl: Any, bench: str, finished: str):
    body = json.dumps({"spec": {"suspend": True}})
    kubectl("patch", "brun", finished, "-n", bench, "--subresource=status", "--type=merge", "-p", body)
    assert kubectl.get("brun", finished, "-n", bench)["spec"]["suspend"] is False


def test_columns_show_what_people_look_for(kubectl: Any, bench: str, finished: str):
    head, line = kubectl("get", "brun", finished, "-n", bench).splitlines()
    assert head.split() == ["NAME", "TASK", "CANDIDATE", "PHASE", "OUTCOME", "REASON", "AGE"]
    assert line.split()[:6] == [finished, "task-of-finished", "candidate-1", "Done", "invalid", "node_drained"]
    wide = kubectl("get", "brun", finished, "-n", bench, "-o", "wide")
    assert "evaluation_infra_error" in wide
    assert "s3://evidence/record.json" in wide


@pytest.mark.parametrize(
    "selector",
    [
        "spec.taskRef.name=task-of-finished",
        "spec.cohortRef.name=cohort-of-finished",
        "status.outcome=invalid",
        "status.phase=Done,spec.candidate.name=candidate-1",
    ],
)
def test_runs_are_found_by_field(kubectl: Any, bench: str, finished: str, stored: Object, selector: str):
    found = kubectl("get", "brun", "-n", bench, "--field-selector", selector, "-o", "name").split()
    assert found == [f"benchmarkrun.fairtrial.dev/{finished}"]


def test_runs_under_way_are_found_by_what_they_are_not(kubectl: Any, bench: str, finished: str, stored: Object):
    """As `fairtrial watch COHORT` asks: those without any phase yet are under way, too."""
    found = kubectl("get", "brun", "-n", bench, "--field-selector", "status.phase!=Done", "-o", "name").split()
    assert f"benchmarkrun.fairtrial.dev/{stored['metadata']['name']}" in found
    assert f"benchmarkrun.fairtrial.dev/{finished}" not in found


def test_all_kinds_are_listed_by_their_category(kubectl: Any, bench: str, finished: str):
    assert f"benchmarkrun.fairtrial.dev/{finished}" in kubectl("get", "fairtrial", "-n", bench, "-o", "name")


@pytest.mark.parametrize("word", ["brun", "bcohort", "btask", "rclass", "mprov"])
def test_explain_describes_every_kind(kubectl: Any, word: str):
    said = kubectl("explain", f"{word}.spec", "--recursive")
    assert "<no description>" not in said


def test_explain_helps_with_an_image(kubectl: Any):
    assert "Image of the candidate, by digest" in kubectl("explain", "brun.spec.candidate.image")


def test_a_run_read_from_the_server_is_accepted_back(kubectl: Any, bench: str, stored: Object):
    """Defaults that the server fills in are those of the models."""
    read = kubectl.get("brun", stored["metadata"]["name"], "-n", bench)
    kept = copy.deepcopy(read["spec"])
    assert parse(KINDS["BenchmarkRun"], read).as_json()["spec"] == kept | {
        "candidate": {"files": {}} | kept["candidate"]
    }


# --- examples ---------------------------------------------------------------------------------------------------------
CLASSES = sorted((ROOT / "examples" / "resource-classes").glob("*.yaml"))


@pytest.mark.parametrize("path", CLASSES, ids=lambda path: path.stem)
def test_the_example_classes_are_accepted(kubectl: Any, path: Path):
    kubectl("apply", "--server-side", "--force-conflicts", "--dry-run=server", "-f", str(path))
    for made in yaml.safe_load_all(path.read_text()):
        parse(KINDS["ResourceClass"], made)


def test_there_are_example_classes():
    assert [path.stem for path in CLASSES] == ["agent", "large", "sandboxed", "small"]


def test_the_example_namespace_enforces_pod_security(kubectl: Any):
    path = ROOT / "examples" / "namespace.yaml"
    kubectl("apply", "--server-side", "--dry-run=server", "-f", str(path))
    labels = yaml.safe_load(path.read_text())["metadata"]["labels"]
    assert labels[names.NAMESPACE_LABEL] == "true"
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"
