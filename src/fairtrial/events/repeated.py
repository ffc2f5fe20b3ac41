"""Which tool calls repeat one that has failed. The rules are in `derive`."""

from collections import Counter
from dataclasses import dataclass, field

from fairtrial.events.measures import LISTED_MOST, Repetition
from fairtrial.events.model import FAILED, RUN_COMMAND, RUN_TESTS, Event

_AIMS_MOST = 20_000
_TARGET_CHARACTERS = 256


@dataclass
class Repeated:
    """Failures by their aim, and the calls that were made at the same aim after them."""

    retries: int = 0
    after_change: int = 0
    recovered: int = 0  # failures after which a result with the same aim did not fail
    listed: list[Repetition] = field(default_factory=list)
    failed: Counter[str] = field(default_factory=Counter)  # results by status
    _failures: dict[tuple[str, str], tuple[int, int, int]] = field(default_factory=dict)
    """For an aim, the last result that failed, how many calls had changed something before it, how often it failed."""

    def called(self, event: Event, changes: int) -> None:
        """Take a call; `changes` is how many calls have modified files so far."""
        capability, target = aim(event)
        failure = self._failures.get((capability, target))
        if failure is None:
            return
        if capability in (RUN_COMMAND, RUN_TESTS) and changes > failure[1]:
            self.after_change += 1
            return
        self.retries += 1
        if len(self.listed) < LISTED_MOST:
            self.listed.append(Repetition(event.sequence, failure[0], capability, target[:_TARGET_CHARACTERS]))

    def returned(self, event: Event, changes: int) -> None:
        """Take a result."""
        if event.status not in FAILED:
            self.recovered += self._failures.pop(aim(event), (0, 0, 0))[2]
            return
        self.failed[event.status] += 1
        times = self._failures.get(aim(event), (0, 0, 0))[2]
        self._failures[aim(event)] = (event.sequence, changes, times + 1)
        if len(self._failures) > _AIMS_MOST:
            self._failures.pop(next(iter(self._failures)))


def aim(event: Event) -> tuple[str, str]:
    """What a call is meant to do, as far as can be told without guessing: its capability and its target."""
    detail = event.detail
    target = " ".join(detail.command.split()) or "\n".join(detail.paths) or event.input_hash
    return event.capability, target
