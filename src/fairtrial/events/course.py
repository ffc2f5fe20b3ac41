"""What an agent made of its failures, and how its tool calls went from the start of a run to its tail. Pure.

Protocol 4 §7 asks for recovery, context degradation and effect integrity, protocol 0 for failed attempts. The rules:

Recovered tool failures. A result that failed is recovered from if a later result with the same aim (see `derive`) did
not fail.

Recovered test failures. A test command that failed is recovered from if a later one of the same runner passed over the
same scope or over everything. The scope is its arguments without options; none is everything.

Failed attempts. A test command that failed after a call had modified files since the test command before it: a cycle
of diagnosis and change that its own check refused. Edits that are taken back later can't be told from others.

Start and tail. The first and the last third of the tool calls, rounded down; there are none of fewer than nine. For
both, how many failed, and how many repeated: a call repeats if one of the ten before it had the same aim and no call
has modified a file in between. What has no target repeats nothing.

Effect receipts. Of results of tool calls, where the harness gives a name to what a call has brought about: how many
were given, how many of them differ, how many came again.
"""

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any

from fairtrial.events.model import FAILED, NOT_APPLICABLE, Event
from fairtrial.events.repeated import aim

LEAST_CALLS = 9
PARTS = 3
LOOK_BACK = 10
_RECEIPTS_MOST = 20_000
_OPEN_MOST = 5000


@dataclass
class Course:
    """Tool calls in their order: which failed, which repeated one shortly before."""

    _failed: list[bool] = field(default_factory=list)
    _repeated: list[bool] = field(default_factory=list)
    _open: dict[tuple[str, str], int] = field(default_factory=dict)  # key of a call → its place
    _before: deque[tuple[tuple[str, str], int]] = field(default_factory=lambda: deque(maxlen=LOOK_BACK))

    def called(self, key: tuple[str, str], event: Event, changes: int) -> None:
        """Take a call; `changes` is how many calls have modified files so far."""
        this = (aim(event), changes)
        self._repeated.append(this[0][1] not in ("", NOT_APPLICABLE) and this in self._before)
        self._before.append(this)
        self._open[key] = len(self._failed)
        self._failed.append(False)
        if len(self._open) > _OPEN_MOST:
            self._open.pop(next(iter(self._open)))

    def returned(self, key: tuple[str, str], event: Event) -> None:
        """Take a result."""
        place = self._open.pop(key, None)
        if place is not None and event.status in FAILED:
            self._failed[place] = True

    def failures(self) -> dict[str, int] | None:
        """How many failed; None of too few calls."""
        return _parts(self._failed)

    def repetitions(self) -> dict[str, int] | None:
        """How many repeated."""
        return _parts(self._repeated)


def _parts(flags: list[bool]) -> dict[str, int] | None:
    size = len(flags) // PARTS
    if len(flags) < LEAST_CALLS:
        return None
    return {"calls": len(flags), "part": size, "start": sum(flags[:size]), "tail": sum(flags[-size:])}


@dataclass
class Tests:
    """Test commands in their order: what failed, what passed after it."""

    __test__ = False  # for pytest: no class of tests

    failed: int = 0
    recovered: int = 0
    attempts: int = 0
    unknown: int = 0
    _pending: Counter[tuple[str, tuple[str, ...]]] = field(default_factory=Counter)
    _changes: int = 0  # when the last test command ended

    def ended(self, runner: str, scope: str, outcome: str, changes: int) -> None:
        """Take the end of a test command."""
        words = tuple(word for word in scope.split() if not word.startswith("-"))
        if outcome == "failed":
            self.failed += 1
            self.attempts += changes > self._changes
            self._pending[runner, words] += 1
        elif outcome == "passed":
            for key in [one for one in self._pending if one[0] == runner and words in ((), one[1])]:
                self.recovered += self._pending.pop(key)
        else:
            self.unknown += 1
        self._changes = changes

    def counts(self) -> dict[str, int]:
        """The counts of commands whose outcome is known."""
        return {"failed": self.failed, "recovered": self.recovered, "attempts": self.attempts}


@dataclass
class Receipts:
    """Names of effects, as the harness gave them."""

    given: int = 0
    absent: int = 0
    _names: set[str] = field(default_factory=set)

    def returned(self, event: Event) -> None:
        """Take a result."""
        if event.effect_receipt is None:
            self.absent += 1
        elif event.effect_receipt != NOT_APPLICABLE:
            self.given += 1
            if len(self._names) < _RECEIPTS_MOST:
                self._names.add(event.effect_receipt)

    def counts(self) -> dict[str, Any] | None:
        """How many; None of more than are kept."""
        if len(self._names) >= _RECEIPTS_MOST:
            return None
        unique = len(self._names)
        return {"given": self.given, "absent": self.absent, "unique": unique, "duplicates": self.given - unique}
