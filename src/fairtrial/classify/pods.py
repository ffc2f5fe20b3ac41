"""What a pod's end says about who ended it: somebody outside, a limit of its own, or neither. Pure.

Decided in the order that survives bad evidence: the condition DisruptionTarget, the pod's own reason, the containers'
reasons, and exit codes never: a program may choose any code itself.
"""

import re
from typing import Literal

from fairtrial import names
from fairtrial.api.run import PodFacts

Trouble = Literal[
    "evicted",
    "node_drained",
    "preempted",
    "node_lost",
    "pod_deleted",
    "node_refused",
    "no_capacity",
    "image_pull_failed",
    "image_invalid",
    "container_not_created",
    "setup_overdue",
    "snapshot_overdue",
    "overdue",
    "recorder_disk_full",
]
OwnLimit = Literal["memory", "storage"]

_DISRUPTIONS: dict[str, Trouble] = {
    "EvictionByEvictionAPI": "node_drained",
    "PreemptionByScheduler": "preempted",
    "WorkloadEvictedDueToPreempted": "preempted",  # by Kueue
    "DeletionByTaintManager": "node_lost",
    "DeletionByPodGC": "node_lost",
    "TerminationByKubelet": "evicted",
}
_POD_REASONS: dict[str, Trouble] = {
    "Evicted": "evicted",
    "Preempting": "preempted",
    "NodeLost": "node_lost",
    "NodeShutdown": "node_drained",
    "Shutdown": "node_drained",
    "Terminated": "node_drained",
    "NodeAffinity": "node_refused",
    "NodePorts": "node_refused",
    "TopologyAffinityError": "node_refused",
    "UnexpectedAdmissionError": "node_refused",
    "OutOfcpu": "node_refused",
    "OutOfmemory": "node_refused",
    "OutOfpods": "node_refused",
    "OutOfephemeral-storage": "node_refused",
}
_CONTAINER_REASONS: dict[str, Trouble] = {
    "ErrImagePull": "image_pull_failed",
    "ImagePullBackOff": "image_pull_failed",
    "ErrImageNeverPull": "image_pull_failed",
    "ImageInspectError": "image_pull_failed",
    "RegistryUnavailable": "image_pull_failed",
    "InvalidImageName": "image_invalid",
    "CreateContainerConfigError": "container_not_created",
    "CreateContainerError": "container_not_created",
    "RunContainerError": "container_not_created",
    "StartError": "container_not_created",
    "ContainerCannotRun": "container_not_created",
    "ContainerStatusUnknown": "node_lost",
}
# A container that is not started for one of these may be the candidate's doing, who names its image. One of ours isn't;
# nor is a start that was broken off, as by a kubelet that is restarted, or for which the node's disk was too full.
_NOT_STARTED = frozenset({"CreateContainerError", "RunContainerError", "StartError"})
_OF_THE_NODE = re.compile(r"context (canceled|deadline exceeded)|no space left on device")
_OURS = (names.CONTAINER_FETCH, names.CONTAINER_RECORD)
_OVERDUE: dict[str, Trouble] = {
    "scheduling": "no_capacity",
    "pulling": "image_pull_failed",
    "setup": "setup_overdue",
    "snapshot": "snapshot_overdue",
    "upload": "snapshot_overdue",
    "agent": "overdue",
    "evaluate": "overdue",
}
# What the kubelet says when it evicts a pod for the pod's own use of local storage; it sets no disruption then.
_OWN_STORAGE = re.compile(
    r'Usage of EmptyDir volume "(?P<volume>[^"]*)" exceeds the limit'
    r"|Container (?P<container>\S+) exceeded its local ephemeral storage limit"
    r"|Pod ephemeral local storage usage exceeds the total limit"
)
_RECORDERS = ("spool", names.CONTAINER_RECORD, names.CONTAINER_FETCH)  # a volume and two containers that are ours


def trouble(pod: PodFacts) -> Trouble | None:
    """What ended or blocked the pod from outside; `None` if nothing did, or if the pod ran into a limit of its own."""
    if pod.disruption:
        return _DISRUPTIONS.get(pod.disruption, "evicted")
    if pod.node_lost or pod.phase == "Unknown":
        return "node_lost"
    storage = _storage_owner(pod)
    if storage:
        return "recorder_disk_full" if storage in _RECORDERS else None
    if pod.reason in _POD_REASONS:
        return _POD_REASONS[pod.reason]
    found = _container_trouble(pod)
    if found:
        return found
    if pod.overdue:
        return _OVERDUE[pod.overdue]
    if pod.reason == "DeadlineExceeded":
        return "overdue"
    return "pod_deleted" if pod.deletion_requested or pod.phase == "Gone" else None


def own_limit(pod: PodFacts, container: str) -> OwnLimit | None:
    """The limit of its own that the pod ran into, by what runs in `container`."""
    storage = _storage_owner(pod)
    if storage and storage not in _RECORDERS:
        return "storage"
    main = pod.containers.get(container)
    return "memory" if main is not None and main.reason == "OOMKilled" else None


def started(pod: PodFacts, container: str) -> bool:
    """Whether the container is known to have started."""
    main = pod.containers.get(container)
    return main is not None and main.started_at is not None


def _storage_owner(pod: PodFacts) -> str:
    """Whose use of local storage got the pod evicted: a volume, a container, or `pod`; empty if it was not that."""
    found = _OWN_STORAGE.search(pod.message) if pod.reason == "Evicted" and not pod.disruption else None
    return (found["volume"] or found["container"] or "pod") if found else ""


def _container_trouble(pod: PodFacts) -> Trouble | None:
    """The first container, by name, whose reason tells something."""
    for name in sorted(pod.containers):
        one = pod.containers[name]
        if one.reason in _NOT_STARTED and (name in _OURS or _OF_THE_NODE.search(one.message)):
            return "node_refused"
        if one.reason in _CONTAINER_REASONS:
            return _CONTAINER_REASONS[one.reason]
    return None
