"""What an agent pod and an evaluator pod are told. Pure: the same run, task and report give the same plan.

Shared, so that a local try runs by the very plan that a pod would get.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairtrial import names
from fairtrial.api import BenchmarkRun, BenchmarkTask, ResourceClass, quantity_value
from fairtrial.api import adapter as adapters
from fairtrial.api.base import digest
from fairtrial.api.candidate import Candidate
from fairtrial.documents import AgentPlan, AgentReport, EvaluationPlan, Preflight, Probe, RunIdentity, Step, dump
from fairtrial.errors import InvalidInput

# The plan travels in an environment variable; Linux takes no string longer than 128 KiB at exec.
PLAN_MAX_BYTES = 120 * 1024
SNAPSHOT_MAX_BYTES = 1024**3

_PLACEHOLDER = re.compile(r"\{(prompt|taskFile|step|projectDir|modelUrl|model|toolUrl)\}")


@dataclass(frozen=True)
class GatewayAccess:
    """Where the agent's calls of models and tools go, and the one model that they may name, if any."""

    gateway_url: str
    model: str = ""
    parameters_sha256: str = ""
    path: str = names.MODEL_PATH  # none where a provider is called without a gateway: a local try

    @property
    def values(self) -> dict[str, str]:
        """What the placeholders stand for."""
        tools = {"toolUrl": self.gateway_url + names.TOOL_PATH}
        return tools | ({"modelUrl": self.gateway_url + self.path, "model": self.model} if self.model else {})


def identity(run: BenchmarkRun) -> RunIdentity:
    """The run as the documents name it."""
    return RunIdentity(run.metadata.namespace, run.metadata.name, run.metadata.uid)


def agent_plan(
    run: BenchmarkRun,
    task: BenchmarkTask,
    resource_class: ResourceClass,
    probes: Sequence[Probe],
    access: GatewayAccess | None = None,
) -> AgentPlan:
    """All that the agent pod gets to know: nothing of the sealed part."""
    limits, candidate = resource_class.spec.limits, run.spec.candidate
    values = access.values if access else {}
    return AgentPlan(
        run=identity(run),
        bundle_sha256=task.spec.public_archive.sha256,
        steps=steps(run, task, values),
        candidate_files=dict(candidate.files),
        env={variable.name: fill(variable.value, values) for variable in candidate.env},
        home_files=home_files(candidate, values),
        collect=list(candidate.collect),
        adapter=adapter_plan(run, access),
        preflight=[
            Preflight(one.name, list(one.argv), list(one.expect_exit), one.timeout_seconds)
            for one in task.spec.preflight
        ],
        probes=list(probes),
        generated=list(task.spec.generated),
        grace_seconds=run.spec.limits.grace_seconds,
        snapshot_max_bytes=snapshot_max_bytes(resource_class),
        snapshot_seconds=resource_class.spec.deadlines.snapshot_seconds,
        upload_seconds=resource_class.spec.deadlines.upload_seconds,
        fetch_seconds=fetch_seconds(resource_class),
        setup_seconds=resource_class.spec.deadlines.setup_seconds,
        limits={"cpu": limits.cpu, "memory": limits.memory, "ephemeral-storage": limits.ephemeral_storage},
        tell_steps=bool(access and access.path),
    )


def home_files(candidate: Candidate, values: Mapping[str, str]) -> dict[str, str]:
    """The files of the agent's home folder; InvalidInput where one of them would have to be a folder as well."""
    for path in candidate.home_files:
        if any(other.startswith(f"{path}/") for other in candidate.home_files):
            raise InvalidInput(f"homeFiles[{path!r}] is a file and a folder.", next_move="Rename one of them.")
    return {path: fill(text, values) for path, text in candidate.home_files.items()}


def adapter_plan(run: BenchmarkRun, access: GatewayAccess | None) -> dict[str, Any] | None:
    """The candidate's adapter with what every event repeats; InvalidInput where its own rules make no sense."""
    spec, provider = run.spec, run.spec.network.model_provider_ref
    candidate = spec.candidate
    if candidate.adapter is None:
        return None
    of_model = None
    if access is not None and access.model:
        of_model = {"provider": provider.name if provider else "", "id": access.model}
        of_model |= {"parameters_hash": f"sha256:{access.parameters_sha256}"} if access.parameters_sha256 else {}
    group = spec.cohort_ref.name if spec.cohort_ref else run.metadata.namespace
    who = {
        "harness": candidate.name,
        "version": candidate.version,
        "config_hash": f"sha256:{digest(candidate.as_json())}",
    }
    trial_id = f"{group}/{spec.task_ref.name}/{candidate.name}/{spec.repetition}"
    return candidate.adapter.to_plan(adapters.trial(trial_id, who, of_model))


def evaluation_plan(
    run: BenchmarkRun, report: AgentReport, task: BenchmarkTask | None, resource_class: ResourceClass
) -> EvaluationPlan:
    """All that the evaluator pod gets to know. The digests are those of the run's acceptance, whatever came later."""
    resolved, snapshot = run.status.task, report.snapshot.artifact
    assert resolved is not None
    assert snapshot is not None
    return EvaluationPlan(
        run=identity(run),
        bundle_sha256=resolved.public_sha256,
        sealed_sha256=resolved.sealed_sha256,
        snapshot_artifact=snapshot.name,
        snapshot_sha256=snapshot.sha256,
        wall_seconds=evaluate_seconds(task, resource_class),
        upload_seconds=resource_class.spec.deadlines.upload_seconds,
        fetch_seconds=fetch_seconds(resource_class),
    )


def fetch_seconds(resource_class: ResourceClass) -> int:
    """Most of the time for setup: who fetches then tells why it gave up; the end of that time tells nothing."""
    return max(1, resource_class.spec.deadlines.setup_seconds * 4 // 5)


def snapshot_max_bytes(resource_class: ResourceClass) -> int:
    """No more than the workspace holds: a file with holes is larger than the disk that it takes."""
    return min(SNAPSHOT_MAX_BYTES, int(quantity_value(resource_class.spec.workspace_size)))


def evaluate_seconds(task: BenchmarkTask | None, resource_class: ResourceClass) -> int:
    """What the task asks for, at most what the class lets it have."""
    allowed = resource_class.spec.deadlines.evaluate_seconds
    return allowed if task is None else min(task.spec.evaluate_seconds, allowed)


def steps(run: BenchmarkRun, task: BenchmarkTask, also: Mapping[str, str]) -> list[Step]:
    """The steps with final argv, and with their times scaled down where the task or the run caps the sum."""
    candidate = run.spec.candidate
    each = run.spec.limits.per_step
    most = each.wall_seconds if each else None
    times = capped([min(step.wall_seconds, most or step.wall_seconds) for step in task.spec.steps], wall_cap(run, task))
    made = []
    for step, seconds in zip(task.spec.steps, times, strict=True):
        values = {
            "prompt": step.prompt,
            "taskFile": names.TASK_FILE,
            "step": step.name,
            "projectDir": names.PROJECT_DIR,
            **also,
        }
        argv = [fill(item, values) for item in candidate.argv]
        made.append(Step(step.name, argv, seconds, stdin=step.prompt if candidate.stdin == "prompt" else ""))
    return made


def wall_cap(run: BenchmarkRun, task: BenchmarkTask) -> int | None:
    """The smaller of the task's and the run's limit over all steps, if there is any."""
    limits = [run.spec.limits.wall_seconds, task.spec.limits.wall_seconds if task.spec.limits else None]
    return min((limit for limit in limits if limit is not None), default=None)


def capped(seconds: Sequence[int], cap: int | None) -> list[int]:
    """Times of steps, each in the same proportion, so that their sum keeps the cap; at least a second each."""
    total = sum(seconds)
    if cap is None or total <= cap:
        return list(seconds)
    return [max(1, one * cap // total) for one in seconds]


def fill(text: str, values: Mapping[str, str]) -> str:
    """Replace the placeholders of one text, once: what a prompt itself says in braces stays."""
    return _PLACEHOLDER.sub(lambda found: values.get(found.group(1), found.group()), text)


def unavailable(run: BenchmarkRun, *, tools: bool) -> list[str]:
    """The placeholders that the candidate uses and that nothing stands for; `tools` if its task allows tool servers."""
    have = {names.TOOL_URL, names.MODEL_TOKEN} if tools else set()
    if run.spec.network.model_provider_ref is not None:
        have |= {names.MODEL_URL, names.MODEL_NAME, names.MODEL_TOKEN}
    return [each for each in _used(run) if each not in have]


def uses_a_model(run: BenchmarkRun) -> bool:
    """Whether the candidate is written for a model."""
    return any(each != names.TOOL_URL for each in _used(run))


def _used(run: BenchmarkRun) -> list[str]:
    candidate = run.spec.candidate
    texts = [*candidate.argv, *(one.value for one in candidate.env), *candidate.home_files.values()]
    known = (names.MODEL_URL, names.MODEL_NAME, names.MODEL_TOKEN, names.TOOL_URL)
    return [placeholder for placeholder in known if any(placeholder in text for text in texts)]


def too_large(plan: AgentPlan) -> str | None:
    """Why this plan can't be handed to a pod, or None."""
    size = len(dump(plan))
    if size <= PLAN_MAX_BYTES:
        return None
    return (
        f"Prompts, files and variables of the candidate make a plan of {size} bytes; {PLAN_MAX_BYTES} fit. "
        "Use {taskFile} instead of {prompt} in argv, or put files into the candidate's image."
    )
