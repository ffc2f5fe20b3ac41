"""Does what was decided about a cohort: one write to store or API server, whose answers go back into the caches."""

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from fairtrial import documents
from fairtrial.api import BenchmarkCohort, BenchmarkRun, Reason, parse
from fairtrial.cohort import preregistration
from fairtrial.cohort.ledger import LedgerEntry
from fairtrial.errors import Conflict, FairtrialError, InvalidInput, SigningFailed
from fairtrial.evidence.layout import uri
from fairtrial.evidence.objects import ObjectStore
from fairtrial.names import RUN_FINALIZER
from fairtrial_operator import metrics
from fairtrial_operator.cache import Key, key_of
from fairtrial_operator.cohorts.book import Book
from fairtrial_operator.cohorts.members import owner_of
from fairtrial_operator.cohorts.observe import PAGE_LIMIT, CohortNotes, CohortObserver
from fairtrial_operator.cohorts.seen import (
    Append,
    CancelRuns,
    CohortAction,
    CompareBlocks,
    CreateAnalysis,
    CreateRuns,
    DeleteAnalysis,
    DeleteRuns,
    Object,
    PutPreregistration,
    SignLedger,
    Trouble,
    WriteCohort,
)
from fairtrial_operator.draft import stamp
from fairtrial_operator.kube import COHORTS, JOBS, RUNS, AlreadyExists, Changed, Forbidden, Invalid, Kube, NotFound
from fairtrial_operator.seen import Stored
from fairtrial_operator.signatory import Signatory, checkpoint
from fairtrial_operator.state import State

log = logging.getLogger(__name__)


class CohortApplier:
    """Carries out one action after another for any cohort."""

    def __init__(
        self,
        kube: Kube,
        store: ObjectStore,
        bucket: str,
        state: State,
        observer: CohortObserver,
        clock: Callable[[], float],
        signatory: Signatory | None = None,
    ) -> None:
        self._kube, self._store, self._bucket = kube, store, bucket
        self._signatory = signatory or Signatory()
        self._state, self._observer, self._clock = state, observer, clock

    async def apply(self, cohort: BenchmarkCohort, raw: Object, action: CohortAction, notes: CohortNotes) -> None:
        """Do one thing. What the API server refuses of a run is noted; what the store refuses of the ledger, too."""
        match action:
            case PutPreregistration(data=data):
                notes.sealed = await asyncio.to_thread(self._seal, cohort, data)
            case Append(entries=entries):
                await self._append(cohort, self._book(cohort), entries)
            case SignLedger(sizes=sizes):
                await self._sign(cohort, self._book(cohort), sizes)
            case CreateRuns(bodies=bodies):
                book = self._book(cohort)
                await _all(self._create(cohort, book, body, notes) for body in bodies)
            case CancelRuns(names=names, reason=reason):
                await _all(self._cancel(Key(cohort.metadata.namespace, name), reason) for name in names)
            case DeleteRuns(names=names):
                await _all(self._delete(Key(cohort.metadata.namespace, name)) for name in names)
            case CompareBlocks():
                await self._compare(cohort, self._book(cohort))
            case CreateAnalysis(body=body):
                await self._analyse(body, notes)
            case DeleteAnalysis(name=name):
                await self._forget_analysis(name)
            case WriteCohort(status=status):
                await self._write(cohort, raw, status.as_json())

    def _book(self, cohort: BenchmarkCohort) -> Book:
        return self._state.books[cohort.metadata.uid]

    # --- the store ----------------------------------------------------------------------------------------------------
    def _seal(self, cohort: BenchmarkCohort, data: bytes) -> Stored:
        keys = self._observer.keys_of(cohort)
        key = keys.preregistration()
        try:
            try:
                self._store.put(key, data, media_type="application/json")
            except Conflict:
                data = self._adopt(cohort, key)
            self._signatory.seal(self._store, keys, data)
        except SigningFailed as error:
            return Stored(problem="signing", message=str(error))
        except (Conflict, InvalidInput) as error:
            return Stored(problem="conflict", message=str(error))
        except FairtrialError as error:
            metrics.STORE_ERRORS.labels(error.reason).inc()
            return Stored(problem="unavailable", message=str(error))
        return Stored(uri(self._bucket, key), hashlib.sha256(data).hexdigest(), signed=str(self._signatory))

    def _adopt(self, cohort: BenchmarkCohort, key: str) -> bytes:
        """What was stored before the operator died, where an object that the cohort names was made anew meanwhile."""
        data = self._store.get(key, limit=PAGE_LIMIT)
        problems = preregistration.verify(data)
        if problems:
            raise InvalidInput(f"{key} holds another preregistration: {problems[0]}")
        held = documents.load(dict[str, Any], data, name=key)["cohort"]
        ours = {"uid": cohort.metadata.uid, "specSha256": preregistration.spec_sha256(cohort)}
        if {name: held.get(name) for name in ours} != ours:
            raise InvalidInput(f"{key} holds the preregistration of another cohort; make a new one by another name.")
        return data

    async def _append(self, cohort: BenchmarkCohort, book: Book, entries: Sequence[LedgerEntry]) -> None:
        ledger = book.ledger
        assert ledger is not None
        data = ledger.page(entries, stamp(datetime.now(UTC))).to_bytes()
        key = self._observer.keys_of(cohort).ledger_page(ledger.size + 1)
        try:
            await asyncio.to_thread(self._store.put, key, data, media_type="application/json")
        except Conflict as error:  # of our own, before a crash or an answer that was lost: read it
            log.info("%s; reading the ledger again", error)
            book.ledger = None
            return
        except FairtrialError as error:
            metrics.STORE_ERRORS.labels(error.reason).inc()
            book.trouble = Trouble(Reason.STORE_UNAVAILABLE, str(error))
            return
        ledger.take(data)
        book.fresh.update(entry.run for entry in entries if entry.kind == "ticket")
        metrics.LEDGER_PAGES.inc()
        metrics.LEDGER_ENTRIES.inc(len(entries))
        for entry in entries:
            if entry.kind == "replacement":
                metrics.REPLACEMENTS.labels(entry.code).inc()
            if entry.kind in ("record", "lost"):
                book.evidence.pop(entry.run, None)
                book.records.pop(entry.run, None)

    async def _sign(self, cohort: BenchmarkCohort, book: Book, sizes: Sequence[int]) -> None:
        assert book.ledger is not None
        keys, about = self._observer.keys_of(cohort), cohort.metadata
        for size in sizes:
            what = checkpoint(about.namespace, about.name, about.uid, size, book.ledger.checkpoints[size])
            try:
                unstamped = await asyncio.to_thread(self._signatory.checkpoint, self._store, keys, what)
            except (Conflict, InvalidInput) as error:
                book.trouble = Trouble(Reason.LEDGER_BROKEN, str(error), again=False)
                return
            except SigningFailed as error:
                book.trouble = Trouble(Reason.SIGNING_FAILED, str(error))
                return
            except FairtrialError as error:
                metrics.STORE_ERRORS.labels(error.reason).inc()
                book.trouble = Trouble(Reason.STORE_UNAVAILABLE, str(error))
                return
            if unstamped:
                metrics.UNSTAMPED.inc()
                log.warning("%s has no time-stamp: %s", keys.checkpoint(size), unstamped)
            book.signed.add(size)
            metrics.CHECKPOINTS.inc()

    async def _compare(self, cohort: BenchmarkCohort, book: Book) -> None:
        assert book.ledger is not None
        wanted = [entry for entry in book.ledger.records.values() if entry.outcome in ("passed", "failed")]
        try:
            book.blocks = await asyncio.to_thread(self._observer.blocks, cohort, wanted)
        except InvalidInput as error:
            book.trouble = Trouble(Reason.RECORD_CONFLICT, str(error), again=False)
        except FairtrialError as error:
            metrics.STORE_ERRORS.labels(error.reason).inc()
            book.trouble = Trouble(Reason.STORE_UNAVAILABLE, str(error))

    # --- runs ---------------------------------------------------------------------------------------------------------
    async def _create(self, cohort: BenchmarkCohort, book: Book, body: Object, notes: CohortNotes) -> None:
        name = body["metadata"]["name"]
        try:
            # Held from its first moment: a write less than to add the finalizer afterwards.
            held = body | {"metadata": body["metadata"] | {"finalizers": [RUN_FINALIZER]}}
            made = await self._kube.create(RUNS, held)
            metrics.COHORT_RUNS_CREATED.inc()
        except AlreadyExists:
            found = await self._existing(cohort, book, body, notes)
            if found is None:
                return
            made = found
        except Forbidden as error:
            reason = Reason.QUOTA_EXCEEDED if "exceeded quota" in error.message else Reason.RUN_REFUSED
            notes.refused = book.refused = Trouble(reason, f"Run {name} can't be created: {error.message}")
            return
        except Invalid as error:
            message = f"Run {name} is refused as invalid: {error.message}"
            notes.refused = book.refused = Trouble(Reason.RUN_REFUSED, message)
            return
        self._state.take_run(made)
        book.fresh.discard(name)
        book.refused = notes.refused

    async def _existing(self, cohort: BenchmarkCohort, book: Book, body: Object, notes: CohortNotes) -> Object | None:
        """A run of this name exists: ours if this cohort's UID controls it and it is what the schedule says."""
        metadata = body["metadata"]
        try:
            live = await self._kube.get(RUNS, metadata["name"], metadata["namespace"])
        except NotFound:
            return None  # it is just gone; the next look decides anew
        owner = owner_of(live)
        if owner is not None and owner.uid == cohort.metadata.uid and _same(live, body):
            metrics.COHORT_RUNS_ADOPTED.inc()
            return live
        message = f"Run {metadata['name']} exists and is not of this cohort's schedule; it must go first."
        notes.refused = book.refused = Trouble(Reason.RUN_NAME_TAKEN, message)
        return None

    async def _cancel(self, key: Key, reason: str) -> None:
        live = self._state.runs.get(key)
        if live is None:
            return
        operation = {"op": "add", "path": "/spec/cancel", "value": {"reason": reason}}
        try:
            self._state.take_run(await self._kube.patch(RUNS, live, [operation]))
        except (NotFound, Changed):
            self._state.forget_run(key)

    async def _delete(self, key: Key) -> None:
        live = self._state.runs.get(key)
        if live is None:
            return
        await self._kube.delete(RUNS, live | {"kind": RUNS.kind})
        self._state.forget_run(key)

    # --- the analysis -------------------------------------------------------------------------------------------------
    async def _analyse(self, body: Object, notes: CohortNotes) -> None:
        try:
            await self._kube.create(JOBS, body)
            metrics.ANALYSES.inc()
        except AlreadyExists:  # made before a crash; its name says what it reads
            return
        except (Forbidden, Invalid) as error:
            message = f"Job {body['metadata']['name']} can't be created: {error.message}"
            notes.refused = Trouble(Reason.ANALYSIS_REFUSED, message)

    async def _forget_analysis(self, name: str) -> None:
        try:
            live = await self._kube.get(JOBS, name, self._observer.system)
        except NotFound:
            return
        await self._kube.delete(JOBS, live | {"kind": JOBS.kind})

    # --- the cohort ---------------------------------------------------------------------------------------------------
    async def _write(self, cohort: BenchmarkCohort, raw: Object, status: Object) -> None:
        metadata = {key: raw["metadata"][key] for key in ("name", "namespace", "resourceVersion")}
        body = {"apiVersion": COHORTS.api_version, "kind": COHORTS.kind, "metadata": metadata, "status": status}
        written = await self._kube.apply_status(COHORTS, body)
        self._state.cohorts.put(written)
        book = self._state.books.get(cohort.metadata.uid)
        if book is not None:
            book.status_at = self._clock()
        if status.get("preregistrationSha256") != (raw.get("status") or {}).get("preregistrationSha256"):
            self._state.referenced_changed("BenchmarkCohort", key_of(written))
        metrics.show_cohort(cohort.metadata.namespace, cohort.metadata.name, status.get("counts", {}))


def _same(live: Object, body: Object) -> bool:
    """Whether a run is the one that a ticket is for; suspend and cancel may be anybody's."""
    found, wanted = (parse(BenchmarkRun, one).spec for one in (live, body))
    return found.model_copy(update={"suspend": False, "cancel": None}) == wanted


async def _all(calls: Iterable[Awaitable[None]]) -> None:
    """Do all of them; then raise what the first failed with."""
    for result in await asyncio.gather(*calls, return_exceptions=True):
        if isinstance(result, BaseException):
            raise result
