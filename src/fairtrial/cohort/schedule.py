"""The order of a cohort's runs, from a committed seed. Pure: the same bytes on every platform and every Python.

`sha256-blocks-v1`: a block is one task and one repetition, and holds one run of each candidate. Repetition by
repetition, all tasks are visited in an order of their own, and in each block the candidates in an order of its own, so
that neither a time trend nor a provider's drift favours a candidate or a task.

Every order is a Fisher-Yates shuffle of the names in code point order. Its numbers come from a stream of its own:
SHA-256 over the text `fairtrial/sha256-blocks-v1`, the seed, the stream's label and a counter from 0, one to a line;
each digest is four 64-bit big-endian numbers. A number of `n` values is such a 64-bit number modulo `n`; those at or
above the largest multiple of `n` are passed over. Labels are `tasks/<repetition>` and `arms/<repetition>/<task>`.
Neither the language's random generator nor its hash takes part: both have changed between versions.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fairtrial import documents, names
from fairtrial.api import BenchmarkCohort
from fairtrial.api.cohort import RUNS_MAX
from fairtrial.errors import InvalidInput

ALGORITHM = "sha256-blocks-v1"

_WORD = 2**64
_TAG = 8  # hex digits that tell shortened names apart
_PREFIX_MAX = 40  # of a run's name: "-00001" and "-r100" follow, and a run may have 52


@dataclass(frozen=True)
class Entry:
    """One scheduled run: its identity and its place, from 1."""

    index: int
    run: str
    block: str
    task: str
    candidate: str
    repetition: int

    @property
    def cell(self) -> tuple[str, str]:
        """The task and the candidate: what replacements are counted by."""
        return self.task, self.candidate


@dataclass(frozen=True)
class Schedule:
    """Every run of a cohort in its order, with what the order was made from."""

    cohort: str
    seed: int
    tasks: list[str]
    candidates: list[str]
    repetitions: int
    entries: list[Entry]
    algorithm: str = ALGORITHM
    schema_version: int = 1

    def to_bytes(self) -> bytes:
        """The canonical bytes: what `fairtrial plan --json` prints and the preregistration's digest is over."""
        return documents.dump(self)

    @property
    def sha256(self) -> str:
        """SHA-256 of the canonical bytes."""
        return hashlib.sha256(self.to_bytes()).hexdigest()

    @property
    def by_run(self) -> dict[str, Entry]:
        """The entries by the names of their runs."""
        return {entry.run: entry for entry in self.entries}

    @property
    def blocks(self) -> list[list[Entry]]:
        """The entries block by block, in their order."""
        width = len(self.candidates)
        return [self.entries[start : start + width] for start in range(0, len(self.entries), width)]


def schedule_of(cohort: BenchmarkCohort) -> Schedule:
    """The schedule of a cohort: its name, its seed and the names in its spec decide, and nothing else does."""
    spec = cohort.spec
    return make_schedule(
        cohort.metadata.name,
        spec.schedule.seed,
        [task.name for task in spec.tasks],
        [candidate.name for candidate in spec.candidates],
        spec.repetitions,
        algorithm=spec.schedule.algorithm,
    )


def make_schedule(
    cohort: str,
    seed: int,
    tasks: Sequence[str],
    candidates: Sequence[str],
    repetitions: int,
    *,
    algorithm: str = ALGORITHM,
) -> Schedule:
    """The schedule of these names. Their own order does not matter."""
    if algorithm != ALGORITHM:
        raise InvalidInput(f"schedule.algorithm: {algorithm!r} is not known here; {ALGORITHM} is.")
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise InvalidInput(f"schedule.seed: {seed!r} is no integer.")
    check_size(tasks, candidates, repetitions)
    for field, given in (("tasks", tasks), ("candidates", candidates)):
        if len(set(given)) != len(given):
            raise InvalidInput(f"{field}: two share a name; give each its own.")
    ordered_tasks, ordered_candidates = sorted(tasks), sorted(candidates)
    entries: list[Entry] = []
    for repetition in range(1, repetitions + 1):
        for task in shuffled(ordered_tasks, seed, f"tasks/{repetition}"):
            block = block_name(task, repetition)
            for candidate in shuffled(ordered_candidates, seed, f"arms/{repetition}/{task}"):
                index = len(entries) + 1
                entries.append(Entry(index, run_name(cohort, index), block, task, candidate, repetition))
    return Schedule(cohort, seed, ordered_tasks, ordered_candidates, repetitions, entries, algorithm)


def check_size(tasks: Sequence[str], candidates: Sequence[str], repetitions: int) -> None:
    """InvalidInput for more runs than a cohort may have: a stored document could ask for more than any memory holds."""
    if len(tasks) * len(candidates) * repetitions > RUNS_MAX:
        raise InvalidInput(
            f"schedule: tasks, candidates and repetitions make more than {RUNS_MAX} runs.",
            next_move="No cohort may have so many: fetch the document again.",
        )


def run_name(cohort: str, index: int) -> str:
    """The name of a scheduled run: the cohort's name, shortened where it is long, and the place in the schedule."""
    return f"{shortened(cohort, _PREFIX_MAX)}-{index:05d}"


def replacement_name(run: str, number: int) -> str:
    """The name of the `number`-th replacement, from 1, of the scheduled run `run`."""
    return f"{run}-r{number}"


def block_name(task: str, repetition: int) -> str:
    """The name of the block of a task and a repetition."""
    return f"{shortened(task, names.NAME_MAX - 6)}-{repetition:04d}"


def shortened(name: str, limit: int) -> str:
    """`name`, or as much of it as fits `limit` together with a digest of the whole."""
    if len(name) <= limit:
        return name
    tag = hashlib.sha256(name.encode()).hexdigest()[:_TAG]
    return f"{name[: limit - _TAG - 1].rstrip('-.')}-{tag}"


def shuffled(items: Sequence[str], seed: int, label: str) -> list[str]:
    """A permutation of `items`, in which every order is equally likely over the seeds."""
    made, numbers = list(items), _numbers(seed, label)
    for last in range(len(made) - 1, 0, -1):
        other = _below(last + 1, numbers)
        made[last], made[other] = made[other], made[last]
    return made


def _below(limit: int, numbers: Iterator[int]) -> int:
    fair = _WORD - _WORD % limit  # what lies above would make small results likelier
    return next(number for number in numbers if number < fair) % limit


def _numbers(seed: int, label: str) -> Iterator[int]:
    counter = 0
    while True:
        digest = hashlib.sha256(f"fairtrial/{ALGORITHM}\n{seed}\n{label}\n{counter}\n".encode()).digest()
        for start in range(0, len(digest), 8):
            yield int.from_bytes(digest[start : start + 8], "big")
        counter += 1
