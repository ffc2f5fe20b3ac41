"""Who ended a pod, from what the API server shows of it."""

import pytest

from fairtrial.api import PodFacts
from fairtrial.classify.pods import own_limit, started, trouble
from fairtrial.testing import container_facts, pod_facts


@pytest.mark.parametrize(
    ("disruption", "what"),
    [
        ("EvictionByEvictionAPI", "node_drained"),
        ("PreemptionByScheduler", "preempted"),
        ("WorkloadEvictedDueToPreempted", "preempted"),
        ("DeletionByTaintManager", "node_lost"),
        ("DeletionByPodGC", "node_lost"),
        ("TerminationByKubelet", "evicted"),
        ("SomethingNew", "evicted"),
    ],
)
def test_a_disruption_is_told_by_its_reason(disruption: str, what: str):
    killed = {"agent": container_facts(exit_code=143, reason="Error")}
    assert trouble(pod_facts(phase="Failed", disruption=disruption, containers=killed)) == what


@pytest.mark.parametrize(
    ("message", "limit", "what"),
    [
        ('Usage of EmptyDir volume "work" exceeds the limit "1Gi". ', "storage", None),
        ('Container agent exceeded its local ephemeral storage limit "1Gi". ', "storage", None),
        ("Pod ephemeral local storage usage exceeds the total limit of containers 2Gi. ", "storage", None),
        ('Usage of EmptyDir volume "spool" exceeds the limit "1Gi". ', None, "recorder_disk_full"),
        ('Container record exceeded its local ephemeral storage limit "1Gi". ', None, "recorder_disk_full"),
        ("The node was low on resource: ephemeral-storage. ", None, "evicted"),
    ],
)
def test_an_eviction_for_the_pods_own_use_of_disk_is_told_from_one_for_the_nodes_need(message, limit, what):
    pod = PodFacts(phase="Failed", reason="Evicted", message=message)
    assert own_limit(pod, "agent") == limit
    assert trouble(pod) == what


def test_a_message_that_only_looks_like_it_is_not_believed_against_a_disruption():
    """The pod's message could be chosen by nobody but the kubelet; the disruption says that the node was in need."""
    message = 'Usage of EmptyDir volume "work" exceeds the limit "1Gi". '
    pod = PodFacts(phase="Failed", reason="Evicted", message=message, disruption="TerminationByKubelet")
    assert own_limit(pod, "agent") is None
    assert trouble(pod) == "evicted"


@pytest.mark.parametrize("code", [0, 1, 124, 137, 143])
def test_exit_codes_say_nothing_about_the_outside(code: int):
    assert trouble(pod_facts(phase="Failed", containers={"agent": container_facts(exit_code=code)})) is None


def test_a_deadline_that_the_operator_enforced_is_not_called_a_deletion():
    assert trouble(PodFacts(phase="Gone", overdue="agent", deletion_requested=True)) == "overdue"


def test_what_an_image_waits_for_is_more_precise_than_the_deadline():
    waits = {"agent": container_facts(exit_code=None, reason="InvalidImageName")}
    assert trouble(PodFacts(phase="Pending", overdue="pulling", containers=waits)) == "image_invalid"


def test_a_container_has_started_once_it_has_a_start_time():
    assert started(pod_facts(), "agent")
    assert not started(PodFacts(phase="Failed"), "agent")


@pytest.mark.parametrize(
    ("container", "reason", "message", "what"),
    [
        ("fetch", "StartError", "failed to start containerd task: context canceled: unknown", "node_refused"),
        ("record", "CreateContainerError", "no space left on device", "node_refused"),
        ("agent", "StartError", "failed to start containerd task: context canceled: unknown", "node_refused"),
        ("agent", "CreateContainerError", "context deadline exceeded", "node_refused"),
        (
            "agent",
            "StartError",
            "runc create failed: write .init.pid: no space left on device: unknown",
            "node_refused",
        ),
        ("agent", "StartError", "no such file or directory", "container_not_created"),
        ("record", "CreateContainerConfigError", "secret not found", "container_not_created"),
    ],
)
def test_a_node_that_does_not_start_what_is_ours_is_told_from_a_candidate_that_cannot_start(
    container: str, reason: str, message: str, what: str
):
    """A kubelet that is restarted breaks off what it was starting; a candidate names only its own container's image."""
    found = container_facts(exit_code=128, reason=reason, message=message)
    assert trouble(pod_facts(phase="Failed", containers={container: found})) == what
