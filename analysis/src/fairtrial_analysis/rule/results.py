"""What a rule is applied to: the design, and what became of every run in it. And what is wrong with it, if anything.

Nothing here was chosen by looking at outcomes: a valid run counts, one that can't be judged does not, one that was
never run is listed as such. Problems are integrity errors: they are told, and stop a confirmatory verdict.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from fairtrial_analysis.stats.value import Value

Outcome = Literal["passed", "failed", "invalid", "void", "cancelled", "not_run"]
Slot = tuple[str, str, int]  # task, arm, repetition
GateState = Literal["pass", "fail", "unknown"]


@dataclass(frozen=True)
class Design:
    """The schedule, as far as statistics need it."""

    tasks: tuple[str, ...]
    arms: tuple[str, ...]
    repetitions: int

    @property
    def slots(self) -> Iterator[Slot]:
        """Every scheduled identity."""
        return ((t, arm, number) for t in self.tasks for arm in self.arms for number in range(1, self.repetitions + 1))

    @property
    def scheduled(self) -> int:
        """How many runs that is."""
        return len(self.tasks) * len(self.arms) * self.repetitions


@dataclass(frozen=True)
class Trial:
    """One run, or one that was scheduled and never begun."""

    run: str
    task: str
    arm: str
    repetition: int
    outcome: Outcome
    values: Mapping[str, Value] = field(default_factory=dict)
    cause: str = ""
    category: str | None = None
    tags: tuple[str, ...] = ()
    invalidity: str | None = None
    replaces: str | None = None
    first_in_block: bool | None = None
    record: str = ""  # where it lies, for links

    @property
    def slot(self) -> Slot:
        """The scheduled identity; a replacement has that of the run it replaces."""
        return (self.task, self.arm, self.repetition)

    @property
    def valid(self) -> bool:
        """Whether it counts: a failure does, whatever made it fail inside the run."""
        return self.outcome in ("passed", "failed")

    @property
    def passed(self) -> bool:
        """Whether it succeeded."""
        return self.outcome == "passed"


@dataclass(frozen=True)
class GateEvidence:
    """Whether a gate has been shown, and by what."""

    state: GateState
    evidence: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class Results:
    """All of it."""

    design: Design
    trials: tuple[Trial, ...]
    stage: Literal["smoke", "pilot", "confirmatory"] = "confirmatory"
    gates: Mapping[str, GateEvidence] = field(default_factory=dict)
    runtime: Mapping[str, Value] = field(default_factory=dict)  # the treatment's, from the runtime experiment
    integrity_errors: tuple[str, ...] = ()  # of records, found when they were read


def problems(results: Results) -> tuple[str, ...]:
    """Integrity errors: those of the records, and those of the set of runs itself, sorted."""
    return tuple(sorted({*results.integrity_errors, *_problems(results)}))


def _problems(results: Results) -> Iterator[str]:
    scheduled = set(results.design.slots)
    by_slot: dict[Slot, list[Trial]] = defaultdict(list)
    for trial in results.trials:
        by_slot[trial.slot].append(trial)
    for run, count in Counter(trial.run for trial in results.trials).items():
        if count > 1:
            yield f"run {run}: {count} records of one run"
    for slot, trials in by_slot.items():
        if slot not in scheduled:
            yield f"run {trials[0].run}: not in the schedule"
        if sum(trial.valid for trial in trials) > 1:
            yield f"{_name(slot)}: several valid runs of one scheduled run"
        yield from _lineage(slot, trials)
    for slot in scheduled - set(by_slot):
        yield f"{_name(slot)}: scheduled, and nothing says what became of it"


def _lineage(slot: Slot, trials: list[Trial]) -> Iterator[str]:
    """A slot holds one scheduled run and a chain of replacements, each of a run of the slot that can't be judged."""
    if len(trials) == 1 and trials[0].replaces is None:
        return
    runs = {trial.run: trial for trial in trials}
    replaced = Counter(trial.replaces for trial in trials if trial.replaces is not None)
    if len(trials) - replaced.total() != 1:
        yield f"{_name(slot)}: {len(trials) - replaced.total()} runs that replace none, instead of one"
    for run, count in replaced.items():
        if run not in runs:
            yield f"{_name(slot)}: a replacement of {run}, which is no run of it"
        elif runs[run].valid:
            yield f"{_name(slot)}: a replacement of {run}, which is valid"
        if count > 1:
            yield f"{_name(slot)}: {count} replacements of {run}"


def _name(slot: Slot) -> str:
    task, arm, repetition = slot
    return f"{task}/{arm}/{repetition}"
