"""What a test runner reported, whatever the format: one state per test, and what makes a report unreadable."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from fairtrial.errors import FairtrialError

State = Literal["passed", "failed", "skipped"]  # skipped: also todo and expected failures; never a pass
MAX_BYTES = 16 * 1024 * 1024
MAX_TESTS = 20_000
MAX_DEPTH = 64
_WORST: list[State] = ["passed", "skipped", "failed"]


class UnreadableResults(FairtrialError):
    """A results file that is not what its format says. Whose fault that is shows on the untouched fixture."""

    reason = "UnreadableResults"


@dataclass(frozen=True)
class TestReport:
    """Each test's state. A test that was reported twice has the worse state, and is named in `duplicates`."""

    __test__ = False  # not a test class, whatever its name

    states: dict[str, State]
    duplicates: frozenset[str] = frozenset()
    suites: frozenset[str] = field(default_factory=frozenset)  # names that only sum up others

    def of(self, state: State) -> frozenset[str]:
        """The tests, suites apart, that are in this state."""
        return frozenset(name for name, found in self.states.items() if found == state and name not in self.suites)

    def without(self, names: Iterable[str]) -> "TestReport":
        """The report without some tests, named as the last part of their id."""
        dropped = frozenset(names)
        kept = {name: state for name, state in self.states.items() if last_part(name) not in dropped}
        return TestReport(kept, self.duplicates & kept.keys(), self.suites & kept.keys())


def collect(found: Iterable[tuple[str, State]], suites: Iterable[str] = ()) -> TestReport:
    """Bring single reports together."""
    states: dict[str, State] = {}
    duplicates = set()
    for name, state in found:
        if name in states:
            duplicates.add(name)
            state = max(state, states[name], key=_WORST.index)  # noqa: PLW2901 — the worse of both
        states[name] = state
        if len(states) > MAX_TESTS:
            raise UnreadableResults(f"More than {MAX_TESTS} tests are reported.")
    return TestReport(states, frozenset(duplicates), frozenset(suites))


def last_part(name: str) -> str:
    """A test's own name, without its class, module or suites."""
    return name.rpartition("::")[2].rpartition(" > ")[2]
