"""The two pods of a run as plain dicts. Pure: everything that a pod may and may not do is decided on this page.

Both satisfy Pod Security `restricted`, hold no API token and no DNS, and can reach the gateway's address alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairtrial import names, plans
from fairtrial.api import BenchmarkRun, BenchmarkTask, ResourceClass, quantity_value
from fairtrial.api.base import digest
from fairtrial.api.provider import PinnedModel
from fairtrial.documents import AgentPlan, AgentReport, Probe, dump

Object = dict[str, Any]

SLACK_SECONDS = 120  # between what the deadlines add up to and the kubelet's own limit for the whole pod
RECORDER_MEMORY = "384Mi"  # what an agent leaves behind must not end its recorder: it is bounded to less than this
SIDECAR_REQUESTS = {"cpu": "50m", "memory": "64Mi", "ephemeral-storage": "64Mi"}
RUNTIME_BYTES = 512 * 1024 * 1024  # of the shared volume, for all but the public archive itself
SPOOL_BYTES = 512 * 1024 * 1024  # of the recorder's own volume, for all but the snapshot: streams, patch, events …
CHANNEL_SIZE = "1Mi"
POD_UID = "FAIRTRIAL_POD_UID"
# What launch is started with must be there before the agent's container is. A hook of the recorder's, and not an init
# container: the kubelet goes on as soon as the hook has ended, where it notices a container's end up to a second later.
# A recorder that is started again finds it in use.
_COPY_RUNTIME = (
    f"[ -e {names.RUNTIME_DIR} ] || {{ rm -rf {names.RUNTIME_DIR}.part"
    f" && cp -R {names.RUNTIME_IN_IMAGE} {names.RUNTIME_DIR}.part"
    f" && mv {names.RUNTIME_DIR}.part {names.RUNTIME_DIR}; }}"
)

_SECURE = {
    "runAsUser": names.USER_ID,
    "runAsGroup": names.USER_ID,
    "runAsNonRoot": True,
    "readOnlyRootFilesystem": True,
    "allowPrivilegeEscalation": False,
    "privileged": False,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}


@dataclass(frozen=True)
class PodSettings:
    """What the administrator decided about every pod."""

    runner_image: str
    evaluator_image: str
    gateway_url: str
    token_seconds: int = 3600
    probes: Sequence[Probe] = ()
    unready: str = ""  # why isolation could not be proven now, so that no agent may start


@dataclass(frozen=True)
class Volume:
    """One volume of a pod and where it is mounted."""

    name: str
    path: str
    source: Mapping[str, Any]

    def at(self, *, write: bool = False) -> Object:
        """The mount of this volume in one container."""
        return {"name": self.name, "mountPath": self.path} | ({} if write else {"readOnly": True})


def agent_pod(
    run: BenchmarkRun,
    task: BenchmarkTask,
    resource_class: ResourceClass,
    settings: PodSettings,
    model: PinnedModel | None = None,
) -> Object:
    """The agent's pod: record lays out, proves the isolation and observes; the agent works.

    `model` is what its provider pins, where the run names a provider.
    """
    spec = resource_class.spec
    access = access_of(task, settings, model)
    plan = plans.agent_plan(run, task, resource_class, settings.probes, access)
    before, working, ending = _agent_seconds(plan, resource_class)
    shared, channel = _shared(spec.workspace_size), _channel()
    spool = _spool(str(plan.snapshot_max_bytes + SPOOL_BYTES))
    work = _scratch("work", names.WORKSPACE_DIR, spec.workspace_size)
    home = _scratch("home", names.HOME_DIR, spec.home_size)
    tmp = _scratch("tmp", "/tmp", spec.tmp_size)  # noqa: S108 — a path in the pod
    record_token = _token(names.AUDIENCE_RECORD, settings)
    # Made before the first image is pulled, and read by programs at their start: it must outlast them.
    lasts = before + working + SLACK_SECONDS
    provider_token = [_token(names.AUDIENCE_PROVIDER, settings, at_least=lasts)] if access else []
    collected = [home.at()] if plan.collect else []
    told = _told(settings.gateway_url, dump(plan).decode())
    written = [volume.at(write=True) for volume in (shared, work, channel, spool)]
    record = _sidecar(
        settings.runner_image,
        "fairtrial_runner.record",
        told,
        [*written, record_token.at(), *collected],
        [spool, shared],
    )
    record["lifecycle"] = {"postStart": {"exec": {"command": ["sh", "-c", _COPY_RUNTIME]}}}
    agent = _untrusted(
        names.CONTAINER_AGENT,
        run.spec.candidate.image,
        "fairtrial_runner.launch",
        resource_class,
        [shared.at(), work.at(write=True), home.at(write=True), tmp.at(write=True), channel.at(write=True)]
        + [token.at() for token in provider_token],
    )
    volumes = [shared, work, home, tmp, channel, spool, record_token, *provider_token]
    pod = _pod(run, names.AGENT, resource_class, volumes, ([record], agent))
    pod["metadata"]["finalizers"] = [names.POD_FINALIZER]
    pod["spec"]["activeDeadlineSeconds"] = before + working + ending + SLACK_SECONDS
    pod["spec"]["terminationGracePeriodSeconds"] = ending
    return pod


def evaluator_pod(
    run: BenchmarkRun,
    report: AgentReport,
    task: BenchmarkTask | None,
    resource_class: ResourceClass,
    settings: PodSettings,
) -> Object:
    """The evaluator's pod: fetch lays out fixture, sealed part and submission; checks run; record judges apart."""
    spec, deadlines = resource_class.spec, resource_class.spec.deadlines
    assert run.status.task is not None
    plan = plans.evaluation_plan(run, report, task, resource_class)
    shared, channel, spool = _shared(spec.workspace_size), _channel(), _spool(spec.workspace_size)
    base = _scratch("base", names.BASE_DIR, spec.workspace_size)
    sealed = _scratch("sealed", names.SEALED_DIR, spec.workspace_size)
    work = _scratch("work", names.WORKSPACE_DIR, spec.workspace_size)
    home = _scratch("home", names.HOME_DIR, spec.home_size)
    # Each check runs in a fresh copy of the workspace, made below /tmp.
    tmp = _scratch("tmp", "/tmp", spec.workspace_size)  # noqa: S108 — a path in the pod
    evaluate_token, record_token = _token(names.AUDIENCE_EVALUATE, settings), _token(names.AUDIENCE_RECORD, settings)
    told = _told(settings.gateway_url, dump(plan).decode())
    fetch = _helper(
        names.CONTAINER_FETCH,
        settings.evaluator_image,
        "fairtrial_evaluator.fetch",
        told,
        [volume.at(write=True) for volume in (shared, base, sealed, work)] + [evaluate_token.at()],
    )
    record = _sidecar(
        settings.evaluator_image,
        "fairtrial_evaluator.record",
        told,
        [shared.at(), base.at(), sealed.at(), channel.at(write=True), spool.at(write=True), record_token.at()],
        [spool, shared, base, sealed],
    )
    checks = _untrusted(
        names.CONTAINER_CHECKS,
        run.status.task.evaluator_image,
        "fairtrial_evaluator.checks",
        resource_class,
        # Not the sealed part: record hands each process the files that it needs; submitted code sees no more.
        [shared.at(), base.at()] + [v.at(write=True) for v in (work, home, tmp, channel)],
    )
    volumes = [shared, base, sealed, work, home, tmp, channel, spool, evaluate_token, record_token]
    before = 2 * deadlines.pulling_seconds + deadlines.setup_seconds
    pod = _pod(run, names.EVALUATOR, resource_class, volumes, ([fetch, record], checks))
    pod["spec"]["activeDeadlineSeconds"] = before + plan.wall_seconds + deadlines.upload_seconds + SLACK_SECONDS
    pod["spec"]["terminationGracePeriodSeconds"] = deadlines.upload_seconds
    return pod


def owner_of(run: BenchmarkRun) -> Object:
    """The owner reference by which a run's objects are known as its own, and collected after it."""
    return {
        "apiVersion": names.API_VERSION,
        "kind": "BenchmarkRun",
        "name": run.metadata.name,
        "uid": run.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def access_of(task: BenchmarkTask, settings: PodSettings, model: PinnedModel | None) -> plans.GatewayAccess | None:
    """What the agent may call through the gateway, if anything."""
    if model is not None:
        return plans.GatewayAccess(settings.gateway_url, model.id, digest(model.as_json()["parameters"]))
    return plans.GatewayAccess(settings.gateway_url) if task.spec.tool_servers else None


def _agent_seconds(plan: AgentPlan, resource_class: ResourceClass) -> tuple[int, int, int]:
    """How long an agent pod may take: until the agent starts, for preflight and agent, and for what comes after."""
    deadlines = resource_class.spec.deadlines
    working = sum(step.wall_seconds + plan.grace_seconds for step in plan.steps)
    working += sum(one.timeout_seconds for one in plan.preflight)
    ending = plan.grace_seconds + deadlines.snapshot_seconds + deadlines.upload_seconds
    return 2 * deadlines.pulling_seconds + deadlines.setup_seconds, working, ending


# --- parts ------------------------------------------------------------------------------------------------------------
def _pod(
    run: BenchmarkRun,
    role: str,
    resource_class: ResourceClass,
    volumes: Sequence[Volume],
    containers: tuple[list[Object], Object],
) -> Object:
    name = names.agent_pod(run.metadata.name) if role == names.AGENT else names.evaluator_pod(run.metadata.name)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": run.metadata.namespace,
            "labels": {
                names.MANAGED_BY_LABEL: names.MANAGED_BY,
                names.ROLE_LABEL: role,
                names.RUN_LABEL: run.metadata.name,
                **_queued(run, resource_class),
            },
            # An autoscaler that moves pods for a better fit would make the run invalid.
            "annotations": {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"},
            "ownerReferences": [owner_of(run)],
        },
        "spec": {
            "initContainers": containers[0],
            "containers": [containers[1]],
            "volumes": [{"name": volume.name, **volume.source} for volume in volumes],
            "restartPolicy": "Never",
            "serviceAccountName": names.SERVICE_ACCOUNT,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            # No name can be resolved: nothing answers there. The gateway is given by address.
            "dnsPolicy": "None",
            "dnsConfig": {"nameservers": ["127.0.0.1"]},
            "securityContext": {
                "runAsUser": names.USER_ID,
                "runAsGroup": names.USER_ID,
                "fsGroup": names.USER_ID,
                "runAsNonRoot": True,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            **_placement(resource_class),
        },
    }


def _queued(run: BenchmarkRun, resource_class: ResourceClass) -> dict[str, str]:
    """The label by which Kueue holds a pod back until its queue has room, where a queue is named."""
    queue = run.spec.queue or resource_class.spec.queue
    return {names.QUEUE_LABEL: queue} if queue else {}


def _placement(resource_class: ResourceClass) -> Object:
    spec = resource_class.spec
    given: Object = {
        "runtimeClassName": spec.runtime_class_name,
        "nodeSelector": dict(spec.node_selector),
        "tolerations": [{k: v for k, v in one.as_json().items() if v != ""} for one in spec.tolerations],
        "priorityClassName": spec.priority_class_name,
        "imagePullSecrets": [{"name": secret.name} for secret in spec.image_pull_secrets],
        "hostUsers": spec.host_users,
    }
    return {key: value for key, value in given.items() if value not in (None, {}, [])}


def _container(name: str, image: str, command: list[str], env: list[Object], mounts: list[Object]) -> Object:
    return {
        "name": name,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": command,
        "workingDir": "/",
        "env": env,
        "volumeMounts": mounts,
        "securityContext": _SECURE,
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    }


def _helper(name: str, image: str, module: str, env: list[Object], mounts: list[Object]) -> Object:
    limits = {"cpu": "1", "memory": "256Mi", "ephemeral-storage": "256Mi"}
    made = _container(name, image, ["python3", "-m", module], env, mounts)
    return made | {"resources": {"requests": SIDECAR_REQUESTS, "limits": limits}}


def _sidecar(image: str, module: str, env: list[Object], mounts: list[Object], ours: Sequence[Volume]) -> Object:
    env = [*env, {"name": "TMPDIR", "value": names.SPOOL_DIR}]
    made = _helper(names.CONTAINER_RECORD, image, module, env, mounts) | {"restartPolicy": "Always"}
    # The kubelet weighs all volumes against the sum of the containers' limits: ours are not at the agent's cost.
    room = sum(quantity_value(volume.source["emptyDir"]["sizeLimit"]) for volume in ours)
    made["resources"]["limits"] |= {"ephemeral-storage": str(int(room)), "memory": RECORDER_MEMORY}
    return made


def _untrusted(name: str, image: str, module: str, resource_class: ResourceClass, mounts: list[Object]) -> Object:
    spec = resource_class.spec
    limits = {"cpu": spec.limits.cpu, "memory": spec.limits.memory, "ephemeral-storage": spec.limits.ephemeral_storage}
    asked = {
        "cpu": spec.requests.cpu,
        "memory": spec.requests.memory,
        "ephemeral-storage": spec.requests.ephemeral_storage,
    }
    requests = {key: asked[key] or limit for key, limit in limits.items()}
    env = [{"name": key, "value": value} for key, value in names.RUNTIME_ENV.items()]
    made = _container(name, image, names.runtime_command(module), env, mounts)
    return made | {"resources": {"requests": requests, "limits": limits}}


def _told(gateway_url: str, plan: str) -> list[Object]:
    return [
        {"name": names.ENV_PLAN, "value": plan},
        {"name": names.ENV_GATEWAY, "value": gateway_url},
        {"name": POD_UID, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.uid"}}},
    ]


def _scratch(name: str, path: str, size: str) -> Volume:
    return Volume(name, path, {"emptyDir": {"sizeLimit": size}})


def _shared(workspace_size: str) -> Volume:
    """Holds the runtime and the public archive, which is no larger than the workspace that it is laid out in."""
    return _scratch("shared", names.SHARED_DIR, str(int(quantity_value(workspace_size)) + RUNTIME_BYTES))


def _channel() -> Volume:
    return _scratch("channel", names.CHANNEL_DIR, CHANNEL_SIZE)


def _spool(size: str) -> Volume:
    return _scratch("spool", names.SPOOL_DIR, size)


def _token(audience: str, settings: PodSettings, at_least: int = 0) -> Volume:
    path, _, file = names.TOKEN_FILE.rpartition("/")
    token = {"audience": audience, "expirationSeconds": max(settings.token_seconds, at_least), "path": file}
    projected = {"defaultMode": 0o440, "sources": [{"serviceAccountToken": token}]}
    return Volume(f"token-{audience.rpartition('/')[2]}", path, {"projected": projected})
