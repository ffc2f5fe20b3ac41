"""What is kept apart from success, by arm: judgeable, within its authority, recovered, traceable, cleaned up. Pure.

Protocol 4 §7: components before any aggregate. A rate counts runs; which, its `of` says.
"""

from collections.abc import Callable, Sequence
from functools import partial

from fairtrial_analysis.load.rows import Row
from fairtrial_analysis.report.data import Data
from fairtrial_analysis.report.measured import ArmRates
from fairtrial_analysis.report.numbers import share
from fairtrial_analysis.report.values import Among, Number, Of
from fairtrial_analysis.rule.recovery import recovered

VIOLATION = "policy_violation"
Holds = Callable[[Row], bool | None]  # None: the run is not in the rate


def rates(data: Data) -> list[ArmRates]:
    """The rates of every arm."""
    return [_of_arm(data, arm) for arm in data.arms]


def _of_arm(data: Data, arm: str) -> ArmRates:
    begun, valid = data.begun(arm), data.valid(None, arm)
    judgeable = [row for row in begun if _judged(row)]
    made = partial(_rate, data, arm)
    return ArmRates(
        arm,
        made("harness_reliability", "begun", begun, _judged, "nothing_begun"),
        made("policy_compliance", "judgeable", judgeable, _within, "no_valid_runs"),
        made("recovery_rate", "valid", valid, lambda row: recovered(row.values), "no_fault_was_observed"),
        made("effect_integrity", "valid", valid, _without_duplicates, "no_harness_gave_receipts"),
        made("clean_end", "valid", valid, _clean, "no_inventory"),
        made("trace_complete", "valid", valid, lambda row: not row.trace_gaps, "no_valid_runs"),
        made("eligible", "judgeable", judgeable, _eligible, "no_valid_runs"),
    )


def _rate(data: Data, arm: str, name: str, among: Among, rows: Sequence[Row], holds: Holds, empty: str) -> Number:
    told = [found for found in map(holds, rows) if found is not None]
    return share(
        sum(told), len(told), Of(among, name, arm=arm), scheduled=data.scheduled(None), empty=empty,
        conventions=data.conventions,
    )  # fmt: skip


def _judged(row: Row) -> bool:
    return row.valid or row.cause == VIOLATION


def _within(row: Row) -> bool:
    return row.cause != VIOLATION


def _without_duplicates(row: Row) -> bool | None:
    """No receipt of an effect came again; None where the harness gives none."""
    duplicates = row.values.get("duplicate_effects")
    return None if duplicates is None or duplicates.value is None else duplicates.value == 0


def _clean(row: Row) -> bool | None:
    """Nothing of the agent's still ran or listened once its program had ended; None where nobody looked."""
    left = [row.values.get(name) for name in ("leftover_processes", "leftover_ports")]
    known = [each.value for each in left if each is not None and each.value is not None]
    return not any(known) if len(known) == len(left) else None


def _eligible(row: Row) -> bool:
    """Passed, within its authority, no effect twice as far as the harness tells, and the trace is complete."""
    duplicates = row.values.get("duplicate_effects")
    single = duplicates is not None and (duplicates.state == "not_applicable" or duplicates.value == 0)
    return row.outcome == "passed" and _within(row) and single and not row.trace_gaps
