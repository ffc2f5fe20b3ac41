import random
from typing import Any

from fairtrial_operator.apply import Applier
from fairtrial_operator.cache import Key
from fairtrial_operator.health import Vitals
from fairtrial_operator.state import State, WorkKey, namespace_key
from fairtrial_operator.workqueue import WorkQueue

from fairtrial import names
from fairtrial.testing import make_run


def state() -> State:
    return State(WorkQueue(clock=lambda: 0.0, rng=random.Random(1)))


def raw(version: int, *, recorded: bool = False, held: bool = True) -> dict[str, Any]:
    metadata = {"namespace": "trials", "name": "run-1", "uid": "u", "resourceVersion": str(version)}
    metadata |= {"finalizers": [names.RUN_FINALIZER]} if held else {}  # type: ignore[dict-item]
    return {"metadata": metadata, "spec": {"much": "x" * 100}, "status": {"record": {}} if recorded else {}}


def test_news_about_a_run_make_it_due_and_old_news_do_not() -> None:
    known = state()
    known.run_changed(raw(5))
    assert known.queue.depth == 1
    known.queue._ready.clear()

    known.run_changed(raw(4))

    assert known.queue.depth == 0


def test_a_recorded_run_is_due_until_it_is_released_and_then_costs_little() -> None:
    known = state()
    record = {"uri": "s3://b/k", "sha256": "0" * 64}
    known.run_changed(raw(5, recorded=True) | {"status": {"record": record}})
    assert known.queue.depth == 1

    known.run_changed(raw(6, recorded=True, held=False) | {"status": {"record": record}})

    kept = known.runs.get(Key("trials", "run-1"))
    assert kept is not None
    assert "spec" not in kept


def test_a_late_event_does_not_revive_a_finished_run() -> None:
    known, record = state(), {"uri": "s3://b/k", "sha256": "0" * 64}
    known.run_changed(raw(6, held=False) | {"status": {"record": record}})

    known.run_changed(raw(5))

    assert known.queue.depth == 0


def test_a_pod_makes_its_run_due_even_when_only_its_name_is_left() -> None:
    known = state()
    known.runs.put(raw(5))

    known.pod_changed(Key("trials", "run-1-evaluator"), None)

    assert known.queue.depth == 1


def pod(name: str, version: int) -> dict[str, Any]:
    metadata = {"namespace": "trials", "name": name, "uid": name, "resourceVersion": str(version)}
    return {"metadata": metadata, "spec": {"nodeName": "n", "volumes": ["x" * 100]}, "status": {"phase": "Running"}}


def test_a_pod_that_analyses_makes_its_cohort_due_in_another_namespace() -> None:
    known = state()
    cohort = {"metadata": {"namespace": "trials", "name": "c1", "uid": "u", "resourceVersion": "1"}}
    known.cohorts.put(cohort)
    labels = {names.ROLE_LABEL: names.ANALYSIS, names.COHORT_LABEL: "c1", names.COHORT_NAMESPACE_LABEL: "trials"}
    pod = {"metadata": {"namespace": "system", "name": "analysis-c1-x-y", "labels": labels}}

    known.pod_changed(Key("system", "analysis-c1-x-y"), pod)

    assert list(known.queue._ready) == [WorkKey("cohort", "trials", "c1")]


def test_of_a_pod_is_kept_what_is_read() -> None:
    known = state()
    known.pods.put(pod("run-1-agent", 3))

    kept = known.pods.get(Key("trials", "run-1-agent"))
    assert kept is not None
    assert kept["spec"] == {"nodeName": "n"}
    assert kept["status"] == {"phase": "Running"}


def test_pods_of_a_finished_run_are_forgotten_whichever_news_comes_first() -> None:
    known, key = state(), Key("trials", "run-1-agent")
    known.run_changed(raw(5))
    known.pods.put(pod("run-1-agent", 3))
    known.pods.put(pod("run-10-agent", 3))

    known.run_changed(raw(6, held=False) | {"status": {"record": {"uri": "s3://b/k", "sha256": "0" * 64}}})
    assert known.pods.get(key) is None

    known.pods.put(pod("run-1-agent", 4))
    known.pod_changed(key, pod("run-1-agent", 4))

    assert known.pods.get(key) is None
    assert known.pods.get(Key("trials", "run-10-agent")) is not None


def test_whoever_waits_for_a_task_is_woken_by_it_alone() -> None:
    known = state()
    known.wait_for_references(make_run())

    known.referenced_changed("BenchmarkTask", Key("trials", "another"))
    assert known.queue.depth == 0
    known.referenced_changed("BenchmarkTask", Key("trials", "task-1"))

    assert known.queue.depth == 1


def test_a_namespace_is_work_of_its_own() -> None:
    assert namespace_key("trials") == WorkKey("namespace", "", "trials")


# --- health -----------------------------------------------------------------------------------------------------------
def test_a_write_that_the_watch_of_runs_never_shows_is_a_complaint() -> None:
    now = [0.0]
    known = State(WorkQueue(clock=lambda: now[0], rng=random.Random(1)), clock=lambda: now[0])
    vitals = Vitals(unheard=lambda: known.unheard_seconds)

    known.run_written()
    now[0] = 30
    known.run_written()
    assert vitals.complaints() == []
    now[0] = 61
    assert "kopf's watch of runs" in vitals.complaints()[0]
    known.run_changed(raw(5))
    assert vitals.complaints() == []


def test_what_the_watch_has_shown_already_is_not_waited_for() -> None:
    """A watch may be faster than the answer to the write that it speaks of; nothing more will come then."""
    known = State(WorkQueue(clock=lambda: 0.0, rng=random.Random(1)), clock=lambda: 0.0)
    applier = Applier(None, None, "bucket", known, None)  # type: ignore[arg-type]

    known.run_changed(raw(7))
    applier._keep(raw(6))
    assert known.unheard_since is None, "the watch is ahead of this answer"
    known.run_gone(raw(8))
    gone = raw(8)
    gone["metadata"] |= {"deletionTimestamp": "2026-01-01T12:00:00Z", "finalizers": []}
    applier._keep(gone)
    assert known.unheard_since is None, "it went with this write, and the watch has said so"
    known.run_changed(raw(9))
    applier._keep(raw(10))
    assert known.unheard_since is not None
