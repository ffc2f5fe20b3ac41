"""report.json: everything that the analysis says, in one document. Data only; HTML, tables and audits follow it.

Keys are camelCase, a field that is None is left out, and the bytes are those of RFC 8785 (`canonical`). Tasks are in
the order of their names, arms in that of `design.arms` (treatment, control, then any others), runs in that of the
schedule, a replacement after what it replaces. Comparisons are between treatment and control; where a cohort has none
of either, their numbers say so.
"""

from dataclasses import dataclass
from typing import Literal

from fairtrial_analysis.report.accounts import (
    ArmFailures,
    Comparability,
    Construction,
    Correction,
    Covariate,
    Deviation,
    Failure,
    Flow,
    IntegrityError,
    Lost,
    Missing,
    Money,
    Order,
    Runtime,
    Sensitivity,
)
from fairtrial_analysis.report.measured import Amount, ArmRates, Leaderboard, Reliability, Success
from fairtrial_analysis.report.values import Exact, Interval, Number, Real

Verdict = Literal["SUPPORTED", "NOT SUPPORTED", "INCONCLUSIVE"]


@dataclass(frozen=True)
class Cohort:
    """Which cohort, and what was fixed before its first run."""

    namespace: str
    name: str
    uid: str
    stage: Literal["smoke", "pilot", "confirmatory"]
    mode: str
    question: str
    permitted_claim: str
    treatment_says: str
    preregistration_sha256: str
    amends: str | None  # the earlier cohort and the reason
    primary_metrics: list[str]
    secondary_metrics: list[str]


@dataclass(frozen=True)
class Design:
    """The schedule in short. `arms[0]` is the treatment and `arms[1]` the control, if there are both."""

    tasks: list[str]
    arms: list[str]
    treatment: str | None
    control: str | None
    repetitions: int
    scheduled: int


@dataclass(frozen=True)
class Provenance:
    """What the report was made from and by. Holds no clock: `as_of` is the latest time in the ledger."""

    ledger_size: int
    ledger_head: str
    as_of: str
    analysis_version: str
    analysis_image: str | None
    preregistered_version: str | None
    preregistered_image: str | None
    seed: int
    signing: Literal["none", "development", "production", "unknown"]
    rule_sha256: str | None
    conventions_sha256: str


@dataclass(frozen=True)
class Notice:
    """Something that a reader must know before the numbers; `runs` are those that it is about, if any."""

    code: str
    says: str
    runs: list[str]


@dataclass(frozen=True)
class Executive:
    """The result on one screen."""

    verdict: Verdict | None  # none for a cohort without a decision rule
    because: list[str]  # rows of the verdict table that decided
    says: list[str]  # sentences for people
    planned: int
    valid: int
    unjudged: int
    telemetry: list[Number]  # share of valid runs that have each primary metric, by arm
    warnings: list[Notice]


@dataclass(frozen=True)
class Rule:
    """The frozen decision rule, as data and in English."""

    name: str
    sha256: str
    english: str
    document: str  # its canonical bytes, as text: what the digest is of


@dataclass(frozen=True)
class Evidence:
    """A document or a set of records that shows something."""

    uri: str
    sha256: str | None
    says: str


@dataclass(frozen=True)
class VerdictLine:
    """One row of the verdict table."""

    kind: Literal["gate", "condition", "budget"]
    name: str
    says: str
    sentence: str  # the condition as it is evaluated
    state: Literal["pass", "fail", "unknown"]
    decided: bool  # whether the verdict rests on this row
    observed: Exact | None
    interval: Interval | None
    comparison: str | None
    threshold: Exact | None
    bound: str | None  # point, lower95, upper95: which of them is compared
    metric: str | None
    statistic: str | None
    reason: str | None
    evidence: list[Evidence]
    runs: Literal["valid", "begun", "none"]  # which runs it rests on; all of them, by `runs`


@dataclass(frozen=True)
class Gate:
    """A gate that the cohort named: what must be shown, and what shows it."""

    name: str
    says: str
    needed: str
    state: Literal["pass", "fail", "unknown"]
    reason: str | None
    evidence: list[Evidence]


@dataclass(frozen=True)
class Variant:
    """The verdict under another reading of the same records."""

    name: str
    says: str
    verdict: Verdict
    because: list[str]
    changed: bool


@dataclass(frozen=True)
class Planned:
    """What was planned, and what was achieved."""

    what: str
    planned: Number
    achieved: Number


@dataclass(frozen=True)
class Limitation:
    """A limitation or a threat to validity: declared before, or derived from what there is."""

    source: Literal["declared", "derived"]
    code: str
    says: str


@dataclass(frozen=True)
class Absent:
    """A value that a run does not have, and why."""

    metric: str
    state: Literal["missing", "not_applicable", "void"]
    reason: str


@dataclass(frozen=True)
class Run:
    """One run, or an entry of the schedule that was never begun (without a UID). Evidence of every number."""

    run: str
    uid: str | None
    index: int
    block: str
    task: str
    arm: str
    repetition: int
    place: int  # in its block, from 1
    outcome: str
    cause: str | None
    category: str | None
    tags: list[str]
    code: str | None  # of an invalid run
    reason: str | None
    replaces: str | None
    corrected: list[int]  # numbers of corrections that changed this row
    record_sha256: str | None
    record: str | None  # path in a fetched package
    started_at: str | None
    node: str | None
    models: list[str]  # that answered
    oom_kills: int | None
    trace_gaps: list[str]  # why its trace is not complete
    values: dict[str, Real | str]  # by metric; text is a fraction or an integer that no double holds
    absent: list[Absent]


@dataclass(frozen=True)
class Report:
    """All of it."""

    cohort: Cohort
    design: Design
    provenance: Provenance
    executive: Executive
    rule: Rule | None
    verdict_table: list[VerdictLine]
    gates: list[Gate]
    stability: list[Variant]
    planned: list[Planned]
    flow: list[Flow]  # all, then by arm
    success: Success
    leaderboard: Leaderboard
    amounts: list[Amount]
    rates: list[ArmRates]
    reliability: list[Reliability]
    missingness: list[Missing]
    failures: list[ArmFailures]
    failed_runs: list[Failure]
    lost_runs: list[Lost]
    integrity: list[IntegrityError]
    corrections: list[Correction]
    deviations: list[Deviation]
    sensitivity: Sensitivity | None
    order: Order | None
    covariates: list[Covariate]
    comparability: list[Comparability]
    money: Money
    construction: Construction
    runtime: Runtime
    limitations: list[Limitation]
    conventions: dict[str, str | int]
    methods: dict[str, str]  # definition of every method that the report uses, its intervals too
    runs: list[Run]
    schema_version: Literal[1] = 1
    kind: Literal["Report"] = "Report"
