"""From what was loaded to the report. Pure: no clock, no file, no environment; the same input gives the same report."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from fairtrial import documents
from fairtrial_analysis.load.loaded import Loaded
from fairtrial_analysis.load.rows import Row
from fairtrial_analysis.report import told, verdict
from fairtrial_analysis.report.accounts import IntegrityError
from fairtrial_analysis.report.amounts import amounts
from fairtrial_analysis.report.circumstances import comparability, covariates, order
from fairtrial_analysis.report.conduct import rates
from fairtrial_analysis.report.data import Data
from fairtrial_analysis.report.flow import failed_runs, failures, flow, lost_runs, missing, sensitivity
from fairtrial_analysis.report.leaderboard import leaderboard
from fairtrial_analysis.report.model import Absent, Cohort, Design, Provenance, Report, Run
from fairtrial_analysis.report.numbers import plain
from fairtrial_analysis.report.reliability import reliability
from fairtrial_analysis.report.spending import construction_cost, money, runtime
from fairtrial_analysis.report.success import success
from fairtrial_analysis.report.values import INTERVALS, METHODS
from fairtrial_analysis.rule.evaluate import evaluate
from fairtrial_analysis.stats.conventions import CONVENTIONS, Conventions

Signing = Literal["none", "development", "production", "unknown"]


@dataclass(frozen=True)
class Made:
    """By what the report is made. `signing` is what the package will be signed with."""

    version: str
    image: str | None = None
    signing: Signing = "unknown"


def compute(loaded: Loaded, made: Made, conventions: Conventions = CONVENTIONS) -> Report:
    """The report of a cohort."""
    data, rule = Data(loaded, conventions), loaded.plan.rule
    seed = loaded.plan.spec.get("analysis", {}).get("seed", 0)
    provenance = _provenance(loaded, made, conventions, seed)
    decision = evaluate(rule, loaded.results, conventions, seed) if rule else None
    variants = verdict.variants(loaded, decision, conventions, seed)
    of_success, of_amounts, robust = success(data), amounts(data), sensitivity(data)
    warned = told.warnings(data, robust, of_amounts, variants, provenance)
    return Report(
        cohort=_cohort(loaded),
        design=_design(data),
        provenance=provenance,
        executive=told.executive(data, decision, of_success, of_amounts, warned),
        rule=verdict.rule_of(loaded, conventions),
        verdict_table=verdict.table(loaded, decision),
        gates=verdict.gates(loaded),
        stability=variants,
        planned=told.planned(data),
        flow=flow(data),
        success=of_success,
        leaderboard=leaderboard(data, of_success),
        amounts=of_amounts,
        rates=rates(data),
        reliability=reliability(data),
        missingness=missing(data),
        failures=failures(data),
        failed_runs=failed_runs(data),
        lost_runs=lost_runs(data),
        integrity=[IntegrityError(one.code, one.where, one.says) for one in loaded.wrong],
        corrections=verdict.corrections(loaded, decision, conventions, seed),
        deviations=told.deviations(data, provenance),
        sensitivity=robust,
        order=order(data),
        covariates=covariates(data),
        comparability=comparability(data),
        money=money(data),
        construction=construction_cost(data),
        runtime=runtime(data),
        limitations=told.limitations(data, provenance),
        conventions=documents.to_json(conventions),
        methods=METHODS | INTERVALS,
        runs=[_run(row) for row in loaded.rows],
    )


def _cohort(loaded: Loaded) -> Cohort:
    spec, (namespace, name, uid) = loaded.plan.spec, loaded.plan.cohort
    constitution, amends = spec["constitution"], spec.get("amends")
    return Cohort(
        namespace=namespace,
        name=name,
        uid=uid,
        stage=spec["stage"],
        mode=spec["mode"],
        question=constitution.get("question", ""),
        permitted_claim=constitution.get("permittedClaim", ""),
        treatment_says=spec.get("treatment", {}).get("says", ""),
        preregistration_sha256=loaded.plan.sha256,
        amends=f"{amends['name']}: {amends['reason']}" if amends else None,
        primary_metrics=list(constitution.get("primaryMetrics", ())),
        secondary_metrics=list(constitution.get("secondaryMetrics", ())),
    )


def _design(data: Data) -> Design:
    plan = data.loaded.plan
    scheduled = data.scheduled(None) * len(data.arms)
    return Design(list(data.tasks), list(data.arms), plan.treatment, plan.control, data.repetitions, scheduled)


def _provenance(loaded: Loaded, made: Made, conventions: Conventions, seed: int) -> Provenance:
    analysis = loaded.plan.spec.get("analysis", {})
    return Provenance(
        ledger_size=loaded.ledger.size,
        ledger_head=loaded.ledger.head,
        as_of=loaded.as_of,
        analysis_version=made.version,
        analysis_image=made.image,
        preregistered_version=analysis.get("version"),
        preregistered_image=analysis.get("image"),
        seed=seed,
        signing=made.signing,
        rule_sha256=loaded.plan.rule.sha256 if loaded.plan.rule else None,
        conventions_sha256=conventions.sha256,
    )


def _run(row: Row) -> Run:
    return Run(
        run=row.run,
        uid=row.uid or None,
        index=row.index,
        block=row.block,
        task=row.task,
        arm=row.arm,
        repetition=row.repetition,
        place=row.place,
        outcome=row.outcome,
        cause=row.cause or None,
        category=row.category,
        tags=list(row.tags),
        code=row.invalidity,
        reason=row.reason or None,
        replaces=row.replaces,
        corrected=list(row.corrected),
        record_sha256=row.record_sha256 or None,
        record=f"data/runs/{row.run}/record.json" if row.record_sha256 else None,
        started_at=row.started_at or None,
        node=row.node or None,
        models=list(row.models),
        oom_kills=row.oom_kills,
        trace_gaps=list(row.trace_gaps),
        values={name: plain(value.value) for name, value in row.values.items() if value.value is not None},
        absent=[
            _absent(name, value.state, value.reason) for name, value in row.values.items() if value.state != "measured"
        ],
    )


_absent = lru_cache(maxsize=4096)(Absent)  # thousands of runs lack the same for the same reason
