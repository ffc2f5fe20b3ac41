"""`BenchmarkRun`: one execution of one task by one candidate. Never retried, never edited; its record is immutable."""

from typing import Annotated, Literal

from pydantic import Field

from fairtrial import names
from fairtrial.api.base import (
    Image,
    Line,
    Model,
    Name,
    ObjectMeta,
    ObjectName,
    Observation,
    Paragraph,
    Rule,
    Seconds,
    Sentence,
    Sha256,
    Timestamp,
    Uid,
    Word,
    digest,
    immutable,
    named,
)
from fairtrial.api.candidate import Candidate
from fairtrial.api.conditions import Conditions
from fairtrial.api.provider import DecimalText, ModelProvider, PinnedModel, Pricing, UsageSemantics
from fairtrial.api.resource_class import Limits, Requests, ResourceClass
from fairtrial.api.task import BenchmarkTask

Outcome = Literal["passed", "failed", "invalid", "void", "cancelled"]
Cause = Literal[
    "none",
    "agent_failure",
    "policy_violation",
    "harness_failure",
    "evaluation_infra_error",
    "budget_exhausted",
    "human_abort",
]
Invalidity = Literal[
    "provider_outage",
    "telemetry_corrupt",
    "fixture_creation_failed",
    "evaluator_infrastructure_failure",
    "solution_accessed",
    "wrong_configuration",
    "host_failure",
    "unknown",
]
Category = Literal[
    "incorrect_diagnosis",
    "incomplete_implementation",
    "acceptance_failure",
    "hidden_regression",
    "type_error",
    "architecture_violation",
    "security_regression",
    "data_migration_error",
    "prohibited_shortcut",
    "test_or_build_damage",
    "time_limit",
    "agent_operational_error",
    "framework_defect",
]
Phase = Literal["Pending", "Waiting", "Running", "Evaluating", "Recording", "Done", "Suspended"]
Overdue = Literal["scheduling", "pulling", "setup", "agent", "snapshot", "evaluate", "upload"]


# --- spec -------------------------------------------------------------------------------------------------------------
class TaskRef(Model):
    """Which task to do."""

    name: Name
    """Name of a BenchmarkTask in the same namespace."""
    public_sha256: Sha256 | None = None
    """If given, the run is only accepted if the task's public archive has this digest."""
    sealed_sha256: Sha256 | None = None
    """If given, the run is only accepted if the task's sealed archive has this digest."""


Calls = Annotated[int, Field(strict=True, ge=1, le=1000000)]
Tokens = Annotated[int, Field(strict=True, ge=1, le=2**53)]


class StepLimits(Model):
    """Limits of each step by itself; the run's own hold beside them."""

    rules = (
        Rule(
            "has(self.wallSeconds) || has(self.modelCalls) || has(self.modelTokens) || has(self.modelCost)",
            "perStep must name at least one limit; leave it out if steps have none.",
            lambda each: any(value is not None for _, value in each),
        ),
    )

    wall_seconds: Seconds | None = None
    """Caps the seconds of each step; the step's own time in the task still holds."""
    model_calls: Calls | None = None
    """Model calls that each step may make; the next one is refused as budget_exhausted."""
    model_tokens: Tokens | None = None
    """Tokens, as the provider counts input and output, after which further model calls of a step are refused."""
    model_cost: DecimalText | None = None
    """Money in the currency of the provider's prices, in quotes, after which model calls of a step are refused."""


def _not_above(field: str, key: str) -> Rule:
    """The rule that a limit of each step is not larger than the run's, which would then never let it be reached."""
    own, each = f"self.{key}", f"self.perStep.{key}"

    def check(limits: "RunLimits") -> bool:
        whole, part = getattr(limits, field), getattr(limits.per_step, field, None)
        return whole is None or part is None or part <= whole

    return Rule(
        f"!has({own}) || !has(self.perStep) || !has({each}) || {each} <= {own}",
        f"perStep.{key} must not be above {key}, which holds over all steps.",
        check,
        field=".perStep",
    )


class RunLimits(Model):
    """Limits of the agent's part."""

    rules = (
        _not_above("wall_seconds", "wallSeconds"),
        _not_above("model_calls", "modelCalls"),
        _not_above("model_tokens", "modelTokens"),
    )

    wall_seconds: Seconds | None = None
    """Caps the seconds that all steps may take together; a task's own limits still hold."""
    grace_seconds: Annotated[int, Field(strict=True, ge=0, le=300)] = 10
    """Seconds between SIGTERM and SIGKILL when a step's time is over."""
    model_calls: Calls | None = None
    """Model calls that the run may make; the next one is refused as budget_exhausted."""
    model_tokens: Tokens | None = None
    """Tokens, as the provider counts input and output, after which further model calls are refused."""
    model_cost: DecimalText | None = None
    """Money in the currency of the provider's prices, in quotes, after which further model calls are refused."""
    per_step: StepLimits | None = None
    """The same for each step of the task by itself."""


class ObjectReference(Model):
    """Another object in the same namespace."""

    name: Name
    """Name of the object."""


class CohortRef(ObjectReference):
    """The cohort that scheduled a run, and where its schedule has it."""

    preregistration_sha256: Sha256 | None = None
    """SHA-256 of the preregistration that the run follows; kept in the record."""
    index: Annotated[int, Field(strict=True, ge=1, le=1000000)] | None = None
    """Place in the schedule, from 1; a replacement keeps that of the run that it replaces."""


class Network(Model):
    """What the agent may reach: nothing, besides what is named here, through the gateway."""

    model_provider_ref: ObjectReference | None = None
    """The ModelProvider that the gateway forwards model calls to; without it the agent has no network at all."""


class Replaced(Model):
    """The invalid run that this one replaces."""

    name: Annotated[str, Field(min_length=1, max_length=names.RUN_NAME_MAX)]
    """Name of the replaced run."""
    uid: Uid
    """UID of the replaced run: a later run of the same name is another run."""


class Cancel(Model):
    """A request to stop the run. Final."""

    reason: Annotated[str, Field(min_length=1, max_length=256)]
    """Why the run is stopped; kept in the record."""


class BenchmarkRunSpec(Model):
    """One task, one candidate, one try. Nothing but suspend and cancel can change."""

    task_ref: TaskRef
    """Which task to do."""
    candidate: Candidate
    """What does it."""
    resource_class_name: Name
    """Name of the ResourceClass (see `kubectl get rclass`) that both pods get their resources from."""
    queue: Name | None = None
    """Name of the Kueue LocalQueue that admits both pods; by default that of the ResourceClass, or none."""
    limits: RunLimits = Field(default_factory=RunLimits)
    """Limits of the agent's part."""
    network: Network = Field(default_factory=Network)
    """What the agent may reach."""
    repetition: Annotated[int, Field(strict=True, ge=1, le=100000)] = 1
    """Which repetition of this task by this candidate it is."""
    block: Name | None = None
    """Name of the block: one run per candidate for the same task and repetition."""
    cohort_ref: CohortRef | None = None
    """The BenchmarkCohort that scheduled this run."""
    replaces: Replaced | None = None
    """The invalid run that this one replaces."""
    suspend: Annotated[bool, Field(strict=True)] = False
    """While true, no pod is created; a pod that already runs is left alone."""
    cancel: Cancel | None = None
    """Stops the run, for the reason given; once set it can't be unset or changed."""


BenchmarkRunSpec.rules = (
    *immutable(BenchmarkRunSpec, besides=("suspend", "cancel")),
    Rule(
        "!has(oldSelf.cancel) || (has(self.cancel) && self.cancel == oldSelf.cancel)",
        "cancel can't be unset or changed: the run may have been stopped already; make a new run.",
        field=".cancel",
    ),
)


# --- status -----------------------------------------------------------------------------------------------------------
class ContainerFacts(Observation):
    """How one container ended, or what it was waiting for when its pod was given up."""

    exit_code: Annotated[int, Field(ge=-(2**31), le=2**31)] | None = None
    """Exit code; unset if the container never ended."""
    signal: Annotated[int, Field(ge=0, le=128)] | None = None
    """Signal that ended it, if the runtime says so."""
    reason: Line = ""
    """Reason of the terminated or waiting state, such as OOMKilled or ImagePullBackOff."""
    message: Sentence = ""
    """Message of that state, or what the container left as its termination message; the first 1,024 characters."""
    started_at: Timestamp | None = None
    """When it started."""
    finished_at: Timestamp | None = None
    """When it ended."""


class PodFacts(Observation):
    """What a pod ended with, observed when it ended or was given up. Of an evaluator that the cluster takes away, what
    was seen then stands until its end is known."""

    phase: Literal["Pending", "Running", "Succeeded", "Failed", "Unknown", "Gone"]
    """The pod's phase then; Gone if the object had vanished before it was read."""
    reason: Line = ""
    """The pod's own reason, such as Evicted or DeadlineExceeded."""
    message: Sentence = ""
    """The pod's own message; the first 1,024 characters."""
    deletion_requested: bool = False
    """Whether somebody but the operator had asked for the pod's deletion before it ended."""
    disruption: Line | None = None
    """Reason of the condition DisruptionTarget, such as PreemptionByScheduler."""
    node_lost: bool = False
    """Whether the pod's node was gone or unreachable."""
    overdue: Overdue | None = None
    """The phase whose deadline was over when the operator gave this pod up."""
    image_ids: Annotated[dict[Word, Annotated[str, Field(max_length=512)]], Field(max_length=8, alias="imageIDs")] = (
        Field(default_factory=dict)
    )
    """Image of each container as the node resolved it."""
    containers: Annotated[dict[Word, ContainerFacts], Field(max_length=8)] = Field(default_factory=dict)
    """How each container ended."""


class PodStatus(Observation):
    """One pod of the run."""

    name: Word
    """Name of the pod."""
    uid: Uid
    """UID of the pod: another pod of the same name is another pod."""
    node: ObjectName | None = None
    """Node that it was scheduled to."""
    facts: PodFacts | None = None
    """What it ended with; unset while it lives."""


class ResolvedTask(Observation):
    """The task as it was when the run was accepted. The record is made from this: the object may be gone by then."""

    uid: Uid | None = None
    """UID of the task object."""
    version: Annotated[int, Field(ge=1, le=1000000)]
    """Version of the task."""
    public_sha256: Sha256
    """SHA-256 of the public archive."""
    sealed_sha256: Sha256
    """SHA-256 of the sealed archive."""
    evaluator_image: Image
    """Image that the checks run in."""
    prompts: Annotated[dict[Word, Sha256], Field(max_length=16)] = Field(default_factory=dict)
    """SHA-256 of each step's prompt, by the step's name."""
    tool_servers: Annotated[tuple[Name, ...], Field(max_length=16)] = ()
    """Tool servers that the agent may reach through the gateway."""

    @classmethod
    def of(cls, task: BenchmarkTask) -> "ResolvedTask":
        """What a run keeps of `task`."""
        return cls(
            uid=task.metadata.uid,
            version=task.spec.version,
            public_sha256=task.spec.public_archive.sha256,
            sealed_sha256=task.spec.sealed_archive.sha256,
            evaluator_image=task.spec.evaluator_image,
            prompts={step.name: digest(step.prompt) for step in task.spec.steps},
            tool_servers=task.spec.tool_servers,
        )


class ResolvedResourceClass(Observation):
    """The resource class as it was when the run was accepted."""

    uid: Uid
    """UID of the resource class."""
    generation: Annotated[int, Field(ge=0, le=2**53)]
    """Generation of its spec."""
    requests: Requests | None = None
    """What the scheduler set aside."""
    limits: Limits | None = None
    """What could not be exceeded."""
    spec_sha256: Sha256 | None = None
    """SHA-256 of its spec as canonical JSON."""

    @classmethod
    def of(cls, resource_class: ResourceClass) -> "ResolvedResourceClass":
        """What a run keeps of `resource_class`, which may change later."""
        spec = resource_class.spec
        return cls(
            uid=resource_class.metadata.uid,
            generation=resource_class.metadata.generation,
            requests=spec.requests,
            limits=spec.limits,
            spec_sha256=digest(spec.as_json()),
        )


class ResolvedProvider(Observation):
    """The model provider as it was when the run was accepted: what its calls are counted and priced by."""

    uid: Uid
    """UID of the model provider."""
    wire: Word
    """Wire protocol."""
    model: PinnedModel
    """The one model that calls may name."""
    usage: UsageSemantics
    """How the provider counts tokens."""
    pricing: Pricing | None = None
    """Prices; without them cost is unavailable."""

    @classmethod
    def of(cls, provider: ModelProvider) -> "ResolvedProvider":
        """What a run keeps of `provider`."""
        spec = provider.spec
        return cls(uid=provider.metadata.uid, wire=spec.wire, model=spec.model, usage=spec.usage, pricing=spec.pricing)


class RunTimestamps(Observation):
    """When each phase began, as observed."""

    accepted: Timestamp | None = None
    """All references were resolved."""
    agent_created: Timestamp | None = None
    """The agent pod was created."""
    agent_scheduled: Timestamp | None = None
    """The agent pod got its node."""
    agent_started: Timestamp | None = None
    """The agent container started."""
    agent_finished: Timestamp | None = None
    """The agent pod ended or was given up."""
    evaluator_created: Timestamp | None = None
    """The evaluator pod was created."""
    evaluated: Timestamp | None = None
    """The evaluator pod ended or was given up."""
    cancelled: Timestamp | None = None
    """The operator first acted on spec.cancel or on the run's deletion. Never set once the last pod's end is known:
    what the record says must not depend on what is asked for later."""
    recorded: Timestamp | None = None
    """The record was stored."""


class RecordReference(Observation):
    """Where the record lies."""

    uri: Annotated[str, Field(max_length=1024)]
    """Address of the record, such as s3://bucket/key."""
    sha256: Sha256
    """SHA-256 of the record."""


class BenchmarkRunStatus(Observation):
    """What is known about the run. Written by the operator alone."""

    observed_generation: Annotated[int, Field(ge=0, le=2**53)] | None = None
    """Generation of the spec that this status is about."""
    conditions: Conditions = ()
    """Accepted, AgentStarted, IsolationProven, AgentFinished, Evaluated, Recorded: what is true, false or undecided."""
    phase: Phase | None = None
    """Where the run is, for people; derived from the conditions."""
    outcome: Outcome | None = None
    """How the run ended: passed, failed, invalid, void or cancelled."""
    cause: Cause | None = None
    """Whose doing it was."""
    reason: Word | None = None
    """The finer reason, one snake_case word."""
    invalidity: Invalidity | None = None
    """The protocol's reason code, for invalid runs only."""
    category: Category | None = None
    """The failure's primary category, for failed runs only."""
    message: Paragraph | None = None
    """The outcome in a sentence, with the next move if there is one."""
    task: ResolvedTask | None = None
    """The task as it was when the run was accepted."""
    resource_class: ResolvedResourceClass | None = None
    """The resource class as it was when the run was accepted."""
    provider: ResolvedProvider | None = None
    """The model provider as it was when the run was accepted."""
    agent_pod: PodStatus | None = None
    """The agent's pod."""
    evaluator_pod: PodStatus | None = None
    """The evaluator's pod."""
    timestamps: RunTimestamps = Field(default_factory=RunTimestamps)
    """When each phase began."""
    record: RecordReference | None = None
    """Where the record lies; once set, the run is over."""


class BenchmarkRun(Model):
    """One execution of one task by one candidate, in isolated pods. Never retried; its record is immutable."""

    rules = named(names.RUN_NAME_MAX, "because its pods append '-evaluator' and a label holds 63")

    api_version: Literal["fairtrial.dev/v1alpha1"] = "fairtrial.dev/v1alpha1"
    kind: Literal["BenchmarkRun"] = "BenchmarkRun"
    metadata: ObjectMeta = Field(default_factory=ObjectMeta)
    spec: BenchmarkRunSpec
    """One task, one candidate, one try. Nothing but suspend and cancel can change."""
    status: BenchmarkRunStatus = Field(default_factory=BenchmarkRunStatus)
    """What is known about the run. Written by the operator alone."""

    @property
    def recorded(self) -> bool:
        """Whether the run is over: its record is stored."""
        return self.status.record is not None

    @property
    def stop_requested(self) -> bool:
        """Whether somebody asked for the run to stop, by spec.cancel or by deleting it."""
        return self.spec.cancel is not None or self.metadata.deletion_timestamp is not None
