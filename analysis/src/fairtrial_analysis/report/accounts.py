"""Sections of the report that account for runs: flow, failures, losses, corrections, order and money. Data only."""

from dataclasses import dataclass

from fairtrial_analysis.report.values import Counted, Number, Summary


# --- what became of everything that was scheduled ---------------------------------------------------------------------
@dataclass(frozen=True)
class Flow:
    """scheduled + replacements = passed + failed + invalid + void + cancelled + not run; of one arm, or of all."""

    arm: str | None
    scheduled: int
    replacements: int
    passed: int
    failed: int
    invalid: int
    void: int
    cancelled: int
    not_run: int
    invalid_by: list[Counted]  # reason code
    balanced: bool


@dataclass(frozen=True)
class Missing:
    """One field in one arm, over valid runs. A measured zero is present."""

    field: str
    arm: str
    n: int
    present: int
    missing: int
    not_applicable: int
    void: int
    zeros: int
    rate: Number  # missing or void, of those to which it applies
    reasons: list[Counted]


@dataclass(frozen=True)
class ArmFailures:
    """One arm's failures by primary category, every category named; secondary tags beside them."""

    arm: str
    failures: int
    primary: list[Counted]
    tags: list[Counted]
    ambiguous: int
    causes: list[Counted]


@dataclass(frozen=True)
class Failure:
    """One failed run."""

    run: str
    task: str
    arm: str
    category: str | None
    tags: list[str]
    cause: str
    reason: str
    ambiguous: bool


@dataclass(frozen=True)
class Lost:
    """A run without a judgement, what was decided about it, and what stands in its place."""

    run: str
    uid: str
    task: str
    arm: str
    repetition: int
    outcome: str
    code: str | None  # preregistered reason code
    reason: str
    message: str
    decision: str | None  # allowed, or the code why it was not replaced
    why: str | None
    replaced_by: str | None
    replaces: str | None


@dataclass(frozen=True)
class Correction:
    """One correction, void or deviation, and what it changes. The old record stays as it is."""

    number: int
    kind: str  # correction, void or deviation
    run: str | None
    reason: str
    says: str
    role: str
    at: str
    supersedes: str | None  # SHA-256 of the record, or of the correction before it
    fields: list["CorrectedField"]
    evidence: list[str]
    verdict_without: str | None  # the verdict without any correction of this run
    changes_verdict: bool | None


@dataclass(frozen=True)
class CorrectedField:
    """One field before and after."""

    field: str
    before: str
    after: str


@dataclass(frozen=True)
class Deviation:
    """Something that went otherwise than planned, found by a machine or told by a person."""

    code: str
    says: str
    runs: list[str]


@dataclass(frozen=True)
class IntegrityError:
    """Something that is wrong with the records. It stops a confirmatory verdict."""

    code: str
    where: str  # a run, a page of the ledger, a document
    says: str


# --- how robust it is -------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Sensitivity:
    """What runs without a judgement could have changed."""

    worst_case_low: Number
    worst_case_high: Number
    tipping_point: Number
    lost: list[Number]  # the share of begun runs that were lost, by arm
    differential_loss: Number  # Fisher's p
    unequal: bool | None  # whether that p is below 0.05: a headline warning


# --- order and place --------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class PlaceInBlock:
    """One arm by whether it came first or second in its block."""

    arm: str
    place: str
    rate: Number
    amounts: list[Summary]  # of the primary metrics, among successes


@dataclass(frozen=True)
class Order:
    """The schedule's balance, and whether coming first mattered. The order itself is in `runs`."""

    blocks: int
    complete: int
    treatment_first: int
    control_first: int
    places: list[PlaceInBlock]


@dataclass(frozen=True)
class Covariate:
    """One circumstance that might differ between arms, with how many valid runs of each arm had each value."""

    name: str  # node, resources, evaluator image …
    arm: str
    values: list[Counted]


@dataclass(frozen=True)
class Comparability:
    """Runs of one block that differ in what must be equal."""

    where: str
    what: str
    values: list[Counted]  # the value, and the runs that have it


# --- money and effort -------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class PricingSnapshot:
    """The prices that costs were computed by, per million tokens, as decimal text."""

    snapshot: str
    model: str
    currency: str
    effective_date: str
    service_tier: str
    prices: list["Price"]
    arms: list[str]


@dataclass(frozen=True)
class Price:
    """One price; none is unknown, not free."""

    name: str
    price: str | None


@dataclass(frozen=True)
class Money:
    """What the runs cost, by arm: of all runs that were begun, those that were lost too."""

    totals: list[Number]
    snapshots: list[PricingSnapshot]


@dataclass(frozen=True)
class ConstructionPart:
    """What one part took, in one unit."""

    part: str
    spent: Number


@dataclass(frozen=True)
class BreakEven:
    """How many tasks pay for construction, in one unit: of the main numerator, and of everything."""

    unit: str
    parts: list[ConstructionPart]
    main: Number
    inclusive: Number
    control_median: Number
    treatment_median: Number
    break_even: Number
    break_even_inclusive: Number
    tasks_needed: int | None


@dataclass(frozen=True)
class Construction:
    """Construction cost and break-even, or why there is none."""

    state: str
    reason: str | None
    document_sha256: str | None
    units: list[BreakEven]


@dataclass(frozen=True)
class RuntimeMetric:
    """One runtime metric of one arm: a separate experiment."""

    metric: str
    unit: str
    arm: str
    summary: Summary
    p95: Number
    p95_interpolated: bool  # so few samples do not identify it


@dataclass(frozen=True)
class Runtime:
    """Results of the runtime experiment, kept apart from the agents' efficiency; or why there are none."""

    state: str
    reason: str | None
    document_sha256: str | None
    metrics: list[RuntimeMetric]
