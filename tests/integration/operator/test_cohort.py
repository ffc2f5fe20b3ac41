"""Cohorts against a real API server and a real store: sealed, carried out, replaced, stopped, and survived."""

import asyncio
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from fairtrial_operator.kube import COHORTS, RUNS, TASKS

from fairtrial.cohort import ledger as ledgers
from fairtrial.cohort import preregistration
from fairtrial.cohort.ledger import Ledger
from fairtrial.evidence.layout import CohortLayout, Layout
from fairtrial.testing import make_cohort, make_task

OTHER_TASK = {"sha256": "f" * 64, "size": 10240}
Choose = Callable[[str], dict[str, Any]]


@pytest.fixture
async def tasks(world: Any, kube: Any) -> None:
    """The second task of the cohort; the first is there."""
    spec = make_task(publicArchive=OTHER_TASK).spec.as_json()
    metadata = {"name": "task-2", "namespace": world.namespace}
    await kube.create(TASKS, {"apiVersion": TASKS.api_version, "kind": TASKS.kind, "metadata": metadata, "spec": spec})


@dataclass
class Nodes:
    """Carries out every run as soon as its pods are there. `ends` says, by run, how its agent pod ends."""

    world: Any
    kubelet: Any
    ends: dict[str, dict[str, Any]] = field(default_factory=dict)
    held: set[str] = field(default_factory=set)  # runs whose pods are left alone
    only: set[str] = field(default_factory=set)  # if any: the others are left alone
    done: set[str] = field(default_factory=set)

    async def serve(self) -> None:
        """Serve until cancelled."""
        working: set[asyncio.Task[None]] = set()
        while True:
            for run in await self.world.all(RUNS):
                name = run["metadata"]["name"]
                if name not in self.done and name not in self.held and (not self.only or name in self.only):
                    self.done.add(name)
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


EVICTED = {"phase": "Failed", "code": 137, "reason": "Evicted", "message": "The node was low on resource: memory."}


def cohort(world: Any, name: str = "c1", **spec: Any) -> Any:
    made = make_cohort(name, namespace=world.namespace).spec.as_json()
    base = {"repetitions": 3, "seal": True, "execution": {"resourceClassName": world.value, "parallelism": 4}}
    metadata = {"name": name, "namespace": world.namespace}
    return {"apiVersion": COHORTS.api_version, "kind": COHORTS.kind, "metadata": metadata, "spec": made | base | spec}


async def when(world: Any, holds: Callable[[Any], Any], what: str, name: str = "c1", seconds: float = 60) -> Any:
    async def look() -> Any:
        live = await world.find(COHORTS, name)
        return live if live is not None and holds(live.get("status") or {}) else None

    return await asyncio.wait_for(world.until(look, f"cohort {name}: {what}"), seconds)


async def complete(world: Any, name: str = "c1") -> Any:
    return await when(world, lambda s: world.condition(s, "Complete")[0] == "True", "is complete", name)


def layout(world: Any, live: Any) -> CohortLayout:
    metadata = live["metadata"]
    return Layout(world.store.settings.prefix).cohort(metadata["namespace"], metadata["name"], metadata["uid"])


def ledger(world: Any, live: Any) -> Ledger:
    """The ledger, read and checked as an auditor would."""
    keys = world.store.keys(layout(world, live).ledger())
    metadata = live["metadata"]
    return ledgers.read(metadata["name"], metadata["uid"], [world.store.get(key) for key in keys])


def records(world: Any, name: str = "c1") -> list[dict[str, Any]]:
    folder = f"{world.store.settings.prefix}/ns/{world.namespace}/cohorts/{name}/runs/".removeprefix("/")
    keys = world.store.keys(folder.replace("//", "/"))
    return [json.loads(world.store.get(key)) for key in keys if key.endswith("/record.json")]


def counted(live: Any) -> dict[str, int]:
    return {key: value for key, value in live["status"]["counts"].items() if value}


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
    assert book.size == status["ledgerEntries"] == 1 + 13 + 13 + 1 + 1
    assert (book.decisions["c1-00005"].code, book.decisions["c1-00005"].by) == ("allowed", "c1-00005-r1")
    assert {entry.sha256 for entry in book.records.values()} == {
        run["status"]["record"]["sha256"] for run in runs.values()
    }
    assert len(json.dumps(status)) < 8192
    events = {event["reason"]: event["type"] for event in await world.events()}
    assert events == {"Sealed": "Normal", "Complete": "Normal"}
