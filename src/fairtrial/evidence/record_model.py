"""The record: the one JSON document that says what a run was and how it ended, and hashes all that is behind it.

Made from observed facts only (`record.assemble`): the run's spec, what its status froze, and the two reports. It holds
no floating point, and no time but those that were observed.
"""

from typing import Annotated, Any, Literal

from pydantic import ValidationError

from fairtrial import documents
from fairtrial.api.base import CEL_KEY, Model
from fairtrial.api.run import (
    Category,
    Cause,
    Invalidity,
    Outcome,
    PodStatus,
    Replaced,
    ResolvedProvider,
    ResolvedResourceClass,
)
from fairtrial.documents import (
    Artifact,
    CheckResult,
    CommandResult,
    Leftovers,
    ProbeResult,
    Snapshot,
    StepResult,
    Stream,
)
from fairtrial.errors import InvalidInput
from fairtrial.evidence.value import DOCUMENT, Integer, Plain, Value


class RecordedTask(Model):
    """The task, as it was when the run was accepted."""

    name: str
    version: Value[Integer]
    uid: Value[str]
    public_sha256: Value[str]
    sealed_sha256: Value[str]


class Identity(Model):
    """Which run this is. The UID counts: a run made later under the same name is another run."""

    namespace: str
    run: str
    uid: str
    task: RecordedTask
    candidate: str
    repetition: Integer
    block: str | None = None


class Configuration(Model):
    """What the candidate was given, with a hash of every instruction."""

    name: str
    version: str
    image: str
    argv: tuple[str, ...]
    """The argv template; each step's own argv is among the steps."""
    stdin: str
    configuration_sha256: str
    """SHA-256 of the whole candidate as canonical JSON."""
    argv_sha256: str
    env_sha256: str
    file_sha256: dict[str, str]
    prompt_sha256: Value[dict[str, str]]
    """SHA-256 of each step's prompt."""
    provider: Value[ResolvedProvider]
    """The model provider: wire, pinned model and parameters, usage semantics, prices."""
    wall_seconds: Value[Integer]
    """The run's own cap over all steps."""
    grace_seconds: Integer


class Environment(Model):
    """Where it ran: as asked for, as resolved, and as seen from inside."""

    candidate_image: str
    evaluator_image: Value[str]
    resolved_images: dict[str, str]
    """Image of each container as the node resolved it, by pod and container."""
    resource_class: str
    resources: Value[ResolvedResourceClass]
    network_policy: str
    """`none`, or `modelProvider/<name>`."""
    initial_state_sha256: Value[str]
    """SHA-256 of the workspace before the agent started."""
    agent: Plain
    """What the agent pod saw: kernel, cgroup limits, tool versions."""
    evaluator: Plain
    """What the evaluator pod saw."""


class UsageConflict(Model):
    """One count on which sources disagree, or on which the provider disagrees with itself. Reported, not resolved."""

    counter: str
    counts: dict[str, Integer]
    note: str = ""


class CallCourse(Model):
    """How the model calls went over the time of the run; each rule is in `fairtrial.usage.course` (protocol 4 §7).

    Values at the start and in the tail are lower medians of the first and the last third of the usable answers.
    """

    unfinished_calls: Value[Integer]
    """Calls that began and whose end nobody recorded."""
    faults: Value[Integer]
    """Calls that failed on the provider's side, injected or not."""
    faults_by: dict[str, Integer]
    """The same by what failed: rate_limited, server_error, cut, silent, unusable_answer …"""
    recovered_faults: Value[Integer]
    """Those of them after whose end a call began that had a usable answer."""
    first_token_ms: Value[Integer]
    """Lower median of the time from a call's arrival until the first usable part of its answer."""
    start_first_token_ms: Value[Integer]
    tail_first_token_ms: Value[Integer]
    largest_input_tokens: Value[Integer]
    """The largest context: uncached and cached input and cache writes of one call."""
    start_input_tokens: Value[Integer]
    tail_input_tokens: Value[Integer]


class Usage(Model):
    """What the provider counted, summed over the calls that were forwarded to it. Never estimated."""

    all_input_tokens: Value[Integer]
    """Uncached and cached input and cache writes together; known where a provider tells them as one count only."""
    uncached_input_tokens: Value[Integer]
    cached_input_tokens: Value[Integer]
    cache_write_tokens: Value[Integer]
    output_tokens: Value[Integer]
    reasoning_tokens: Value[Integer]
    """Part of the output or beside it, as the provider's declared semantics in the configuration say."""
    total_tokens: Value[Integer]
    """As the provider tells it; not a sum of the others."""
    model_calls: Value[Integer]
    """Calls forwarded to the provider, token counts apart."""
    answered_calls: Value[Integer]
    """Calls of which the agent could use the answer, or a part of it."""
    refused_calls: dict[str, Integer]
    """Calls that the gateway refused, by its reason."""
    answered_models: Value[tuple[str, ...]]
    outage: Value[str]
    """How the last call failed on the provider's side, and whether any had a usable answer before."""
    cost: Value[str]
    """Decimal number in `currency`, by the prices named in `pricing_snapshot`."""
    currency: Value[str]
    pricing_snapshot: Value[str]
    leaks: Value[Integer]
    """Places where a provider's credential, or a canary, was found in what was journalled of calls and in what the pods
    stored; while there are any, nothing that holds them may be published."""
    course: CallCourse
    conflicts: tuple[UsageConflict, ...] = ()
    """Where the agent's own counts, or the provider's among each other, disagree with these."""
    calls: Annotated[Artifact, DOCUMENT] | None = None
    """The list of all calls, with the digests of their journals."""


class Consumption(Model):
    """What the agent's container used while the steps ran, by the counters of its own cgroup (protocol 4 §4: hardware
    is part of what latency is compared under). Counted by the kernel, never sampled.
    """

    cpu_ms: Value[Integer]
    """Processor time, user and system, of all processes."""
    cpu_periods: Value[Integer]
    """Periods of the processor quota in which something wanted to run; 0 where there is no quota."""
    throttled_periods: Value[Integer]
    """Those of them in which the quota was used up."""
    throttled_ms: Value[Integer]
    """How long threads were held back for it, summed over processors."""
    memory_peak_bytes: Value[Integer]
    """Most memory at once since the container was started, set-up and page cache included."""


class Interaction(Model):
    """What happened while the agent ran."""

    ending: Value[str]
    message: str
    wall_ms: Value[Integer]
    """From the first step's start to the last one's end, set-up and snapshot apart."""
    assistant_turns: Value[Integer]
    tool_calls: Value[Integer]
    metrics: Plain
    """What the candidate's adapter counted, each with its state: tool calls by type, failures, tests, files …"""
    events: Annotated[Artifact, DOCUMENT] | None = None
    """The normalized events, one JSON object per line, each naming the raw output that it stands for."""
    counts: Annotated[Artifact, DOCUMENT] | None = None
    """The metrics with their lists: test commands, files inspected and modified, retries."""
    steps: tuple[Annotated[StepResult, DOCUMENT], ...]
    streams: tuple[Annotated[Stream, DOCUMENT], ...]


class Patch(Model):
    """The difference between the fixture and the workspace that the agent left."""

    files_added: Value[Integer]
    files_modified: Value[Integer]
    files_deleted: Value[Integer]
    lines_added: Value[Integer]
    lines_deleted: Value[Integer]
    binary_files: Value[Integer]
    generated_files: Value[Integer]
    paths: Value[tuple[str, ...]]
    diff: Annotated[Artifact, DOCUMENT] | None = None
    snapshot: Annotated[Snapshot, DOCUMENT] | None = None


class Evaluation(Model):
    """What the evaluator found, independent of what the agent says."""

    verdict: Value[str]
    reason: str
    negative_control: Value[str]
    protected_touched: Value[tuple[str, ...]]
    snapshot_sha256: Value[str]
    launcher: tuple[str, ...]
    checks: tuple[Annotated[CheckResult, DOCUMENT], ...]


class Isolation(Model):
    """Whether it was proven that the agent could reach nothing, and what was found before it started."""

    state: Literal["proven", "failed", "not_reached", "not_applicable"]
    probes: tuple[Annotated[ProbeResult, DOCUMENT], ...]
    preflight: tuple[Annotated[CommandResult, DOCUMENT], ...]
    leaks: tuple[str, ...]


class RecordedClassification(Model):
    """What the run amounts to, by the table of rules; `row` is the rule that decided."""

    outcome: Outcome
    cause: Cause
    reason: str
    message: str
    row: str
    invalidity: Invalidity | None = None
    category: Category | None = None
    tags: tuple[str, ...]


class Timings(Model):
    """Each phase on its own clock, in milliseconds; and the times that were observed."""

    queued_ms: Value[Integer]
    scheduling_ms: Value[Integer]
    starting_ms: Value[Integer]
    agent_pod_ms: Value[Integer]
    evaluation_ms: Value[Integer]
    agent_phases_ms: dict[str, Integer]
    evaluation_phases_ms: dict[str, Integer]
    timestamps: dict[str, str]


class Pods(Model):
    """The pods and what they ended with: the raw evidence of the classification."""

    agent: PodStatus | None = None
    evaluator: PodStatus | None = None


class Lineage(Model):
    """What this run belongs to and comes after."""

    cohort: str | None = None
    preregistration_sha256: str | None = None
    """SHA-256 of the preregistration that the run follows."""
    schedule_index: Integer | None = None
    """Place in the cohort's schedule, from 1; a replacement has that of the run that it replaces."""
    replaces: Replaced | None = None
    cancel_reason: str | None = None


class Record(Model):
    """The record of one run. Written once, last, and never changed."""

    schema_version: Literal[1] = 1
    identity: Identity
    configuration: Configuration
    environment: Environment
    usage: Usage
    consumption: Consumption
    interaction: Interaction
    patch: Patch
    evaluation: Evaluation
    isolation: Isolation
    leftovers: Value[Annotated[Leftovers, DOCUMENT]]
    classification: RecordedClassification
    timings: Timings
    pods: Pods
    artifacts: tuple[Annotated[Artifact, DOCUMENT], ...]
    lineage: Lineage

    def to_bytes(self) -> bytes:
        """The record's canonical bytes: sorted keys, no spaces. The same facts give the same bytes."""
        return documents.dump(self.as_json())


def load_record(data: bytes, *, name: str = "record") -> Record:
    """Read a record strictly; whatever does not fit is refused with its path."""
    raw = documents.load(dict[str, Any], data, name=name)
    try:
        return Record.model_validate(raw)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise InvalidInput(f"{name}: {'.'.join(map(str, first['loc']))}: {first['msg']}.") from error


def record_schema() -> dict[str, Any]:
    """JSON Schema of a record, for readers in other languages."""
    made = Record.model_json_schema(by_alias=True, mode="serialization")
    published: dict[str, Any] = _published(made)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | published


def _published(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _published(item) for key, item in value.items() if key != CEL_KEY and not _is_title(key, item)}
    if isinstance(value, list):
        return [_published(item) for item in value]
    return value


def _is_title(key: str, item: Any) -> bool:
    return key == "title" and isinstance(item, str)
