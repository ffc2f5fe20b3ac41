"""What the ledger decided about each invalid run, made again by the policy that was sealed. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping

from fairtrial.cohort.ledger import Ledger, LedgerEntry
from fairtrial.cohort.preregistration import spec_in
from fairtrial.cohort.replacement import Code, Evidence, decide
from fairtrial_analysis.load.inputs import Plan, Wrong, entry_of
from fairtrial_analysis.load.rows import Row


def undecided(plan: Plan, ledger: Ledger, rows: Mapping[str, Row]) -> Iterator[Wrong]:
    """Decisions that the policy does not give, and invalid runs about which nobody decided.

    `rows` are the runs as they were recorded: what was corrected later was not known when it was decided.
    """
    policy, used = spec_in(plan.document).replacement, Counter[tuple[str, str]]()
    for run, said in ledger.decisions.items():
        entry, row = entry_of(plan, ledger, run), rows.get(run)
        if entry is None or row is None or row.integrity:
            continue  # another error tells
        code = decide(policy, _evidence(row), used[entry.cell]).code
        if not _follows(said, code, ledger.cancelled):
            yield Wrong("DECISION_MISMATCH", run, f"the ledger decides {said.code}; the policy gives {code}.")
        used[entry.cell] += bool(said.by)
    for run, end in ledger.records.items():
        if end.outcome == "invalid" and run not in ledger.decisions:
            yield Wrong("DECISION_MISMATCH", run, "was invalid, and nobody decided whether to replace it.")


def _evidence(row: Row) -> Evidence:
    assert row.outcome != "not_run"
    return Evidence(row.outcome, row.invalidity, row.reason, row.answered)


def _follows(said: LedgerEntry, code: Code, cancelled: LedgerEntry | None) -> bool:
    """Whether this is what the policy gives; nothing is granted once a cohort was cancelled."""
    stopped = cancelled is not None and cancelled.number < said.number
    right = said.code == code or (stopped and code == "allowed")
    return right and bool(said.by) == (said.code == "allowed")
