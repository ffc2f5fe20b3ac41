"""A run's whole life against a real API server and a real store, with a scripted kubelet."""

import asyncio
from typing import Any

from fairtrial_operator.kube import PODS, POLICIES, Resource

from fairtrial import names


async def test_an_undisturbed_run_is_recorded_with_at_most_ten_writes(world: Any, kubelet: Any, operators: Any) -> None:
    operators().start()
    live = await world.create()
    agent = await kubelet.start("run-1-agent", "agent")
    started = await world.when("run-1", lambda s: s.get("phase") == "Running", "runs")
    await asyncio.to_thread(kubelet.report_agent, live, agent)
    await kubelet.end("run-1-agent", "agent")
    await kubelet.evaluator(live)

    done = await world.released()

    status = done["status"]
    assert (status["phase"], status["outcome"], status["cause"]) == ("Done", "passed", "none")
    assert started["status"]["agentPod"]["uid"] == status["agentPod"]["uid"] == agent["metadata"]["uid"]
    kinds = ("Accepted", "AgentStarted", "IsolationProven", "AgentFinished", "Evaluated", "Recorded")
    assert {world.condition(status, kind)[0] for kind in kinds} == {"True"}
    writes = [call for call in world.calls() if call[0] != "S3"]
    assert len(writes) <= 10, writes
    stored = [call for call in world.calls() if call[0] == "S3"]
    assert len(stored) == 2, "its statement, and then the record"
    owned = [one["fieldsV1"] for one in done["metadata"]["managedFields"] if one.get("subresource") == "status"]
    assert owned == [{"f:status": {}}], "a list of every field of the status goes with each write"
    for pod in await world.all(PODS):
        assert names.POD_FINALIZER not in pod["metadata"].get("finalizers", [])


async def test_the_static_policies_and_the_account_are_there_before_any_pod_and_come_back(
    world: Any, kube: Any, operators: Any
) -> None:
    operators().start()
    await world.create()
    await world.when("run-1", lambda s: world.condition(s, "Accepted")[0] == "True", "is accepted")
    pod = await kube.get(PODS, "run-1-agent", world.namespace)
    for name in (names.POLICY_DENY_ALL, names.POLICY_ALLOW_GATEWAY):
        policy = await kube.get(POLICIES, name, world.namespace)
        assert policy["metadata"]["creationTimestamp"] <= pod["metadata"]["creationTimestamp"]
    await kube.get(Resource("v1", "ServiceAccount", "serviceaccounts"), names.SERVICE_ACCOUNT, world.namespace)

    await kube.delete(POLICIES, policy)
    await world.when("run-1", lambda s: True, "is there")
    await asyncio.sleep(1)

    again = await kube.get(POLICIES, names.POLICY_ALLOW_GATEWAY, world.namespace)
    assert again["metadata"]["uid"] != policy["metadata"]["uid"]


async def test_a_run_waits_for_its_task_with_a_reason_and_begins_when_it_comes(
    world: Any, kube: Any, kubelet: Any, operators: Any
) -> None:
    operators().start()
    await world.create(taskRef={"name": "later"})
    refused = await world.when("run-1", lambda s: world.condition(s, "Accepted")[0] == "False", "is not accepted")
    assert world.condition(refused["status"], "Accepted")[1] == "TaskNotFound"
    assert "finalizers" not in refused["metadata"]

    await kube.create(kubelet.task_resource, kubelet.task("later"))

    await world.when("run-1", lambda s: world.condition(s, "Accepted")[0] == "True", "is accepted", seconds=5)


async def test_nobody_posts_events_about_a_good_run(world: Any, kubelet: Any, operators: Any) -> None:
    operators().start()
    live = await world.create()
    await kubelet.agent(live)
    await kubelet.evaluator(live)
    await world.released()

    assert await world.events() == []
