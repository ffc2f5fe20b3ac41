"""What the measurement of cohorts reads out of an audit log."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.cohort_scale import audit
from benchmarks.cohort_scale.__main__ import middle, setting
from benchmarks.cohort_scale.objects import NAMESPACE, pod_spec
from benchmarks.cohort_scale.table import tables

SECONDS = "2026-01-01T12:00:{:09.6f}Z"


def event(second: float, user: str, verb: str, resource: str, name: str, *, sub: str = "", code: int = 200) -> Any:
    about = {"resource": resource, "namespace": NAMESPACE, "name": name} | ({"subresource": sub} if sub else {})
    return {
        "user": {"username": user},
        "verb": verb,
        "objectRef": about,
        "stageTimestamp": SECONDS.format(second),
        "responseStatus": {"code": code},
    }


def a_run(name: str, start: float) -> list[Any]:
    """Created, its agent's pod after 1 s, which ends at 3 s, its evaluator's after 0.5 s more, recorded at 6 s."""
    agent, evaluator = f"{name}-agent", f"{name}-evaluator"
    return [
        event(start, "operator", "create", "benchmarkruns", name, code=201),
        event(start + 1, "operator", "create", "pods", agent, code=201),
        event(start + 2, "kwok", "patch", "pods", agent, sub="status"),
        event(start + 3, "kwok", "patch", "pods", agent, sub="status"),
        event(start + 3.5, "operator", "create", "pods", evaluator, code=201),
        event(start + 4, "kwok", "patch", "pods", evaluator, sub="status"),
        event(start + 5, "kwok", "patch", "pods", evaluator, sub="status"),
        event(start + 6, "operator", "patch", "benchmarkruns", name, sub="status"),
    ]


def summary(tmp_path: Path, events: list[Any]) -> dict[str, Any]:
    path = tmp_path / "audit.log"
    path.write_text("".join(json.dumps(one) + "\n" for one in events))
    return audit.summary(audit.read(path), ("operator",))


def test_waits_are_from_the_resource_to_its_pod_and_from_a_pods_end_to_what_follows(tmp_path: Path) -> None:
    cohort = event(15, "operator", "patch", "benchmarkcohorts", "scale", sub="status")
    found = summary(tmp_path, [*a_run("scale-00001", 0), *a_run("scale-00002", 10), cohort])

    assert found["resourceToPod"]["p50"] == 1
    assert found["podEndToNextPod"]["p99"] == 0.5
    assert found["lastPodEndToStatus"]["p50"] == 1
    assert found["unitSeconds"]["p50"] == 6
    assert (found["units"], found["pods"], found["seconds"]) == (2, 4, 16)
    assert found["podsPerSecond"] == 0.25
    assert (found["writesAboutUnitsPerUnit"], found["writesPerUnit"]) == (4, 4.5)
    assert found["duplicatePods"] == 0


def test_a_pod_whose_name_was_created_twice_is_a_duplicate(tmp_path: Path) -> None:
    again = event(5.5, "operator", "create", "pods", "scale-00001-agent", code=201)

    assert summary(tmp_path, [*a_run("scale-00001", 0), again])["duplicatePods"] == 1


def test_a_create_that_was_refused_is_none_and_one_that_was_never_answered_may_be(tmp_path: Path) -> None:
    refused = event(0.5, "operator", "create", "pods", "scale-00001-agent", code=409)
    lost = a_run("scale-00002", 10)
    lost[1]["responseStatus"]["code"] = 500

    found = summary(tmp_path, [refused, *a_run("scale-00001", 0), *lost])

    assert found["duplicatePods"] == 0
    assert found["pods"] == 4
    assert found["resourceToPod"] == {"p50": 1, "p95": 1, "p99": 1}


@pytest.mark.parametrize(
    ("name", "unit"), [("u-000012-0-x7k2p", "u-000012"), ("scale-00012-r1-evaluator", "scale-00012-r1")]
)
def test_an_objects_name_tells_its_unit(name: str, unit: str) -> None:
    assert audit.unit_of(name) == unit


def test_percentiles_are_by_nearest_rank() -> None:
    assert audit.quantiles(range(1, 101)) == {"p50": 50, "p95": 95, "p99": 99}
    assert audit.quantiles([]) is None


def test_of_several_rounds_the_one_in_the_middle_is_kept() -> None:
    rounds = [{"podsPerSecond": rate, "round": number} for number, rate in enumerate((9.0, 1.0, 5.0))]

    assert middle(rounds) == {"podsPerSecond": 5.0, "round": 2, "podsPerSecondAll": [1.0, 5.0, 9.0]}


def test_a_ratio_is_told_with_its_goal(tmp_path: Path) -> None:
    ours = summary(tmp_path, a_run("scale-00001", 0))
    rows = tables({"bare-pair/100/default": ours | {"podsPerSecond": 2 * ours["podsPerSecond"]}}
                  | {"jobs/100/default": ours})  # fmt: skip

    assert "not met" not in rows
    rows = tables({"ours/100/default": _with_operator(ours)} | {"bare-pair/100/default": ours | {"podsPerSecond": 1.0}})
    assert "0.33 (goal 0.9: not met)" in rows


def test_another_load_stands_apart_from_the_usual_one(tmp_path: Path) -> None:
    found = _with_operator(summary(tmp_path, a_run("scale-00001", 0)))
    lighter = setting("default", 100, 10_000)

    rows = tables({f"ours/{runs}/{which}": found for runs in (1000, 100) for which in (lighter, "default")})

    assert setting("default", 250, 1000) == "default"
    assert "### 100 runs, default limits, 100 at once, pods of 10 s" in rows
    growth = [row.split(" | ")[0] for row in rows.partition("### Growth")[2].splitlines()[4:]]
    both = [f"| {runs}, default{more}" for more in ("", ", 100 at once, pods of 10 s") for runs in (100, 1000)]
    assert growth == both


def test_growth_is_told_by_what_one_run_costs(tmp_path: Path) -> None:
    few = _with_operator(summary(tmp_path, a_run("scale-00001", 0))) | {"operatorIdleMB": 100.0}
    rows = tables(
        {"ours/100/default": few | {"operatorPeakMB": 110}, "ours/1000/default": few | {"operatorPeakMB": 150}}
    )

    assert "| 100, default | 0.17 | 0 | 110 | 100.0 |" in rows
    assert "| 1000, default | 0.17 | 0 | 150 | 50.0 |" in rows


def _with_operator(found: dict[str, Any]) -> dict[str, Any]:
    numbers = (
        "operatorCpuSecondsPer1000", "operatorIdleMB", "operatorPeakMB", "restartedMB", "etcdBytesPerUnit",
        "restartToSteadySeconds", "deaths", "duplicateRecords", "lost",
    )  # fmt: skip
    return found | dict.fromkeys(numbers, 0)


def test_peers_create_the_pod_that_the_operator_creates() -> None:
    names = [one["name"] for one in (*pod_spec()["initContainers"], *pod_spec()["containers"])]

    assert names == ["record", "agent"]
