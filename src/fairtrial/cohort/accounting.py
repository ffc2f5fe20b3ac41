"""Everything scheduled is accounted for: scheduled + replacements = valid + invalid + void + cancelled + not run. Pure.

The schedule says what there must be, never a listing of what there is: a run that is missing is seen. What does not fit
the schedule is an integrity error with the name of the run; it is never dropped and never counted twice.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from fairtrial.api.cohort import CohortCounts
from fairtrial.api.run import BenchmarkRun, Outcome, Replaced
from fairtrial.cohort.schedule import Entry, Schedule
from fairtrial.evidence.record_model import Record

Place = Literal["pending", "waiting", "running", "passed", "failed", "invalid", "void", "cancelled", "not_run"]


@dataclass(frozen=True)
class RunState:
    """One run as far as accounting goes."""

    name: str
    uid: str
    candidate: str
    repetition: int
    block: str
    outcome: Outcome | None = None  # None while there is no record
    started: bool = False  # whether its agent pod has a node
    replaces: Replaced | None = None
    index: int | None = None
    preregistration_sha256: str | None = None

    @classmethod
    def of_run(cls, run: BenchmarkRun) -> "RunState":
        """From the object; its outcome counts once its record is stored."""
        spec, status, ref = run.spec, run.status, run.spec.cohort_ref
        return cls(
            name=run.metadata.name,
            uid=run.metadata.uid,
            candidate=spec.candidate.name,
            repetition=spec.repetition,
            block=spec.block or "",
            outcome=status.outcome if run.recorded else None,
            started=status.agent_pod is not None and status.agent_pod.node is not None,
            replaces=spec.replaces,
            index=ref.index if ref else None,
            preregistration_sha256=ref.preregistration_sha256 if ref else None,
        )

    @classmethod
    def of_record(cls, record: Record) -> "RunState":
        """From a record: what is left when the object is gone."""
        identity, lineage = record.identity, record.lineage
        return cls(
            name=identity.run,
            uid=identity.uid,
            candidate=identity.candidate,
            repetition=identity.repetition,
            block=identity.block or "",
            outcome=record.classification.outcome,
            started=True,
            replaces=lineage.replaces,
            index=lineage.schedule_index,
            preregistration_sha256=lineage.preregistration_sha256,
        )

    @property
    def place(self) -> Place:
        """Where the run is."""
        return self.outcome or ("running" if self.started else "waiting")


@dataclass(frozen=True)
class Line:
    """One entry of the schedule with its run and the replacements of that, in order."""

    entry: Entry
    chain: tuple[RunState, ...]

    @property
    def last(self) -> RunState | None:
        """The run that stands for the entry."""
        return self.chain[-1] if self.chain else None

    @property
    def awaits_decision(self) -> bool:
        """Whether its last run is invalid: it may be replaced, if the policy says so."""
        return self.last is not None and self.last.outcome == "invalid"


@dataclass(frozen=True)
class Accounting:
    """Where every run is, the chain of each entry, and what does not fit."""

    counts: CohortCounts
    lines: Sequence[Line]
    errors: Sequence[str]
    replaced_in_cell: Mapping[tuple[str, str], int] = field(default_factory=dict)

    @property
    def next_index(self) -> int | None:
        """Index of the first entry without a run; None if all have one."""
        return next((line.entry.index for line in self.lines if not line.chain), None)


def account(
    schedule: Schedule, states: Iterable[RunState], *, closed: bool = False, preregistration_sha256: str = ""
) -> Accounting:
    """The account of a cohort's runs, in any order. `closed`: no further run is created, so what lacks never ran."""
    errors: list[str] = []
    known = _once(states, errors)
    if preregistration_sha256:
        errors += [
            f"{run.name}: follows preregistration {run.preregistration_sha256}, not {preregistration_sha256}."
            for run in known.values()
            if run.preregistration_sha256 != preregistration_sha256
        ]
    chains = _chains(schedule, known, errors)
    lines = [Line(entry, chains.get(entry.run, ())) for entry in schedule.entries]
    placed = [run for line in lines for run in line.chain]
    accounted = {run.name for run in placed}
    errors += [f"{name}: no entry of the schedule leads to it." for name in sorted(known.keys() - accounted)]
    replacements = Counter(line.entry.cell for line in lines for _ in line.chain[1:])
    places = Counter[str](run.place for run in placed)
    places["not_run" if closed else "pending"] += sum(not line.chain for line in lines)
    counts = CohortCounts(scheduled=len(schedule.entries), replacements=replacements.total(), **places)
    return Accounting(counts, lines, errors, replacements)


def _once(states: Iterable[RunState], errors: list[str]) -> dict[str, RunState]:
    """The states by name. The same run may be told twice, by its object and its record; the record's outcome stands."""
    known: dict[str, RunState] = {}
    for state in states:
        old = known.get(state.name)
        if old is not None and old.uid != state.uid:
            errors.append(f"{state.name}: there are two runs of this name, {old.uid} and {state.uid}.")
        elif old is not None and None not in (old.outcome, state.outcome) and old.outcome != state.outcome:
            errors.append(f"{state.name}: is told as {old.outcome} and as {state.outcome}.")
        elif old is None or old.outcome is None:
            known[state.name] = state
    return known


def _chains(schedule: Schedule, known: Mapping[str, RunState], errors: list[str]) -> dict[str, tuple[RunState, ...]]:
    successors: dict[tuple[str, str], RunState] = {}
    for state in sorted(known.values(), key=lambda one: one.name):
        if state.replaces is None:
            continue
        replaced = (state.replaces.name, state.replaces.uid)
        if replaced in successors:
            errors.append(f"{state.name}: replaces {state.replaces.name}, as {successors[replaced].name} does.")
        else:
            successors[replaced] = state
    return {entry.run: _chain(entry, known.get(entry.run), successors, errors) for entry in schedule.entries}


def _chain(
    entry: Entry, first: RunState | None, successors: Mapping[tuple[str, str], RunState], errors: list[str]
) -> tuple[RunState, ...]:
    """A scheduled run and what replaced it; an error for each that is not what the schedule says."""
    chain: list[RunState] = []
    run = first
    while run is not None and run not in chain:
        identity = (run.candidate, run.repetition, run.block, run.index or entry.index)
        if identity != (entry.candidate, entry.repetition, entry.block, entry.index):
            errors.append(f"{run.name}: is not the run that the schedule has at {entry.index}.")
        if chain and chain[-1].outcome != "invalid":
            errors.append(f"{run.name}: replaces {chain[-1].name}, which is {chain[-1].place} and not invalid.")
        if not chain and run.replaces is not None:
            errors.append(f"{run.name}: is scheduled and claims to replace {run.replaces.name}.")
        chain.append(run)
        run = successors.get((run.name, run.uid))
    return tuple(chain)
