"""What a cohort keeps of its runs, and when it is told of them."""

import random
import sys
from typing import Any

from fairtrial_operator.cache import Key
from fairtrial_operator.cohorts.book import Book
from fairtrial_operator.cohorts.members import member_of
from fairtrial_operator.state import State, cohort_key
from fairtrial_operator.workqueue import WorkQueue

from fairtrial import names
from fairtrial.cohort.accounting import RunState
from fairtrial.cohort.runs import run_manifest
from fairtrial.cohort.schedule import schedule_of
from fairtrial.testing import COHORT_UID, make_cohort, make_run

COHORT = make_cohort()
ENTRY = schedule_of(COHORT).entries[0]
RECORD = {"uri": "s3://b/k", "sha256": "0" * 64}


def raw(version: int = 1, status: Any = None, *, held: bool = True, **metadata: Any) -> dict[str, Any]:
    made = run_manifest(COHORT, ENTRY, preregistration_sha256="1" * 64)
    made["metadata"] |= {"uid": "u", "resourceVersion": str(version)} | metadata
    made["metadata"] |= {"finalizers": [names.RUN_FINALIZER]} if held else {}
    return made | {"status": status or {}}


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def state(clock: Any = None) -> State:
    return State(WorkQueue(clock=clock or Clock(), rng=random.Random(1)))


def test_a_member_is_what_accounting_makes_of_the_run():
    status = {
        "outcome": "passed",
        "reason": "solved",
        "record": RECORD,
        "agentPod": {"name": "a", "uid": "b", "node": "n"},
    }
    run = make_run(ENTRY.run, metadata={"uid": "u"}, status=status, **raw()["spec"])

    assert member_of(raw(status=status)).state == RunState.of_run(run)
    assert member_of(raw()).state == RunState.of_run(make_run(ENTRY.run, metadata={"uid": "u"}, **raw()["spec"]))


def test_a_cohort_is_due_when_a_run_of_it_has_news_and_not_for_every_change():
    clock = Clock()
    known = state(clock)
    known.take_run(raw(1))
    clock.now = 10.0
    assert known.queue.depth == 2  # the run and its cohort
    known.queue._ready.clear()

    known.keep_run(raw(2, {"message": "nothing that matters to it"}))
    clock.now = 20.0
    assert known.queue.depth == 0
    known.keep_run(raw(3, {"outcome": "passed", "record": RECORD}))
    clock.now = 30.0
    assert known.queue.depth == 1
    assert list(known.queue._ready) == [cohort_key(Key("trials", "cohort-1"))]


def test_a_recorded_run_stays_a_member_when_only_a_stub_is_left_and_costs_little():
    known = state()
    known.keep_run(raw(3, {"outcome": "invalid", "invalidity": "host_failure", "record": RECORD}, held=False))

    member = known.members.of(COHORT_UID)[ENTRY.run]
    assert (member.state.outcome, member.invalidity, member.finished) == ("invalid", "host_failure", True)
    stub = known.runs.get(Key("trials", ENTRY.run))
    assert stub is not None
    assert "spec" not in stub
    assert sys.getsizeof(member) < 200


def test_a_run_that_had_a_pod_and_goes_without_a_record_is_lost():
    known, pod = state(), {"name": "a", "uid": "b"}
    known.keep_run(raw(1, {"agentPod": pod}))
    known.run_gone(raw(2, {"agentPod": pod}))
    assert known.members.lost(COHORT_UID) == {ENTRY.run: "u"}
    assert known.members.of(COHORT_UID) == {}

    known.close_book(COHORT_UID)
    known.keep_run(raw(3))
    known.run_gone(raw(4))
    known.keep_run(raw(5, {"agentPod": pod}))
    known.run_gone(raw(6, {"agentPod": pod, "outcome": "passed", "record": RECORD}))
    assert known.members.lost(COHORT_UID) == {}


def test_a_run_that_another_object_controls_is_nobodys():
    known, stranger = state(), raw(1)
    stranger["metadata"]["ownerReferences"][0]["controller"] = False

    known.keep_run(stranger)

    assert known.members.of(COHORT_UID) == {}


def test_what_is_kept_of_a_cohort_goes_with_it_and_not_with_its_namesake():
    known = state()
    old = {"metadata": {"namespace": "trials", "name": "cohort-1", "uid": "old", "resourceVersion": "1"}}
    new = {"metadata": old["metadata"] | {"uid": "new", "resourceVersion": "3"}}
    known.cohort_changed(old)
    known.books |= {"old": Book.of(COHORT), "new": Book.of(COHORT)}
    known.cohort_changed(new)

    known.cohort_gone({"metadata": old["metadata"] | {"resourceVersion": "2"}})

    assert list(known.books) == ["new"]
    assert known.cohorts.get(Key("trials", "cohort-1")) is new
