"""`ResourceClass`: what an administrator lets a run have: resources, placement, deadlines. Cluster-wide."""

from typing import Annotated, Literal

from pydantic import Field

from fairtrial import names
from fairtrial.api.base import Line, Model, Name, ObjectMeta, ObjectName, Quantity, Rule, Seconds, named, quantity_value


class Requests(Model):
    """What the scheduler sets aside for the agent container and for the checks. What is left out equals the limit."""

    cpu: Quantity | None = None
    """CPUs, such as "500m" or "2"."""
    memory: Quantity | None = None
    """Memory, such as 2Gi."""
    ephemeral_storage: Quantity | None = None
    """Local disk, such as 4Gi."""


class Limits(Model):
    """What the agent container and the checks can't exceed."""

    cpu: Quantity
    """CPUs, such as "2"."""
    memory: Quantity
    """Memory, such as 4Gi; a process that exceeds it is killed, and that is the agent's own doing."""
    ephemeral_storage: Quantity
    """Local disk, such as 8Gi; a pod that exceeds it is evicted, and that is the agent's own doing."""


class Toleration(Model):
    """A taint that pods of this class put up with; the fields are those of a pod's tolerations."""

    key: Line = ""
    """Key of the taint; empty means every taint."""
    operator: Literal["Exists", "Equal"] = "Equal"
    """Whether the value must be equal or the key be there."""
    value: Line = ""
    """Value of the taint."""
    effect: Literal["", "NoSchedule", "PreferNoSchedule", "NoExecute"] = ""
    """Effect of the taint; empty means every effect."""
    toleration_seconds: Annotated[int, Field(strict=True, ge=0, le=604800)] | None = None
    """Seconds to stay on a node after a NoExecute taint appears; unset means for ever."""


class PullSecret(Model):
    """A Secret with registry credentials."""

    name: ObjectName
    """Name of the Secret, in the run's namespace."""


class Deadlines(Model):
    """Seconds that each phase may take before the run is given up. Waiting for capacity is a state, not a failure."""

    scheduling_seconds: Seconds = 3600
    """From the pod's creation until it has a node. Not counted for pods that a queue admits."""
    pulling_seconds: Seconds = 600
    """From then until its images are there."""
    setup_seconds: Seconds = 300
    """From then until the agent starts: the workspace, the isolation proof, the preflight."""
    snapshot_seconds: Seconds = 300
    """From the agent's end until its workspace is archived."""
    evaluate_seconds: Seconds = 1800
    """Caps what a task may ask for its evaluation."""
    upload_seconds: Seconds = 600
    """For the upload of what is left when a container ends."""


def _fits(field: str, key: str) -> Rule:
    """A rule that the request for one resource is not above its limit."""
    cel = (
        f"!has(self.requests) || !has(self.requests.{key}) || !isQuantity(self.requests.{key}) "
        f"|| !isQuantity(self.limits.{key}) "
        f"|| quantity(self.requests.{key}).compareTo(quantity(self.limits.{key})) <= 0"
    )

    def holds(spec: "ResourceClassSpec") -> bool:
        request = getattr(spec.requests, field)
        return request is None or quantity_value(request) <= quantity_value(getattr(spec.limits, field))

    message = f"requests.{key} must not exceed limits.{key}; lower the request or raise the limit."
    return Rule(cel, message, holds, field=f".requests.{key}")


class ResourceClassSpec(Model):
    """Resources, placement and deadlines of the pods of a run."""

    rules = (_fits("cpu", "cpu"), _fits("memory", "memory"), _fits("ephemeral_storage", "ephemeralStorage"))

    requests: Requests = Field(default_factory=Requests)
    """What the scheduler sets aside."""
    limits: Limits
    """What can't be exceeded."""
    workspace_size: Quantity = "2Gi"
    """Size of the workspace volume."""
    home_size: Quantity = "1Gi"
    """Size of the agent's home volume."""
    tmp_size: Quantity = "1Gi"
    """Size of the volume at /tmp."""
    runtime_class_name: ObjectName | None = None
    """RuntimeClass of the pods, such as gvisor or kata."""
    node_selector: Annotated[dict[Line, Line], Field(max_length=32)] = Field(default_factory=dict)
    """Labels that a node must have."""
    tolerations: Annotated[tuple[Toleration, ...], Field(max_length=32)] = ()
    """Taints that the pods put up with."""
    priority_class_name: ObjectName | None = None
    """PriorityClass of the pods."""
    queue: Name | None = None
    """Name of the Kueue LocalQueue, in the run's namespace, that admits the pods."""
    image_pull_secrets: Annotated[tuple[PullSecret, ...], Field(max_length=16)] = ()
    """Secrets with registry credentials, in the run's namespace."""
    host_users: Annotated[bool, Field(strict=True)] | None = None
    """Set to false to run the pods in user namespaces of their own, where nodes can."""
    deadlines: Deadlines = Field(default_factory=Deadlines)
    """Seconds that each phase may take."""


class ResourceClass(Model):
    """Resources, placement and deadlines of runs; named by a run's resourceClassName."""

    rules = named(names.NAME_MAX, "because labels hold no more")

    api_version: Literal["fairtrial.dev/v1alpha1"] = "fairtrial.dev/v1alpha1"
    kind: Literal["ResourceClass"] = "ResourceClass"
    metadata: ObjectMeta = Field(default_factory=ObjectMeta)
    spec: ResourceClassSpec
    """Resources, placement and deadlines of the pods of a run."""
