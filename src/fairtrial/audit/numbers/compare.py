"""The report against the records: every section is computed again and held against what is written there.

Sections are expected whole: what a report has and nothing gives is a finding, as is what it lacks. Words for people are
passed over. The verdict is the sealed rule's, applied again.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fairtrial.attest import canonical
from fairtrial.audit.corrections import Corrected, Corrections
from fairtrial.audit.documents import load_report, reading
from fairtrial.audit.flow import Placed, Usable
from fairtrial.audit.folder import Folder
from fairtrial.audit.ledger import Ledger
from fairtrial.audit.numbers import accounts, amounts, extra, leaderboard, readings, rows, rule, runs, success
from fairtrial.audit.numbers.expect import ANY, Alone, Ends, problems
from fairtrial.audit.numbers.sample import Sample
from fairtrial.audit.preregistration import Plan, digest

REPORT = "data/analysis/report.json"
JsonObject = dict[str, Any]
# The code of what is wrong in a section; in any other, that it can't be computed again.
_CODES = {
    "flow": "FLOW_MISMATCH",
    "lostRuns": "FLOW_MISMATCH",
    "planned": "FLOW_MISMATCH",
    "executive.verdict": "VERDICT_MISMATCH",
    "executive.because": "VERDICT_MISMATCH",
    "verdictTable": "VERDICT_MISMATCH",
    "gates": "VERDICT_MISMATCH",
    "stability": "VERDICT_MISMATCH",
    "rule": "ANALYSIS_NOT_PREREGISTERED",
    "conventions": "ANALYSIS_NOT_PREREGISTERED",
}
CONVENTIONS = {
    "confidence": "0.95", "z": "1.959963984540054", "quantile": "hyndman_fan_7", "standardDeviationDdof": 1,
    "outlierFence": "1.5", "bootstrapMethod": "percentile", "bootstrapResamples": 9999, "bootstrapExactMaxN": 8,
    "permutationExactMaxN": 16, "ties": "exact", "successDifference": "wider_of_newcombe_and_task_t",
    "successDifferenceEnds": "cut_to_possible",
    "invalidRuns": "excluded_and_bounded", "extraValidRuns": "all_scheduled",
}  # fmt: skip


@dataclass(frozen=True)
class Evidence:
    """All that a report is computed from."""

    folder: Folder
    plan: Plan
    ledger: Ledger
    places: Mapping[str, Placed]
    records: Mapping[str, JsonObject]
    corrections: Corrections
    applied: Corrected
    request: JsonObject | None
    usable: Usable

    def rows(self, records: Mapping[str, JsonObject], accounted: str) -> list[rows.Row]:
        """Every run as a row."""
        read = {run: record for run, record in records.items() if run not in self.usable.unread}
        return rows.rows(self.places, self.ledger, read, accounted, self.usable.void)


def check(seen: Evidence, predicate: JsonObject | None) -> str:
    """Compare the report and the tables; the verdict, as it follows from the records."""
    findings, told = seen.folder.findings, ""
    with reading(findings, REPORT):
        expected, told = _expected(seen)
        report = load_report(seen.folder, REPORT)
        if report is not None and (report.get("schemaVersion"), report.get("kind")) != (1, "Report"):
            findings.add("VERSION_UNKNOWN", REPORT, "Is no Report of schema version 1.")
        elif report is not None:
            for says in digests(seen.plan, report):
                findings.add("ANALYSIS_NOT_PREREGISTERED", REPORT, says)
            for where, says in problems(report, expected, ""):
                place = where.lstrip(".")
                findings.add(_code(place), REPORT, f"{place} {says}.")
            runs.table(seen.folder, expected["runs"])
        if predicate is not None and predicate.get("verdict") != (told or None):
            says = f"Signs the verdict {predicate.get('verdict')}; the records give {told or 'none'}."
            findings.add("VERDICT_MISMATCH", "manifest-sha256.txt.sigstore.json", says)
    return told


def _code(place: str) -> str:
    parts = place.replace("[", ".").split(".")
    return _CODES.get(".".join(parts[:2])) or _CODES.get(parts[0]) or "REPORT_NOT_RECOMPUTABLE"


def _expected(seen: Evidence) -> tuple[JsonObject, str]:
    """The whole report, as it follows; and the verdict."""
    spec = seen.plan.raw["spec"]
    sealed = spec.get("decisionRule")
    accounted = (sealed or {}).get("accountedTokens", "all_tokens")
    numbers = seen.applied.numbers
    found = seen.rows(seen.applied.records, accounted)
    sample = sample_of(seen.plan, found)
    decides = sealed if sample.compares else None
    metrics, roles = metrics_of(sample, spec["constitution"], decides)
    primary = [metric for metric in metrics if roles[metric] == "primary"]
    units = {metric: rows.unit(metric, found) for metric in metrics}
    categories = {task["name"]: task["category"] for task in seen.plan.raw["tasks"] if task.get("category")}
    facts = facts_of(seen, sample, spec)
    decided = rule.lines(decides, sample, facts) if decides else []
    verdict = rule.verdict(decides, decided) if decides else ""
    originals = {row.run: row for row in seen.rows(seen.records, accounted)}
    other = _stability(decides, sample, facts, verdict, originals, list(numbers))
    made = {
        "schemaVersion": 1,
        "kind": "Report",
        "cohort": _cohort(seen.plan, spec),
        "design": _design(sample),
        "provenance": _provenance(seen, spec, decides),
        "executive": _executive(sample, primary, verdict, decides, decided),
        "rule": _rule(decides),
        "verdictTable": [_line(decides, line, decided) for line in decided] if decides else [],
        "gates": _gates(spec, facts),
        "stability": other,
        "planned": accounts.planned(sample, _needed(decides, sample)),
        "flow": accounts.flow(sample),
        "success": success.success(sample, categories),
        "leaderboard": leaderboard.leaderboard(sample),
        "amounts": amounts.amounts(sample, metrics, roles, units),
        "rates": success.rates(sample),
        "reliability": success.reliability(sample),
        "missingness": accounts.missingness(sample, metrics),
        "failures": accounts.failures(sample),
        "failedRuns": accounts.failed_runs(sample),
        "lostRuns": accounts.lost_runs(sample, seen.ledger),
        "integrity": [] if seen.usable.whole else ANY,
        "corrections": extra.corrections(decides, sample, facts, verdict, seen.corrections, originals),
        "deviations": ANY,
        "sensitivity": accounts.sensitivity(sample),
        "order": accounts.order(sample, seen.plan.raw["schedule"], primary),
        "covariates": accounts.covariates(sample),
        "comparability": extra.comparability(sample, spec),
        "money": {"totals": accounts.money(sample), "snapshots": extra.snapshots(sample)},
        "construction": extra.construction(seen.folder, sample, spec, units),
        "runtime": extra.runtime(seen.folder, spec),
        "limitations": ANY,
        "conventions": ANY,
        "methods": ANY,
        "runs": runs.expected(found, numbers),
    }
    return made, verdict


def _stability(
    decides: JsonObject | None,
    sample: Sample,
    facts: rule.Facts,
    verdict: str,
    originals: Mapping[str, rows.Row],
    runs_corrected: list[str],
) -> Any:
    """The verdict under other readings; as records were written among them, where there are corrections."""
    if decides is None:
        return []
    if not facts.whole:  # every reading of what is not whole ends at the same gate
        return ANY
    made = readings.readings(decides, sample, facts, verdict)
    if runs_corrected:
        found = extra.other_verdicts(decides, sample, facts, originals, runs_corrected)
        made.append({"name": "without_corrections", "verdict": found, "changed": found != verdict})
    return [one | {"says": ANY, "because": ANY} for one in made]


def sample_of(plan: Plan, found: Sequence[rows.Row]) -> Sample:
    """The rows, and who is compared with whom."""
    roles = sorted((one["name"], one.get("role")) for one in plan.raw["candidates"])
    treatments, controls = ([name for name, role in roles if role == wanted] for wanted in ("treatment", "control"))
    both = (treatments[0], controls[0]) if treatments and controls else ()
    arms = (*both, *(name for name, _ in roles if name not in both))
    schedule = plan.raw["schedule"]
    tasks = tuple(sorted(schedule["tasks"]))
    pair = both or (None, None)
    return Sample(tuple(found), tasks, arms, schedule["repetitions"], pair[0], pair[1])


def metrics_of(
    sample: Sample, constitution: JsonObject, decides: JsonObject | None
) -> tuple[list[str], dict[str, str]]:
    """Which metrics are told of, primary ones first, and what the constitution calls each."""
    named = {one["metric"] for one in (*decides["conditions"], *decides.get("dataGates", ()))} if decides else set()
    for row in sample.valid():
        named |= {metric for metric, has in row.values.items() if has.state != "not_applicable"}
    primary, secondary = constitution.get("primaryMetrics", ()), constitution.get("secondaryMetrics", ())
    roles = {
        metric: "primary" if metric in primary else "secondary" if metric in secondary else "other"
        for metric in rows.COLUMNS
    }
    wanted = [metric for metric in rows.COLUMNS if metric in named or roles[metric] != "other"]
    order = ("primary", "secondary", "other")
    return sorted(wanted, key=lambda metric: order.index(roles[metric])), roles


def facts_of(seen: Evidence, sample: Sample, spec: JsonObject) -> rule.Facts:
    """What the rule looks at besides the runs."""
    seed = spec.get("analysis", {}).get("seed", 0)
    return rule.Facts(
        spec["stage"],
        seen.usable.whole,
        extra.gates(spec, sample),
        extra.runtime_medians(seen.folder, spec, sample),
        seed,
    )


# --- sections of their own --------------------------------------------------------------------------------------------
def _cohort(plan: Plan, spec: JsonObject) -> JsonObject:
    constitution, amends = spec["constitution"], spec.get("amends")
    return {
        "namespace": plan.namespace,
        "name": plan.cohort,
        "uid": plan.uid,
        "stage": spec["stage"],
        "mode": spec["mode"],
        "question": constitution.get("question", ""),
        "permittedClaim": constitution.get("permittedClaim", ""),
        "treatmentSays": spec.get("treatment", {}).get("says", ""),
        "preregistrationSha256": plan.sha256,
        "amends": f"{amends['name']}: {amends['reason']}" if amends else None,
        "primaryMetrics": list(constitution.get("primaryMetrics", ())),
        "secondaryMetrics": list(constitution.get("secondaryMetrics", ())),
    }


def _design(sample: Sample) -> JsonObject:
    return {
        "tasks": list(sample.tasks),
        "arms": list(sample.arms),
        "treatment": sample.treatment,
        "control": sample.control,
        "repetitions": sample.repetitions,
        "scheduled": sample.scheduled(),
    }


def _provenance(seen: Evidence, spec: JsonObject, decides: JsonObject | None) -> JsonObject:
    sealed, request = spec.get("analysis", {}), seen.request or {}
    analysis = request.get("analysis", {})
    return {
        "ledgerSize": seen.ledger.size,
        "ledgerHead": seen.ledger.head,
        "asOf": seen.ledger.entries[-1].at if seen.ledger.entries else "",
        "analysisVersion": analysis.get("version"),
        "analysisImage": analysis.get("image"),
        "preregisteredVersion": sealed.get("version"),
        "preregisteredImage": sealed.get("image"),
        "seed": sealed.get("seed", 0),
        "signing": request.get("signing"),
        "ruleSha256": request.get("ruleSha256") if decides else None,
        "conventionsSha256": request.get("conventionsSha256"),
    }


def _executive(
    sample: Sample, primary: list[str], verdict: str, decides: JsonObject | None, decided: list[rule.Line]
) -> JsonObject:
    return {
        "verdict": verdict or None,
        "because": rule.because(decides, decided, verdict) if decides else [],
        "says": ANY,
        "planned": sample.scheduled(),
        "valid": len(sample.valid()),
        "unjudged": sum(not row.valid for row in sample.rows),
        "telemetry": accounts.telemetry(sample, primary),
        "warnings": ANY,
    }


def _rule(decides: JsonObject | None) -> Any:
    """The rule as data is the sealed one, with what it leaves out filled in."""
    return None if decides is None else {"name": decides["name"], "sha256": ANY, "english": ANY, "document": ANY}


def _needed(decides: JsonObject | None, sample: Sample) -> int:
    return int(decides.get("minValidPerCell", 5)) if decides else sample.repetitions


def _line(decides: JsonObject, line: rule.Line, decided: list[rule.Line]) -> JsonObject:
    conditions = {one["name"]: one for one in (*decides["conditions"], *decides.get("dataGates", ()))}
    one, ends = conditions.get(line.name), line.seen.ends
    fixed = {"integrity": ("atMost", Fraction(0)), "valid-runs": ("atLeast", Fraction(_needed(decides, _NO_SAMPLE)))}
    budgets = {each["name"]: Fraction(each["maximum"]) for each in decides.get("budgets", ())}
    comparison, threshold = fixed.get(line.name, (None, None))
    if one:
        comparison, threshold = one["comparison"], Fraction(one["threshold"])
    elif line.kind == "budget":
        comparison, threshold = "atMost", budgets[line.name]
    verdict = rule.verdict(decides, decided)
    return {
        "kind": line.kind,
        "name": line.name,
        "says": ANY,
        "sentence": ANY,
        "state": line.state,
        "decided": line.name in rule.because(decides, decided, verdict),
        "observed": ANY if line.name == "integrity" and line.state != "pass" else Alone(line.seen.value),
        "interval": None if ends is None else Ends("decision_rule", *ends),
        "comparison": comparison,
        "threshold": Alone(threshold),
        "bound": one.get("bound", "point") if one else None,
        "metric": one["metric"] if one else None,
        "statistic": one["statistic"] if one else None,
        "reason": ANY,
        "evidence": ANY,
        "runs": "valid" if one or line.name == "valid-runs" else "begun" if line.name == "integrity" else "none",
    }


_NO_SAMPLE = Sample((), (), (), 5, None, None)


def _gates(spec: JsonObject, facts: rule.Facts) -> list[JsonObject]:
    return [
        {
            "name": gate["name"],
            "says": gate["says"],
            "needed": gate.get("needed", "seal"),
            "state": facts.gates.get(gate["name"], "unknown"),
            "reason": ANY,
            "evidence": ANY,
        }
        for gate in spec.get("gates", ())
    ]


def digests(plan: Plan, report: JsonObject) -> Iterator[str]:
    """What of the rule and the conventions in the report is not what was sealed, or what their digests are of."""
    told, sealed = report.get("rule"), plan.raw["spec"].get("decisionRule")
    if isinstance(told, dict) and sealed is not None:
        document = str(told.get("document"))
        if hashlib.sha256(document.encode()).hexdigest() != told.get("sha256"):
            yield "rule.sha256 is not the digest of rule.document."
        held = canonical.parse(document.encode(), name="rule.document")
        roles = {one["name"]: one.get("role") for one in plan.raw["candidates"]}
        given = {key: value for key, value in held.items() if key not in ("treatment", "control", "schemaVersion")}
        wanted = {key: value for key, value in sealed.items() if key != "sha256"}
        sides = (roles.get(held.get("treatment")), roles.get(held.get("control")))
        if given != wanted or sides != ("treatment", "control"):
            yield "rule.document is not the rule that was sealed."
    conventions = report.get("conventions")
    if not isinstance(conventions, dict):
        conventions = {}
    if digest(conventions) != report.get("provenance", {}).get("conventionsSha256"):
        yield "provenance.conventionsSha256 is not the digest of conventions."
    for key, value in CONVENTIONS.items():
        if conventions.get(key) != value:
            yield f"conventions.{key} is not {value}: this verifier computes by that."
