"""A run's next status, built field by field; pure. The phase that people see is derived here and nowhere else."""

from datetime import UTC, datetime
from typing import Any, Self

from fairtrial.api import (
    BenchmarkRun,
    BenchmarkRunStatus,
    Condition,
    Phase,
    condition,
    find_condition,
    is_true,
    set_condition,
)
from fairtrial.api.conditions import (
    ACCEPTED,
    AGENT_FINISHED,
    AGENT_STARTED,
    EVALUATED,
    RUN_CONDITIONS,
    ConditionStatus,
    Reason,
)

WAITING = frozenset(
    {
        Reason.WAITING_FOR_CAPACITY,
        Reason.WAITING_FOR_QUEUE,
        Reason.QUOTA_EXCEEDED,
        Reason.IMAGE_PULL_FAILED,
        Reason.CONTAINER_NOT_CREATED,
        Reason.POD_REFUSED,
    }
)


class Draft:
    """Starts from the status as it is. Nothing that is set to what it already was counts as a change."""

    def __init__(self, run: BenchmarkRun, now: datetime) -> None:
        self._run, self._now = run, stamp(now)
        self._status = run.status
        for kind in RUN_CONDITIONS:
            if find_condition(self._status.conditions, kind) is None:
                self.say(kind, "Unknown", Reason.PENDING)

    def say(self, kind: str, status: ConditionStatus, reason: str, message: str = "") -> Self:
        """Set a condition. While status and reason stay, so does the message: details flap, and each costs a write."""
        old = find_condition(self._status.conditions, kind)
        if old is not None and (old.status, old.reason) == (status, reason):
            return self
        new = condition(kind, status, reason, message, generation=self._run.metadata.generation, now=self._now)
        return self.set(conditions=set_condition(self._status.conditions, new))

    def set(self, **fields: Any) -> Self:
        """Set fields of the status."""
        self._status = self._status.model_copy(update=fields)
        return self

    def stamp(self, **times: str | None) -> Self:
        """Set times that are known and not set yet: the first observation stands."""
        known = self._status.timestamps
        new = {key: value for key, value in times.items() if value and getattr(known, key) is None}
        return self.set(timestamps=known.model_copy(update=new))

    @property
    def status(self) -> BenchmarkRunStatus:
        """The status as drafted so far."""
        return self._status

    @property
    def now(self) -> str:
        """The time of this draft, as it is written."""
        return self._now

    def done(self) -> BenchmarkRunStatus:
        """The status with its phase, and, while it waits, with what it waits for."""
        now = phase(self._run, self._status)
        self.set(phase=now, observed_generation=self._run.metadata.generation)
        if self._status.outcome is None:
            held = held_by(self._status) if now == "Waiting" else None
            self.set(message=held.message if held else None)
        return self._status


def held_by(status: BenchmarkRunStatus) -> Condition | None:
    """The condition that says why the run's present pod does not get on; None if the run is at neither pod's stage."""
    over = find_condition(status.conditions, AGENT_FINISHED)
    return find_condition(status.conditions, EVALUATED if over and over.status != "Unknown" else AGENT_STARTED)


def phase(run: BenchmarkRun, status: BenchmarkRunStatus) -> Phase:
    """Where the run is, in one word, from the conditions."""
    if status.record is not None or (status.outcome is not None and not is_true(status.conditions, ACCEPTED)):
        return "Done"
    started, finished, evaluated = (
        find_condition(status.conditions, kind) for kind in (AGENT_STARTED, AGENT_FINISHED, EVALUATED)
    )
    over = finished is not None and finished.status != "Unknown"
    held = held_by(status)
    if over and evaluated is not None and evaluated.status != "Unknown":
        return "Recording"
    pod = status.evaluator_pod if over else status.agent_pod
    if run.spec.suspend and pod is None:
        return "Suspended"
    if held is not None and held.status == "Unknown" and held.reason in WAITING:
        return "Waiting"
    if over:
        return "Evaluating"
    return "Running" if started is not None and started.status == "True" else "Pending"


def stamp(time: datetime) -> str:
    """A time as Kubernetes writes it."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
