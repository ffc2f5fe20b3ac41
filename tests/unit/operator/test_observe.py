"""What the observer reads more than once, and what it doesn't."""

import asyncio
import random
from types import SimpleNamespace
from typing import Any

from fairtrial_operator.cache import Key
from fairtrial_operator.kube import TASKS
from fairtrial_operator.observe import Observer
from fairtrial_operator.state import State
from fairtrial_operator.workqueue import WorkQueue

from fairtrial.api import BenchmarkTask
from fairtrial.evidence.layout import Layout
from fairtrial.evidence.memory import MemoryStore
from fairtrial.testing import make_task

KEY = Key("trials", "task-1")


def task(version: int, **spec: Any) -> Any:
    made = make_task(**spec)
    metadata = {"name": "task-1", "namespace": "trials", "uid": "u", "resourceVersion": str(version)}
    return {"metadata": metadata, "spec": made.spec.as_json()}


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
