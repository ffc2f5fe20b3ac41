"""From `kubectl apply` to the agent's first instruction, and from its last one to `Recorded`, against bare pods.

A round is one run and the same two containers as bare pods, one after the other; rounds alternate which goes first.
The agent prints the clock as its first and its last act, so both ends are seen from inside. The bare pods do what a
person would do without Fairtrial: an agent pod, and when it is seen to have ended, a pod that checks. The first is also
started without the volume that Kubernetes gives every pod for its token: a kubelet looks only every 0.3 s whether a
pod's volumes are there, and not at all where it has none.
"""

import collections
import json
import statistics
import time
import uuid
from collections.abc import Callable
from datetime import datetime
from typing import Any

import yaml

from examples.demo import __main__ as demo
from examples.demo.install import install
from fairtrial.cli.kubectl import Kubectl
from fairtrial.cli.watch import is_recorded
from fairtrial.evidence import layout
from fairtrial.evidence.store import S3Store
from local_cluster import layout as layout_of_cluster

ROUNDS = 6
SCRIPT = "import time; print(time.time(), flush=True); time.sleep(1); print(time.time(), flush=True)"
TASK = "parse-defect"


def measure() -> dict[str, Any]:
    """Medians over ROUNDS in seconds, their ratios, the steps of a run, and the API writes that it took."""
    target = demo.local_target()
    install(target)
    namespace = f"bench-{uuid.uuid4().hex[:6]}"
    kubectl = Kubectl(None, namespace)
    kubectl.apply(_namespace(namespace))
    demo.push_tasks(target, namespace, only=(TASK,))
    image = target.images["python"]
    runs: list[dict[str, float]] = []
    pods: list[dict[str, float]] = []
    stripped: list[dict[str, float]] = []
    steps: list[dict[str, float]] = []
    for index in range(ROUNDS + 1):  # the first round warms image caches and is thrown away
        one_run: Callable[[], None] = lambda: runs.append(_run(kubectl, image, steps))  # noqa: E731
        two_pods: Callable[[], None] = lambda: pods.append(_two_pods(kubectl, image))  # noqa: E731
        without_volume: Callable[[], None] = lambda: stripped.append(_without_volume(kubectl, image))  # noqa: E731
        turn = (one_run, two_pods, without_volume)
        for measure_one in turn if index % 2 else reversed(turn):
            measure_one()
    writes = _writes_per_run(namespace)
    Kubectl().run("delete", "namespace", namespace, "--wait=false")
    return _summary(runs[1:], pods[1:], stripped[1:], steps[1:]) | {"operatorApiWritesPerRun": writes}


def _writes_per_run(namespace: str) -> dict[str, int]:
    """Write requests of the operator about each run, its pods and its events, from the API server's audit log."""
    counted: collections.Counter[str] = collections.Counter()
    with (layout_of_cluster.logs() / "audit.log").open() as log:
        for line in log:
            entry = json.loads(line)
            about = entry.get("objectRef", {})
            if (
                entry["user"].get("username", "").endswith(":fairtrial-operator")
                and entry["stage"] == "ResponseComplete"
                and entry["verb"] in {"create", "update", "patch", "delete"}
                and about.get("namespace") == namespace
                and about.get("name", "").startswith("run-")
            ):
                counted[about["name"].removesuffix("-agent").removesuffix("-evaluator").partition(".")[0]] += 1
    return {"fewest": min(counted.values()), "most": max(counted.values())}


Rows = list[dict[str, float]]


def _summary(runs: Rows, pods: Rows, stripped: Rows, steps: Rows) -> dict[str, Any]:
    def middle(rows: Rows, key: str) -> float:
        return round(statistics.median(row[key] for row in rows), 2)

    def spread(rows: Rows, key: str) -> list[float]:
        return sorted(round(row[key], 2) for row in rows)

    return {
        "rounds": len(runs),
        "applyToFirstInstruction": {
            "run": middle(runs, "start"),
            "barePod": middle(pods, "start"),
            "ratio": round(middle(runs, "start") / middle(pods, "start"), 2),
            "runAll": spread(runs, "start"),
            "barePodAll": spread(pods, "start"),
            "barePodWithoutVolume": middle(stripped, "start"),
            "ratioToOneWithoutVolume": round(middle(runs, "start") / middle(stripped, "start"), 2),
            "barePodWithoutVolumeAll": spread(stripped, "start"),
        },
        "agentEndToRecorded": {
            "run": middle(runs, "end"),
            "twoBarePods": middle(pods, "end"),
            "ratio": round(middle(runs, "end") / middle(pods, "end"), 2),
            "runAll": spread(runs, "end"),
            "twoBarePodsAll": spread(pods, "end"),
        },
        "stepsOfARunSeconds": {key: middle(steps, key) for key in steps[0]},
    }


def _run(kubectl: Kubectl, image: str, steps: list[dict[str, float]]) -> dict[str, float]:
    name = f"run-{uuid.uuid4().hex[:8]}"
    manifest = {
        "apiVersion": "fairtrial.dev/v1alpha1",
        "kind": "BenchmarkRun",
        "metadata": {"name": name},
        "spec": {
            "taskRef": {"name": f"{TASK}-v1"},
            "candidate": {"name": "clock", "version": "1", "image": image, "argv": ["python3", "-c", SCRIPT]},
            "resourceClassName": "small",
        },
    }
    applied = time.time()
    kubectl.apply(yaml.safe_dump(manifest))
    while not is_recorded(run := kubectl.get("benchmarkruns.fairtrial.dev", name)):
        time.sleep(0.1)
    seen = time.time()
    store = S3Store.from_env()
    base = layout.key_of_uri(run["status"]["record"]["uri"]).removesuffix("record.json")
    first, last = map(float, store.get(f"{base}artifacts/agent/streams/stdout/000000").split())
    report = json.loads(store.get(f"{base}artifacts/agent/report.json"))
    steps.append(_steps(run, report, applied, first, last, seen))
    return {"start": first - applied, "end": seen - last}


def _steps(
    run: dict[str, Any], report: dict[str, Any], applied: float, first: float, last: float, seen: float
) -> dict[str, float]:
    at = {key: datetime.fromisoformat(value).timestamp() for key, value in run["status"]["timestamps"].items()}
    inside = {f"inside.{key}": value / 1000 for key, value in report["timingsMs"].items()}
    return {
        "applied → agent container started": at["agentStarted"] - applied,
        "applied → first instruction": first - applied,
        "last instruction → agent pod ended": at["agentFinished"] - last,
        "agent pod ended → evaluator ended": at["evaluated"] - at["agentFinished"],
        "evaluator ended → recorded, as seen by kubectl": seen - at["evaluated"],
        **inside,
    }


def _two_pods(kubectl: Kubectl, image: str) -> dict[str, float]:
    applied = time.time()
    first, last = map(float, _pod(kubectl, image, ["python3", "-c", SCRIPT]).split())
    _pod(kubectl, image, ["python3", "-m", "pytest", "--version"])
    return {"start": first - applied, "end": time.time() - last}


def _without_volume(kubectl: Kubectl, image: str) -> dict[str, float]:
    applied = time.time()
    return {"start": float(_pod(kubectl, image, ["python3", "-c", SCRIPT], volume=False).split()[0]) - applied}


def _pod(kubectl: Kubectl, image: str, argv: list[str], *, volume: bool = True) -> str:
    name = f"bare-{uuid.uuid4().hex[:8]}"
    security = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "runAsNonRoot": True,
        "runAsUser": 10001,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    container = {"name": "main", "image": image, "imagePullPolicy": "IfNotPresent", "command": argv}
    spec = {
        "restartPolicy": "Never",
        "containers": [container | {"securityContext": security}],
    }
    spec |= {} if volume else {"automountServiceAccountToken": False}
    kubectl.apply(yaml.safe_dump({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}))
    while kubectl.get("pod", name)["status"].get("phase") not in {"Succeeded", "Failed"}:
        time.sleep(0.1)
    return kubectl.run("logs", name)


def _namespace(name: str) -> str:
    labels = {"fairtrial.dev/enabled": "true", "pod-security.kubernetes.io/enforce": "restricted"}
    return json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
