"""The gates that a cohort named: shown by documents that its preregistration names, or by the records. Pure.

A document that shows something is named by its digest and is not judged here. `isolation` and `model-immutable` are
seen in every record: what records contradict is not passed, whatever a document says.
"""

from collections.abc import Callable, Iterable

from fairtrial_analysis.load.inputs import Plan
from fairtrial_analysis.load.rows import Row
from fairtrial_analysis.rule.results import GateEvidence

RECORDS = "records"
_NAMED = 20


def gates_of(plan: Plan, rows: Iterable[Row]) -> dict[str, GateEvidence]:
    """Every gate of the cohort by name."""
    valid = [row for row in rows if row.valid]
    made = {gate["name"]: _declared(gate.get("evidence", ())) for gate in plan.spec.get("gates", ())}
    for name, judge in _FROM_RECORDS.items():
        wanted = name in made or (plan.rule is not None and name in plan.rule.gates)
        if wanted and valid:
            seen = judge(valid)
            shown = made.get(name)
            if shown is None or shown.state != "pass" or seen.state == "fail":
                made[name] = seen
    return made


def _declared(evidence: Iterable[dict[str, str]]) -> GateEvidence:
    shown = tuple(f"{one['uri']} sha256:{one['sha256']}" for one in evidence)
    return GateEvidence("pass", shown) if shown else GateEvidence("unknown", reason="no_evidence")


def _isolation(valid: list[Row]) -> GateEvidence:
    odd = sorted(row.run for row in valid if row.isolation != "proven")
    return _seen(odd, "isolation not proven")


def _model(valid: list[Row]) -> GateEvidence:
    odd = sorted(row.run for row in valid if any(model != row.pinned for model in row.models))
    return _seen(odd, "another model answered than the one that was pinned")


def _seen(odd: list[str], says: str) -> GateEvidence:
    if not odd:
        return GateEvidence("pass", (RECORDS,))
    rest = f" and {len(odd) - _NAMED} more" if len(odd) > _NAMED else ""
    return GateEvidence("fail", (RECORDS,), f"{says}: {', '.join(odd[:_NAMED])}{rest}")


_FROM_RECORDS: dict[str, Callable[[list[Row]], GateEvidence]] = {"isolation": _isolation, "model-immutable": _model}
