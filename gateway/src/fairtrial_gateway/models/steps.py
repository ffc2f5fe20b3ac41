"""Which step of its task a run is in, as its recorder told: what calls of models and tools are counted for.

Each step has a note in the store, written once, with the time by the gateway's clock. Another replica, or this one
after a restart, reads the notes; the newest is the step that runs now, since a task's steps follow each other.
"""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from fairtrial import documents
from fairtrial.documents import RunIdentity, StepBegun, StepNotice
from fairtrial.errors import Conflict, FairtrialError, InvalidInput
from fairtrial.evidence.layout import Layout, RunLayout
from fairtrial.evidence.objects import StoredObject
from fairtrial_gateway.access import Refused
from fairtrial_gateway.logs import say

FOLDER = "agent/steps/"
STEPS_MAX = 16  # as a task may have
RUNS_KEPT = 10_000
AGAIN_SECONDS = 1.0  # until the store is asked again, where nothing may be refused by an old note
GUESS_SECONDS = 2.0  # that a call waits at most for a note that limits nothing
NOTE_LIMIT = 1 << 16


@dataclass(frozen=True)
class Step:
    """A step that has begun, and when, in seconds of the epoch."""

    number: int
    name: str
    begun: float
    wall_seconds: int
    earlier_ms: int  # that the steps before it took together

    @classmethod
    def of(cls, note: StepBegun) -> "Step":
        """The step of a note."""
        begun = datetime.fromisoformat(note.begun_at).timestamp()
        return cls(note.number, note.name, begun, note.wall_seconds, note.earlier_ms)


class Notes(Protocol):
    """What of a store is needed here."""

    def keys(self, prefix: str) -> list[str]:
        """The keys that begin with `prefix`."""

    def get(self, key: str, *, limit: int = ...) -> bytes:
        """An object's bytes."""

    def put(self, key: str, data: bytes, *, media_type: str = ...) -> StoredObject:
        """Create an object, or adopt an equal one."""


@dataclass
class _Known:
    step: Step | None
    read_for: int  # the generation of replicas
    read_at: float


class Steps:
    """The steps of the runs that call through this replica."""

    def __init__(
        self,
        store: Notes,
        layout: Layout,
        clock: Callable[[], float] = time.time,
        since: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store, self._layout, self._clock, self._since = store, layout, clock, since
        self._known: OrderedDict[str, _Known] = OrderedDict()  # by the run's UID
        self._turns: dict[str, asyncio.Lock] = {}
        self._generation = 0

    async def current(self, run: RunIdentity, cohort: str, *, sure: bool = False) -> Step | None:
        """The step that the run is in; None before the first. `sure`: not by a note that a newer one may follow."""
        known = self._known.get(run.uid)
        if known is None or known.read_for != self._generation or (sure and self._is_old(known)):
            async with self._turn(run):
                known = self._known.get(run.uid)
                if known is None or known.read_for != self._generation or (sure and self._is_old(known)):
                    generation = self._generation
                    notes = await asyncio.to_thread(self._read, self._keys(run, cohort))
                    known = self._keep(run, Step.of(notes[-1]) if notes else None, generation)
        return known.step

    async def guessed(self, run: RunIdentity, cohort: str) -> Step | None:
        """The same for a run whose steps limit nothing: a store that is away must not hold up its calls."""
        known = self._known.get(run.uid)
        if known is not None and known.read_for == self._generation:
            return known.step
        try:
            async with asyncio.timeout(GUESS_SECONDS):
                return await self.current(run, cohort)
        except (FairtrialError, TimeoutError):
            return self._keep(run, known.step if known else None, self._generation).step

    async def begin(self, run: RunIdentity, cohort: str, number: int, notice: StepNotice) -> tuple[StepBegun, bytes]:
        """Write down that a step begins, once: said again it is as it was. `Refused` where it can't be the next."""
        async with self._turn(run):
            generation = self._generation
            note, data = await asyncio.to_thread(self._begin, run, self._keys(run, cohort), number, notice)
            known = self._known.get(run.uid)
            if known is None or known.step is None or known.step.number <= number:
                self._keep(run, Step.of(note), generation)
            return note, data

    def read_again(self) -> None:
        """Other replicas may have been told of steps of our runs."""
        self._generation += 1

    def _begin(self, run: RunIdentity, keys: RunLayout, number: int, notice: StepNotice) -> tuple[StepBegun, bytes]:
        before = self._read(keys)
        if number <= len(before):
            note = before[number - 1]
            if note.name != notice.name:
                raise Refused(409, "StepBegun", f"Step {number} of this run is {note.name!r}, and has begun.")
            return note, documents.dump(note)
        if number != len(before) + 1:
            raise Refused(409, "StepOutOfOrder", f"The next step of this run is number {len(before) + 1}.")
        if any(note.name == notice.name for note in before):
            raise Refused(409, "StepBegun", f"Step {notice.name!r} of this run has begun under another number.")
        now = documents.written(datetime.fromtimestamp(self._clock(), UTC))
        note = StepBegun(run, number, notice.name, notice.wall_seconds, notice.earlier_ms, now)
        data = documents.dump(note)
        try:
            self._store.put(keys.artifact(name_of(number)), data, media_type="application/json")
        except Conflict:  # it was said twice, and another replica was first
            if len(self._read(keys)) < number:
                raise
            return self._begin(run, keys, number, notice)
        return note, data

    def _read(self, keys: RunLayout) -> list[StepBegun]:
        """The notes in order, up to the first that is missing or no note."""
        prefix = keys.artifact(f"{FOLDER}01.json").removesuffix("01.json")
        names = {key.removeprefix(prefix) for key in self._store.keys(prefix)}
        found: list[StepBegun] = []
        for number in range(1, STEPS_MAX + 1):
            name = name_of(number)
            if name.removeprefix(FOLDER) not in names:
                break
            try:
                note: StepBegun = documents.load(
                    StepBegun, self._store.get(keys.artifact(name), limit=NOTE_LIMIT), name=name
                )
                Step.of(note)
            except (InvalidInput, ValueError) as error:
                say("note of a step is unreadable", logging.ERROR, note=name, message=str(error))
                break
            found.append(note)
        return found

    def _keep(self, run: RunIdentity, step: Step | None, generation: int) -> _Known:
        known = _Known(step, generation, self._since())
        self._known[run.uid] = known
        self._known.move_to_end(run.uid)
        while len(self._known) > RUNS_KEPT:
            self._known.popitem(last=False)
        return known

    def _is_old(self, known: _Known) -> bool:
        return self._since() - known.read_at >= AGAIN_SECONDS

    def _keys(self, run: RunIdentity, cohort: str) -> RunLayout:
        return self._layout.run(run.namespace, run.name, run.uid, cohort)

    def _turn(self, run: RunIdentity) -> asyncio.Lock:
        if len(self._turns) > RUNS_KEPT:
            self._turns = {uid: lock for uid, lock in self._turns.items() if lock.locked()}
        return self._turns.setdefault(run.uid, asyncio.Lock())


def name_of(number: int) -> str:
    """The artifact that is a step's note; names sort by number."""
    return f"{FOLDER}{number:02d}.json"
