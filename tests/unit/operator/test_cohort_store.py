"""Cohorts between their store and the API server: what is adopted, read again, asked for, or refused."""

import asyncio
import dataclasses
import hashlib
import random
from types import SimpleNamespace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from fairtrial_operator.cohorts.apply import CohortApplier
from fairtrial_operator.cohorts.book import Book
from fairtrial_operator.cohorts.observe import CohortNotes, CohortObserver
from fairtrial_operator.cohorts.seen import Append, Blocks, CreateRuns, PutPreregistration, SignLedger
from fairtrial_operator.kube import AlreadyExists, Forbidden, NotFound
from fairtrial_operator.signatory import Signatory
from fairtrial_operator.state import State
from fairtrial_operator.workqueue import WorkQueue

from fairtrial import names
from fairtrial.api import BenchmarkCohort
from fairtrial.attest import dsse, note
from fairtrial.attest import trust as trusts
from fairtrial.attest.trust import TrustedKey, TrustList
from fairtrial.cohort import preregistration
from fairtrial.cohort.ledger import Ledger, LedgerEntry
from fairtrial.cohort.preregistration import Found
from fairtrial.cohort.runs import run_manifest
from fairtrial.cohort.schedule import Entry, schedule_of
from fairtrial.errors import InvalidInput, SigningFailed, StoreUnavailable
from fairtrial.evidence.layout import Layout
from fairtrial.evidence.memory import MemoryStore
from fairtrial.evidence.probe import Capabilities, ObjectLock
from fairtrial.evidence.record import assemble
from fairtrial.signing import keys as signing_keys
from fairtrial.signing import storing
from fairtrial.signing.keys import SigningKey
from fairtrial.testing import (
    COHORT_UID,
    agent_report,
    evaluation_report,
    make_cohort,
    make_finished_run,
    make_resource_class,
    make_task,
)

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
    def __init__(self, signatory: Signatory | None = None, store: Any = None) -> None:
        self.store, self.kube = store or MemoryStore(), FakeKube()
        self.state = State(WorkQueue(clock=lambda: 0.0, rng=random.Random(1)), signs=signatory is not None)
        settings: Any = SimpleNamespace(selects=lambda _: True, gateway_namespace="")
        kube: Any = self.kube
        runs: Any = None
        self.observer = CohortObserver(kube, self.store, Layout(), self.state, settings, runs, lambda: 0.0)
        self.applier = CohortApplier(kube, self.store, "bucket", self.state, self.observer, lambda: 0.0, signatory)
        self.notes = CohortNotes()

    def apply(self, cohort: BenchmarkCohort, action: Any) -> CohortNotes:
        asyncio.run(self.applier.apply(cohort, {}, action, self.notes))
        return self.notes

    def observe(self, cohort: BenchmarkCohort) -> Any:
        return asyncio.run(self.observer.observe(cohort, self.notes))

    def book(self, cohort: BenchmarkCohort, *entries: LedgerEntry) -> Book:
        book = self.state.books[cohort.metadata.uid] = Book.of(cohort)
        book.ledger = Ledger(cohort.metadata.name, cohort.metadata.uid)
        book.sealed = preregistration.resolved_in(preregistration.document(make_cohort(), FOUND))
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
def sealed_in(world: World) -> BenchmarkCohort:
    """A cohort whose preregistration lies in the store."""
    cohort = make_cohort(seal=True)
    data = stored(cohort)
    world.store.put(world.observer.keys_of(cohort).preregistration(), data)
    return make_cohort(seal=True, status={"preregistrationSha256": hashlib.sha256(data).hexdigest()})


def test_what_was_sealed_is_read_once_and_is_what_the_status_says() -> None:
    world = World()
    cohort = sealed_in(world)
    key = world.observer.keys_of(cohort).preregistration()

    assert world.observe(cohort).ledger_trouble is None
    sealed_with = world.state.books[COHORT_UID].sealed
    assert sealed_with is not None
    assert sorted(sealed_with.tasks) == ["task-1", "task-2"]

    world.state.books.clear()
    trouble = world.observe(sealed()).ledger_trouble  # whose status has another digest
    assert trouble.reason == "LedgerBroken"
    assert key in trouble.message


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
    world = World()
    cohort = sealed_in(world)
    page = Ledger("cohort-1", "another").page([TICKET], "2026-01-01T12:00:00Z").to_bytes()
    world.store.put(world.observer.keys_of(cohort).ledger_page(1), page)

    seen = world.observe(cohort)
    assert (seen.ledger, seen.ledger_trouble.reason, seen.ledger_trouble.again) == (None, "LedgerBroken", False)

    def down(_: str) -> Any:
        raise StoreUnavailable("down")

    monkeypatch.setattr(world.store, "keys", down)
    world.state.books[COHORT_UID].trouble = None
    assert world.observe(cohort).ledger_trouble.reason == "StoreUnavailable"


# --- signatures -------------------------------------------------------------------------------------------------------
def key_of(seed: int) -> SigningKey:
    return signing_keys.of_private(Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32))


KEY = key_of(1)
TRUST = TrustList((TrustedKey("operator", KEY.public),))


def test_a_preregistration_is_signed_when_it_is_stored() -> None:
    world, cohort = World(Signatory(KEY)), make_cohort(seal=True)
    keys, data = world.observer.keys_of(cohort), stored(cohort)

    notes = world.apply(cohort, PutPreregistration(data))

    assert notes.sealed is not None
    assert notes.sealed.signed == f"signed with key {KEY.key_id[:12]}…"
    found = dsse.verify(world.store.get(keys.preregistration_signature()), TRUST, trusts.PREREGISTRATION)
    assert found.statement.digests == {"preregistration.json": hashlib.sha256(data).hexdigest()}
    assert found.statement.predicate["cohort"]["uid"] == COHORT_UID
    assert found.statement.predicate["runs"] == len(schedule_of(cohort).entries)


def test_a_preregistration_that_was_adopted_is_signed_as_it_is() -> None:
    world, cohort = World(Signatory(KEY)), make_cohort(seal=True)
    first, keys = stored(cohort), world.observer.keys_of(cohort)
    world.store.put(keys.preregistration(), first)

    world.apply(
        cohort, PutPreregistration(stored(cohort, Found(TASKS, make_resource_class(metadata={"uid": "x"}), {})))
    )

    found = dsse.verify(world.store.get(keys.preregistration_signature()), TRUST, trusts.PREREGISTRATION)
    assert found.statement.digests == {"preregistration.json": hashlib.sha256(first).hexdigest()}


def test_a_signature_from_before_a_crash_stays_whoever_signs_now() -> None:
    world, cohort = World(Signatory(KEY)), make_cohort(seal=True)
    world.apply(cohort, PutPreregistration(stored(cohort)))
    key = world.observer.keys_of(cohort).preregistration_signature()
    first = world.store.get(key)
    exchanged = World(Signatory(key_of(2)))
    exchanged.store.objects, exchanged.store._digests = world.store.objects, world.store._digests

    notes = exchanged.apply(cohort, PutPreregistration(stored(cohort)))

    assert notes.sealed is not None
    assert notes.sealed.problem == ""
    assert exchanged.store.get(key) == first


def test_another_statement_in_its_place_seals_nothing() -> None:
    world, cohort = World(Signatory(KEY)), make_cohort(seal=True)
    world.store.put(world.observer.keys_of(cohort).preregistration_signature(), b"{}")

    notes = world.apply(cohort, PutPreregistration(stored(cohort)))

    assert notes.sealed is not None
    assert notes.sealed.problem == "conflict"


def test_without_a_key_nothing_is_signed_and_that_is_said() -> None:
    world, cohort = World(), make_cohort(seal=True)

    notes = world.apply(cohort, PutPreregistration(stored(cohort)))

    assert notes.sealed is not None
    assert notes.sealed.signed == "unsigned: the operator has no signing key"
    assert list(world.store.objects) == [world.observer.keys_of(cohort).preregistration()]


def test_a_development_key_says_so() -> None:
    assert str(Signatory(dataclasses.replace(KEY, development=True))).startswith("signed with development key ")


def test_a_cohort_is_not_sealed_before_it_is_stamped_and_is_stamped_once(monkeypatch: pytest.MonkeyPatch) -> None:
    world, cohort = World(Signatory(KEY, "http://tsa")), make_cohort(seal=True)
    key, asked = world.observer.keys_of(cohort).preregistration_timestamp(), list[bytes]()

    def down(_: str, __: bytes) -> bytes:
        raise SigningFailed("the authority is down")

    monkeypatch.setattr(storing.timestamps, "ask", down)
    notes = world.apply(cohort, PutPreregistration(stored(cohort)))
    assert notes.sealed is not None
    assert notes.sealed.problem == "signing"

    def answer(_: str, data: bytes) -> bytes:
        asked.append(data)
        return b"reply %d" % len(asked)

    monkeypatch.setattr(storing.timestamps, "ask", answer)
    for _ in range(2):
        notes = world.apply(cohort, PutPreregistration(stored(cohort)))
        assert notes.sealed is not None
        assert notes.sealed.problem == ""

    assert asked == [stored(cohort)]
    assert world.store.get(key) == b"reply 1"


def test_the_roots_of_a_ledger_are_signed_and_not_asked_for_again() -> None:
    world, cohort = World(Signatory(KEY)), sealed()
    book = world.book(cohort, LedgerEntry("sealed", sha256=SHA256), TICKET)
    assert world.observe(cohort).to_sign == [2]

    world.apply(cohort, SignLedger([2]))

    assert world.observe(cohort).to_sign == []
    read = note.parse(world.store.get(world.observer.keys_of(cohort).checkpoint(2)))
    origin = note.origin(cohort.metadata.namespace, cohort.metadata.name, COHORT_UID)
    assert note.verify(read, [KEY.public], key_name=origin)
    assert note.checkpoint(read.text).root == book.ledger.tree.root()  # type: ignore[union-attr]
    book.ledger = None  # as after a crash
    assert world.observe(cohort).to_sign == []


def test_a_root_that_was_not_signed_before_a_crash_is_signed_after_it() -> None:
    world, cohort = World(Signatory(KEY)), sealed()
    world.book(cohort, LedgerEntry("sealed", sha256=SHA256), TICKET).ledger = None

    assert world.observe(cohort).to_sign == [2]


def test_a_checkpoint_of_another_tree_is_trouble_and_stays() -> None:
    world, cohort = World(Signatory(KEY)), sealed()
    world.book(cohort, LedgerEntry("sealed", sha256=SHA256), TICKET)
    key = world.observer.keys_of(cohort).checkpoint(2)
    world.store.put(key, b"fork")

    world.apply(cohort, SignLedger([2]))

    seen = world.observe(cohort)
    assert (seen.ledger, seen.ledger_trouble.reason, seen.to_sign) == (None, "LedgerBroken", [])
    assert world.store.get(key) == b"fork"


def test_a_checkpoint_without_a_stamp_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    world, cohort = World(Signatory(KEY, "http://tsa")), sealed()
    world.book(cohort, LedgerEntry("sealed", sha256=SHA256), TICKET)

    def down(_: str, __: bytes) -> bytes:
        raise SigningFailed("the authority is down")

    monkeypatch.setattr(storing.timestamps, "ask", down)
    world.apply(cohort, SignLedger([2]))

    assert (world.observe(cohort).ledger_trouble, world.observe(cohort).to_sign) == (None, [])


def test_what_the_store_was_found_to_do_is_an_entry() -> None:
    world, cohort = World(), sealed()
    world.book(cohort)
    assert world.observe(cohort).capabilities is None
    world.state.store_found = Capabilities(True, True, 8, 1, True, True, ObjectLock("COMPLIANCE", 30), 30, True)

    entry = world.observe(cohort).capabilities

    assert entry.found["objectLock"] == {"mode": "COMPLIANCE", "days": 30}
    assert (entry.found["winners"], len(entry.sha256)) == (1, 64)


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


def kept(world: World, cohort: BenchmarkCohort, entry: Entry, **agent: Any) -> LedgerEntry:
    """A run of the schedule that passed, its record in the store; `agent` changes its report."""
    run = make_finished_run(entry.run, **body(cohort, entry.index)["spec"])
    data = assemble(run, agent_report(**agent), evaluation_report(), ()).to_bytes()
    world.store.put(Layout().run("trials", entry.run, run.metadata.uid, "cohort-1").record(), data)
    digest = hashlib.sha256(data).hexdigest()
    return LedgerEntry("record", run=entry.run, uid=run.metadata.uid, index=entry.index, sha256=digest)


def test_blocks_are_compared_by_their_records_and_what_differs_is_told() -> None:
    world, cohort = World(), sealed()
    first, second, *others = schedule_of(cohort).entries[:4]
    good = [kept(world, cohort, entry) for entry in (first, *others)]

    odd = kept(world, cohort, second, initial_state_sha256="2" * 64)

    found = world.observer.blocks(cohort, [*good, odd])
    assert found.different == 1
    assert found.message.startswith(f"{first.block}: initialState differs ({first.run}: ")
    assert f"; {second.run}: 2222" in found.message
    assert world.observer.blocks(cohort, good) == Blocks()


def test_a_record_that_is_not_the_one_that_the_ledger_names_is_not_compared() -> None:
    world, cohort = World(), sealed()
    entry = kept(world, cohort, schedule_of(cohort).entries[0])

    with pytest.raises(InvalidInput, match="is not the record that the ledger names"):
        world.observer.blocks(cohort, [dataclasses.replace(entry, sha256="0" * 64)])


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


@pytest.mark.parametrize(("repetitions", "seconds"), [(1, 1.0), (100, 4.0), (1000, 10.0)])
def test_the_more_runs_a_cohort_has_the_less_often_are_its_counts_written(repetitions: int, seconds: float) -> None:
    world, status = World(), {"preregistrationSha256": SHA256, "startedAt": "2026-01-01T12:00:00Z"}
    cohort = make_cohort(seal=True, status=status, repetitions=repetitions)
    book = world.book(cohort, LedgerEntry("sealed", sha256=SHA256))
    assert world.observe(cohort).status_due, "the first at once"

    book.status_at = 0.0  # which is now
    seen = world.observe(cohort)
    assert (seen.status_due, seen.status_due_after) == (False, seconds)

    book.status_at = -seconds
    assert world.observe(cohort).status_due


def test_corrections_that_the_ledger_has_not_heard_of_are_found_by_their_numbers_whatever_they_are() -> None:
    world, cohort = World(), make_cohort(seal=True)
    keys = world.observer.keys_of(cohort)
    for number, data in ((1, b"known"), (2, b"not even JSON"), (3, b"{}"), (5, b"after a gap")):
        world.store.put(keys.correction(number), data)
    ledger = Ledger("cohort-1", COHORT_UID)
    ledger.corrections.append(LedgerEntry("correction", sha256=hashlib.sha256(b"known").hexdigest()))

    found = world.observer._later(cohort, ledger)

    assert [one.sha256 for one in found] == [hashlib.sha256(data).hexdigest() for data in (b"not even JSON", b"{}")]
    assert {one.run for one in found} == {""}


def test_a_study_owners_signature_is_looked_for_until_a_run_is_admitted() -> None:
    world, cohort = World(), sealed()
    key, entry = world.observer.keys_of(cohort).study_signature(), LedgerEntry("endorsement", sha256=SHA_OF_SIGNED)
    world.book(cohort, LedgerEntry("sealed", sha256=SHA256))
    assert world.observe(cohort).endorsed is None
    world.store.put(key, b"signed")

    assert world.observe(cohort).endorsed == entry

    world.apply(cohort, Append([TICKET]))
    assert [one.kind for one in world.observer._later(cohort, world.state.books[COHORT_UID].ledger)] == ["endorsement"]
    world.apply(cohort, Append([LedgerEntry("endorsement", sha256=SHA_OF_SIGNED)]))
    assert world.observer._later(cohort, world.state.books[COHORT_UID].ledger) == []


SHA_OF_SIGNED = hashlib.sha256(b"signed").hexdigest()


def test_a_release_is_found_until_the_ledger_knows_of_one() -> None:
    world, cohort = World(), make_cohort(seal=True)
    keys, ledger = world.observer.keys_of(cohort), Ledger("cohort-1", COHORT_UID)
    assert world.observer._later(cohort, ledger) == []
    world.store.put(keys.correction(1), b"{}")
    world.store.put(keys.release(), b"whatever it is")

    found = world.observer._later(cohort, ledger)

    assert [one.kind for one in found] == ["correction", "release"]
    assert found[1] == LedgerEntry("release", sha256=hashlib.sha256(b"whatever it is").hexdigest())
    ledger.release = found[1]
    assert [one.kind for one in world.observer._later(cohort, ledger)] == ["correction"]
