"""Cohorts between their store and the API server: what is adopted, read again, asked for, or refused."""

import asyncio
import hashlib
import random
from types import SimpleNamespace
from typing import Any

import pytest
from fairtrial_operator.cohorts.apply import CohortApplier
from fairtrial_operator.cohorts.book import Book
from fairtrial_operator.cohorts.observe import CohortNotes, CohortObserver
from fairtrial_operator.cohorts.seen import Append, CreateRuns, PutPreregistration
from fairtrial_operator.kube import AlreadyExists, Forbidden, NotFound
from fairtrial_operator.state import State
from fairtrial_operator.workqueue import WorkQueue

from fairtrial import names
from fairtrial.api import BenchmarkCohort
from fairtrial.cohort import preregistration
from fairtrial.cohort.ledger import Ledger, LedgerEntry
from fairtrial.cohort.preregistration import Found
from fairtrial.cohort.runs import run_manifest
from fairtrial.cohort.schedule import schedule_of
from fairtrial.errors import StoreUnavailable
from fairtrial.evidence.layout import Layout
from fairtrial.evidence.memory import MemoryStore
from fairtrial.evidence.record import assemble
from fairtrial.testing import COHORT_UID, make_cohort, make_finished_run, make_resource_class, make_task

TASKS = {"task-1": make_task(), "task-2": make_task("task-2", publicArchive={"sha256": "f" * 64, "size": 1})}
FOUND = Found(TASKS, make_resource_class(), {})
SHA256 = "1" * 64
FIRST = "cohort-1-00001"


class FakeKube:
    """An API server with these runs."""

    def __init__(self) -> None:
        self.runs: dict[str, Any] = {}
        self.asked: list[str] = []
        self.quota = False

    async def get(self, _: Any, name: str, __: Any = None) -> Any:
        self.asked.append(name)
        if name not in self.runs:
            raise NotFound(404, "NotFound", name)
        return self.runs[name]

    async def list_page(self, *_: Any, **__: Any) -> Any:
        return {"items": list(self.runs.values()), "metadata": {}}

    async def create(self, _: Any, body: Any) -> Any:
        if self.quota:
            raise Forbidden(403, "Forbidden", "exceeded quota: runs")
        name = body["metadata"]["name"]
        if name in self.runs:
            raise AlreadyExists(409, "AlreadyExists", name)
        self.runs[name] = live(body)
        return self.runs[name]


def live(body: Any, uid: str = "u") -> Any:
    return body | {"metadata": body["metadata"] | {"uid": uid, "resourceVersion": "1"}}


class World:
    def __init__(self) -> None:
        self.store, self.kube = MemoryStore(), FakeKube()
        self.state = State(WorkQueue(clock=lambda: 0.0, rng=random.Random(1)))
        settings: Any = SimpleNamespace(selects=lambda _: True, gateway_namespace="")
        kube: Any = self.kube
        runs: Any = None
        self.observer = CohortObserver(kube, self.store, Layout(), self.state, settings, runs, lambda: 0.0)
        self.applier = CohortApplier(kube, self.store, "bucket", self.state, self.observer, lambda: 0.0)
        self.notes = CohortNotes()

    def apply(self, cohort: BenchmarkCohort, action: Any) -> CohortNotes:
        asyncio.run(self.applier.apply(cohort, {}, action, self.notes))
        return self.notes

    def observe(self, cohort: BenchmarkCohort) -> Any:
        return asyncio.run(self.observer.observe(cohort, self.notes))

    def book(self, cohort: BenchmarkCohort, *entries: LedgerEntry) -> Book:
        book = self.state.books[cohort.metadata.uid] = Book.of(cohort)
        book.ledger = Ledger(cohort.metadata.name, cohort.metadata.uid)
        if entries:
            self.apply(cohort, Append(entries))
        return book


def sealed(**spec: Any) -> BenchmarkCohort:
    return make_cohort(seal=True, status={"preregistrationSha256": SHA256}, **spec)


def body(cohort: BenchmarkCohort, index: int = 1) -> Any:
    return run_manifest(cohort, schedule_of(cohort).entries[index - 1], preregistration_sha256=SHA256)


TICKET = LedgerEntry("ticket", run=FIRST, index=1)


# --- the seal ---------------------------------------------------------------------------------------------------------
def stored(cohort: BenchmarkCohort, found: Found = FOUND) -> bytes:
    return preregistration.to_bytes(preregistration.document(cohort, found))


def test_what_was_sealed_before_a_crash_stands_though_an_object_was_made_anew_since() -> None:
    world, cohort = World(), make_cohort(seal=True)
    first = stored(cohort)
    again = stored(cohort, Found(TASKS, make_resource_class(metadata={"uid": "another"}), {}))
    assert first != again
    world.apply(cohort, PutPreregistration(first))

    notes = world.apply(cohort, PutPreregistration(again))

    assert notes.sealed is not None
    assert notes.sealed.problem == ""
    assert notes.sealed.sha256 == hashlib.sha256(first).hexdigest()


@pytest.mark.parametrize("change", ["of another spec", "broken"])
def test_what_is_no_preregistration_of_this_cohort_is_not_adopted(change: str) -> None:
    world, cohort = World(), make_cohort(seal=True)
    other = stored(make_cohort(seal=True, repetitions=7)) if change == "of another spec" else b'{"kind":"x"}'
    world.store.put(world.observer.keys_of(cohort).preregistration(), other)

    notes = world.apply(cohort, PutPreregistration(stored(cohort)))

    assert notes.sealed is not None
    assert notes.sealed.problem == "conflict"


# --- the ledger -------------------------------------------------------------------------------------------------------
def test_whoever_writes_on_an_old_state_finds_the_page_taken_and_reads_again() -> None:
    world, cohort = World(), sealed()
    behind = world.book(cohort)
    ahead = Ledger(cohort.metadata.name, cohort.metadata.uid)
    page = ahead.page([LedgerEntry("sealed", sha256=SHA256), TICKET], "2026-01-01T12:00:00Z").to_bytes()
    world.store.put(world.observer.keys_of(cohort).ledger_page(1), page)

    world.apply(cohort, Append([LedgerEntry("sealed", sha256=SHA256)]))
    assert behind.ledger is None
    seen = world.observe(cohort)

    assert seen.ledger.size == 2
    assert seen.absent == {FIRST}


def test_a_ledger_with_a_page_of_somebody_else_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    world, cohort = World(), sealed()
    page = Ledger("cohort-1", "another").page([TICKET], "2026-01-01T12:00:00Z").to_bytes()
    world.store.put(world.observer.keys_of(cohort).ledger_page(1), page)

    seen = world.observe(cohort)
    assert (seen.ledger, seen.ledger_trouble.reason, seen.ledger_trouble.again) == (None, "LedgerBroken", False)

    def down(_: str) -> Any:
        raise StoreUnavailable("down")

    monkeypatch.setattr(world.store, "keys", down)
    world.state.books[COHORT_UID].trouble = None
    assert world.observe(cohort).ledger_trouble.reason == "StoreUnavailable"


# --- runs -------------------------------------------------------------------------------------------------------------
def test_a_run_is_held_from_the_moment_of_its_creation() -> None:
    world, cohort = World(), sealed()
    world.book(cohort, TICKET)

    world.apply(cohort, CreateRuns([body(cohort)]))

    assert world.kube.runs[FIRST]["metadata"]["finalizers"] == [names.RUN_FINALIZER]


def test_a_run_that_is_there_already_is_adopted_if_it_is_the_one_of_the_ticket() -> None:
    world, cohort = World(), sealed()
    book = world.book(cohort, TICKET)
    world.kube.runs[FIRST] = live(body(cohort))

    assert world.apply(cohort, CreateRuns([body(cohort)])).refused is None

    assert FIRST in world.state.members.of(COHORT_UID)
    assert book.fresh == set()
    assert world.state.queue.depth >= 1


@pytest.mark.parametrize("change", ["owner", "candidate"])
def test_a_run_of_another_origin_is_in_the_way_and_named(change: str) -> None:
    world, cohort = World(), sealed()
    book = world.book(cohort, TICKET)
    theirs = live(body(cohort))
    if change == "owner":
        theirs["metadata"]["ownerReferences"][0]["uid"] = "another"
    else:
        theirs["spec"]["candidate"]["argv"] = ["/bin/cheat"]
    world.kube.runs[FIRST] = theirs

    notes = world.apply(cohort, CreateRuns([body(cohort)]))

    assert notes.refused is not None
    assert notes.refused.reason == "RunNameTaken"
    assert FIRST in notes.refused.message
    assert FIRST not in world.state.members.of(COHORT_UID)
    assert book.fresh == {FIRST}


def test_a_quota_of_runs_is_told_until_a_run_can_be_created() -> None:
    world, cohort = World(), sealed()
    book = world.book(cohort, TICKET)
    world.kube.quota = True
    world.apply(cohort, CreateRuns([body(cohort)]))
    world.notes = CohortNotes()
    assert world.observe(cohort).refused_last.reason == "QuotaExceeded"

    world.kube.quota = False
    world.apply(cohort, CreateRuns([body(cohort)]))
    assert book.refused is None


def test_a_fresh_ticket_is_not_asked_about_and_one_without_its_run_is() -> None:
    world, cohort = World(), sealed()
    book = world.book(cohort, TICKET)
    assert world.observe(cohort).absent == {FIRST}
    assert world.kube.asked == []

    world.apply(cohort, CreateRuns([body(cohort)]))
    assert world.observe(cohort).absent == set()
    world.state.run_gone(world.kube.runs.pop(FIRST))
    assert book.fresh == set()

    assert world.observe(cohort).absent == {FIRST}
    assert world.kube.asked == [FIRST]


def test_a_run_whose_creation_was_never_answered_is_found_when_it_is_asked_for() -> None:
    world, cohort = World(), sealed()
    world.book(cohort, TICKET).fresh.clear()
    world.kube.runs[FIRST] = live(body(cohort))

    assert world.observe(cohort).absent == set()
    assert FIRST in world.state.members.of(COHORT_UID)


def test_a_run_that_a_watch_brought_is_no_longer_known_not_to_exist() -> None:
    world, cohort = World(), sealed()
    book = world.book(cohort, TICKET)
    world.state.run_changed(live(body(cohort)))
    world.observe(cohort)
    assert book.fresh == set()


@pytest.mark.parametrize(("follows", "known"), [(SHA256, True), ("2" * 64, False)])
def test_a_run_that_was_recorded_and_is_gone_is_known_by_its_record(follows: str, known: bool) -> None:
    world, cohort = World(), sealed()
    book = world.book(cohort, TICKET)
    book.fresh.clear()
    spec = body(cohort)["spec"] | {"cohortRef": {"name": "cohort-1", "index": 1, "preregistrationSha256": follows}}
    run = make_finished_run(FIRST, **spec)
    data = assemble(run, None, None, ()).to_bytes()
    world.store.put(Layout().run("trials", FIRST, run.metadata.uid, "cohort-1").record(), data)

    seen = world.observe(cohort)

    assert (FIRST in seen.records) == known
    assert (FIRST in seen.absent) == (not known)
    if known:
        assert seen.records[FIRST].sha256 == hashlib.sha256(data).hexdigest()
        assert seen.evidence[FIRST].outcome == seen.records[FIRST].outcome == "invalid"


def test_a_cohort_yields_to_one_of_a_higher_priority_that_wants_to_create() -> None:
    world, cohort = World(), sealed()
    world.book(cohort)
    other = world.state.books["other"] = Book.of(make_cohort(execution={"resourceClassName": "s", "priority": 1}))
    assert not world.observe(cohort).outranked

    other.demand = True
    assert world.observe(cohort).outranked
    other.priority = 0
    assert not world.observe(cohort).outranked
    other.priority = 1
    world.state.close_book("other")
    assert not world.observe(cohort).outranked
