"""Model calls: straight to a scripted model, through this gateway, through LiteLLM's proxy, and through mitmdump.

All of them run beside each other on one machine and are loaded in turns, in another order each round. Three loads:
small calls as fast as they go, small calls at a moderate rate (what a proxy adds to a call that need not wait for
others), and streams. The gateway is the real process with its storing process: it identifies callers, journals every
call to disk and stores it in a real S3 store. LiteLLM runs twice, because it records nothing unless told to: the second
one, measured for small calls only, logs to the same store. MODEL_CALLS_STREAM_MB=50 makes the 200 large streams as
large as the goal says.
"""

import asyncio
import os
import statistics
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from benchmarks import model_calls_page
from benchmarks.model_load import MAX_LATE, Bulk, Calls, Streams, calls, paced_streams
from benchmarks.model_systems import MB, System, Systems

ROUNDS = 3
LEVELS = {1: 150, 16: 320, 128: 384}  # connections: calls
DIRECT_TIMES = 20  # so many more calls straight to the model, which take no time
PER_SECOND, PACED_CALLS = 80, 320
STREAMS, CHUNKS, PAUSE = 16, 200, 0.02
OPEN, STREAM_MB = 200, float(os.environ.get("MODEL_CALLS_STREAM_MB") or 8)
OPEN_SECONDS = 25.0 if STREAM_MB <= 8 else 900.0
WARM_UP = 60
GATEWAY, DIRECT, OTHERS = "gateway", "direct", ("litellm", "mitmdump")
LOGGING = "litellmS3"
GOALS = {"addedP50Ms": 2.0, "addedP99Ms": 10.0, "timesLitellmPerCore": 5.0, "lateShare": 0.01, "grownMB": 20.0}

Row = dict[str, float]
Rows = dict[str, list[Row]]  # by system and load, a row each round


def measure() -> dict[str, Any]:
    """Medians over the rounds. Milliseconds, seconds of processor time for 1000 calls, MB of 10^6 bytes."""
    return asyncio.run(_measure())


def write_page() -> None:
    """Write the numbers into `model_calls.md`."""
    model_calls_page.write()


async def _measure() -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="fairtrial-model-calls-") as folder:
        systems = Systems(Path(folder))
        try:
            await systems.start()
            for system in systems.all.values():
                await _calls(system, 4, WARM_UP)
                await system.settle()
            rows: Rows = defaultdict(list)
            names = list(systems.all)
            loads = [round(os.getloadavg()[0], 1)]
            for number in range(ROUNDS):
                for name in names[number:] + names[:number]:
                    await _round(systems.all[name], rows)
                loads.append(round(os.getloadavg()[0], 1))
                print(f"   round {number + 1} of {ROUNDS}", flush=True)
            memory = {name: await _memory(systems.all[name]) for name in (*OTHERS, GATEWAY)}
            versions = {name: system.version for name, system in systems.all.items() if system.version}
        finally:
            systems.close()
    told = {"memory": memory, "versions": versions, "load": _load(), "loadAverages": loads}
    return summary(rows, names) | told


def _load() -> dict[str, Any]:
    return {
        "rounds": ROUNDS,
        "callsByConnections": LEVELS,
        "pacedCallsPerSecond": PER_SECOND,
        "pacedCalls": PACED_CALLS,
        "streams": {"beside": STREAMS, "chunks": CHUNKS, "paceMs": PAUSE * 1000},
        "open": {"streams": OPEN, "megabytesEach": STREAM_MB},
    }


async def _round(system: System, rows: Rows) -> None:
    name, many = system.name, 0
    before = system.cpu()
    for connections, count in LEVELS.items():
        found = await _calls(system, connections, count * (DIRECT_TIMES if name == DIRECT else 1))
        many += len(found.latencies)
        rows[f"{name} {connections}"].append(_calls_row(found))
    waited = await system.settle()
    after = system.cpu()
    used = {kind: (after[kind] - before[kind]) / many * 1000 for kind in after}
    rows[f"{name} cpu"].append(used | {"secondsUntilStored": waited})
    if name == LOGGING:
        return
    for connections in (16, 128):
        found = await _calls(system, connections, PACED_CALLS, PER_SECOND)
        rows[f"{name} paced {connections}"].append(_calls_row(found))
        await system.settle()
    rows[f"{name} streams"].append(_streams_row(await paced_streams(system.target, STREAMS, CHUNKS, PAUSE)))
    await system.settle()


async def _calls(system: System, connections: int, count: int, per_second: float | None = None) -> Calls:
    found = await calls(system.target, connections, count, per_second)
    system.made += len(found.latencies)
    return found


def _calls_row(found: Calls) -> Row:
    return {
        "perSecond": found.per_second,
        "p50Ms": _part(found.latencies, 0.5) * 1000,
        "p99Ms": _part(found.latencies, 0.99) * 1000,
    }


def _streams_row(found: Streams) -> Row:
    return {
        "firstP50Ms": _part(found.first, 0.5) * 1000,
        "ageP50Ms": _part(found.ages, 0.5) * 1000,
        "ageP99Ms": _part(found.ages, 0.99) * 1000,
        "jitterP50Ms": _part(found.jitter, 0.5) * 1000,
        "jitterP99Ms": _part(found.jitter, 0.99) * 1000,
        "lateShare": sum(age > MAX_LATE for age in found.ages) / len(found.ages),
        "missing": found.missing,
    }


async def _memory(system: System) -> dict[str, Any]:
    """Resident memory while many large streams are open: before, when a fifth of the bytes has come, and at the end."""
    size = round(STREAM_MB * MB)
    bulk = Bulk(system.target, OPEN, size)
    samples = [(0, system.rss())]
    began = time.monotonic()
    await bulk.begin()
    while bulk.ended < OPEN and time.monotonic() < began + OPEN_SECONDS:
        await asyncio.sleep(0.25)
        samples.append((bulk.received, system.rss()))
    seconds, received, done = time.monotonic() - began, bulk.received, bulk.done
    await bulk.close()
    fifth = next((rss for at, rss in samples if at >= received / 5), samples[-1][1])
    return {
        "streamsEnded": done,
        "receivedMB": round(received / MB),
        "seconds": round(seconds, 1),
    } | {
        f"{kind}MB": {
            "idle": round(samples[0][1][kind] / MB),
            "afterAFifth": round(fifth[kind] / MB),
            "atTheEnd": round(samples[-1][1][kind] / MB),
            "peak": round(max(rss[kind] for _, rss in samples) / MB),
        }
        for kind in ("serving", "storing")
        if samples[0][1][kind]
    }


def summary(rows: Rows, names: list[str]) -> dict[str, Any]:
    """Medians, what each proxy adds, ratios, and the goals; a proxy's row is compared with that of the same round."""
    loads = [*map(str, LEVELS), "paced 16", "paced 128"]
    proxies = [name for name in names if name != DIRECT]

    def every(load: str) -> dict[str, Row]:
        return {name: _median(rows[f"{name} {load}"]) for name in names if f"{name} {load}" in rows}

    def beyond_direct(load: str) -> dict[str, Row]:
        direct = rows[f"{DIRECT} {load}"]
        return {
            name: _median(_differences(rows[f"{name} {load}"], direct)) for name in proxies if f"{name} {load}" in rows
        }

    added = {load: beyond_direct(load) for load in ["1", "paced 16", "paced 128"]}
    cpu = {name: _median(rows[f"{name} cpu"]) for name in proxies}
    streams = every("streams")
    late = beyond_direct("streams")[GATEWAY]
    ratios = {
        "servingOnly": _cpu_ratio(rows["litellm cpu"], rows[f"{GATEWAY} cpu"], ("serving",)),
        "withStoring": _cpu_ratio(rows["litellm cpu"], rows[f"{GATEWAY} cpu"], ("serving", "storing")),
        "bothWithStoring": _cpu_ratio(rows[f"{LOGGING} cpu"], rows[f"{GATEWAY} cpu"], ("serving", "storing")),
    }
    return {
        "calls": {load: every(load) for load in loads},
        "addedMs": {
            load: {n: {"p50": row["p50Ms"], "p99": row["p99Ms"]} for n, row in found.items()}
            for load, found in added.items()
        },
        "cpuSecondsPer1000Calls": cpu,
        "timesLitellmPerCore": ratios,
        "timesLitellmCallsPerSecond": {
            load: _ratio(rows[f"{GATEWAY} {load}"], rows[f"litellm {load}"], "perSecond") for load in map(str, LEVELS)
        },
        "streams": streams,
        "lateShareBeyondDirect": late["lateShare"],
        "goals": GOALS,
    }


def _cpu_ratio(theirs: list[Row], ours: list[Row], kinds: tuple[str, ...]) -> float:
    """LiteLLM's processor time for a call over that of our processes of some kinds."""
    pairs = zip(theirs, ours, strict=True)
    return round(statistics.median(their["serving"] / sum(our[kind] for kind in kinds) for their, our in pairs), 2)


def _ratio(ours: list[Row], theirs: list[Row], key: str) -> float:
    return round(statistics.median(one[key] / other[key] for one, other in zip(ours, theirs, strict=True)), 2)


def _differences(ours: list[Row], direct: list[Row]) -> list[Row]:
    return [{key: one[key] - other[key] for key in one} for one, other in zip(ours, direct, strict=True)]


def _median(found: list[Row]) -> Row:
    return {key: round(statistics.median(row[key] for row in found), 4) for key in found[0]}


def _part(values: list[float], part: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]
