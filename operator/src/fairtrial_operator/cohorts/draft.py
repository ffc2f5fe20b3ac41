"""A cohort's next status, built field by field; pure. Phase, progress and ETA are derived here and nowhere else."""

import json
from datetime import datetime
from typing import Any, Self

from fairtrial.api import BenchmarkCohort, BenchmarkCohortStatus, condition, find_condition, is_true, set_condition
from fairtrial.api.conditions import (
    ANALYSED,
    COHORT_CONDITIONS,
    COMPLETE,
    SEALED,
    ConditionStatus,
    Reason,
)
from fairtrial_operator.draft import stamp

# A status stays under 8 KiB whatever is said: of JSON, these bytes of each of six conditions, and of the summary.
CONDITION_BYTES, MESSAGE_BYTES = 800, 500
_MINUTE, _HOUR, _DAY = 60, 3600, 86400


class CohortDraft:
    """Starts from the status as it is. Nothing that is set to what it already was counts as a change."""

    def __init__(self, cohort: BenchmarkCohort, now: datetime) -> None:
        self._cohort, self._now, self._time = cohort, stamp(now), now
        self._status = cohort.status
        for kind in COHORT_CONDITIONS:
            if find_condition(self._status.conditions, kind) is None:
                self.say(kind, "Unknown", Reason.PENDING)

    def say(self, kind: str, status: ConditionStatus, reason: str, message: str = "") -> Self:
        """Set a condition."""
        old = find_condition(self._status.conditions, kind)
        message = fitting(message, CONDITION_BYTES)
        if old is not None and (old.status, old.reason, old.message) == (status, reason, message):
            return self
        new = condition(kind, status, reason, message, generation=self._cohort.metadata.generation, now=self._now)
        return self.set(conditions=set_condition(self._status.conditions, new))

    def set(self, **fields: Any) -> Self:
        """Set fields of the status."""
        self._status = self._status.model_copy(update=fields)
        return self

    def once(self, **times: str) -> Self:
        """Set times that are not set yet: the first observation stands."""
        return self.set(**{key: value for key, value in times.items() if getattr(self._status, key) is None})

    @property
    def status(self) -> BenchmarkCohortStatus:
        """The status as drafted so far."""
        return self._status

    @property
    def now(self) -> str:
        """The time of this draft, as it is written."""
        return self._now

    def done(self) -> BenchmarkCohortStatus:
        """The status with what is derived from the rest of it."""
        counts, status = self._status.counts, self._status
        where = phase(self._cohort, status)
        total = counts.scheduled + counts.replacements
        left = total - counts.done - counts.not_run
        running = where == "Running" and status.started_at is not None
        self.set(
            phase=where,
            message=status.message and fitting(status.message, MESSAGE_BYTES),
            observed_generation=self._cohort.metadata.generation,
            progress=f"{counts.done}/{total}" if total else None,
            eta=eta(status.started_at, self._time, counts.done, left) if running else None,
        )
        return self._status


def fitting(text: str, limit: int) -> str:
    """As much of a text as takes `limit` bytes of JSON, with … where something is missing."""
    if _size(text) <= limit:
        return text
    room, end = limit - _size("…"), 0
    while (room := room - _size(text[end])) >= 0:
        end += 1
    return f"{text[:end]}…"


def _size(text: str) -> int:
    return len(json.dumps(text, ensure_ascii=False).encode()) - len('""')


def phase(cohort: BenchmarkCohort, status: BenchmarkCohortStatus) -> str:
    """Where the cohort is, in one word, from the conditions."""
    if is_true(status.conditions, COMPLETE):
        if cohort.spec.cancel is not None:
            return "Cancelled"
        return "Analysed" if is_true(status.conditions, ANALYSED) else "Complete"
    if not is_true(status.conditions, SEALED):
        return "Draft"
    if cohort.spec.suspend:
        return "Suspended"
    return "Running" if status.started_at is not None else "Sealed"


def eta(started_at: str | None, now: datetime, done: int, left: int) -> str | None:
    """About how long the rest takes if it goes on as so far; None while nothing is known."""
    if started_at is None or not done or not left:
        return None
    seconds = (now - datetime.fromisoformat(started_at)).total_seconds() / done * left
    if seconds < _MINUTE:
        return "<1m"
    if seconds < 10 * _HOUR:
        minutes = round(seconds / _MINUTE)
        return f"{minutes}m" if minutes < 60 else f"{minutes // 60}h{minutes % 60:02d}m"  # noqa: PLR2004 — of an hour
    return f"{round(seconds / _HOUR)}h" if seconds < 2 * _DAY else f"{round(seconds / _DAY)}d"
