"""How far a pod is, judged against its class's deadlines. Pure; the same for agent and evaluator."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from fairtrial.api import Deadlines, Reason
from fairtrial_operator import pods

Object = dict[str, Any]
Overdue = Literal["scheduling", "pulling", "setup"]
GLANCE_SECONDS = 30.0
# A pod that is held for less is not worth a status write: on a busy node most are, for a moment.
QUIET_SECONDS = 5.0


@dataclass(frozen=True)
class Progress:
    """Where a pod is. `reason` is a condition's; `again_after` when time alone would change the answer."""

    state: Literal["ended", "node_lost", "given_up", "held", "starting", "working"]
    reason: str = ""
    message: str = ""
    overdue: Overdue | None = None
    again_after: float | None = None


def progress(pod: Object, main: str, deadlines: Deadlines, now: datetime, *, node_lost: bool) -> Progress:
    """Where this pod is now. Waiting for capacity is a state; only its deadline makes it a failure."""
    if pods.ended(pod):
        return Progress("ended")
    if node_lost:
        return Progress("node_lost")
    if pods.deleting(pod):
        return Progress("working", again_after=GLANCE_SECONDS)
    stage, since = pods.stage(pod, main)
    if stage == "working":
        return Progress("working")
    held = pods.held(pod)
    if stage == "queued":
        return _queued(held, (now - since).total_seconds())
    elapsed = (now - since).total_seconds()
    left = _seconds(deadlines, stage) - elapsed
    if held is not None and held.final:
        return Progress("given_up", Reason.CONTAINER_NOT_CREATED, _says(held))
    if left <= 0:
        why = f"{stage} took longer than {_seconds(deadlines, stage)} s." + (f" {_says(held)}" if held else "")
        return Progress("given_up", _reason(held) if held else Reason.NEVER_STARTED, why, stage)
    if held is not None and elapsed < QUIET_SECONDS:
        return Progress("starting", again_after=QUIET_SECONDS - elapsed)
    if held is not None:
        reason = _reason(held)
        return Progress("held", reason, _says(held), again_after=left)
    return Progress("starting", again_after=left)


def _queued(held: pods.Held | None, elapsed: float) -> Progress:
    """A queue gives room when there is some; how long that takes is no fault of the run's."""
    if held is None or elapsed < QUIET_SECONDS:
        return Progress("starting", again_after=QUIET_SECONDS)
    gated = held.reason == "SchedulingGated"
    return Progress("held", Reason.WAITING_FOR_QUEUE if gated else Reason.WAITING_FOR_CAPACITY, _says(held))


def _seconds(deadlines: Deadlines, stage: Overdue) -> int:
    return {
        "scheduling": deadlines.scheduling_seconds,
        "pulling": deadlines.pulling_seconds,
        "setup": deadlines.setup_seconds,
    }[stage]


def _reason(held: pods.Held) -> str:
    return Reason.IMAGE_PULL_FAILED if held.pull else Reason.WAITING_FOR_CAPACITY


def _says(held: pods.Held) -> str:
    where = f"Container {held.container}: " if held.container else ""
    return f"{where}{held.reason}: {held.message}" if held.message else f"{where}{held.reason}"
