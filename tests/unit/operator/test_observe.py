"""What the observer reads more than once, and what it doesn't."""

import asyncio
import random
from types import SimpleNamespace
from typing import Any

from fairtrial_operator import pods
from fairtrial_operator.cache import Key
from fairtrial_operator.kube import TASKS
from fairtrial_operator.observe import Observer
from fairtrial_operator.state import State
from fairtrial_operator.workqueue import WorkQueue

from fairtrial import names
from fairtrial.api import BenchmarkTask
from fairtrial.evidence.layout import Layout
from fairtrial.evidence.memory import MemoryStore
from fairtrial.testing import make_finished_run, make_task

KEY = Key("trials", "task-1")


def task(version: int, **spec: Any) -> Any:
    made = make_task(**spec)
    metadata = {"name": "task-1", "namespace": "trials", "uid": "u", "resourceVersion": str(version)}
    return {"metadata": metadata, "spec": made.spec.as_json()}


def test_an_agents_pod_that_no_list_has_is_asked_for_though_its_end_is_written_down() -> None:
    """Somebody may have labelled it as released: it would keep our finalizer for ever."""
    run = make_finished_run()
    agent = run.status.agent_pod
    assert agent is not None
    assert agent.facts is not None
    key = Key(run.metadata.namespace, f"{run.metadata.name}-agent")
    owners = [{"uid": run.metadata.uid, "controller": True}]
    metadata = {"namespace": key.namespace, "name": key.name, "uid": agent.uid, "ownerReferences": owners}
    pod = {"metadata": metadata | {"finalizers": [names.POD_FINALIZER], "resourceVersion": "1"}, "spec": {}}
    asked: list[str] = []

    async def get(_: Any, name: str, namespace: str | None) -> Any:
        asked.append(name)
        return pod

    state = State(WorkQueue(clock=lambda: 0.0, rng=random.Random(1)))
    kube: Any = SimpleNamespace(get=get)
    observer = Observer(kube, MemoryStore(), Layout(), state, SimpleNamespace())  # type: ignore[arg-type]

    first, again = (asyncio.run(observer._pod(run, "agent")) for _ in range(2))

    assert first is not None
    assert pods.held_back(first)
    assert again is not None
    assert pods.uid(again) == pods.uid(first) == agent.uid
    assert asked == [key.name]


def test_a_task_is_parsed_once_for_all_runs_and_again_when_it_has_changed() -> None:
    kube: Any = SimpleNamespace()
    settings: Any = SimpleNamespace()
    state = State(WorkQueue(clock=lambda: 0.0, rng=random.Random(1)))
    observer = Observer(kube, MemoryStore(), Layout(), state, settings)

    def find() -> BenchmarkTask | None:
        return asyncio.run(observer.find(BenchmarkTask, TASKS, state.tasks, KEY))

    state.tasks.put(task(1))
    first = find()
    assert find() is first

    state.tasks.put(task(2, publicArchive={"sha256": "9" * 64, "size": 1}))

    changed = find()
    assert changed is not None
    assert changed.spec.public_archive.sha256 == "9" * 64
