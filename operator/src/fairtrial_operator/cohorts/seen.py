"""What is observed about a cohort, and what may be done about it: the words between `observe`, `decide` and `apply`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fairtrial.api import BenchmarkCohortStatus
from fairtrial.cohort.ledger import Ledger, LedgerEntry
from fairtrial.cohort.preregistration import Found
from fairtrial.cohort.replacement import Evidence
from fairtrial.cohort.schedule import Schedule
from fairtrial_operator.accept import NamespaceView
from fairtrial_operator.cohorts.analysis_job import AnalysisSettings
from fairtrial_operator.cohorts.members import Member
from fairtrial_operator.seen import Event, Stored

Object = dict[str, Any]


@dataclass(frozen=True)
class Trouble:
    """Why something could not be done in this very reconciliation. `again` is what time alone may mend."""

    reason: str  # of a condition
    message: str
    again: bool = True


@dataclass(frozen=True)
class Blocks:
    """What the records say about the runs of each block: whether they can be compared."""

    different: int = 0  # blocks
    message: str = ""


@dataclass(frozen=True)
class CohortSeen:
    """Everything that a decision looks at beside the cohort itself and the time."""

    namespace: NamespaceView | None
    found: Found | None = None  # what it names, while it is not sealed
    sealed: Stored | None = None  # how the attempt to store the preregistration ended
    schedule: Schedule | None = None
    ledger: Ledger | None = None
    ledger_trouble: Trouble | None = None  # it can't be read, or contradicts itself
    members: Mapping[str, Member] = field(default_factory=dict)
    lost: Mapping[str, str] = field(default_factory=dict)  # UIDs of runs that had a pod and went without a record
    evidence: Mapping[str, Evidence] = field(default_factory=dict)  # of invalid runs, as their records tell
    records: Mapping[str, LedgerEntry] = field(default_factory=dict)  # of runs whose objects are gone
    absent: frozenset[str] = frozenset()  # runs that the API server and the store were asked about and do not have
    blocks: Blocks | None = None  # once all records were read
    refused: Trouble | None = None  # runs could not be created, in this very reconciliation
    refused_last: Trouble | None = None  # the same, when it was last tried
    outranked: bool = False  # a cohort of a higher priority has runs to create
    analysis: AnalysisSettings | None = None  # None where this installation analyses nothing
    job: Object | None = None  # that analyses a complete cohort, as its status names it
    job_pods: Sequence[Object] = ()
    endorsed: LedgerEntry | None = None  # the study owner's signature, while no run was admitted
    later: Sequence[LedgerEntry] = ()  # what people made since: a signature, corrections, a release, not in the ledger
    status_due: bool = True  # whether counts alone are worth a write now
    status_due_after: float = 0.0
    batch: int = 32
    capabilities: LedgerEntry | None = None  # what the store was found to do; None until it was asked
    to_sign: Sequence[int] = ()  # sizes of the ledger that have no signed root yet, if this operator signs


# --- what may be done: one thing at a time ----------------------------------------------------------------------------
@dataclass(frozen=True)
class PutPreregistration:
    """Store the preregistration, once and for ever."""

    data: bytes


@dataclass(frozen=True)
class Append:
    """Add a page to the ledger."""

    entries: Sequence[LedgerEntry]


@dataclass(frozen=True)
class SignLedger:
    """Sign the roots of the ledger at these sizes."""

    sizes: Sequence[int]


@dataclass(frozen=True)
class CreateRuns:
    """Create runs, or adopt those that are there already and are the cohort's own."""

    bodies: Sequence[Object]


@dataclass(frozen=True)
class CancelRuns:
    """Ask for the end of runs."""

    names: Sequence[str]
    reason: str


@dataclass(frozen=True)
class DeleteRuns:
    """Delete the objects of recorded runs; their evidence stays."""

    names: Sequence[str]


@dataclass(frozen=True)
class CompareBlocks:
    """Read all records, and see whether what had to be equal in a block is."""


@dataclass(frozen=True)
class CreateAnalysis:
    """Create the Job that analyses, or find it there already."""

    body: Object


@dataclass(frozen=True)
class DeleteAnalysis:
    """Delete a Job whose result nobody waits for any more."""

    name: str


@dataclass(frozen=True)
class WriteCohort:
    """Write the cohort's whole status."""

    status: BenchmarkCohortStatus


CohortAction = (
    PutPreregistration
    | Append
    | SignLedger
    | CreateRuns
    | CancelRuns
    | DeleteRuns
    | CompareBlocks
    | CreateAnalysis
    | DeleteAnalysis
    | WriteCohort
)


@dataclass(frozen=True)
class CohortDecision:
    """The next thing to do, or when to look again. `demand`: it would create runs at once if it could."""

    action: CohortAction | None = None
    again_after: float | None = None
    retry: bool = False
    event: Event | None = None
    warning: bool = True  # whether the event is one
    demand: bool = False
