"""The verdict table, the gates, the verdict under other readings, and what corrections did to it. Pure."""

from dataclasses import replace
from typing import Any

from fairtrial import documents
from fairtrial.evidence.correction import Correction as Told
from fairtrial_analysis.load.loaded import Loaded, results_of
from fairtrial_analysis.load.rows import Row
from fairtrial_analysis.report.accounts import CorrectedField, Correction
from fairtrial_analysis.report.model import Evidence, Gate, Rule, Variant, VerdictLine
from fairtrial_analysis.report.numbers import exact, real
from fairtrial_analysis.report.values import Interval
from fairtrial_analysis.rule.english import english, sentence
from fairtrial_analysis.rule.evaluate import Decision, Line, evaluate
from fairtrial_analysis.rule.model import Condition, DecisionRule
from fairtrial_analysis.rule.results import GateEvidence, Results
from fairtrial_analysis.rule.stability import stability
from fairtrial_analysis.stats.conventions import Conventions

RECORDS = Evidence("records", None, "What every valid run's record says.")


def rule_of(loaded: Loaded, conventions: Conventions) -> Rule | None:
    """The rule as data and in English."""
    rule = loaded.plan.rule
    if rule is None:
        return None
    return Rule(rule.name, rule.sha256, english(rule, loaded.results.design, conventions), rule.to_bytes().decode())


def table(loaded: Loaded, decision: Decision | None) -> list[VerdictLine]:
    """Every gate, condition and budget with what was observed."""
    rule = loaded.plan.rule
    if rule is None or decision is None:
        return []
    conditions = {one.name: one for one in (*rule.conditions, *rule.data_gates)}
    return [_line(loaded, line, conditions.get(line.name), decision) for line in decision.lines]


def _line(loaded: Loaded, line: Line, condition: Condition | None, decision: Decision) -> VerdictLine:
    named = line.kind == "gate" and condition is None
    shown = loaded.results.gates.get(line.name) if named else None
    return VerdictLine(
        kind=line.kind,
        name=line.name,
        says=line.says,
        sentence=sentence(condition) if condition else line.says,
        state=line.state,
        decided=line.name in decision.because,
        observed=exact(line.observed),
        interval=_interval(line),
        comparison=line.comparison or None,
        threshold=exact(line.threshold),
        bound=line.bound if condition else None,
        metric=condition.metric if condition else None,
        statistic=condition.statistic if condition else None,
        reason=line.reason or None,
        evidence=_evidence(loaded, line.name, shown) if shown else [],
        runs="valid" if condition or line.name == "valid-runs" else "begun" if line.name == "integrity" else "none",
    )


def _interval(line: Line) -> Interval | None:
    if line.interval is None:
        return None
    low, high = line.interval
    return Interval("decision_rule", low=None if low is None else real(low), high=None if high is None else real(high))


def gates(loaded: Loaded) -> list[Gate]:
    """The gates that the cohort named, whether its rule reads them or not."""
    made = []
    for gate in loaded.plan.spec.get("gates", ()):
        shown = loaded.results.gates.get(gate["name"], GateEvidence("unknown", reason="no_evidence"))
        made.append(
            Gate(
                gate["name"],
                gate["says"],
                gate.get("needed", "seal"),
                shown.state,
                shown.reason or None,
                _evidence(loaded, gate["name"], shown),
            )
        )
    return made


def _evidence(loaded: Loaded, name: str, shown: GateEvidence) -> list[Evidence]:
    if shown.evidence == (RECORDS.uri,):
        return [RECORDS]
    gate: dict[str, Any] = next((one for one in loaded.plan.spec.get("gates", ()) if one["name"] == name), {})
    return [Evidence(one["uri"], one["sha256"], one.get("says", "")) for one in gate.get("evidence", ())]


def variants(loaded: Loaded, decision: Decision | None, conventions: Conventions, seed: int) -> list[Variant]:
    """The verdict under every other reading; without corrections among them, where there are any."""
    rule = loaded.plan.rule
    if rule is None or decision is None:
        return []
    made = [
        Variant(one.name, one.says, one.verdict, list(one.because), one.changed)
        for one in stability(rule, loaded.results, conventions, seed)
    ]
    if loaded.uncorrected:
        other = evaluate(rule, _without(loaded, set(loaded.uncorrected)), conventions, seed)
        says, changed = "Records count as they were written.", other.verdict != decision.verdict
        made.append(Variant("without_corrections", says, other.verdict, list(other.because), changed))
    return made


def _without(loaded: Loaded, runs: set[str]) -> Results:
    """The results as if these runs had not been corrected."""

    def original(row: Row) -> Row:
        return loaded.uncorrected[row.run] if row.run in runs and row.run in loaded.uncorrected else row

    made = results_of(loaded.plan, map(original, loaded.rows), loaded.wrong, loaded.inputs)
    return replace(made, integrity_errors=loaded.results.integrity_errors)


def corrections(loaded: Loaded, decision: Decision | None, conventions: Conventions, seed: int) -> list[Correction]:
    """Each correction, void and deviation, with the verdict that there would be without it."""
    made = []
    for one in loaded.corrections:
        run = one.supersedes.run if one.supersedes else None
        verdict = (
            _verdict_without(loaded, loaded.plan.rule, run, conventions, seed) if one.kind != "deviation" else None
        )
        changes = None if verdict is None or decision is None else verdict != decision.verdict
        made.append(_correction(one, run, verdict, changes))
    return made


def _verdict_without(
    loaded: Loaded, rule: DecisionRule | None, run: str | None, conventions: Conventions, seed: int
) -> str | None:
    if rule is None or run is None:
        return None
    return evaluate(rule, _without(loaded, {run}), conventions, seed).verdict


def _correction(one: Told, run: str | None, verdict: str | None, changes: bool | None) -> Correction:
    return Correction(
        number=one.number,
        kind=one.kind,
        run=run,
        reason=one.reason,
        says=one.says,
        role=one.role,
        at=one.at,
        supersedes=(one.supersedes.correction_sha256 or one.supersedes.record_sha256) if one.supersedes else None,
        fields=[
            CorrectedField(each.field, documents.dump(each.before).decode(), documents.dump(each.after).decode())
            for each in one.changes
        ],
        evidence=[f"{each.uri} sha256:{each.sha256}" for each in one.evidence],
        verdict_without=verdict,
        changes_verdict=changes,
    )
