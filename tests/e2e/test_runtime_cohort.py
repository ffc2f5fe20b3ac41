"""A runtime experiment on real pods: two states of a program measured in turn, each raw sample kept, told by metric."""

import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from examples.demo import cohorts
from fairtrial.cohort import preregistration
from fairtrial.evidence import layout
from tests.e2e.conftest import World

REPETITIONS = 2
SAMPLES = {"cold_start_ms": 15, "peak_bytes": 5, "clean_build_ms": 5}  # of one run; warm dispatch gives many at once
# One where the task says nothing.
WARM_UP = {"cold_start_ms": 2, "peak_bytes": 1, "clean_build_ms": 1, "warm_dispatch_ms": 1}


@pytest.fixture(scope="module")
def complete(world: World) -> dict[str, Any]:
    """The example cohort, twice instead of five times, when it is complete."""
    cohort = cohorts.cohort_of(world.target.images, world.kubectl, "runtime")
    cohort["spec"]["repetitions"] = REPETITIONS
    return cohorts.carried_out(world.kubectl, cohort, timeout_seconds=900)


@pytest.fixture(scope="module")
def records(world: World, complete: dict[str, Any]) -> list[dict[str, Any]]:
    """Its records in the order of the schedule."""
    chosen = f"fairtrial.dev/cohort={complete['metadata']['name']}"
    runs = world.kubectl.get("benchmarkruns.fairtrial.dev", "--selector", chosen)["items"]
    return [world.record(run) for run in sorted(runs, key=lambda run: run["metadata"]["name"])]


def measurements(record: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found = [check.get("measurement") for check in record["evaluation"]["checks"]]
    return {one["metric"]: one for one in found if one}


def test_every_run_is_measured_and_one_after_another(complete: dict[str, Any], records: list[dict[str, Any]]) -> None:
    counts = {name: count for name, count in complete["status"]["counts"].items() if count}
    assert counts == {"scheduled": 2 * REPETITIONS, "passed": 2 * REPETITIONS}
    spans = [record["timings"]["timestamps"] for record in records]
    for before, after in itertools.pairwise(spans):
        assert before["evaluated"] <= after["agentStarted"]


def test_the_states_take_turns_as_the_schedule_drew_them(
    world: World, complete: dict[str, Any], records: list[dict[str, Any]]
) -> None:
    sealed = json.loads(world.store.get(layout.key_of_uri(complete["status"]["preregistrationUri"])))
    planned = [entry.candidate for entry in preregistration.schedule_in(sealed).entries]
    assert [record["identity"]["candidate"] for record in records] == planned
    assert {record["identity"]["task"]["name"] for record in records} == {"startup-eager-v1", "startup-lazy-v1"}


def test_raw_samples_are_kept_without_those_of_the_warm_up(records: list[dict[str, Any]]) -> None:
    for record in records:
        taken = measurements(record)
        assert {metric: len(taken[metric]["samples"]) for metric in SAMPLES} == SAMPLES
        assert {metric: one["warmUp"] for metric, one in taken.items() if one["warmUp"]} == WARM_UP
        assert len(set(taken["cold_start_ms"]["samples"])) > 1, "each is a process of its own"


def test_the_command_tells_medians_by_metric_and_state(
    world: World, complete: dict[str, Any], records: list[dict[str, Any]]
) -> None:
    program = str(Path(sys.executable).with_name("fairtrial"))
    command = [program, "measurements", complete["metadata"]["name"], "--namespace", world.namespace]
    table = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    told = json.loads(subprocess.run([*command, "--json"], capture_output=True, check=True).stdout)["metrics"]

    assert set(told) == {*SAMPLES, "warm_dispatch_ms"}
    for metric, count in SAMPLES.items():
        assert {state: len(one) for state, one in told[metric].items()} == dict.fromkeys(
            ("eager", "lazy"), count * REPETITIONS
        )
    first = next(record for record in records if record["identity"]["candidate"] == "eager")
    assert told["peak_bytes"]["eager"][:5] == [str(one) for one in measurements(first)["peak_bytes"]["samples"]]
    assert {tuple(line.split()[:4]) for line in table.splitlines() if line.startswith("cold_start_ms")} == {
        ("cold_start_ms", state, str(REPETITIONS), str(15 * REPETITIONS)) for state in ("eager", "lazy")
    }
