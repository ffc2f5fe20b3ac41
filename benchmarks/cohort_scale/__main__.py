"""`python -m benchmarks.cohort_scale`: one system at a time on a fresh control plane, for each number of runs."""

import argparse
import asyncio
import itertools
import json
import os
import shutil
import tempfile
import time
import traceback
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fairtrial_operator.kube import Kube

from benchmarks.__main__ import RESULTS, machine
from benchmarks.cohort_scale import audit, ours, peers
from benchmarks.cohort_scale.control_plane import HERE, ControlPlane, programs
from benchmarks.cohort_scale.table import tables
from local_cluster import binaries

FILE = RESULTS / "cohort_scale.json"
OURS = ("ours", "ours-killed")
AT_ONCE, POD_MS = 250, 1000
CRDS = Path(__file__).parents[2] / "crds"


def main() -> None:
    """Measure what was asked for; each result is written as soon as it is there, beside those of earlier calls."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cohort_scale", description=__doc__)
    parser.add_argument("--runs", type=int, nargs="+", default=[100, 1000], help="runs (default: 100 1000)")
    known = [*OURS, *peers.PEERS, *(f"{name}-pair" for name in peers.PEERS)]
    parser.add_argument("--systems", nargs="+", choices=known, default=["ours", "bare", "bare-pair"])
    told = f"runs under way at once (default: {AT_ONCE})"
    parser.add_argument("--parallelism", type=int, default=AT_ONCE, help=told)
    parser.add_argument("--pod-ms", type=int, default=POD_MS, help=f"a simulated pod's length (default: {POD_MS})")
    parser.add_argument("--kill-every", type=float, default=10.0, help="of ours-killed, in seconds (default: 10)")
    parser.add_argument("--limits", choices=["default", "raised"], default="default", help="of the daemons' requests")
    parser.add_argument("--rounds", type=int, default=1, help="the one with the median rate is kept (default: 1)")
    parser.add_argument("--keep", action="store_true", help="keep the control plane's folder, with its logs")
    parser.add_argument("--tables", action="store_true", help="measure nothing, print the tables of what was measured")
    asked = parser.parse_args()
    if asked.tables:
        print(tables(json.loads(FILE.read_text())["measured"]))
        return
    found = programs(argo=any(name.startswith("argo") for name in asked.systems))
    made: dict[str, list[dict[str, Any]]] = {}
    for runs, turn in itertools.product(asked.runs, range(asked.rounds)):
        # Another order each round, so that a machine that slows down is nobody's disadvantage.
        for system in asked.systems if turn % 2 == 0 else reversed(asked.systems):
            print(f"== {system}, {runs} runs, limits {asked.limits}, round {turn + 1}", flush=True)
            try:
                result = asyncio.run(measure(system, runs, found, asked))
            except Exception:  # noqa: BLE001 — one that fails must not cost the hours of the others
                traceback.print_exc()
                continue
            print(json.dumps(result, indent=2), flush=True)
            name = f"{system}/{runs}/{setting(asked.limits, asked.parallelism, asked.pod_ms)}"
            rounds = made.setdefault(name, [])
            rounds.append(result)
            keep(name, middle(rounds))


def setting(limits: str, parallelism: int, pod_ms: int) -> str:
    """What results of one number of runs are told apart by."""
    usual = (parallelism, pod_ms) == (AT_ONCE, POD_MS)
    return limits if usual else f"{limits}, {parallelism} at once, pods of {pod_ms / 1000:g} s"


def middle(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """The round with the median rate (the slower of two), and the rates of all."""
    ordered = sorted(rounds, key=lambda one: one["podsPerSecond"])
    return ordered[(len(ordered) - 1) // 2] | {"podsPerSecondAll": [one["podsPerSecond"] for one in ordered]}


async def measure(system: str, runs: int, found: dict[str, Path], asked: argparse.Namespace) -> dict[str, Any]:
    """One system on a control plane of its own."""
    folder = Path(tempfile.mkdtemp(prefix="cohort-scale-"))
    stages = (HERE / "stages.yaml").read_text().replace("MILLISECONDS", str(asked.pod_ms))
    plane = ControlPlane(folder / "plane", found, raised=asked.limits == "raised", stages=stages)
    about: dict[str, Any] = {"parallelism": asked.parallelism, "podMs": asked.pod_ms, "limits": asked.limits}
    about |= {"kubernetes": binaries.kubernetes_version(), "at": datetime.now(UTC).isoformat(timespec="seconds")}
    began = time.monotonic()
    try:
        plane.start()
        about["loadBefore"] = os.getloadavg()
        result, users = await _carry_out(system, runs, plane, found, asked)
        about["cpuSeconds"] = {name: round(one.cpu, 1) for name, one in plane.usage().items()}
        about["wholeMeasurementSeconds"] = round(time.monotonic() - began, 1)
        return about | result | audit.summary(audit.read(plane.audit), users)
    finally:
        plane.stop()
        if asked.keep:
            print(f"kept: {folder}", flush=True)
        else:
            shutil.rmtree(folder, ignore_errors=True)


async def _carry_out(
    system: str, runs: int, plane: ControlPlane, found: dict[str, Path], asked: argparse.Namespace
) -> tuple[dict[str, Any], tuple[str, ...]]:
    os.environ["KUBECONFIG"] = str(plane.kubeconfig("client"))
    kube = await Kube.connect()
    try:
        if system in OURS:
            plane.kubectl("apply", "--server-side", "-f", CRDS)
            plane.kubectl("wait", "--for=condition=Established", "--timeout=60s", "-f", CRDS)
            kill = asked.kill_every if system == "ours-killed" else 0.0
            return await ours.run(plane, kube, runs, asked.parallelism, kill), ours.USERS
        peer, pods = peers.PEERS[system.removesuffix("-pair")], 2 if system.endswith("-pair") else 1
        made = await peers.run(peer, plane, kube, found, units=runs, pods=pods, parallelism=asked.parallelism)
        return made, peer.users
    finally:
        await kube.close()


def keep(name: str, result: dict[str, Any]) -> None:
    """Put one result beside the others."""
    document = json.loads(FILE.read_text()) if FILE.exists() else {"measured": {}}
    document["measured"][name] = result
    document |= {"machine": machine(), "at": datetime.now(UTC).isoformat(timespec="seconds")}
    FILE.write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    main()
