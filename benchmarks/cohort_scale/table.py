"""The tables of the page, from the results: `python -m benchmarks.cohort_scale --tables`. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

Result = Mapping[str, Any]
# Which results are compared with ours: the same two pods in a row, or one pod for each unit.
COMPARED = (
    ("bare-pair", "a bare client loop, the same two pods in a row", 0.9),
    ("bare", "a bare client loop, one pod each", 0.9),
    ("jobs-pair", "two Jobs in a row", 3.0),
    ("jobs", "a Job each", 3.0),
    ("argo-pair", "a workflow of two steps", 3.0),
    ("argo", "a workflow of one pod", 3.0),
    ("argo-tuned-pair", "the same, two steps, with Argo's limits raised", 3.0),
    ("argo-tuned", "the same, one pod, with Argo's limits raised", 3.0),
)


def tables(results: Mapping[str, Result]) -> str:
    """Every table, for each number of runs and each setting that was measured."""
    found: dict[tuple[int, str], dict[str, Result]] = {}
    for key, result in results.items():
        system, runs, setting = key.split("/")
        found.setdefault((int(runs), setting), {})[system] = result
    lines = [line for key in sorted(found) for line in (*_rates(*key, found[key]), *_ours(found[key]))]
    return "\n".join([*lines, *_growth(found)])


def _rates(runs: int, setting: str, systems: Mapping[str, Result]) -> Iterator[str]:
    ours = systems.get("ours")
    limits, comma, others = setting.partition(",")
    yield f"\n### {runs} runs, {limits} limits{comma}{others}\n"
    yield "| system | pods/s | runs/s | ours ÷ it, pods/s | resource → pod, s | pod end → next, s | writes per run |"
    yield "|---|---|---|---|---|---|---|"
    if ours is not None:
        yield _row("Fairtrial", ours, "-")
    for name, told, goal in COMPARED:
        if name not in systems:
            continue
        ratio = ours["podsPerSecond"] / systems[name]["podsPerSecond"] if ours else None
        verdict = "-" if ratio is None else f"{ratio:.2f} (goal {goal}: {'met' if ratio >= goal else 'not met'})"
        yield _row(told, systems[name], verdict)


def _row(name: str, result: Result, ratio: str) -> str:
    following = result["podEndToNextPod"] or result["lastPodEndToStatus"]
    rates = f"{result['podsPerSecond']} | {result['unitsPerSecond']} | {ratio}"
    waits = f"{_spread(result['resourceToPod'])} | {_spread(following)}"
    return f"| {name} | {rates} | {waits} | {result['writesPerUnit']} |"


def _spread(found: Mapping[str, float] | None) -> str:
    return "-" if found is None else " / ".join(f"{found[key]:.2f}" for key in ("p50", "p95", "p99"))


def _ours(systems: Mapping[str, Result]) -> Iterator[str]:
    for name in ("ours", "ours-killed"):
        result = systems.get(name)
        if result is None:
            continue
        runs = result["units"]
        budget = 60 + 0.015 * runs
        yield f"\n| Fairtrial{', killed again and again' if name != 'ours' else ''} | measured | goal |"
        yield "|---|---|---|"
        yield f"| API writes per run | {result['writesAboutUnitsPerUnit']} | ≤ 10 |"
        yield f"| all writes, the cohort's own and those of a start among them, per run | {result['writesPerUnit']} | |"
        yield f"| lists per run | {result['listsPerUnit']} | |"
        yield f"| operator's CPU seconds per 1,000 runs | {result['operatorCpuSecondsPer1000']} | |"
        yield f"| operator's memory, MB: idle, most, after a restart | {_memory(result)} | < {budget:.0f} |"
        yield f"| etcd's bytes per run, with its two pods | {result['etcdBytesPerUnit']} | |"
        yield f"| restart to steady, s | {result['restartToSteadySeconds']} | < 20 |"
        yield f"| deaths, duplicate pods, duplicate records, lost | {_deaths(result)} | 0 but the first |"


def _growth(found: Mapping[tuple[int, str], Mapping[str, Result]]) -> Iterator[str]:
    """How what a run costs grows with the number of runs; flat columns are linear growth."""
    by_setting = sorted(found.items(), key=lambda item: (item[0][1], item[0][0]))
    ours = {key: systems["ours"] for key, systems in by_setting if "ours" in systems}
    if len(ours) < 2:
        return
    yield "\n### Growth\n"
    yield "| runs, setting | runs/s | CPU s per 1,000 | most MB | KB per run | etcd bytes per run | restart s |"
    yield "|---|---|---|---|---|---|---|"
    for (runs, setting), one in ours.items():
        grown = (one["operatorPeakMB"] - one["operatorIdleMB"]) * 1000 / runs
        cost = f"{one['unitsPerSecond']} | {one['operatorCpuSecondsPer1000']} | {one['operatorPeakMB']} | {grown:.1f}"
        yield f"| {runs}, {setting} | {cost} | {one['etcdBytesPerUnit']} | {one['restartToSteadySeconds']} |"


def _memory(result: Result) -> str:
    return f"{result['operatorIdleMB']}, {result['operatorPeakMB']}, {result['restartedMB']}"


def _deaths(result: Result) -> str:
    return ", ".join(str(result[key]) for key in ("deaths", "duplicatePods", "duplicateRecords", "lost"))
