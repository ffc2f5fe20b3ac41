"""What happens to a run when its world breaks: each ends with a record that names what was seen."""

import json
import time
import uuid
from typing import Any

from examples.demo import __main__ as demo
from fairtrial.cli.kubectl import Kubectl
from tests.e2e.conftest import Run, World, make_namespace

LONG = "sleeper-solved-parse-defect"  # solves its task, then sleeps


def is_running(run: Run) -> bool:
    return bool(run.get("status", {}).get("phase") == "Running")


def start_long_run(world: World, **spec: Any) -> str:
    name = world.apply(
        world.example(LONG, f"long-{uuid.uuid4().hex[:8]}", limits={"wallSeconds": 600, "graceSeconds": 3}, **spec)
    )
    world.wait(name, is_running)
    time.sleep(3)  # past the proof and into the agent's own work
    return name


def facts(run: Run) -> tuple[str, str, str]:
    status = run["status"]
    return status["outcome"], status["cause"], status["reason"]


def evict(world: World, pod: str) -> None:
    metadata = {"name": pod, "namespace": world.namespace}
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata}
    path = f"/api/v1/namespaces/{world.namespace}/pods/{pod}/eviction"
    world.kubectl.run("create", "--raw", path, "-f", "-", stdin=json.dumps(eviction))


def test_a_pod_evicted_through_the_api_is_an_invalid_run_with_its_partial_evidence(world: World) -> None:
    name = start_long_run(world)

    evict(world, f"{name}-agent")

    run = world.recorded(name)
    assert facts(run) == ("invalid", "evaluation_infra_error", "node_drained")
    assert "thinking" in world.artifact(run, "agent/streams/stdout/000000").decode()


def test_an_evaluators_pod_evicted_through_the_api_is_not_taken_for_a_deleted_one(world: World) -> None:
    """No finalizer holds its object, so the operator has to look while it lasts."""
    name = world.apply(world.example("reference-stock-field"))
    world.wait(name, lambda run: bool(run.get("status", {}).get("evaluatorPod")))

    evict(world, f"{name}-evaluator")

    assert facts(world.recorded(name)) == ("invalid", "evaluation_infra_error", "evaluator_node_drained")


def test_a_deleted_pod_is_an_invalid_run_and_never_replaced(world: World) -> None:
    name = start_long_run(world)
    uid = world.get(name)["status"]["agentPod"]["uid"]

    world.kubectl.run("delete", "pod", f"{name}-agent", "--wait=false")

    run = world.recorded(name)
    assert facts(run) == ("invalid", "evaluation_infra_error", "pod_deleted")
    assert run["status"]["agentPod"]["uid"] == uid


def test_a_drained_node_is_an_invalid_run(world: World) -> None:
    name = start_long_run(world)
    node = world.kubectl.get("nodes")["items"][0]["metadata"]["name"]
    try:
        world.kubectl.run(
            "drain", node, f"--pod-selector=fairtrial.dev/run={name}", "--delete-emptydir-data", "--force",
            "--timeout=120s",
        )  # fmt: skip
    finally:
        world.kubectl.run("uncordon", node)

    run = world.recorded(name)
    assert facts(run) == ("invalid", "evaluation_infra_error", "node_drained")


def test_an_image_that_cannot_be_pulled_is_said_within_seconds_and_ends_at_its_deadline(world: World) -> None:
    run = world.example("reference-busybox", resourceClassName="impatient")
    run["spec"]["candidate"]["image"] = f"localhost/fairtrial/nothing@sha256:{'0' * 64}"
    name = world.apply(run)

    waiting = world.wait(name, lambda r: "mage" in r.get("status", {}).get("message", ""), seconds=30)
    assert waiting["status"]["phase"] in {"Pending", "Waiting"}

    assert facts(world.recorded(name)) == ("invalid", "evaluation_infra_error", "image_pull_failed")


def test_no_capacity_is_waiting_until_the_classes_deadline(world: World) -> None:
    name = world.apply(world.example("reference-busybox", resourceClassName="nowhere"))

    waiting = world.wait(name, lambda r: r.get("status", {}).get("phase") == "Waiting", seconds=30)
    assert "node" in waiting["status"]["message"]

    assert facts(world.recorded(name)) == ("invalid", "evaluation_infra_error", "no_capacity")


def test_a_store_that_is_down_for_thirty_seconds_loses_nothing(world: World, cluster: Any) -> None:
    name = start_long_run(world)
    cluster.stop_component("s3")
    try:
        world.kubectl.run(
            "patch", "benchmarkrun", name, "--type=merge", "-p", '{"spec":{"cancel":{"reason":"enough"}}}'
        )
        time.sleep(30)
        assert not world.get(name)["status"].get("record")
    finally:
        cluster.start_component("s3")

    run = world.recorded(name)
    assert facts(run)[0] == "cancelled"
    assert "thinking" in world.artifact(run, "agent/streams/stdout/000000").decode()


def test_a_cancelled_run_has_a_record_with_the_reason(world: World) -> None:
    name = start_long_run(world)

    world.kubectl.run(
        "patch", "benchmarkrun", name, "--type=merge", "-p", '{"spec":{"cancel":{"reason":"wrong seed"}}}'
    )

    run = world.recorded(name)
    assert facts(run)[:2] == ("cancelled", "human_abort")
    assert "wrong seed" in json.dumps(world.record(run))


def test_a_deleted_run_still_gets_its_record(world: World) -> None:
    name = start_long_run(world)
    uid = world.get(name)["metadata"]["uid"]

    world.kubectl.run("delete", "benchmarkrun", name, "--timeout=180s")

    key = f"ns/{world.namespace}/runs/{name}/{uid}/record.json"
    record = json.loads(world.store.get(key))
    assert record["classification"]["outcome"] == "cancelled"


def test_a_namespace_can_be_deleted_with_a_run_in_it_and_the_record_stays(world: World) -> None:
    namespace = f"e2e-gone-{uuid.uuid4().hex[:6]}"
    make_namespace(Kubectl(), namespace)

    demo.push_tasks(world.target, namespace)
    there = World(world.target, namespace)
    name = start_long_run(there)
    uid = there.get(name)["metadata"]["uid"]

    Kubectl().run("delete", "namespace", namespace, "--timeout=180s")

    record = json.loads(world.store.get(f"ns/{namespace}/runs/{name}/{uid}/record.json"))
    assert record["classification"]["outcome"] in {"cancelled", "invalid"}
