"""A cohort on real pods, with the rights that the chart gives: sealed, carried out in order, accounted for."""

import json
import runpy
from typing import Any

import pytest

from examples.demo import cohorts
from examples.demo.install import ROOT
from fairtrial.cohort import preregistration
from fairtrial.evidence import layout
from tests.e2e.conftest import World

TASKS = ("billing-symptom-v1", "courier-question-v1")


@pytest.fixture(scope="module")
def complete(world: World) -> dict[str, Any]:
    """The example cohort with two of its tasks, once each, when it is complete."""
    cohort = cohorts.cohort_of(world.target.images, world.kubectl, "paired")
    spec = cohort["spec"]
    spec |= {"stage": "pilot", "repetitions": 1}
    del spec["decisionRule"], spec["analysis"]  # a pilot of one repetition has no verdict to come to
    spec["tasks"] = [task for task in spec["tasks"] if task["name"] in TASKS]
    spec["execution"] |= {"parallelism": 2, "rampSeconds": 1}
    return cohorts.carried_out(world.kubectl, cohort, timeout_seconds=300)


def test_everything_scheduled_is_accounted_for_as_the_schedule_lets_expect(
    world: World, complete: dict[str, Any]
) -> None:
    forgets = runpy.run_path(str(ROOT / "examples/candidates/scripted/scripted.py"))["forgets"]
    data = world.store.get(layout.key_of_uri(complete["status"]["preregistrationUri"]))
    entries = preregistration.schedule_in(json.loads(data)).entries
    failed = sum(one.candidate == "one-look" and forgets(f"{one.run}-agent") for one in entries)

    counts = complete["status"]["counts"]

    expected = {"scheduled": 4, "passed": 4 - failed, "failed": failed}
    assert {name: counts.get(name, 0) for name in expected} == expected
    assert sum(counts.values()) == 8, "nothing else: no invalid run, no replacement"


def test_runs_followed_the_sealed_schedule(world: World, complete: dict[str, Any]) -> None:
    status = complete["status"]
    data = world.store.get(layout.key_of_uri(status["preregistrationUri"]))
    assert layout.sha256(data) == status["preregistrationSha256"]
    assert preregistration.verify(data) == []

    runs = world.kubectl.get("benchmarkruns.fairtrial.dev", "--selector", "fairtrial.dev/cohort=paired")["items"]

    planned = preregistration.schedule_in(json.loads(data))
    assert sorted(run["metadata"]["name"] for run in runs) == sorted(planned.by_run)
    for run in runs:
        assert world.record(run)["lineage"]["preregistrationSha256"] == status["preregistrationSha256"]


def test_the_blocks_are_comparable(world: World, complete: dict[str, Any]) -> None:
    assert world.condition(complete, "Comparable")["status"] == "True"
