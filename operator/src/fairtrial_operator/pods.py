"""Reading a pod: where it is in its life, what holds it up, and what it ended with. Pure.

A pod's phase says little. Reasons and conditions are read before codes, since a program can choose its own exit code.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from fairtrial import names
from fairtrial.api import ContainerFacts, PodFacts

Object = dict[str, Any]
Stage = Literal["queued", "scheduling", "pulling", "setup", "working"]

# Nothing but a new pod helps against these, and each is the doing of whoever wrote the run or its class.
FINAL_WAITING = frozenset({"InvalidImageName", "ErrImageNeverPull", "CreateContainerConfigError"})
PULL_WAITING = frozenset({"ErrImagePull", "ImagePullBackOff", "ImageInspectError", "RegistryUnavailable"})
# Kueue says in a condition why it stops a pod, and deletes it. What is no preemption may be a person's doing.
_KUEUE_PREEMPTED = "WorkloadEvictedDueToPreempted"
_UNREAD = frozenset({"managedFields", "annotations", "generateName", "selfLink"})
NODE_PATIENCE_SECONDS = 30  # past the end of a deleted pod's grace, before its node is asked for


@dataclass(frozen=True)
class Held:
    """What keeps a pod from getting on, as the scheduler or the kubelet says it."""

    reason: str
    message: str
    container: str = ""

    @property
    def final(self) -> bool:
        """Whether waiting can't help."""
        return self.reason in FINAL_WAITING

    @property
    def pull(self) -> bool:
        """Whether it is an image that does not come."""
        return self.reason in PULL_WAITING


def slim(pod: Object) -> Object:
    """The pod as far as this page reads it: of its spec, by far the largest part, only the node."""
    metadata = {key: value for key, value in pod["metadata"].items() if key not in _UNREAD}
    node_name = (pod.get("spec") or {}).get("nodeName")
    return pod | {"metadata": metadata, "spec": {"nodeName": node_name} if node_name else {}}


def uid(pod: Object) -> str:
    """The pod's UID."""
    return str(pod["metadata"]["uid"])


def owner_uid(pod: Object) -> str:
    """The UID of the object that controls the pod; empty if none does."""
    owners = pod["metadata"].get("ownerReferences") or []
    return next((str(owner["uid"]) for owner in owners if owner.get("controller")), "")


def node(pod: Object) -> str | None:
    """The node that the pod was scheduled to."""
    return pod["spec"].get("nodeName") or None


def deleting(pod: Object) -> bool:
    """Whether somebody asked for the pod's deletion."""
    return bool(pod["metadata"].get("deletionTimestamp"))


def held_back(pod: Object) -> bool:
    """Whether the pod still carries our finalizer."""
    return names.POD_FINALIZER in (pod["metadata"].get("finalizers") or [])


def ended(pod: Object) -> bool:
    """Whether all containers, recorder included, are over; a deleted pod that no node ever had is over as well."""
    phase = (pod.get("status") or {}).get("phase")
    return phase in {"Succeeded", "Failed"} or (deleting(pod) and node(pod) is None)


def stage(pod: Object, main: str) -> tuple[Stage, datetime]:
    """What a living pod is busy with, and since when. Each image is pulled when its container's turn comes."""
    scheduled = _condition(pod, "PodScheduled")
    created = when(pod["metadata"]["creationTimestamp"])
    if scheduled is None or scheduled.get("status") != "True":
        # When a queue let the pod go is written nowhere, so that waiting for a node has no beginning then.
        return ("queued" if names.QUEUE_LABEL in _labels(pod) else "scheduling"), created
    on_node = when(scheduled.get("lastTransitionTime")) if scheduled.get("lastTransitionTime") else created
    begun = started_at(pod, main)
    if begun is not None:
        return "working", when(begun)
    fetch = _state(pod, names.CONTAINER_FETCH)  # an evaluator's; in an agent pod the recorder lays out, and tells
    if "running" in fetch:
        return "setup", when(fetch["running"]["startedAt"])
    before = (fetch.get("terminated") or {}).get("finishedAt") or started_at(pod, names.CONTAINER_RECORD)
    return "pulling", when(before) if before else on_node


def held(pod: Object) -> Held | None:
    """Why a pod does not get on, or None if nothing says so."""
    scheduled = _condition(pod, "PodScheduled")
    if scheduled is not None and scheduled.get("status") != "True":
        return Held(scheduled.get("reason") or "Unschedulable", scheduled.get("message") or "")
    for status in _statuses(pod):
        waiting = (status.get("state") or {}).get("waiting") or {}
        reason = waiting.get("reason") or ""
        if reason in FINAL_WAITING or reason in PULL_WAITING:
            return Held(reason, waiting.get("message") or "", status["name"])
    return None


def scheduled_at(pod: Object) -> str | None:
    """When the pod got its node."""
    scheduled = _condition(pod, "PodScheduled") or {}
    return scheduled.get("lastTransitionTime") if scheduled.get("status") == "True" else None


def started_at(pod: Object, container: str) -> str | None:
    """When a container started; None if it never did."""
    state = _state(pod, container)
    return (state.get("running") or state.get("terminated") or {}).get("startedAt")


def ended_at(pod: Object) -> str | None:
    """When the last container ended, as far as the kubelet says."""
    times = [_state(pod, s["name"]).get("terminated", {}).get("finishedAt") for s in _statuses(pod)]
    return max((time for time in times if time), default=None)


def overstayed(pod: Object, now: datetime) -> bool:
    """Whether a deleted pod is still there well past its grace, so that its node must be asked for."""
    until = pod["metadata"].get("deletionTimestamp")
    return bool(until) and not ended(pod) and (now - when(until)).total_seconds() > NODE_PATIENCE_SECONDS


def facts(
    pod: Object,
    *,
    ours: bool,
    node_lost: bool = False,
    overdue: Literal["scheduling", "pulling", "setup"] | None = None,
) -> PodFacts:
    """What a pod ended with. `ours` says that the operator itself asked for whatever deletion there was."""
    status = pod.get("status") or {}
    phase = status.get("phase")
    return PodFacts(
        phase=phase if phase in {"Pending", "Running", "Succeeded", "Failed"} else "Unknown",
        reason=_short(status.get("reason"), 256),
        message=_short(status.get("message") or (_condition(pod, "DisruptionTarget") or {}).get("message"), 1024),
        deletion_requested=not ours and _deleted_before_end(pod),
        disruption=_disruption(pod),
        node_lost=node_lost,
        overdue=overdue,
        image_ids={s["name"]: s["imageID"][:512] for s in _statuses(pod) if s.get("imageID")},
        containers={s["name"]: _container_facts(s.get("state") or {}) for s in _statuses(pod)},
    )


def gone(*, ours: bool, last: PodFacts | None = None) -> PodFacts:
    """The facts of a pod whose object vanished before its end was read: nothing held it, or somebody took the finalizer
    off by force. `last` is what was written down while the cluster was taking it away.
    """
    known = last or PodFacts(phase="Gone")
    message = "The pod's object was removed before its end could be read."
    update = {"phase": "Gone", "reason": "PodGone", "message": message, "deletion_requested": not ours}
    return known.model_copy(update=update)


def when(text: Any) -> datetime:
    """A time as Kubernetes writes it."""
    return datetime.fromisoformat(str(text))


def _deleted_before_end(pod: Object) -> bool:
    until = pod["metadata"].get("deletionTimestamp")
    if not until:
        return False
    end = ended_at(pod)
    grace = pod["metadata"].get("deletionGracePeriodSeconds") or 0
    return end is None or (when(until).timestamp() - grace) <= when(end).timestamp()


def _container_facts(state: Object) -> ContainerFacts:
    over, waiting = state.get("terminated"), state.get("waiting")
    if over is not None:
        return ContainerFacts(
            exit_code=over.get("exitCode"),
            signal=over.get("signal") or None,
            reason=_short(over.get("reason"), 256),
            message=_short(over.get("message"), 1024),
            started_at=over.get("startedAt"),
            finished_at=over.get("finishedAt"),
        )
    if waiting is not None:
        return ContainerFacts(reason=_short(waiting.get("reason"), 256), message=_short(waiting.get("message"), 1024))
    return ContainerFacts(reason="Running", started_at=(state.get("running") or {}).get("startedAt"))


def _short(text: Any, limit: int) -> str:
    return str(text or "")[:limit]


def _disruption(pod: Object) -> str | None:
    """Why the cluster, or Kueue, took the pod away; None if neither says that it did."""
    target = _condition(pod, "DisruptionTarget")
    if target is not None and target.get("status") == "True":
        return _short(target.get("reason"), 256)
    stopped = _condition(pod, "TerminationTarget") or {}
    found = stopped.get("reason") if stopped.get("status") == "True" else None
    return found if found == _KUEUE_PREEMPTED else None


def _labels(pod: Object) -> Object:
    return pod["metadata"].get("labels") or {}


def _condition(pod: Object, kind: str) -> Object | None:
    conditions = (pod.get("status") or {}).get("conditions") or []
    return next((one for one in conditions if one.get("type") == kind), None)


def _statuses(pod: Object) -> list[Object]:
    status = pod.get("status") or {}
    return [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]


def _state(pod: Object, container: str) -> Object:
    return next((s.get("state") or {} for s in _statuses(pod) if s["name"] == container), {})
