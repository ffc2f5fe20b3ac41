"""Blocks whose runs differ in what must be equal are named, with the difference; declared differences are not."""

from dataclasses import replace
from typing import Any

import pytest

from fairtrial.cohort.comparability import Observed, comparability, findings
from fairtrial.documents import RunIdentity
from fairtrial.evidence.record import Record, assemble
from fairtrial.journal.summary import Exchange
from fairtrial.testing import NOON, agent_report, evaluation_report, make_cohort, make_finished_run
from fairtrial.usage.calls import summarise

PROVIDER = {
    "uid": "u",
    "wire": "openaiChat",
    "model": {"id": "model-1"},
    "usage": {"cachedInsideInput": True, "reasoningInsideOutput": True},
}


def record(name: str, candidate: str, block: str = "task-1-0001", *, agent: Any = None, **changes: Any) -> Record:
    """The record of a run that passed. `agent` changes its report, `changes` the run."""
    status = changes.pop("status", {})
    run = make_finished_run(name, candidate={"name": candidate}, block=block, status=status, **changes)
    return assemble(run, agent_report(**agent or {}), evaluation_report())


def found(*records: Record, **spec: Any) -> list[str]:
    return [str(one) for one in comparability(make_cohort(**spec).spec, records)]


def test_a_block_of_equals_can_be_compared():
    assert found(record("r1", "once"), record("r2", "twice")) == []
    assert found() == []


IMAGE = f"registry.example/agent@sha256:{'7' * 64}"
DIFFERENT: dict[str, tuple[dict[str, Any], str]] = {
    "fixture": ({"agent": {"initial_state_sha256": "2" * 64}}, "initialState"),
    "kernel": ({"agent": {"environment": {"kernel": "Linux 7"}}}, "nodeClass"),
    "resource class": ({"resourceClassName": "large"}, "nodeClass"),
    "cgroup": ({"agent": {"environment": {"kernel": "6.1.0", "cgroup": {"memoryMax": "1"}}}}, "limits"),
    "own cap": ({"limits": {"wallSeconds": 5}}, "limits"),
    "limits of the class": ({"status": {"resourceClass": {"limits": {"cpu": "2"}}}}, "limits"),
    "model": ({"status": {"provider": PROVIDER}}, "model"),
    "evaluator": ({"status": {"task": {"evaluatorImage": IMAGE}}}, "evaluatorImage"),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_a_block_that_differs_is_named_with_the_difference(name: str):
    changes, what = DIFFERENT[name]
    good = {"agent": {"environment": {"kernel": "6.1.0"}}}
    first, second = record("r1", "once", **good), record("r2", "twice", **good | changes)
    told = found(first, second)
    assert [one.split(" differs")[0] for one in told] == [f"task-1-0001: {what}"]
    assert "r1: " in told[0]
    assert "r2: " in told[0]


def test_of_long_values_what_tells_them_apart_is_told():
    first, second = record("r1", "once"), record("r2", "twice", status={"resourceClass": {"limits": {"cpu": "2"}}})
    (told,) = found(first, second)
    assert told == 'task-1-0001: limits differs (r1: …"cpu":"1"…; r2: …"cpu":"2"…)'


def answered(name: str, candidate: str, *models: str) -> Record:
    """The record of a run whose calls these models answered, whatever was asked for."""
    network = {"modelProviderRef": {"name": "p"}}
    run = make_finished_run(
        name, candidate={"name": candidate}, block="task-1-0001", network=network, status={"provider": PROVIDER}
    )
    who, pages = RunIdentity("trials", name, "uid"), {}
    for number, model in enumerate(models):
        exchange = f"{1767268800000 + number}-0000000a"
        page = Exchange(exchange, who, "p", "openaiChat", "/v1/chat/completions", NOON, "complete")
        good = replace(page, status=200, answered_model=model, first_usable=True)
        pages[exchange] = (good, 500, "0" * 64)
    calls = summarise(pages, (), provider="p", model="model-1", prices=None)
    return assemble(run, agent_report(), evaluation_report(), (), calls)


def test_a_model_that_changed_behind_its_name_is_seen():
    """Records as an installation that does not pin would leave them: what answered counts, not what was asked for."""
    records = [answered("r1", "once", "model-1", "model-1"), answered("r2", "twice", "model-1", "model-1-0727")]
    told = [Observed.of(one) for one in records]

    assert [one.what for one in findings(told)] == ["model"]
    assert findings(told[:1]) == findings([told[0], replace(told[0], run="r3")]) == []


def test_only_the_block_that_differs_is_named():
    odd = {"initial_state_sha256": "2" * 64}
    blocks = [record("r1", "once"), record("r2", "twice")]
    blocks += [record("r3", "once", "task-1-0002"), record("r4", "twice", "task-1-0002", agent=odd)]
    assert [one.split(":")[0] for one in found(*blocks)] == ["task-1-0002"]


def test_runs_of_different_tasks_may_have_different_fixtures():
    other = record("r3", "once", "task-2-0001", agent={"initial_state_sha256": "2" * 64})
    assert found(record("r1", "once"), other) == []


@pytest.mark.parametrize(("aspect", "name"), [("fixture", "fixture"), ("model", "model")])
def test_a_declared_difference_is_no_finding(aspect: str, name: str):
    changes, _ = DIFFERENT[name]
    declared = {"confounders": [{"aspect": aspect, "says": "Their own."}]}
    pair = record("r1", "once"), record("r2", "twice", **changes)
    assert found(*pair) != []
    assert found(*pair, mode="endToEnd", constitution=declared) == []


def test_a_value_that_nobody_recorded_is_not_equal():
    nothing = {"initial_state_sha256": ""}
    pair = record("r1", "once", agent=nothing | {"initial_state_sha256": None}), record("r2", "twice")
    assert "not recorded" in found(*pair)[0]
    both = [record(name, "once", agent={"initial_state_sha256": None}) for name in ("r1", "r2")]
    assert "not recorded" in found(*both)[0]


def test_a_candidate_has_one_image_in_all_blocks():
    def resolved(name: str, block: str, image: str) -> Record:
        facts = {"facts": {"imageIds": {"agent": image}, "imageIDs": {"agent": image}}}
        return record(name, "once", block, status={"agentPod": facts})

    good = "agent@sha256:" + "1" * 64
    runs = [resolved(f"r{n}", f"task-1-{n:04d}", good) for n in (1, 2, 3)]
    assert found(*runs) == []
    assert found(*runs, resolved("r4", "task-1-0004", IMAGE)) == [f"task-1-0004: image differs (r4: {IMAGE})"]


def test_runs_that_do_not_count_are_not_looked_at():
    broken = record("r2", "twice", agent={"ending": "preflight_failed", "initial_state_sha256": "2" * 64})
    assert broken.classification.outcome == "invalid"
    assert found(record("r1", "once"), broken) == []


def test_nothing_is_nothing():
    assert findings([]) == []
