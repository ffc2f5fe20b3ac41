"""A cohort of 200 runs whose operator is killed fifty times, at any moment: it ends as one that nobody disturbed."""

import asyncio
import contextlib
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest
from fairtrial_operator.kube import COHORTS, RUNS

from fairtrial.errors import Conflict, FairtrialError
from fairtrial.evidence.layout import Layout
from tests.integration.operator.test_cohort import (
    EVICTED,
    Nodes,
    cohort,
    created,
    ledger,
    records,
    tasks,
)

__all__ = ["tasks"]  # a fixture
DEATHS, SEED = 50, 20261130
LEASE = {"FAIRTRIAL_LEASE_SECONDS": "15"}  # for machines that are busy with other things
LAST_DEATH = 200  # by so many of the 210 runs having begun
# Two tasks by two candidates. Every eviction may be replaced, so that no order of them matters.
DESIGN = {"repetitions": 50, "replacement": {"reasons": ["host_failure"], "maxPerCell": 10}}
EVICTED_RUNS = (3, 17, 18, 64, 101, 102, 103, 150, 199, 200)  # places in the schedule


@dataclass(frozen=True)
class Account:
    """What is left of a cohort, without what differs between any two: its name, identities and times."""

    counts: dict[str, int]
    outcomes: dict[str, str]  # by run
    decisions: dict[str, tuple[str, str]]  # by run: code and follower
    recorded: Counter[str]  # runs by records in the store
    entries: Counter[str]  # of the ledger, by kind
    left_open: int
    # By the API server's own log, where a creation whose answer came too late does not count.
    runs_made: Counter[str] = field(compare=False)
    pods_made: Counter[str] = field(compare=False)


async def account(world: Any, name: str) -> Account:
    live = await world.find(COHORTS, name)
    book = ledger(world, live)
    runs = [run for run in await world.all(RUNS) if run["spec"]["cohortRef"]["name"] == name]
    kinds = {"record": book.records, "ticket": book.tickets, "replacement": book.decisions, "lost": book.lost}

    def own(run: str) -> str:
        return run.removeprefix(f"{name}-")

    return Account(
        {key: value for key, value in live["status"]["counts"].items() if value},
        {own(run["metadata"]["name"]): run["status"]["outcome"] for run in runs},
        {own(run): (one.code, own(one.by)) for run, one in book.decisions.items()},
        Counter(own(record["identity"]["run"]) for record in records(world, name)),
        Counter({kind: len(entries) for kind, entries in kinds.items()}),
        len(book.open),
        Counter(own(run) for run in created(world, "benchmarkruns") if run.startswith(f"{name}-")),
        Counter(own(pod) for pod in created(world, "pods") if pod.startswith(f"{name}-")),
    )


@dataclass
class Steady(Nodes):
    """Nodes that go on after an API server or a store that did not answer, and that only look at runs under way."""

    troubles: list[str] = field(default_factory=list)

    async def serve(self) -> None:
        """Serve until cancelled."""
        working = set()
        while True:
            for run in await self._under_way():
                uid = run["metadata"]["uid"]
                if uid not in self.done:
                    self.done.add(uid)
                    working.add(asyncio.create_task(self._carry_out(run)))
            working = {task for task in working if not task.done()}
            await asyncio.sleep(0.1)

    async def _under_way(self) -> list[Any]:
        try:
            fields = f"metadata.namespace={self.world.namespace},status.phase!=Done"
            return list((await self.world.kube.list_page(RUNS, fields=fields))["items"])
        except (FairtrialError, OSError) as error:
            self.troubles.append(str(error))
            return []

    def __post_init__(self) -> None:
        put = self.world.store.put

        def put_once(*what: Any, **more: Any) -> Any:
            with contextlib.suppress(Conflict):  # an earlier try stored it
                return put(*what, **more)

        self.world.store.put = put_once

    async def _carry_out(self, run: Any) -> None:
        while True:
            try:
                return await super()._carry_out(run)
            except (FairtrialError, OSError, AssertionError) as error:  # each step may be taken twice
                self.troubles.append(f"{run['metadata']['name']}: {error}")
                await asyncio.sleep(1)


@pytest.fixture
async def steady(world: Any, kubelet: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Such nodes; their runs' evidence lies where their cohort's does."""
    place = Layout(world.store.settings.prefix)

    def keys(_: Any, run: Any) -> Any:
        metadata = run["metadata"]
        return place.run(metadata["namespace"], metadata["name"], metadata["uid"], run["spec"]["cohortRef"]["name"])

    monkeypatch.setattr(type(world), "layout", keys)
    made = Steady(world, kubelet)
    serving = asyncio.create_task(made.serve())
    yield made
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)
    print("troubles:", made.troubles)


def evict_some(nodes: Nodes, name: str) -> None:
    nodes.ends |= {f"{name}-{place:05d}": EVICTED for place in EVICTED_RUNS}


async def over(world: Any, name: str) -> None:
    """Wait until a cohort is complete."""
    while True:
        live = await world.find(COHORTS, name)
        if world.condition(live.get("status") or {}, "Complete")[0] == "True":
            return
        await asyncio.sleep(0.5)


async def reached(nodes: Steady, begun: int, finished: "asyncio.Task[None]") -> None:
    """Wait until so many runs have begun: deaths are spread over the cohort's life, however fast the machine is."""
    while len(nodes.done) < begun and not finished.done():  # noqa: ASYNC110
        await asyncio.sleep(0.05)


@pytest.mark.slow
@pytest.mark.timeout(3600)
async def test_fifty_deaths_of_the_operator_change_nothing(
    world: Any, kube: Any, steady: Any, tasks: None, operators: Any
) -> None:
    evict_some(steady, "calm")
    evict_some(steady, "torn")
    operator = operators().start(**LEASE)
    await kube.create(COHORTS, cohort(world, "calm", **DESIGN))
    await asyncio.wait_for(over(world, "calm"), 900)
    assert operator.stop() == 0

    chance, deaths, before = random.Random(SEED), 0, len(steady.done)
    operator = operators().start(**LEASE)
    await kube.create(COHORTS, cohort(world, "torn", **DESIGN))
    finished = asyncio.create_task(asyncio.wait_for(over(world, "torn"), 1800))
    for begun in sorted(chance.sample(range(1, LAST_DEATH), DEATHS)):
        await reached(steady, before + begun, finished)
        await asyncio.sleep(chance.uniform(0, 1))
        operator.kill()
        deaths += not finished.done()
        operator = operators().start(**LEASE)
    await finished

    calm, torn = await account(world, "calm"), await account(world, "torn")
    print(f"deaths: {deaths}; {torn.counts}; ledger: {dict(torn.entries)}")
    assert deaths == DEATHS
    assert calm.counts == {"scheduled": 200, "replacements": 10, "passed": 200, "invalid": 10}
    assert torn == calm
    assert set(torn.runs_made.values()) == set(torn.pods_made.values()) == set(torn.recorded.values()) == {1}
    assert set(torn.recorded) == set(torn.outcomes)
