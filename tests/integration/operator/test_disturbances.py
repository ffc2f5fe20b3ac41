"""What people, quotas, other owners, a dead store and a second operator do to a run."""

import asyncio
import json
import secrets
import socket
import time
import urllib.request
from pathlib import Path
from typing import Any

from fairtrial_operator.__main__ import PODS_LISTED
from fairtrial_operator.kube import LEASES, NAMESPACES, PODS, RUNS, Resource

from fairtrial import names
from fairtrial.evidence.store import S3Settings, S3Store
from local_cluster import s3
from local_cluster.s3 import Credentials
from tests.own_s3 import serving, small_disk

QUOTAS = Resource("v1", "ResourceQuota", "resourcequotas")
STOPPED = {"ending": "stopped_from_outside"}


async def started(world: Any, kubelet: Any, **spec: Any) -> Any:
    live = await world.create(**spec)
    await kubelet.start("run-1-agent", "agent")
    await world.when("run-1", lambda s: s.get("phase") == "Running", "runs")
    return live


async def stopped_by_the_kubelet(world: Any, kubelet: Any, live: Any) -> None:
    """The agent pod is asked to end, its recorder uploads within its grace, and it ends."""

    async def asked() -> bool:
        pod = await world.find(PODS, "run-1-agent")
        return bool(pod["metadata"].get("deletionTimestamp"))

    await world.until(asked, "the agent pod is asked to end")
    pod = await kubelet.pod("run-1-agent")
    await asyncio.to_thread(kubelet.report_agent, live, pod, **STOPPED)
    await kubelet.end("run-1-agent", "agent", phase="Failed", code=143)


def classification(world: Any, live: Any) -> Any:
    return json.loads(world.record(live))["classification"]


async def test_a_cancelled_run_keeps_what_it_had_and_is_recorded_as_cancelled(
    world: Any, kubelet: Any, operators: Any
) -> None:
    operators().start()
    live = await started(world, kubelet)

    await world.change(RUNS, "run-1", {"spec": {"cancel": {"reason": "enough"}}})
    await stopped_by_the_kubelet(world, kubelet, live)

    done = await world.released()
    assert (done["status"]["outcome"], done["status"]["cause"]) == ("cancelled", "human_abort")
    record = json.loads(world.record(live))
    assert record["lineage"]["cancelReason"] == "enough"
    assert record["patch"]["diff"] is not None
    await kubelet.forget("run-1-agent")
    assert await world.find(PODS, "run-1-evaluator") is None


async def test_a_deleted_run_is_recorded_before_it_goes(world: Any, kube: Any, kubelet: Any, operators: Any) -> None:
    operators().start()
    live = await started(world, kubelet)

    await kube.delete(RUNS, live)
    await stopped_by_the_kubelet(world, kubelet, live)

    await world.gone(RUNS, "run-1")
    assert classification(world, live)["outcome"] == "cancelled"


async def test_a_deleted_namespace_ends_with_records(world: Any, kube: Any, kubelet: Any, operators: Any) -> None:
    operators().start()
    live = await started(world, kubelet)

    await kube.delete(NAMESPACES, await kube.get(NAMESPACES, world.namespace))
    await stopped_by_the_kubelet(world, kubelet, live)
    await kubelet.forget("run-1-agent")

    await world.gone(NAMESPACES, world.namespace)
    assert classification(world, live)["outcome"] == "cancelled"


async def test_a_run_cancelled_before_it_has_a_pod_is_recorded(world: Any, kubelet: Any, operators: Any) -> None:
    operators().start()
    await world.create(suspend=True)
    suspended = await world.when("run-1", lambda s: s.get("phase") == "Suspended", "is suspended")
    assert await world.find(PODS, "run-1-agent") is None

    await world.change(RUNS, "run-1", {"spec": {"cancel": {"reason": "never mind"}}})

    await world.recorded()
    assert classification(world, suspended)["outcome"] == "cancelled"
    assert await world.find(PODS, "run-1-agent") is None


async def test_a_resumed_run_gets_its_pod(world: Any, kubelet: Any, operators: Any) -> None:
    operators().start()
    await world.create(suspend=True)
    await world.when("run-1", lambda s: s.get("phase") == "Suspended", "is suspended")

    await world.change(RUNS, "run-1", {"spec": {"suspend": False}})

    await kubelet.pod("run-1-agent")


async def test_quota_is_waited_for(world: Any, kube: Any, kubelet: Any, operators: Any) -> None:
    quota = {"metadata": {"name": "none", "namespace": world.namespace}, "spec": {"hard": {"pods": "0"}}}
    await kube.create(QUOTAS, {"apiVersion": "v1", "kind": "ResourceQuota"} | quota)
    operators().start()
    await world.create()
    waiting = await world.when("run-1", lambda s: s.get("phase") == "Waiting", "waits")
    assert world.condition(waiting["status"], "AgentStarted") == ("Unknown", "QuotaExceeded")

    await world.change(QUOTAS, "none", {"spec": {"hard": {"pods": "9"}}})

    await kubelet.pod("run-1-agent")


async def test_no_capacity_shows_the_schedulers_words_within_seconds_and_ends_by_its_deadline(
    world: Any, kube: Any, operators: Any
) -> None:
    nowhere = await world.create_class(
        f"{world.value}-nowhere", nodeSelector={"nowhere": "1"}, deadlines={"schedulingSeconds": 8}
    )
    operators().start()
    live = await world.create(resourceClassName=nowhere)
    waiting = await world.when("run-1", lambda s: s.get("phase") == "Waiting", "waits", seconds=20)
    assert world.condition(waiting["status"], "AgentStarted") == ("Unknown", "WaitingForCapacity")

    await world.released()

    assert classification(world, live)["reason"] == "no_capacity"
    await world.gone(PODS, "run-1-agent")


async def test_another_owners_pod_is_named_and_never_touched(
    world: Any, kube: Any, kubelet: Any, operators: Any
) -> None:
    stranger = await kube.create(PODS, kubelet.stranger("run-1-agent"))
    operators().start()
    await world.create()
    refused = await world.when("run-1", lambda s: world.condition(s, "AgentStarted")[1] == "PodRefused", "is refused")
    message = next(c["message"] for c in refused["status"]["conditions"] if c["type"] == "AgentStarted")
    assert "kubectl" in message
    assert (await kube.get(PODS, "run-1-agent", world.namespace))["metadata"]["uid"] == stranger["metadata"]["uid"]
    assert [event["reason"] for event in await world.events()] == ["PodRefused"]

    await kube.delete(PODS, stranger, grace=0)

    await world.when("run-1", lambda s: "agentPod" in s, "has its pod")


async def test_a_pod_removed_by_force_still_gives_a_record(world: Any, kube: Any, kubelet: Any, operators: Any) -> None:
    operators().start()
    live = await started(world, kubelet)

    pod = await kube.get(PODS, "run-1-agent", world.namespace)
    left = await kube.set_finalizer(PODS, pod, names.POD_FINALIZER, present=False)
    await kube.delete(PODS, left, grace=0)

    done = await world.released()
    assert done["status"]["agentPod"]["facts"]["phase"] == "Gone"
    assert classification(world, live)["reason"] == "pod_deleted"


async def test_a_deleted_pod_of_a_lost_node_is_given_up_and_removed(
    world: Any, kube: Any, kubelet: Any, operators: Any
) -> None:
    quick = await world.create_class(f"{world.value}-quick", deadlines={"snapshotSeconds": 1, "uploadSeconds": 1})
    operators().start()
    live = await started(world, kubelet, resourceClassName=quick, limits={"graceSeconds": 0})
    kubelet.stop_beating()
    await kube.delete(PODS, await kube.get(PODS, "run-1-agent", world.namespace))
    await world.remove_node()

    done = await world.released(seconds=120)

    assert done["status"]["agentPod"]["facts"]["nodeLost"] or done["status"]["agentPod"]["facts"].get("disruption")
    assert classification(world, live)["reason"] == "node_lost"
    await world.gone(PODS, "run-1-agent")


async def test_another_record_under_the_key_is_never_overwritten(world: Any, kubelet: Any, operators: Any) -> None:
    operators().start()
    live = await started(world, kubelet)
    world.store.put(world.layout(live).record(), b"forged")

    await kubelet.agent(live)
    await kubelet.evaluator(live)

    stuck = await world.when("run-1", lambda s: world.condition(s, "Recorded")[1] == "RecordConflict", "conflicts")
    assert "record" not in stuck["status"]
    assert world.record(live) == b"forged"
    assert "RecordConflict" in [event["reason"] for event in await world.events()]


async def test_a_dead_store_is_waited_for_and_lets_a_deleted_run_go(
    world: Any, kube: Any, kubelet: Any, operators: Any
) -> None:
    dead = {"FAIRTRIAL_S3_ENDPOINT": "http://127.0.0.1:9", "FAIRTRIAL_RELEASE_AFTER_SECONDS": "2"}
    first = operators().start(**dead)
    live = await started(world, kubelet)
    await kubelet.agent(live)
    waiting = await world.when("run-1", lambda s: world.condition(s, "AgentFinished")[1] == "StoreUnavailable", "waits")
    assert "facts" not in waiting["status"]["agentPod"]

    await kube.delete(RUNS, live)

    await world.gone(RUNS, "run-1")
    assert "ReleasedUnrecorded" in [event["reason"] for event in await world.events()]
    first.kill()


async def test_what_waited_for_the_store_is_recorded_when_it_is_back(world: Any, kubelet: Any, operators: Any) -> None:
    first = operators().start(FAIRTRIAL_S3_ENDPOINT="http://127.0.0.1:9")
    live = await started(world, kubelet)
    await kubelet.agent(live)
    await world.when("run-1", lambda s: world.condition(s, "AgentFinished")[1] == "StoreUnavailable", "waits")
    first.stop()

    operators().start()
    await kubelet.evaluator(live)

    assert (await world.released())["status"]["outcome"] == "passed"


async def test_a_full_store_is_named_and_what_waited_is_recorded_when_there_is_room(
    world: Any, kubelet: Any, operators: Any, tmp_path: Path
) -> None:
    """A disk of its own behind a server of its own: nobody else's store is filled."""
    root, folder = Credentials("root", secrets.token_urlsafe(24)), tmp_path / "disk"
    folder.mkdir()
    with small_disk(folder, 16) as disk, serving(folder, root) as url:
        s3.client_at(url, root).create_bucket(Bucket=world.environ["FAIRTRIAL_S3_BUCKET"])
        keys = {"AWS_ACCESS_KEY_ID": root.access_key, "AWS_SECRET_ACCESS_KEY": root.secret_key}
        world.environ |= keys | {"FAIRTRIAL_S3_ENDPOINT": url}
        world.store = S3Store(S3Settings.from_env(world.environ))
        operators().start()
        live = await started(world, kubelet)
        await kubelet.agent(live)
        await kubelet.start("run-1-evaluator", "checks")
        await asyncio.to_thread(kubelet.report_evaluation, live, await kubelet.pod("run-1-evaluator"))
        disk.fill()
        await kubelet.end("run-1-evaluator", "checks")
        waiting = await world.when("run-1", lambda s: world.condition(s, "Recorded")[1] == "StoreUnavailable", "waits")
        told = next(one["message"] for one in waiting["status"]["conditions"] if one["type"] == "Recorded")
        assert "it is full. Make room" in told
        assert "record" not in waiting["status"]

        disk.clear()

        done = await world.released()
        assert done["status"]["outcome"] == "passed"
        assert json.loads(world.record(live))["classification"]["outcome"] == "passed"


async def test_of_two_operators_one_acts_and_the_other_takes_over(world: Any, kubelet: Any, operators: Any) -> None:
    first = operators().start(FAIRTRIAL_IDENTITY="first")
    live = await started(world, kubelet)
    second = operators().start(FAIRTRIAL_IDENTITY="second")
    await asyncio.sleep(8)
    assert "holding Lease" not in second.output.read_text()

    first.kill()
    await kubelet.agent(live)
    await kubelet.evaluator(live)

    assert (await world.released())["status"]["outcome"] == "passed"
    assert "holding Lease" in second.output.read_text()


async def test_a_successor_lists_no_pods_of_finished_runs_and_lets_go_of_those_that_ended_meanwhile(
    world: Any, kube: Any, kubelet: Any, operators: Any
) -> None:
    first = operators().start()
    over = await world.create("run-0")
    await kubelet.agent(over)
    await kubelet.evaluator(over)
    await world.released("run-0")
    live = await started(world, kubelet)
    assert first.stop() == 0
    await asyncio.to_thread(kubelet.report_agent, live, await kubelet.pod("run-1-agent"))
    await kubelet.end("run-1-agent", "agent")
    assert await listed(kube, world) == {"run-1-agent"}

    operators().start()
    await kubelet.evaluator(live)

    assert (await world.released())["status"]["outcome"] == "passed"
    assert await listed(kube, world) == set()
    for name in ("run-0-agent", "run-1-agent"):
        pod = await world.find(PODS, name)
        assert pod["metadata"]["labels"][names.RELEASED_LABEL] == "true"
        assert names.POD_FINALIZER not in pod["metadata"].get("finalizers", [])


async def listed(kube: Any, world: Any) -> set[str]:
    pages = [await kube.list_page(PODS, selector=labels, fields=fields) for labels, fields in PODS_LISTED]
    found = (pod["metadata"] for page in pages for pod in page["items"])
    return {metadata["name"] for metadata in found if metadata["namespace"] == world.namespace}


async def test_health_tells_ready_and_counts(world: Any, kubelet: Any, operators: Any) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    operators().start(FAIRTRIAL_HEALTH_PORT=str(port))
    await started(world, kubelet)

    def read(path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return str(answer.read().decode())

    assert await asyncio.to_thread(read, "/healthz") == "ok"
    assert await asyncio.to_thread(read, "/readyz") == "ok"
    found = await asyncio.to_thread(read, "/metrics")
    assert 'fairtrial_pods_created_total{role="agent"} 1.0' in found
    assert "fairtrial_leading 1.0" in found
    assert "fairtrial_resync_repairs_total 0.0" in found


async def test_a_namespace_that_enforces_no_pod_security_is_refused(world: Any, kube: Any, operators: Any) -> None:
    label = "pod-security.kubernetes.io/enforce"
    await world.change(NAMESPACES, world.namespace, {"metadata": {"labels": {label: None}}})
    operators().start()
    await world.create()
    refused = await world.when("run-1", lambda s: world.condition(s, "Accepted")[0] == "False", "is refused")
    assert world.condition(refused["status"], "Accepted")[1] == "PodSecurityNotEnforced"
    assert await world.all(PODS) == []

    await world.change(NAMESPACES, world.namespace, {"metadata": {"labels": {label: "restricted"}}})

    await world.when("run-1", lambda s: "agentPod" in s, "has its pod", seconds=20)


async def test_an_orderly_stop_gives_back_the_lease_at_once(
    world: Any, kube: Any, kubelet: Any, operators: Any
) -> None:
    operator = operators().start(FAIRTRIAL_LEASE_SECONDS="60")
    await started(world, kubelet)
    begun = time.monotonic()

    assert await asyncio.to_thread(operator.stop) == 0

    assert time.monotonic() - begun < 30, "half of what the lease lasts"
    lease = await kube.get(LEASES, "fairtrial-operator", world.system)
    assert lease["spec"]["holderIdentity"] == ""
