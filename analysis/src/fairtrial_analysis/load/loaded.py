"""What loading gives: rows, results and all that is wrong. The report is computed from nothing else. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from fairtrial.cohort.comparability import Finding
from fairtrial.cohort.ledger import Ledger
from fairtrial.evidence.correction import Correction
from fairtrial_analysis.load.documents import Inputs
from fairtrial_analysis.load.gates import gates_of
from fairtrial_analysis.load.inputs import Plan, Wrong
from fairtrial_analysis.load.rows import Row
from fairtrial_analysis.rule.results import Design, Results


@dataclass(frozen=True)
class Loaded:
    """All that the report is computed from."""

    plan: Plan
    ledger: Ledger
    as_of: str
    rows: tuple[Row, ...]  # in the order of the schedule, a replacement after what it replaces
    results: Results
    wrong: tuple[Wrong, ...]
    findings: tuple[Finding, ...]
    corrections: tuple[Correction, ...] = ()
    uncorrected: Mapping[str, Row] = field(default_factory=dict)  # by run: the row as its record says
    inputs: Inputs = field(default_factory=Inputs)


def results_of(plan: Plan, rows: Iterable[Row], wrong: Iterable[Wrong], inputs: Inputs) -> Results:
    """What the decision rule is applied to."""
    everything = tuple(rows)
    design = Design(tuple(plan.schedule.tasks), plan.arms, plan.schedule.repetitions)
    compared = {plan.treatment, plan.control}
    first: dict[str, int] = {}
    for row in everything:
        if row.arm in compared:
            first[row.block] = min(row.place, first.get(row.block, row.place))
    trials = tuple(row.trial(row.place == first[row.block] if row.arm in compared else None) for row in everything)
    gates = gates_of(plan, everything)
    errors = tuple(str(each) for each in wrong)
    return Results(design, trials, plan.spec["stage"], gates, inputs.runtime_of(plan.treatment), errors)
