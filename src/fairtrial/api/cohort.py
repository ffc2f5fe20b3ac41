"""`BenchmarkCohort`: a preregistered set of runs. Sealing it freezes everything but suspend and cancel."""

from typing import Annotated, Literal

from pydantic import Field

from fairtrial.api.base import (
    Image,
    Model,
    Name,
    ObjectMeta,
    Observation,
    Paragraph,
    Rule,
    Sentence,
    Sha256,
    Word,
    immutable,
    named,
    unique_names,
)
from fairtrial.api.candidate import Candidate
from fairtrial.api.conditions import Conditions
from fairtrial.api.run import Cancel, Invalidity, Network, ObjectReference, RunLimits

COHORT_NAME_MAX = 40  # its runs are named `<cohort>-<number>` and may have 52 characters

Count = Annotated[int, Field(strict=True, ge=0, le=1000000)]
Size = Annotated[int, Field(strict=True, ge=1, le=100000)]


class Constitution(Model):
    """The rules, fixed before the first run: what a result may be used to say, and what was held equal."""

    question: Sentence
    """The question that the cohort answers."""
    permitted_claim: Sentence
    """The claim that a result may support, and no other."""
    task_population: Sentence
    """What the tasks stand for and how they were chosen."""
    primary_metrics: Annotated[tuple[Word, ...], Field(max_length=16)]
    """Metrics that the decision rule reads."""
    secondary_metrics: Annotated[tuple[Word, ...], Field(max_length=64)] = ()
    """Metrics that are reported besides."""
    hard_failures: Annotated[tuple[Sentence, ...], Field(max_length=32)] = ()
    """What no other result can offset."""
    known_differences: Annotated[tuple[Sentence, ...], Field(max_length=32)] = ()
    """Differences between candidates that were not removed."""
    text: Paragraph = ""
    """Anything else, in prose."""


class CohortTask(Model):
    """A task of the cohort, pinned by its digests."""

    name: Name
    """Name of a BenchmarkTask in the same namespace."""
    public_sha256: Sha256
    """Digest that the task's public archive must have."""
    sealed_sha256: Sha256
    """Digest that the task's sealed archive must have."""


class Schedule(Model):
    """The order of runs inside blocks and of blocks, made from a seed."""

    seed: Annotated[int, Field(strict=True, ge=0, le=2**53)]
    """Seed of the order; the same seed gives the same order."""


class Execution(Model):
    """How the runs are carried out."""

    resource_class_name: Name
    """Name of the ResourceClass of every run."""
    parallelism: Size = 10
    """Runs that may be under way at once."""
    ramp_seconds: Annotated[int, Field(strict=True, ge=0, le=86400)] = 0
    """Seconds over which the first runs are spread."""
    limits: RunLimits = Field(default_factory=RunLimits)
    """Limits of the agent's part of every run."""
    network: Network = Field(default_factory=Network)
    """What agents may reach."""


class Replacement(Model):
    """Which invalid runs may be replaced. Decided before any score is read."""

    reasons: Annotated[tuple[Invalidity, ...], Field(max_length=16)] = ()
    """Reason codes of invalid runs that may be replaced; none means no replacement."""
    max_per_cell: Annotated[int, Field(strict=True, ge=0, le=100)] = 1
    """Replacements that one task and candidate may have."""


class DecisionRule(Model):
    """The rule that turns results into a verdict, pinned by the digest of its text."""

    name: Word
    """Name of the rule, as the analysis knows it."""
    sha256: Sha256
    """SHA-256 of the rule's text."""


class Analysis(Model):
    """The frozen version of the analysis."""

    version: Word
    """Version of the analysis."""
    image: Image
    """Image of the analysis, by digest."""
    seed: Annotated[int, Field(strict=True, ge=0, le=2**53)] = 0
    """Seed of every resampling in the analysis."""


class Retention(Model):
    """How long objects stay in the cluster; the evidence in the store outlives them."""

    finished_runs_seconds: Annotated[int, Field(strict=True, ge=0, le=31536000)] = 604800
    """Seconds that a recorded run stays before it is deleted."""


class BenchmarkCohortSpec(Model):
    """The preregistration. Free to change until seal is true; from then on only suspend and cancel can."""

    stage: Literal["smoke", "pilot", "confirmatory"]
    """What the results may be used for; smoke and pilot runs never support a claim."""
    mode: Literal["mechanism", "endToEnd", "composition", "paired"]
    """What kind of comparison it is."""
    constitution: Constitution
    """The rules, fixed before the first run."""
    tasks: Annotated[
        tuple[CohortTask, ...],
        Field(max_length=256),
        Rule("self.size() > 0", "tasks must hold at least one task.", bool),
        unique_names("two tasks"),
    ]
    """The tasks, each pinned by its digests."""
    candidates: Annotated[
        tuple[Candidate, ...],
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
    retention: Retention = Field(default_factory=Retention)
    """How long objects stay in the cluster."""
    amends: ObjectReference | None = None
    """The earlier cohort that this one amends; both stay, as separate experiments."""
    seal: Annotated[bool, Field(strict=True)] = False
    """Set to true to freeze the cohort and start it; can't be undone."""
    suspend: Annotated[bool, Field(strict=True)] = False
    """While true, no further run is created."""
    cancel: Cancel | None = None
    """Stops the cohort and its runs; once set it can't be unset or changed."""


BenchmarkCohortSpec.rules = (
    Rule(
        "self.stage != 'confirmatory' || (has(self.decisionRule) && has(self.analysis))",
        "decisionRule and analysis must be set if stage is confirmatory: both are fixed before the first run.",
        lambda spec: spec.stage != "confirmatory" or (spec.decision_rule is not None and spec.analysis is not None),
        field=".stage",
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


class BenchmarkCohortStatus(Observation):
    """What is known about the cohort. Written by the operator alone."""

    observed_generation: Annotated[int, Field(ge=0, le=2**53)] | None = None
    """Generation of the spec that this status is about."""
    conditions: Conditions = ()
    """What is true, false or undecided."""
    phase: Literal["Draft", "Sealed", "Running", "Complete", "Analysed", "Cancelled"] | None = None
    """Where the cohort is, for people; derived from the conditions."""
    preregistration_sha256: Sha256 | None = None
    """SHA-256 of the preregistration, once the cohort is sealed."""
    counts: CohortCounts = Field(default_factory=CohortCounts)
    """How many runs are where."""
    message: Paragraph | None = None
    """What to know or to do next."""


class BenchmarkCohort(Model):
    """A preregistered set of runs: tasks, candidates, repetitions, order, and the rules that were fixed before."""

    rules = named(COHORT_NAME_MAX, "because its runs append a number and may have 52")

    api_version: Literal["fairtrial.dev/v1alpha1"] = "fairtrial.dev/v1alpha1"
    kind: Literal["BenchmarkCohort"] = "BenchmarkCohort"
    metadata: ObjectMeta = Field(default_factory=ObjectMeta)
    spec: BenchmarkCohortSpec
    """The preregistration. Free to change until seal is true."""
    status: BenchmarkCohortStatus = Field(default_factory=BenchmarkCohortStatus)
    """What is known about the cohort. Written by the operator alone."""
