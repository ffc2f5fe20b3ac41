"""Gathers what a decision about a cohort looks at: the caches, its ledger, and what became of runs that are gone."""

import asyncio
import contextlib
import hashlib
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from fairtrial import documents, names
from fairtrial.api import BenchmarkCohort, BenchmarkTask, ModelProvider, Reason, ResourceClass, is_true
from fairtrial.api.conditions import COMPLETE
from fairtrial.cohort import ledger as ledgers
from fairtrial.cohort import preregistration
from fairtrial.cohort.comparability import comparability
from fairtrial.cohort.ledger import Ledger, LedgerEntry
from fairtrial.cohort.replacement import Evidence
from fairtrial.errors import FairtrialError, InvalidInput, NotStored
from fairtrial.evidence.correction import run_of
from fairtrial.evidence.layout import CohortLayout, Layout, sha256
from fairtrial.evidence.objects import ObjectStore
from fairtrial.evidence.probe import Capabilities
from fairtrial.evidence.record_model import Record, load_record
from fairtrial_operator.cache import Key
from fairtrial_operator.cohorts import decide_analysis
from fairtrial_operator.cohorts.book import Book
from fairtrial_operator.cohorts.members import owner_of
from fairtrial_operator.cohorts.seen import Blocks, CohortSeen, Trouble
from fairtrial_operator.kube import CLASSES, COHORTS, JOBS, PODS, PROVIDERS, RUNS, TASKS, Kube, NotFound, Object
from fairtrial_operator.metrics import STORE_ERRORS
from fairtrial_operator.observe import Observer, namespace_view
from fairtrial_operator.seen import Stored
from fairtrial_operator.settings import Settings
from fairtrial_operator.state import State

T = TypeVar("T")
R = TypeVar("R")
PAGE_LIMIT, RECORD_LIMIT = 64 * 1024 * 1024, 32 * 1024 * 1024
READERS, READ_AHEAD = 8, 64
SHOWN_FINDINGS = 5
JOB_NAME_LABEL = "batch.kubernetes.io/job-name"  # as the Job controller labels its pods
BATCH = 32  # runs that one reconciliation creates, cancels, deletes or asks about: then it is another key's turn
STATUS_SECONDS_LEAST, STATUS_SECONDS_MOST = 1.0, 10.0
RUNS_PER_STATUS_SECOND = 100


@dataclass
class CohortNotes:
    """What one reconciliation has learned so far."""

    sealed: Stored | None = None
    refused: Trouble | None = None


class CohortObserver:
    """Reads the cluster and the store for one cohort at a time."""

    def __init__(
        self,
        kube: Kube,
        store: ObjectStore,
        layout: Layout,
        state: State,
        settings: Settings,
        runs: Observer,
        clock: Callable[[], float],
    ) -> None:
        self._kube, self._store, self._layout = kube, store, layout
        self._state, self._settings, self._runs, self._clock = state, settings, runs, clock

    def keys_of(self, cohort: BenchmarkCohort) -> CohortLayout:
        """Where this cohort's own documents lie."""
        metadata = cohort.metadata
        return self._layout.cohort(metadata.namespace, metadata.name, metadata.uid)

    @property
    def system(self) -> str:
        """The operator's own namespace, where Jobs are."""
        return self._settings.namespace

    async def observe(self, cohort: BenchmarkCohort, notes: CohortNotes) -> CohortSeen:
        """Everything that `decide` needs to know about this cohort now."""
        uid, namespace = cohort.metadata.uid, namespace_view(self._state, self._settings, cohort.metadata.namespace)
        members = self._state.members.of(uid)
        if is_true(cohort.status.conditions, COMPLETE):
            return await self._over(cohort, notes, CohortSeen(namespace, members=members, batch=BATCH))
        if cohort.status.preregistration_sha256 is None:
            found = await self._found(cohort)
            return CohortSeen(namespace, found=found, sealed=notes.sealed, analysis=self._settings.analysis)
        book = self._state.books.get(uid) or Book.of(cohort)
        self._state.books[uid] = book
        if book.trouble is None:
            book.trouble = await self._trouble(self._read(cohort, book))
        if book.trouble is None and book.ledger is not None and not book.ledger.tickets:
            book.trouble = await self._trouble(self._look_for_endorsement(cohort, book, book.ledger))
        ledger = None if book.trouble is not None else book.ledger
        due = self._due_after(cohort, book)
        return CohortSeen(
            namespace,
            schedule=book.schedule,
            ledger=ledger,
            ledger_trouble=book.trouble,
            members=members,
            lost=self._state.members.lost(uid),
            evidence=book.evidence,
            records=book.records,
            blocks=book.blocks,
            absent=frozenset(book.fresh),
            endorsed=book.endorsed,
            refused=notes.refused,
            refused_last=book.refused,
            outranked=self._outranked(uid, book),
            status_due=due <= 0,
            status_due_after=due,
            batch=BATCH,
            capabilities=capabilities_entry(self._state.store_found),
            to_sign=self._to_sign(book),
        )

    def _to_sign(self, book: Book) -> list[int]:
        """Sizes of the ledger whose roots this operator has to sign."""
        if not self._state.signs or book.trouble is not None or book.ledger is None:
            return []
        return sorted(size for size in book.ledger.checkpoints if size not in book.signed)

    async def _over(self, cohort: BenchmarkCohort, notes: CohortNotes, seen: CohortSeen) -> CohortSeen:
        """What a complete cohort's analysis needs to know; nothing is read for one that needs none."""
        seen = replace(seen, analysis=self._settings.analysis, refused=notes.refused)
        if seen.analysis is None or not decide_analysis.due(cohort):
            return seen
        uid = cohort.metadata.uid
        book = self._state.books.get(uid) or Book.of(cohort)
        self._state.books[uid] = book
        if book.trouble is None and book.ledger is None:
            book.trouble = await self._trouble(asyncio.to_thread(self._read_ledger, cohort, book))
        job, pods = await self._job(cohort)
        ledger = None if book.trouble is not None else book.ledger
        seen = replace(seen, ledger=ledger, ledger_trouble=book.trouble, to_sign=self._to_sign(book))
        seen = replace(seen, schedule=book.schedule, job=job, job_pods=pods)
        if ledger is None or not decide_analysis.begins(cohort):
            return seen
        try:
            return replace(seen, later=await asyncio.to_thread(self._later, cohort, ledger))
        except FairtrialError as error:
            STORE_ERRORS.labels(error.reason).inc()
            return replace(seen, ledger=None, ledger_trouble=Trouble(Reason.STORE_UNAVAILABLE, str(error)))

    def _later(self, cohort: BenchmarkCohort, ledger: Ledger) -> list[LedgerEntry]:
        """What people made since the ledger last heard of them, whatever it is: analysis and verifier judge it."""
        return [
            *self._endorsement(cohort, ledger),
            *self._corrections(cohort, ledger),
            *self._release(cohort, ledger),
        ]

    async def _look_for_endorsement(self, cohort: BenchmarkCohort, book: Book, ledger: Ledger) -> None:
        found = await asyncio.to_thread(lambda: list(self._endorsement(cohort, ledger)))
        book.endorsed = found[0] if found else None

    def _endorsement(self, cohort: BenchmarkCohort, ledger: Ledger) -> Iterator[LedgerEntry]:
        if ledger.endorsement is not None:
            return
        with contextlib.suppress(NotStored):
            data = self._store.get(self.keys_of(cohort).study_signature(), limit=PAGE_LIMIT)
            yield LedgerEntry("endorsement", sha256=sha256(data))

    def _release(self, cohort: BenchmarkCohort, ledger: Ledger) -> Iterator[LedgerEntry]:
        if ledger.release is not None:
            return
        with contextlib.suppress(NotStored):
            data = self._store.get(self.keys_of(cohort).release(), limit=PAGE_LIMIT)
            yield LedgerEntry("release", sha256=sha256(data))

    def _corrections(self, cohort: BenchmarkCohort, ledger: Ledger) -> list[LedgerEntry]:
        keys, found = self.keys_of(cohort), list[LedgerEntry]()
        while True:
            try:
                data = self._store.get(keys.correction(len(ledger.corrections) + len(found) + 1), limit=PAGE_LIMIT)
            except NotStored:
                return found
            found.append(LedgerEntry("correction", run=run_of(data), sha256=sha256(data)))

    async def _job(self, cohort: BenchmarkCohort) -> tuple[Object | None, list[Object]]:
        """The Job that the status names and its pods, read live: a few of them, and no watch keeps Jobs."""
        asked, where = cohort.status.analysis, self._settings.namespace
        if asked is None or asked.job is None:
            return None, []
        try:
            job = await self._kube.get(JOBS, asked.job, where)
        except NotFound:
            return None, []
        page = await self._kube.list_page(PODS, namespace=where, selector=f"{JOB_NAME_LABEL}={asked.job}")
        return job, page["items"]

    def _due_after(self, cohort: BenchmarkCohort, book: Book) -> float:
        """Seconds until counts alone may be written again: the more runs, the less one of them matters."""
        wanted = len(book.schedule.entries) / RUNS_PER_STATUS_SECOND
        pause = min(max(wanted, STATUS_SECONDS_LEAST), STATUS_SECONDS_MOST)
        return 0.0 if cohort.status.started_at is None else book.status_at + pause - self._clock()

    def _outranked(self, uid: str, own: Book) -> bool:
        others = (book for other, book in self._state.books.items() if other != uid)
        return any(book.demand and book.priority > own.priority for book in others)

    async def _found(self, cohort: BenchmarkCohort) -> preregistration.Found:
        namespace, find, state = cohort.metadata.namespace, self._runs.find, self._state
        amends = cohort.spec.amends
        class_key = Key("", cohort.spec.execution.resource_class_name)
        return preregistration.Found(
            tasks={
                name: await find(BenchmarkTask, TASKS, state.tasks, Key(namespace, name))
                for name in preregistration.task_names(cohort)
            },
            resource_class=await find(ResourceClass, CLASSES, state.classes, class_key),
            providers={
                name: await find(ModelProvider, PROVIDERS, state.providers, Key(namespace, name))
                for name in preregistration.provider_names(cohort)
            },
            amended=await find(BenchmarkCohort, COHORTS, state.cohorts, Key(namespace, amends.name))
            if amends
            else None,
        )

    # --- the ledger, and runs that are gone ---------------------------------------------------------------------------
    async def _read(self, cohort: BenchmarkCohort, book: Book) -> None:
        """Bring the book up to date."""
        if book.ledger is None:
            await self._list_runs(cohort)
            if book.sealed is None:
                book.sealed = await asyncio.to_thread(self._read_sealed, cohort)
            await asyncio.to_thread(self._read_ledger, cohort, book)
        assert book.ledger is not None
        await self._look_for_missing(cohort, book, book.ledger)
        await self._read_invalid(cohort, book, book.ledger)

    @staticmethod
    async def _trouble(reading: Awaitable[None]) -> Trouble | None:
        """What stood in the way of reading a cohort's documents; None if nothing did."""
        try:
            await reading
        except InvalidInput as error:
            return Trouble(Reason.LEDGER_BROKEN, str(error), again=False)
        except FairtrialError as error:
            STORE_ERRORS.labels(error.reason).inc()
            return Trouble(Reason.STORE_UNAVAILABLE, str(error))
        return None

    async def _list_runs(self, cohort: BenchmarkCohort) -> None:
        """All runs at once, before the first look: what no watch has shown yet need not be asked for one by one."""
        token = ""
        while True:
            page = await self._kube.list_page(
                RUNS,
                selector=f"{names.COHORT_LABEL}={cohort.metadata.name}",
                fields=f"metadata.namespace={cohort.metadata.namespace}",
                token=token,
            )
            for raw in page["items"]:
                self._state.take_run(raw | {"apiVersion": RUNS.api_version, "kind": RUNS.kind})
            token = page["metadata"].get("continue") or ""
            if not token:
                return

    def _read_sealed(self, cohort: BenchmarkCohort) -> preregistration.Resolved:
        key = self.keys_of(cohort).preregistration()
        data = self._store.get(key, limit=PAGE_LIMIT)
        if sha256(data) != cohort.status.preregistration_sha256:
            raise InvalidInput(f"{key} is not what was sealed; somebody wrote into the bucket.")
        return preregistration.resolved_in(documents.load(dict[str, Any], data, name=key))

    def _read_ledger(self, cohort: BenchmarkCohort, book: Book) -> None:
        keys = self.keys_of(cohort)
        pages = several(lambda key: self._store.get(key, limit=PAGE_LIMIT), self._store.keys(keys.ledger()))
        ledger = ledgers.read(cohort.metadata.name, cohort.metadata.uid, pages)
        if self._state.signs:  # a root that the listing leaves out is signed again, to the same effect
            found = set(self._store.keys(keys.checkpoints()))
            book.signed = {size for size in ledger.checkpoints if keys.checkpoint(size) in found}
        book.ledger = ledger

    async def _look_for_missing(self, cohort: BenchmarkCohort, book: Book, ledger: Ledger) -> None:
        """Tickets without a run in the caches: created and not seen, recorded and gone, or not created yet."""
        members, namespace = self._state.members.of(cohort.metadata.uid), cohort.metadata.namespace
        book.fresh -= {name for name in book.fresh if name in members}
        missing = [
            name for name in ledger.open if name not in members and name not in book.fresh and name not in book.records
        ]
        for name in missing[:BATCH]:
            try:
                live = await self._kube.get(RUNS, name, namespace)
            except NotFound:
                live = {"metadata": {}}
            owner = owner_of(live)
            if owner is not None and owner.uid == cohort.metadata.uid:
                self._state.take_run(live)
                continue
            record = await asyncio.to_thread(self._find_record, cohort, name)
            if record is None:
                book.fresh.add(name)
                continue
            book.records[name] = record_entry(record, ledger.tickets[name].index)
            book.evidence[name] = Evidence.of_record(record[0])

    def _find_record(self, cohort: BenchmarkCohort, name: str) -> tuple[Record, str] | None:
        """The record of a run whose object is gone. An earlier cohort of this name has another preregistration."""
        metadata = cohort.metadata
        folder = self._layout.run(metadata.namespace, name, "x", metadata.name).base.removesuffix("x")
        for key in self._store.keys(folder):
            if not key.endswith("/record.json"):
                continue
            data = self._store.get(key, limit=RECORD_LIMIT)
            record = load_record(data, name=key)
            if record.lineage.preregistration_sha256 == cohort.status.preregistration_sha256:
                return record, hashlib.sha256(data).hexdigest()
        return None

    def blocks(self, cohort: BenchmarkCohort, entries: Sequence[LedgerEntry]) -> Blocks:
        """Compare the runs of each block by their records, read one after the other. Blocks; for a thread."""
        found = comparability(cohort.spec, several(lambda entry: self._record(cohort, entry), entries))
        different = sorted({one.where for one in found})
        return Blocks(len(different), " ".join(f"{one}." for one in found[:SHOWN_FINDINGS]))

    def _record(self, cohort: BenchmarkCohort, entry: LedgerEntry) -> Record:
        metadata = cohort.metadata
        key = self._layout.run(metadata.namespace, entry.run, entry.uid, metadata.name).record()
        data = self._store.get(key, limit=RECORD_LIMIT)
        if hashlib.sha256(data).hexdigest() != entry.sha256:
            raise InvalidInput(f"{key} is not the record that the ledger names; somebody wrote into the bucket.")
        return load_record(data, name=key)

    async def _read_invalid(self, cohort: BenchmarkCohort, book: Book, ledger: Ledger) -> None:
        """What the records of runs that may be replaced tell: a status does not say whether a model answered."""
        members, metadata = self._state.members.of(cohort.metadata.uid), cohort.metadata
        for name in ledger.open:
            member = members.get(name)
            if member is None or member.state.outcome != "invalid" or name in book.evidence:
                continue
            key = self._layout.run(metadata.namespace, name, member.state.uid, metadata.name).record()
            data = await asyncio.to_thread(self._store.get, key, limit=RECORD_LIMIT)
            book.evidence[name] = Evidence.of_record(load_record(data, name=key))


def several(read: Callable[[T], R], wanted: Sequence[T]) -> Iterator[R]:
    """Read some at a time, in order, and hold no more than those."""
    with ThreadPoolExecutor(READERS) as readers:
        for start in range(0, len(wanted), READ_AHEAD):
            yield from readers.map(read, wanted[start : start + READ_AHEAD])


def capabilities_entry(found: Capabilities | None) -> LedgerEntry | None:
    """What the store was found to do, as the ledger's first page tells it; its digest is that of the probe's object."""
    if found is None:
        return None
    return LedgerEntry("capabilities", sha256=sha256(documents.dump(found)), found=documents.to_json(found))


def record_entry(found: tuple[Record, str], index: int) -> LedgerEntry:
    """The ledger's entry of a record that was read."""
    record, sha256 = found
    end, identity = record.classification, record.identity
    return LedgerEntry(
        "record",
        run=identity.run,
        uid=identity.uid,
        index=index,
        sha256=sha256,
        outcome=end.outcome,
        invalidity=end.invalidity or "",
        reason=end.reason,
    )
