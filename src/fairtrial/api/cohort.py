"""`BenchmarkCohort`: a preregistered set of runs. Sealing it freezes everything but suspend and cancel."""

from typing import Annotated, Literal

from pydantic import Field

from fairtrial import names
from fairtrial.api.base import (
    Line,
    Model,
    Name,
    ObjectMeta,
    Observation,
    Rule,
    Sha256,
    Timestamp,
    Word,
    immutable,
    named,
    unique_names,
)
from fairtrial.api.candidate import Candidate
from fairtrial.api.conditions import Conditions
from fairtrial.api.constitution import Constitution, Controls, Gates, Treatment
from fairtrial.api.decision import Analysis, DecisionRule
from fairtrial.api.run import Cancel, Network, ObjectReference, RunLimits

RUNS_MAX = 20000  # scheduled by one cohort
CONFIRMATORY_REPETITIONS = 5  # with fewer valid runs in a cell the paired experiment claims nothing

Count = Annotated[int, Field(strict=True, ge=0, le=10000000)]
Size = Annotated[int, Field(strict=True, ge=1, le=100000)]
# The constitution's ten items, by their fields: what is not here has another field of the spec beside it.
CONSTITUTION_TEXTS = (
    "question", "permittedClaim", "taskPopulation", "sampling", "surface", "modelAccess", "authority", "budgets",
    "exclusions", "intervals",
)  # fmt: skip
CONSTITUTION_LISTS = ("primaryMetrics", "hardFailures", "artifacts")
# The paired experiment's reasons. `unknown` is none of them: what nobody understands is not tried again.
Replaceable = Literal[
    "provider_outage",
    "telemetry_corrupt",
    "fixture_creation_failed",
    "evaluator_infrastructure_failure",
    "solution_accessed",
    "wrong_configuration",
    "host_failure",
]


class TaskVariant(Model):
    """The task as one candidate gets it, where candidates work on fixtures of their own."""

    candidate: Name
    """Name of the candidate."""
    name: Name
    """Name of the BenchmarkTask that this candidate gets instead."""
    public_sha256: Sha256
    """Digest that its public archive must have."""
    sealed_sha256: Sha256
    """Digest that its sealed archive must have."""


class CohortTask(Model):
    """A task of the cohort, pinned by its digests."""

    name: Name
    """Name of a BenchmarkTask in the same namespace."""
    public_sha256: Sha256
    """Digest that the task's public archive must have."""
    sealed_sha256: Sha256
    """Digest that the task's sealed archive must have."""
    category: Line = ""
    """What kind of work the task stands for, by which results are grouped."""
    variants: Annotated[tuple[TaskVariant, ...], Field(max_length=16)] = ()
    """The same request on another fixture, for single candidates. A difference in fixture, which an endToEnd cohort
    must declare and a mechanism cohort can't have."""


class Circumstances(Model):
    """What one candidate works under. What is left out is as the cohort's controls say, for all alike."""

    layer: Line = ""
    """What the candidate is a layer of, such as loop, orchestrator or tool."""
    protocol: Line = ""
    """How it asks for actions, such as native tool calls or text blocks."""
    surface: Line = ""
    """Through what it is driven, such as command line or server."""
    authority: Line = ""
    """What it may do without asking."""
    tools: Annotated[tuple[Line, ...], Field(max_length=64)] = ()
    """The tools that it has."""
    inner_runtime: Line = ""
    """The runtime inside it that a composition holds fixed: name, version and digest."""


class CohortCandidate(Candidate):
    """A candidate with its role in the comparison."""

    role: Literal["treatment", "control"] | None = None
    """Whether it has the treatment. A confirmatory or composition cohort needs both, and one control."""
    model_provider_ref: ObjectReference | None = None
    """The ModelProvider of this candidate's runs; by default that of execution.network. A difference in model."""
    under: Circumstances = Field(default_factory=Circumstances)
    """What it works under, where that differs from the cohort's controls."""


class Schedule(Model):
    """The order of runs inside blocks and of blocks, made from a seed."""

    seed: Annotated[int, Field(strict=True, ge=0, le=2**53)]
    """Seed of the order; the same seed gives the same order."""
    algorithm: Literal["sha256-blocks-v1"] = "sha256-blocks-v1"
    """How the order is made from the seed: blocks of one task and repetition, arms permuted inside blocks."""


class Execution(Model):
    """How the runs are carried out."""

    resource_class_name: Name
    """Name of the ResourceClass of every run."""
    parallelism: Size = 10
    """Runs that may be under way at once."""
    ramp_seconds: Annotated[int, Field(strict=True, ge=0, le=86400)] = 0
    """Seconds over which the first runs are spread."""
    priority: Annotated[int, Field(strict=True, ge=-1000, le=1000)] = 0
    """Cohorts of a higher priority create their runs first; those of one priority take turns."""
    queue: Name | None = None
    """Name of a Kueue LocalQueue that admits the pods; by default that of the ResourceClass, or none."""
    ttl_seconds_after_finished: Annotated[int, Field(strict=True, ge=0, le=31536000)] = 604800
    """Seconds that the object of a recorded run stays in the cluster; the evidence in the store outlives it."""
    limits: RunLimits = Field(default_factory=RunLimits)
    """Limits of the agent's part of every run."""
    network: Network = Field(default_factory=Network)
    """What agents may reach."""


class Replacement(Model):
    """Which invalid runs may be replaced. Decided before any score is read."""

    reasons: Annotated[tuple[Replaceable, ...], Field(max_length=7)] = ()
    """Reason codes of invalid runs that may be replaced; none means no replacement. A run that the agent may have made
    invalid itself is never replaced."""
    max_per_cell: Annotated[int, Field(strict=True, ge=0, le=100)] = 1
    """Replacements that one task and candidate may have."""


class Amends(Model):
    """The earlier cohort that this one amends. Both stay, as separate experiments."""

    name: Name
    """Name of the earlier cohort, in the same namespace."""
    preregistration_sha256: Sha256 | None = None
    """SHA-256 of its preregistration, which tells it from others of its name. Taken from the earlier cohort, and needed
    where that is no longer in the cluster."""
    reason: Annotated[str, Field(min_length=1, max_length=1024)]
    """What was changed, and why."""


class BenchmarkCohortSpec(Model):
    """The preregistration. Free to change until seal is true; from then on only suspend and cancel can."""

    stage: Literal["smoke", "pilot", "confirmatory"]
    """What the results may be used for; smoke and pilot runs never support a claim."""
    mode: Literal["mechanism", "endToEnd", "composition"]
    """What is compared: one mechanism, all else equal; whole systems, differences declared; or what an orchestrator
    adds around a fixed runtime."""
    constitution: Constitution
    """The rules, fixed before the first run."""
    controls: Controls = Field(default_factory=Controls)
    """What is held equal."""
    treatment: Treatment | None = None
    """The difference that the cohort asks about."""
    gates: Gates = ()
    """What must be shown before results may be used, and where it is shown."""
    tasks: Annotated[
        tuple[CohortTask, ...],
        Field(max_length=256),
        Rule("self.size() > 0", "tasks must hold at least one task.", bool),
        unique_names("two tasks"),
    ]
    """The tasks, each pinned by its digests."""
    candidates: Annotated[
        tuple[CohortCandidate, ...],
        Field(max_length=16),
        Rule("self.size() > 0", "candidates must hold at least one candidate.", bool),
        unique_names("two candidates"),
    ]
    """What is compared."""
    repetitions: Annotated[int, Field(strict=True, ge=1, le=1000)]
    """Runs of each task by each candidate."""
    schedule: Schedule
    """The order of the runs."""
    execution: Execution
    """How the runs are carried out."""
    replacement: Replacement = Field(default_factory=Replacement)
    """Which invalid runs may be replaced."""
    decision_rule: DecisionRule | None = None
    """The rule that turns results into a verdict; a confirmatory cohort must have one."""
    analysis: Analysis | None = None
    """The frozen version of the analysis; a confirmatory cohort must have one."""
    amends: Amends | None = None
    """The earlier cohort that this one amends; both stay, as separate experiments."""
    seal: Annotated[bool, Field(strict=True)] = False
    """Set to true to freeze the cohort and start it; can't be undone."""
    suspend: Annotated[bool, Field(strict=True)] = False
    """While true, no further run is created."""
    cancel: Cancel | None = None
    """Stops the cohort and its runs; once set it can't be unset or changed."""

    @property
    def run_count(self) -> int:
        """Runs that the schedule has."""
        return len(self.tasks) * len(self.candidates) * self.repetitions


def _stated(path: str, *, empty: str = "''") -> Rule:
    """The rule that a confirmatory cohort says something in `path`, such as `constitution.sampling`."""
    parent, key = path.split(".")

    def check(spec: BenchmarkCohortSpec) -> bool:
        model = getattr(spec, parent)
        found = next(name for name, info in type(model).model_fields.items() if (info.alias or name) == key)
        return spec.stage != "confirmatory" or bool(getattr(model, found))

    given = f"self.{path}.size() > 0" if empty == "[]" else f"self.{path} != ''"
    return Rule(
        f"self.stage != 'confirmatory' || {given}",
        f"{path} must be stated if stage is confirmatory: it is fixed before the first run.",
        check,
        field=f".{path}",
    )


BenchmarkCohortSpec.rules = (
    *(_stated(f"constitution.{key}") for key in CONSTITUTION_TEXTS),
    *(_stated(f"constitution.{key}", empty="[]") for key in CONSTITUTION_LISTS),
    *(_stated(f"controls.{info.alias or name}") for name, info in Controls.model_fields.items()),
    Rule(
        "self.stage != 'confirmatory' || (has(self.decisionRule) && has(self.analysis))",
        "decisionRule and analysis must be set if stage is confirmatory: both are fixed before the first run.",
        lambda spec: spec.stage != "confirmatory" or (spec.decision_rule is not None and spec.analysis is not None),
        field=".stage",
    ),
    Rule(
        f"self.stage != 'confirmatory' || self.repetitions >= {CONFIRMATORY_REPETITIONS}",
        f"repetitions must be at least {CONFIRMATORY_REPETITIONS} if stage is confirmatory; with fewer it is a pilot.",
        lambda spec: spec.stage != "confirmatory" or spec.repetitions >= CONFIRMATORY_REPETITIONS,
        field=".repetitions",
    ),
    Rule(
        "self.stage != 'confirmatory' || self.candidates.size() > 1",
        "candidates must be at least two if stage is confirmatory: there is nothing to compare otherwise.",
        lambda spec: spec.stage != "confirmatory" or len(spec.candidates) > 1,
        field=".candidates",
    ),
    Rule(
        f"self.tasks.size() * self.candidates.size() * self.repetitions <= {RUNS_MAX}",
        f"tasks, candidates and repetitions must make at most {RUNS_MAX} runs; make several cohorts.",
        lambda spec: spec.run_count <= RUNS_MAX,
        field=".repetitions",
    ),
    *immutable(BenchmarkCohortSpec, besides=("suspend", "cancel"), when="oldSelf.seal"),
    Rule(
        "!has(oldSelf.cancel) || (has(self.cancel) && self.cancel == oldSelf.cancel)",
        "cancel can't be unset or changed: runs may have been stopped already; make a new cohort.",
        field=".cancel",
    ),
)


class CohortCounts(Observation):
    """How many runs are where. Scheduled and replacements make up all others together."""

    scheduled: Count = 0
    """Runs in the schedule."""
    replacements: Count = 0
    """Runs that replace invalid ones."""
    pending: Count = 0
    """Runs that are still to be created."""
    waiting: Count = 0
    """Runs that were created and wait for capacity, for quota or for their queue."""
    running: Count = 0
    """Runs under way."""
    passed: Count = 0
    """Runs that passed."""
    failed: Count = 0
    """Runs that failed."""
    invalid: Count = 0
    """Runs that can't be judged."""
    void: Count = 0
    """Runs in which an invariant broke."""
    cancelled: Count = 0
    """Runs that were stopped by a person."""
    not_run: Count = 0
    """Runs that were never created, because the cohort was stopped."""

    @property
    def valid(self) -> int:
        """Runs that count."""
        return self.passed + self.failed

    @property
    def done(self) -> int:
        """Runs that have a record."""
        return self.valid + self.invalid + self.void + self.cancelled

    @property
    def adds_up(self) -> bool:
        """Whether every scheduled run and every replacement is somewhere, once."""
        rest = self.pending + self.waiting + self.running + self.not_run
        return self.scheduled + self.replacements == self.done + rest


class CohortAnalysis(Observation):
    """The analysis that was asked for last, and the result of the last one that gave one."""

    request: Annotated[str, Field(max_length=64)] = ""
    """Value of the annotation fairtrial.dev/analyse that asked for it; empty where the cohort's end did."""
    ledger_entries: Count
    """Entries of the ledger that it reads: the same in every attempt, so that each gives the same bytes."""
    job: Annotated[str, Field(max_length=63)] | None = None
    """Job in the operator's namespace that carries it out, while it is under way."""
    package_uri: Annotated[str, Field(max_length=1024)] | None = None
    """Address of the evidence package."""
    package_sha256: Sha256 | None = None
    """Digest of the package: SHA-256 of its manifest, which names everything in it."""
    report_sha256: Sha256 | None = None
    """SHA-256 of the package's report.json."""
    verdict: Annotated[str, Field(max_length=64)] | None = None
    """What the decision rule says: SUPPORTED, NOT SUPPORTED or INCONCLUSIVE."""
    analysed_at: Timestamp | None = None
    """When the result was taken in."""


class BenchmarkCohortStatus(Observation):
    """What is known about the cohort. Written by the operator alone. Counts, not lists: small whatever the size."""

    observed_generation: Annotated[int, Field(ge=0, le=2**53)] | None = None
    """Generation of the spec that this status is about."""
    conditions: Conditions = ()
    """Accepted, Sealed, CapacityAvailable, Comparable, Complete, Analysed: what is true, false or undecided."""
    phase: Literal["Draft", "Sealed", "Running", "Suspended", "Complete", "Analysed", "Cancelled"] | None = None
    """Where the cohort is, for people; derived from the conditions."""
    preregistration_uri: Annotated[str, Field(max_length=1024)] | None = None
    """Address of the preregistration, once the cohort is sealed."""
    preregistration_sha256: Sha256 | None = None
    """SHA-256 of the preregistration, once the cohort is sealed."""
    schedule_sha256: Sha256 | None = None
    """SHA-256 of the schedule, as `fairtrial plan` prints it."""
    counts: CohortCounts = Field(default_factory=CohortCounts)
    """How many runs are where."""
    next_index: Count | None = None
    """Index in the schedule of the next run to create."""
    ledger_entries: Count | None = None
    """Entries of the cohort's ledger that are known to be stored."""
    blocks_not_comparable: Count = 0
    """Blocks whose runs differ in something that must be equal."""
    analysis: CohortAnalysis | None = None
    """From records to a verdict."""
    progress: Word | None = None
    """Runs that are done, of all, such as 37/100."""
    eta: Word | None = None
    """About how long the rest will take, such as 25m."""
    sealed_at: Timestamp | None = None
    """When the preregistration was stored."""
    started_at: Timestamp | None = None
    """When the first run was created."""
    finished_at: Timestamp | None = None
    """When the last run was recorded."""
    message: Annotated[str, Field(max_length=2048)] | None = None
    """What to know or to do next."""


class BenchmarkCohort(Model):
    """A preregistered set of runs: tasks, candidates, repetitions, order, and the rules that were fixed before."""

    rules = named(names.NAME_MAX, "because labels hold no more")

    api_version: Literal["fairtrial.dev/v1alpha1"] = "fairtrial.dev/v1alpha1"
    kind: Literal["BenchmarkCohort"] = "BenchmarkCohort"
    metadata: ObjectMeta = Field(default_factory=ObjectMeta)
    spec: BenchmarkCohortSpec
    """The preregistration. Free to change until seal is true."""
    status: BenchmarkCohortStatus = Field(default_factory=BenchmarkCohortStatus)
    """What is known about the cohort. Written by the operator alone."""
