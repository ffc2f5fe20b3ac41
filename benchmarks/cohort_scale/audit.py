"""What happened when, from the API server's audit log. Pure, apart from reading the file line by line.

The log tells who did what to which object and when it was answered, but no bodies: a pod's end is the last status that
kwok wrote of it, since it writes two.
"""

import itertools
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from benchmarks.cohort_scale.objects import NAMESPACE

WRITES = frozenset({"create", "update", "patch", "delete"})
UNITS = ("benchmarkruns", "jobs", "workflows")  # what stands for one run, of each system
UNIT = re.compile(r"u-\d{6}")  # how peers name theirs


@dataclass
class Pod:
    """One pod: when it was created, when it ended, in seconds since the epoch; how often its name was created."""

    created: float = 0.0
    ended: float = 0.0
    times: int = 0


@dataclass
class Unit:
    """One run, or what stands for it: when it was created and written, and its pods by name."""

    created: float = 0.0
    written: list[float] = field(default_factory=list)
    pods: dict[str, Pod] = field(default_factory=dict)


@dataclass
class Log:
    """All units, and every user's requests by (verb, resource)."""

    units: dict[str, Unit] = field(default_factory=lambda: defaultdict(Unit))
    requests: dict[str, Counter[tuple[str, str]]] = field(default_factory=lambda: defaultdict(Counter))
    about_units: Counter[str] = field(default_factory=Counter)  # writes about units and their pods, by user


def read(path: Path) -> Log:
    """The log of a measurement that is over."""
    log = Log()
    with path.open() as lines:
        for line in lines:
            _take(log, json.loads(line))
    return log


def _take(log: Log, event: Mapping[str, Any]) -> None:
    about, user, verb = event.get("objectRef") or {}, event["user"]["username"], event["verb"]
    resource, sub = about.get("resource", ""), about.get("subresource", "")
    log.requests[user][verb, f"{resource}/{sub}" if sub else resource] += 1
    code = event.get("responseStatus", {}).get("code", 0)
    if about.get("namespace") != NAMESPACE or verb not in WRITES:
        return
    name, at = about.get("name", ""), datetime.fromisoformat(event["stageTimestamp"]).timestamp()
    if resource in ("pods", *UNITS):
        log.about_units[user] += 1
    if code >= 500 and name and (resource, verb, sub) == ("pods", "create", ""):
        # Whoever was killed before it heard the answer may have created the pod none the less.
        pod = log.units[unit_of(name)].pods.setdefault(name, Pod())
        pod.created = pod.created or at
    if code >= 400 or not name:
        return
    if resource in UNITS:
        unit = log.units[unit_of(name)]
        if verb == "create":
            unit.created = unit.created or at
        else:
            unit.written.append(at)
    elif resource == "pods":
        pod = log.units[unit_of(name)].pods.setdefault(name, Pod())
        if verb == "create" and not sub:
            pod.created, pod.times = pod.created or at, pod.times + 1
        elif sub == "status" and user == "kwok":
            pod.ended = at


def unit_of(name: str) -> str:
    """The unit that an object belongs to, by its name."""
    found = UNIT.match(name)
    return found.group() if found else name.removesuffix("-agent").removesuffix("-evaluator")


# --- numbers ----------------------------------------------------------------------------------------------------------
def summary(log: Log, users: Iterable[str]) -> dict[str, Any]:
    """Rates, latencies in seconds, and requests per unit of the users that make up the system."""
    for unit in log.units.values():  # a create that failed for good left a pod that never was
        unit.pods = {name: pod for name, pod in unit.pods.items() if pod.ended}
    units = [unit for unit in log.units.values() if unit.pods]
    pods = [pod for unit in units for pod in unit.pods.values()]
    begun = min(min((unit.created or unit.pods[name].created for name in unit.pods), default=0.0) for unit in units)
    ended = sorted(pod.ended for pod in pods)
    last = max(max([*unit.written, *(pod.ended for pod in unit.pods.values())]) for unit in units)
    middle = ended[len(ended) // 10 : -len(ended) // 10 or None]
    requests: Counter[tuple[str, str]] = sum((log.requests[user] for user in users), Counter())
    writes = {key: count for key, count in requests.items() if key[0] in WRITES and "leases" not in key[1]}
    return {
        "units": len(units),
        "pods": len(pods),
        "seconds": round(last - begun, 2),
        "podsPerSecond": round(len(pods) / (last - begun), 2),
        "podsPerSecondInTheMiddle": round(len(middle) / (middle[-1] - middle[0]), 2) if len(middle) > 1 else None,
        "unitsPerSecond": round(len(units) / (last - begun), 2),
        "resourceToPod": quantiles(_to_pod(units)),
        "podEndToNextPod": quantiles(_to_next_pod(units)),
        "lastPodEndToStatus": quantiles(_to_status(units)),
        "unitSeconds": quantiles(_whole(units)),
        "writesAboutUnitsPerUnit": round(sum(log.about_units[user] for user in users) / len(units), 2),
        "writesPerUnit": round(sum(writes.values()) / len(units), 2),
        "writes": _told(writes, len(units)),
        "listsPerUnit": round(sum(n for key, n in requests.items() if key[0] == "list") / len(units), 4),
        "readsPerUnit": _told({key: n for key, n in requests.items() if key[0] in ("get", "list")}, len(units)),
        "duplicatePods": sum(max(pod.times - 1, 0) for pod in pods),
    }


def quantiles(values: Iterable[float]) -> dict[str, float] | None:
    """The 50th, 95th and 99th percentile, by nearest rank."""
    found = sorted(values)
    if not found:
        return None
    return {f"p{q}": round(found[min(len(found) - 1, max(0, -(-len(found) * q // 100) - 1))], 3) for q in (50, 95, 99)}


def _told(counts: Mapping[tuple[str, str], int], units: int) -> dict[str, float]:
    return {" ".join(key): round(n / units, 3) for key, n in sorted(counts.items(), key=lambda kv: -kv[1])}


def _to_pod(units: list[Unit]) -> Iterator[float]:
    for unit in units:  # pods whose names the server makes up, such as a Job's, are created under no name
        named = [pod.created for pod in unit.pods.values() if pod.created]
        if unit.created and named:
            yield min(named) - unit.created


def _to_next_pod(units: list[Unit]) -> Iterator[float]:
    for unit in units:
        pods = sorted((pod for pod in unit.pods.values() if pod.created), key=lambda pod: pod.created)
        yield from (after.created - before.ended for before, after in itertools.pairwise(pods))


def _to_status(units: list[Unit]) -> Iterator[float]:
    for unit in units:
        end = max(pod.ended for pod in unit.pods.values())
        after = [at for at in unit.written if at >= end]
        if after:
            yield min(after) - end


def _whole(units: list[Unit]) -> Iterator[float]:
    for unit in units:
        begun = unit.created or min(pod.created for pod in unit.pods.values())
        yield max([*unit.written, *(pod.ended for pod in unit.pods.values())]) - begun
