"""Pods that a real Kueue admits: a quota of two, waiting that is seen, and a preemption that is nobody's fault."""

import json
import re
import threading
import time
from collections.abc import Iterator
from typing import Any, Self

import pytest

from examples.demo import cohorts
from examples.demo.install import ROOT
from fairtrial.cli.kubectl import Kubectl
from local_cluster import kueue
from tests.e2e.conftest import World

pytestmark = pytest.mark.slow
QUEUE = "trials"
QUOTA = 2
TASKS = ("billing-symptom-v1", "courier-question-v1")
PAGE = (ROOT / "docs" / "operations.md").read_text().partition("\n## Let Kueue admit pods\n")[2]
_, QUEUES, LOCAL_QUEUE = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)[:3]  # as the page has them


@pytest.fixture(scope="module")
def queues(world: World) -> Iterator[None]:
    """Kueue with one queue of two pods; taken away afterwards, so that no other test waits for its webhooks."""
    kueue.install()
    try:
        Kubectl().apply(QUEUES)
        world.kubectl.apply(LOCAL_QUEUE)
        yield
    finally:
        Kubectl().run("delete", "clusterqueues,resourceflavors", "--all", "--wait=false")
        Kubectl().run("delete", "priorityclass", "urgent-trials", "--ignore-not-found")
        kueue.uninstall()


class Watched:
    """Looks at the queue's pods all the time: how many were admitted at once, and what waited."""

    def __init__(self, world: World) -> None:
        self._world, self._over = world, threading.Event()
        self.most = self.waited = 0
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(0.3):
            pods = self._world.kubectl.get("pods", "--selector", f"kueue.x-k8s.io/queue-name={QUEUE}")["items"]
            living = [pod for pod in pods if pod.get("status", {}).get("phase") in ("Pending", "Running")]
            gated = [pod for pod in living if pod["spec"].get("schedulingGates")]
            self.most = max(self.most, len(living) - len(gated))
            self.waited = max(self.waited, len(gated))


def cohort(world: World, name: str, **changes: Any) -> dict[str, Any]:
    made = cohorts.cohort_of(world.target.images, world.kubectl, "paired")
    made["metadata"]["name"] = name
    spec = made["spec"]
    spec |= {"repetitions": 1, "stage": "pilot", "seal": True}
    spec.pop("analysis", None)
    spec.pop("decisionRule", None)
    spec["tasks"] = [task for task in spec["tasks"] if task["name"] in TASKS]
    spec["execution"] |= {"parallelism": 4, "rampSeconds": 0, "queue": QUEUE}
    spec["execution"] |= changes
    return made


def test_a_cohort_keeps_to_its_queues_quota_and_says_what_it_waits_for(world: World, queues: None) -> None:
    seen: set[str] = set()

    def note(live: dict[str, Any]) -> None:
        seen.update(one["message"] for one in live["status"]["conditions"] if one["type"] == "CapacityAvailable")

    with Watched(world) as watched:
        world.kubectl.apply(json.dumps(cohort(world, "queued")))
        done = _until(world, "queued", note)

    counts = done["status"]["counts"]
    assert (counts["scheduled"], counts.get("passed", 0) + counts.get("failed", 0)) == (4, 4)
    assert watched.most == QUOTA
    assert watched.waited >= 1
    assert any("WaitingForQueue" in message for message in seen), seen


def test_a_preempted_run_is_invalid_and_replaced(world: World, queues: None) -> None:
    world.kubectl.apply(_urgent_class(world))
    slow = cohort(world, "preempted")
    for candidate in slow["spec"]["candidates"]:
        candidate["argv"] = ["python3", "-c", f"import time; time.sleep(25)  # {candidate['name']}"]
    slow["spec"]["replacement"] = {"reasons": ["host_failure"], "maxPerCell": 2}
    world.kubectl.apply(json.dumps(slow))
    _until_running(world, QUOTA)

    urgent = world.apply(world.example("reference-parse-defect", "urgent", resourceClassName="urgent", queue=QUEUE))

    assert world.recorded(urgent)["status"]["outcome"] == "passed"
    done = _until(world, "preempted", lambda live: None)
    counts = done["status"]["counts"]
    assert counts["invalid"] == counts["replacements"] >= 1
    assert counts["scheduled"] + counts["replacements"] == sum(
        counts.get(place, 0) for place in ("passed", "failed", "invalid")
    )
    runs = world.kubectl.get("benchmarkruns.fairtrial.dev", "--selector", "fairtrial.dev/cohort=preempted")["items"]
    invalid = [run["status"] for run in runs if run["status"]["outcome"] == "invalid"]
    assert {(status["invalidity"], status["reason"]) for status in invalid} <= {
        ("host_failure", "preempted"),
        ("host_failure", "evaluator_preempted"),
    }


def _urgent_class(world: World) -> str:
    (small,) = (
        one for one in Kubectl().get("resourceclasses.fairtrial.dev")["items"] if one["metadata"]["name"] == "small"
    )
    spec = small["spec"] | {"priorityClassName": "urgent-trials"}
    made = {"apiVersion": small["apiVersion"], "kind": small["kind"], "metadata": {"name": "urgent"}, "spec": spec}
    return json.dumps(made)


def _until(world: World, name: str, look: Any, seconds: float = 420) -> dict[str, Any]:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        live = world.kubectl.get(cohorts.KIND, name)
        if "conditions" in live.get("status", {}):
            look(live)
            if world.condition(live, "Complete").get("status") == "True":
                return live
        time.sleep(0.5)
    raise AssertionError(f"{name} is not complete: {live.get('status')}")


def _until_running(world: World, count: int, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        pods = world.kubectl.get("pods", "--selector", f"kueue.x-k8s.io/queue-name={QUEUE}")["items"]
        if sum(pod.get("status", {}).get("phase") == "Running" for pod in pods) >= count:
            return
        time.sleep(0.5)
    raise AssertionError(f"fewer than {count} pods ran")
