"""Cohorts against a real API server and a real store: sealed, carried out, replaced, stopped, and survived."""

import asyncio
import hashlib
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from fairtrial_operator.kube import CLASSES, COHORTS, PODS, RUNS, TASKS, Resource

from fairtrial.attest import dsse, note, timestamp, trust
from fairtrial.cohort import ledger as ledgers
from fairtrial.cohort import preregistration
from fairtrial.cohort.ledger import Ledger
from fairtrial.evidence import statements
from fairtrial.evidence.layout import CohortLayout, Layout
from fairtrial.signing import timestamps
from fairtrial.testing import confirmatory, make_cohort, make_task
from tests import authority

OTHER_TASK = {"sha256": "f" * 64, "size": 10240}
Choose = Callable[[str], dict[str, Any]]


@pytest.fixture
async def tasks(world: Any, kube: Any) -> None:
    """The second task of the cohort; the first is there. Operators keep their Lease on a busy machine, too: whoever
    follows has the same identity, and need not wait for it."""
    world.environ |= {"FAIRTRIAL_LEASE_SECONDS": "15"}
    spec = make_task(publicArchive=OTHER_TASK).spec.as_json()
    metadata = {"name": "task-2", "namespace": world.namespace}
    await kube.create(TASKS, {"apiVersion": TASKS.api_version, "kind": TASKS.kind, "metadata": metadata, "spec": spec})


@dataclass
class Nodes:
    """Carries out every run as soon as its pods are there. `ends` says, by run, how its agent pod ends."""

    world: Any
    kubelet: Any
    ends: dict[str, dict[str, Any]] = field(default_factory=dict)
    only: set[str] = field(default_factory=set)  # if any: the others are left alone
    done: set[str] = field(default_factory=set)  # UIDs

    async def serve(self) -> None:
        """Serve until cancelled."""
        working: set[asyncio.Task[None]] = set()
        while True:
            for run in await self.world.all(RUNS):
                name = run["metadata"]["name"]
                uid = run["metadata"]["uid"]
                if uid not in self.done and (not self.only or name in self.only):
                    self.done.add(uid)
                    working.add(asyncio.create_task(self._carry_out(run)))
            for task in [one for one in working if one.done()]:
                working.discard(task)
                task.result()
            await asyncio.sleep(0.1)

    async def _carry_out(self, run: Any) -> None:
        name = run["metadata"]["name"]
        if name in self.ends:
            await self.kubelet.start(f"{name}-agent", "agent")
            await self.kubelet.end(f"{name}-agent", "agent", **self.ends[name])
            return
        await self.kubelet.agent(run)
        await self.kubelet.evaluator(run)


MOST_DEATHS, DIED = 8, 86
EVICTED = {"phase": "Failed", "code": 137, "reason": "Evicted", "message": "The node was low on resource: memory."}


QUOTAS = Resource("v1", "ResourceQuota", "resourcequotas")


def quota(world: Any, **hard: int) -> Any:
    metadata = {"name": "pods", "namespace": world.namespace}
    spec = {"hard": {key: str(value) for key, value in hard.items()}}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": spec}


def confirm() -> Any:
    """What makes the cohort confirmatory, merged with what it asks."""
    spec = make_cohort(**confirmatory()).spec.as_json()
    return {key: spec[key] for key in confirmatory()}


def execution(world: Any, ttl: int = 604800) -> Any:
    return {"resourceClassName": world.value, "parallelism": 4, "ttlSecondsAfterFinished": ttl}


def cohort(world: Any, name: str = "c1", **spec: Any) -> Any:
    made = make_cohort(name, namespace=world.namespace).spec.as_json()
    base = {"repetitions": 3, "seal": True, "execution": execution(world)}
    metadata = {"name": name, "namespace": world.namespace}
    return {"apiVersion": COHORTS.api_version, "kind": COHORTS.kind, "metadata": metadata, "spec": made | base | spec}


async def when(world: Any, holds: Callable[[Any], Any], what: str, name: str = "c1", seconds: float = 60) -> Any:
    async def look() -> Any:
        live = await world.find(COHORTS, name)
        return live if live is not None and holds(live.get("status") or {}) else None

    return await asyncio.wait_for(world.until(look, f"cohort {name}: {what}"), seconds)


async def complete(world: Any, name: str = "c1") -> Any:
    # Long enough for a machine that is busy with other things.
    return await when(world, lambda s: world.condition(s, "Complete")[0] == "True", "is complete", name, seconds=240)


def layout(world: Any, live: Any) -> CohortLayout:
    metadata = live["metadata"]
    return Layout(world.store.settings.prefix).cohort(metadata["namespace"], metadata["name"], metadata["uid"])


def ledger(world: Any, live: Any) -> Ledger:
    """The ledger, read and checked as an auditor would."""
    keys = world.store.keys(layout(world, live).ledger())
    metadata = live["metadata"]
    return ledgers.read(metadata["name"], metadata["uid"], [world.store.get(key) for key in keys])


def signed(world: Any, live: Any) -> list[int]:
    """Checks every signature over the cohort's documents, as an auditor would; the sizes of its checkpoints."""
    keys, metadata = layout(world, live), live["metadata"]
    data, status = world.store.get(keys.preregistration()), live["status"]
    found = dsse.verify(world.store.get(keys.preregistration_signature()), world.trust, trust.PREREGISTRATION)
    assert found.statement.digests["preregistration.json"] == status["preregistrationSha256"]
    assert found.statement == statements.preregistration(data, json.loads(data))
    origin = note.origin(metadata["namespace"], metadata["name"], metadata["uid"])
    read = [note.parse(world.store.get(key)) for key in world.store.keys(keys.checkpoints()) if key.endswith(".note")]
    operator = [one.key for one in world.trust.of(trust.CHECKPOINT)]
    assert all(note.verify(one, operator, key_name=origin) for one in read)
    told = [note.checkpoint(one.text) for one in read]
    assert {one.size: one.root for one in told} == ledger(world, live).checkpoints
    return sorted(one.size for one in told)


def records(world: Any, name: str = "c1") -> list[dict[str, Any]]:
    folder = f"{world.store.settings.prefix}/ns/{world.namespace}/cohorts/{name}/runs/".removeprefix("/")
    keys = world.store.keys(folder.replace("//", "/"))
    return [json.loads(world.store.get(key)) for key in keys if key.endswith("/record.json")]


def created(world: Any, resource: str) -> list[str]:
    """Objects that the API server made in this namespace, by its own audit log."""
    log = Path(world.environ["KUBECONFIG"]).parent / "logs" / "audit.log"
    made = []
    for line in log.read_text().splitlines():
        if f'"namespace":"{world.namespace}"' not in line or '"verb":"create"' not in line:
            continue
        event = json.loads(line)
        ref = event.get("objectRef", {})
        if ref.get("resource") == resource and "subresource" not in ref and event["stage"] == "ResponseComplete":
            made += [ref["name"]] if event["responseStatus"]["code"] == 201 else []
    return made


async def metadata_of(world: Any, resource: Resource, name: str) -> Any:
    return (await world.find(resource, name))["metadata"]


async def told_to_stop(world: Any, name: str) -> None:
    async def look() -> Any:
        pod = await world.find(PODS, name)
        return pod is not None and pod["metadata"].get("deletionTimestamp")

    await world.until(look, f"pod {name} is told to stop")


async def kubelet_sees(world: Any, name: str) -> None:
    async def look() -> Any:
        return await world.find(PODS, name)

    await world.until(look, f"pod {name} exists")


def counted(live: Any) -> dict[str, int]:
    return {key: value for key, value in counts(live["status"]).items() if value}


def counts(status: Any) -> dict[str, int]:
    return dict.fromkeys(("passed",), 0) | status.get("counts", {})


@pytest.fixture
async def nodes(world: Any, kubelet: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A node that carries everything out; its runs' evidence lies where their cohort's does."""

    def keys(run: Any) -> Any:
        metadata, ref = run["metadata"], run["spec"].get("cohortRef") or {}
        place = Layout(world.store.settings.prefix)
        return place.run(metadata["namespace"], metadata["name"], metadata["uid"], ref.get("name", ""))

    monkeypatch.setattr(type(world), "layout", lambda self, run: keys(run))
    made = Nodes(world, kubelet)
    serving = asyncio.create_task(made.serve())
    yield made
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)


async def test_a_pilot_is_sealed_carried_out_and_complete_with_one_run_replaced(
    world: Any, kube: Any, nodes: Any, tasks: None, operators: Any
) -> None:
    nodes.ends["c1-00005"] = EVICTED
    operators().start()
    await kube.create(COHORTS, cohort(world))

    live = await complete(world)

    assert counted(live) == {"scheduled": 12, "replacements": 1, "passed": 12, "invalid": 1}
    status = live["status"]
    assert (status["phase"], status["progress"]) == ("Complete", "13/13")
    stored = world.store.get(layout(world, live).preregistration())
    assert hashlib.sha256(stored).hexdigest() == status["preregistrationSha256"]
    assert preregistration.verify(stored) == []
    runs = {run["metadata"]["name"]: run for run in await world.all(RUNS)}
    assert sorted(runs) == sorted([*(f"c1-{n:05d}" for n in range(1, 13)), "c1-00005-r1"])
    replaced, replacement = runs["c1-00005"], runs["c1-00005-r1"]
    assert replacement["spec"]["replaces"] == {"name": "c1-00005", "uid": replaced["metadata"]["uid"]}
    assert {r["lineage"]["preregistrationSha256"] for r in records(world)} == {status["preregistrationSha256"]}
    book = ledger(world, live)
    assert signed(world, live) == [min(book.checkpoints), book.size]
    assert book.size == status["ledgerEntries"] == 2 + 13 + 13 + 1 + 1
    assert (book.decisions["c1-00005"].code, book.decisions["c1-00005"].by) == ("allowed", "c1-00005-r1")
    assert {entry.sha256 for entry in book.records.values()} == {
        run["status"]["record"]["sha256"] for run in runs.values()
    }
    assert len(json.dumps(status)) < 8192
    assert world.condition(status, "Comparable") == ("True", "BlocksEqual"), status["conditions"]
    events = {event["reason"]: event["type"] for event in await world.events()}
    assert events == {"Sealed": "Normal", "Complete": "Normal"}


async def test_an_operator_that_dies_again_and_again_ends_with_the_same_account(
    world: Any, kube: Any, nodes: Any, tasks: None, operators: Any
) -> None:
    nodes.ends["c1-00005"] = EVICTED
    await kube.create(COHORTS, cohort(world))
    chance, deaths = random.Random(20260723), 0
    finished = asyncio.create_task(complete(world))
    while not finished.done():
        operator = operators().start()
        await asyncio.wait([finished], timeout=chance.uniform(1.5, 4.5) if deaths < MOST_DEATHS else None)
        operator.kill()
        deaths += not finished.done()

    live = await finished

    assert deaths >= 3
    assert counted(live) == {"scheduled": 12, "replacements": 1, "passed": 12, "invalid": 1}
    names = [*(f"c1-{n:05d}" for n in range(1, 13)), "c1-00005-r1"]
    assert sorted(created(world, "benchmarkruns")) == sorted(names)
    evaluated = [f"{name}-evaluator" for name in names if name != "c1-00005"]
    assert sorted(created(world, "pods")) == sorted([*(f"{name}-agent" for name in names), *evaluated])
    assert sorted(record["identity"]["run"] for record in records(world)) == sorted(names)
    book = ledger(world, live)
    assert signed(world, live)[-1] == book.size
    assert book.size == live["status"]["ledgerEntries"] == 2 + 13 + 13 + 1 + 1
    assert book.open == {}
    assert list(book.replaces) == ["c1-00005-r1"]


async def test_a_suspended_cohort_creates_nothing_and_goes_on_when_it_may(
    world: Any, kube: Any, nodes: Any, tasks: None, operators: Any
) -> None:
    operators().start()
    nodes.only = {"c1-00001"}
    await kube.create(COHORTS, cohort(world))
    await when(world, lambda s: counts(s)["passed"] == 1, "has run one")
    await world.change(COHORTS, "c1", {"spec": {"suspend": True}})
    held = await when(world, lambda s: s.get("phase") == "Suspended", "is suspended")
    before = len(await world.all(RUNS))
    nodes.only = set()
    await when(world, lambda s: counts(s)["passed"] == before, "has ended what was begun")
    await asyncio.sleep(1)

    assert len(await world.all(RUNS)) == before < 12
    assert "no further one is created" in held["status"]["message"]
    await world.change(COHORTS, "c1", {"spec": {"suspend": False}})

    assert counted(await complete(world)) == {"scheduled": 12, "passed": 12}


async def test_a_cancelled_cohort_stops_its_runs_with_the_reason_and_says_what_never_ran(
    world: Any, kube: Any, nodes: Any, kubelet: Any, tasks: None, operators: Any
) -> None:
    operators().start()
    nodes.only = {"c1-00001"}
    await kube.create(COHORTS, cohort(world))
    await when(world, lambda s: counts(s)["passed"] == 1, "has run one")
    for number in range(2, 6):
        await kubelet.start(f"c1-{number:05d}-agent", "agent")
    await world.change(COHORTS, "c1", {"spec": {"cancel": {"reason": "The question is answered."}}})
    for number in range(2, 6):
        await told_to_stop(world, f"c1-{number:05d}-agent")
        await kubelet.end(f"c1-{number:05d}-agent", "agent", phase="Failed", code=143)

    live = await complete(world)

    assert counted(live) == {"scheduled": 12, "passed": 1, "cancelled": 4, "notRun": 7}
    assert live["status"]["phase"] == "Cancelled"
    assert world.condition(live["status"], "Complete") == ("True", "Cancelled")
    reasons = {record["lineage"].get("cancelReason") for record in records(world)}
    assert reasons == {None, "Cohort c1: The question is answered."}
    book = ledger(world, live)
    assert book.cancelled is not None
    assert book.cancelled.reason == "The question is answered."
    assert book.complete is not None
    assert book.complete.counts["notRun"] == 7


async def test_runs_of_a_cohort_are_made_by_nobody_else_and_not_before_it_is_sealed(
    world: Any, kube: Any, nodes: Any, tasks: None, operators: Any
) -> None:
    nodes.only = {"none"}
    operators().start()
    await kube.create(COHORTS, cohort(world, **confirm(), seal=False, repetitions=5))
    draft = await when(world, lambda s: world.condition(s, "Accepted")[0] == "True", "is accepted")
    assert world.condition(draft["status"], "Sealed") == ("False", "NotAsked")
    await world.create("early", cohortRef={"name": "c1"})
    early = await world.when("early", lambda s: world.condition(s, "Accepted")[0] == "False", "is refused")
    assert world.condition(early["status"], "Accepted")[1] == "CohortNotSealed"
    assert await world.all(PODS) == []

    await world.change(COHORTS, "c1", {"spec": {"seal": True}})
    await when(world, lambda s: s.get("phase") == "Running", "runs")

    refused = await world.when("early", lambda s: world.condition(s, "Accepted")[1] == "NotScheduled", "is refused")
    assert "made from its schedule" in next(c["message"] for c in refused["status"]["conditions"])
    await kubelet_sees(world, "c1-00001-agent")
    assert await world.find(PODS, "early-agent") is None


async def test_objects_of_runs_go_when_their_time_is_over_and_evidence_stays(
    world: Any, kube: Any, nodes: Any, tasks: None, operators: Any
) -> None:
    operators().start()
    await kube.create(COHORTS, cohort(world, repetitions=1, execution=execution(world, ttl=0)))
    before = await complete(world)

    async def nothing_left() -> bool:
        return not await world.all(RUNS)

    await world.until(nothing_left, "its runs are deleted")

    assert len(records(world)) == 4
    await asyncio.sleep(0.5)
    assert (await world.find(COHORTS, "c1"))["status"] == before["status"]


async def test_a_cohort_made_anew_under_the_same_name_is_another_cohort(
    world: Any, kube: Any, nodes: Any, tasks: None, operators: Any
) -> None:
    operators().start()
    first = await kube.create(COHORTS, cohort(world, repetitions=1))
    await complete(world)

    await kube.delete(COHORTS, first)
    await world.gone(COHORTS, "c1")
    second = await kube.create(COHORTS, cohort(world, repetitions=1))  # while the first one's runs are still there
    live = await complete(world)

    assert counted(live) == {"scheduled": 4, "passed": 4}
    assert len(records(world)) == 8
    one, other = (ledger(world, made) for made in (first, second))
    assert one.size == other.size == 2 + 4 + 4 + 1
    assert {entry.uid for entry in one.records.values()}.isdisjoint({entry.uid for entry in other.records.values()})


async def test_a_run_that_somebody_deletes_is_cancelled_and_never_made_again(
    world: Any, kube: Any, nodes: Any, kubelet: Any, tasks: None, operators: Any
) -> None:
    operators().start()
    nodes.only = {"none"}
    await kube.create(COHORTS, cohort(world, repetitions=1))
    await kubelet.start("c1-00002-agent", "agent")
    await kube.delete(RUNS, await kube.get(RUNS, "c1-00002", world.namespace))
    await told_to_stop(world, "c1-00002-agent")
    await kubelet.end("c1-00002-agent", "agent", phase="Failed", code=143)
    await world.gone(RUNS, "c1-00002")
    nodes.only = set()

    live = await complete(world)

    assert counted(live) == {"scheduled": 4, "passed": 3, "cancelled": 1}
    assert created(world, "benchmarkruns").count("c1-00002") == 1


# Preregistration, its signature, its time-stamp; then the ledger's first page with all tickets, and its signed root.
# What was stored is put again by whoever comes next, but for the time-stamp, until the status says: sealed.
BEGINNING = (
    "before 1",
    "after 1",
    "before 2",
    "after 2",
    "before 3",
    "after 3",
    "before 3",
    "after 1",
    "before 1",
    "after 1",
)


async def test_dying_around_each_step_of_the_beginning_repeats_none_of_them(
    world: Any, kube: Any, nodes: Any, tasks: None, operators: Any, tmp_path: Path
) -> None:
    await kube.create(COHORTS, cohort(world, repetitions=1))
    with authority.serve(tmp_path / "tsa") as tsa:
        # Every operator here has one identity: a long Lease is its successor's at once, and outlasts a busy machine.
        world.environ |= {timestamps.URL_VARIABLE: tsa.url, "FAIRTRIAL_LEASE_SECONDS": "30"}
        for point in BEGINNING:
            assert await operators().start(FAIRTRIAL_TEST_CRASH=f"c1 {point}").died() == DIED, point
        assert await world.all(RUNS) == []
        assert tsa.asked == 2  # the first died with the answer in its hands
        operators().start()
        live = await complete(world)

    keys, listed = layout(world, live), [trust.authority("test", tsa.root_pem)]
    data = world.store.get(keys.preregistration())
    assert timestamp.verify(world.store.get(keys.preregistration_timestamp()), data, listed, name="seal")
    first, last = signed(world, live)
    assert first == 2 + 4
    assert timestamp.verify(
        world.store.get(keys.checkpoint_timestamp(last)), world.store.get(keys.checkpoint(last)), listed, name="end"
    )

    assert counted(live) == {"scheduled": 4, "passed": 4}
    assert sorted(created(world, "benchmarkruns")) == [f"c1-{number:05d}" for number in range(1, 5)]
    assert ledger(world, live).size == 2 + 4 + 4 + 1


async def test_an_amendment_waits_for_what_it_amends_and_is_sealed_with_its_digest(
    world: Any, kube: Any, nodes: Any, tasks: None, operators: Any
) -> None:
    def is_sealed(status: Any) -> Any:
        return world.condition(status, "Sealed")[0] == "True"

    operators().start()
    amends = {"name": "c1", "reason": "A typo in the question."}
    await kube.create(COHORTS, cohort(world, "c2", suspend=True, amends=amends))
    refused = await when(world, lambda s: world.condition(s, "Accepted")[0] == "False", "is refused", "c2")
    assert "there is no cohort 'c1' here" in refused["status"]["message"]

    await kube.create(COHORTS, cohort(world, suspend=True))

    old, new = await when(world, is_sealed, "is sealed"), await when(world, is_sealed, "is sealed", "c2")
    held = json.loads(world.store.get(layout(world, new).preregistration()))
    assert held["spec"]["amends"] == amends
    assert held["resolved"]["amends"] == {
        "name": "c1",
        "uid": old["metadata"]["uid"],
        "preregistrationSha256": old["status"]["preregistrationSha256"],
    }


async def test_a_class_that_is_edited_after_the_seal_holds_the_runs_until_it_is_put_back(
    world: Any, kube: Any, nodes: Any, tasks: None, operators: Any
) -> None:
    await kube.create(COHORTS, cohort(world, repetitions=1, suspend=True))
    operators().start()
    await when(world, lambda s: s.get("phase") == "Suspended", "is sealed")
    await world.change(CLASSES, world.value, {"spec": {"limits": {"memory": "3Gi"}}})
    await world.change(COHORTS, "c1", {"spec": {"suspend": False}})

    def held(status: Any) -> Any:
        return world.condition(status, "CapacityAvailable") == ("False", "ChangedSinceSeal")

    waiting = await when(world, held, "waits for what was sealed")

    told = next(one["message"] for one in waiting["status"]["conditions"] if one["type"] == "CapacityAvailable")
    assert "4 of 4 runs under way wait" in told
    refused = await world.find(RUNS, "c1-00001")
    assert world.value in refused["status"]["conditions"][0]["message"]
    assert await world.all(PODS) == []
    await world.change(CLASSES, world.value, {"spec": {"limits": {"memory": "1Gi"}}})
    assert counted(await complete(world)) == {"scheduled": 4, "passed": 4}


async def test_a_quota_is_waiting_and_visible_with_counts(
    world: Any, kube: Any, nodes: Any, tasks: None, operators: Any
) -> None:
    await kube.create(QUOTAS, quota(world, pods=1))

    async def counts() -> bool:
        live = await kube.get(QUOTAS, "pods", world.namespace)
        return bool(live.get("status", {}).get("hard"))

    await world.until(counts, "the quota counts")  # until then it lets nothing pass
    operators().start()
    await kube.create(COHORTS, cohort(world, repetitions=1))

    def held(status: Any) -> Any:
        told = [c["message"] for c in status.get("conditions") or [] if c["type"] == "CapacityAvailable"]
        return told and "QuotaExceeded 3" in told[0]  # one run after the other finds no room

    waiting = await when(world, held, "waits with three of its runs")

    assert world.condition(waiting["status"], "CapacityAvailable") == ("False", "QuotaExceeded")
    await kube.delete(QUOTAS, quota(world, pods=1) | {"metadata": await metadata_of(world, QUOTAS, "pods")})
    live = await complete(world)
    assert world.condition(live["status"], "CapacityAvailable") == ("True", "Available")
