"""What the operator keeps in memory of a sealed cohort that is not complete. All of it can be read again."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from fairtrial.api import BenchmarkCohort, BenchmarkRunSpec, parse
from fairtrial.api.run import BenchmarkRun
from fairtrial.cohort.ledger import Ledger, LedgerEntry
from fairtrial.cohort.preregistration import Resolved
from fairtrial.cohort.replacement import Evidence
from fairtrial.cohort.schedule import Entry, Schedule, schedule_of
from fairtrial_operator.cohorts.decide_runs import body_of
from fairtrial_operator.cohorts.seen import Blocks, Trouble


@dataclass
class Book:
    """One cohort's schedule and ledger, and what was asked about its runs."""

    schedule: Schedule
    by_run: Mapping[str, Entry]
    ledger: Ledger | None = None  # None until it is read
    sealed: Resolved | None = None  # what the objects that the cohort names were when it was sealed
    signed: set[int] = field(default_factory=set)  # sizes of the ledger whose roots are
    trouble: Trouble | None = None  # of this reconciliation
    refused: Trouble | None = None  # why runs could not be created when that was last tried
    fresh: set[str] = field(default_factory=set)  # tickets whose run is known not to exist yet
    evidence: dict[str, Evidence] = field(default_factory=dict)
    endorsed: LedgerEntry | None = None  # the study owner's signature, where no run was admitted when it was found
    blocks: Blocks | None = None
    records: dict[str, LedgerEntry] = field(default_factory=dict)
    priority: int = 0
    demand: bool = False
    status_at: float = float("-inf")  # when the status was last written

    @classmethod
    def of(cls, cohort: BenchmarkCohort) -> "Book":
        """A book with nothing read yet."""
        schedule = schedule_of(cohort)
        return cls(schedule, schedule.by_run, priority=cohort.spec.execution.priority)

    def ticketed(self, name: str) -> bool | None:
        """Whether the run `name` may be carried out now; None while the ledger is not known."""
        return None if self.ledger is None else name in self.ledger.open

    def spec_of(self, cohort: BenchmarkCohort, name: str) -> BenchmarkRunSpec | None:
        """What the run `name` has to be, if there is a ticket for it."""
        if self.ledger is None or name not in self.ledger.tickets:
            return None
        return parse(BenchmarkRun, body_of(cohort, self.schedule, self.ledger, name)).spec
