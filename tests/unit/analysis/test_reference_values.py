"""Every reference value is reproduced. They were computed elsewhere; the file says how."""

import json
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from fairtrial_analysis.rule.verdict import conclude
from fairtrial_analysis.stats.flow.accounting import Accounting
from fairtrial_analysis.stats.flow.differential import differential_loss
from fairtrial_analysis.stats.flow.missingness import missingness
from fairtrial_analysis.stats.flow.outcome_rates import outcome_rates, recovery_rate
from fairtrial_analysis.stats.flow.schedule_balance import schedule_balance
from fairtrial_analysis.stats.flow.tipping_point import tipping_point
from fairtrial_analysis.stats.flow.worst_case import Counts, worst_case
from fairtrial_analysis.stats.location.ecdf import ecdf
from fairtrial_analysis.stats.location.order_statistic import (
    coverage,
    median_interval,
    minimum_n_for_median,
    minimum_n_for_quantile,
)
from fairtrial_analysis.stats.location.outliers import outliers
from fairtrial_analysis.stats.location.quantile import quantile
from fairtrial_analysis.stats.location.spread import spread
from fairtrial_analysis.stats.location.summary import median, summary
from fairtrial_analysis.stats.multiplicity.benjamini_hochberg import benjamini_hochberg
from fairtrial_analysis.stats.multiplicity.holm import holm
from fairtrial_analysis.stats.multiplicity.ranks import ranks
from fairtrial_analysis.stats.multiplicity.win_rate import win_rates
from fairtrial_analysis.stats.paired.blocks import Block, paired_differences
from fairtrial_analysis.stats.paired.clustered import clustered_mean
from fairtrial_analysis.stats.paired.hodges_lehmann import hodges_lehmann
from fairtrial_analysis.stats.paired.log_ratio_t import geometric_mean, log_ratio_t
from fairtrial_analysis.stats.paired.mcnemar import mcnemar
from fairtrial_analysis.stats.paired.sign_flip import monte_carlo_p, sign_flip
from fairtrial_analysis.stats.paired.sign_test import sign_test
from fairtrial_analysis.stats.paired.task_t import task_t
from fairtrial_analysis.stats.paired.tost import tost
from fairtrial_analysis.stats.paired.wilcoxon import wilcoxon
from fairtrial_analysis.stats.planning.design_effect import design_effect
from fairtrial_analysis.stats.planning.non_inferiority_size import non_inferiority_size
from fairtrial_analysis.stats.planning.paired_size import Variances, tasks_needed
from fairtrial_analysis.stats.planning.wilson_repetitions import repetitions_for_half_width
from fairtrial_analysis.stats.proportions.clopper_pearson import clopper_pearson, upper_bound_of_none
from fairtrial_analysis.stats.proportions.jeffreys import jeffreys
from fairtrial_analysis.stats.proportions.mantel_haenszel import Stratum, stratified_difference
from fairtrial_analysis.stats.proportions.miettinen_nurminen import miettinen_nurminen
from fairtrial_analysis.stats.proportions.newcombe import newcombe
from fairtrial_analysis.stats.proportions.non_inferiority import non_inferiority
from fairtrial_analysis.stats.proportions.posterior import posterior_superiority
from fairtrial_analysis.stats.proportions.rate import rate, rate_difference
from fairtrial_analysis.stats.proportions.wilson import wilson
from fairtrial_analysis.stats.ratios.break_even import break_even
from fairtrial_analysis.stats.ratios.common_support import common_support
from fairtrial_analysis.stats.ratios.fieller import fieller
from fairtrial_analysis.stats.ratios.leave_one_out import leave_one_out
from fairtrial_analysis.stats.ratios.per_success import per_success
from fairtrial_analysis.stats.ratios.pooled import pooled_against_tasks
from fairtrial_analysis.stats.ratios.ratio import ratio
from fairtrial_analysis.stats.ratios.summaries import ratio_summaries
from fairtrial_analysis.stats.ratios.task_ratio import task_ratio
from fairtrial_analysis.stats.ratios.task_wins import chance_of_at_least, task_wins
from fairtrial_analysis.stats.reliability.curve import curve
from fairtrial_analysis.stats.reliability.pass_at_k import pass_at_k
from fairtrial_analysis.stats.reliability.pass_hat_k import pass_hat_k
from fairtrial_analysis.stats.reliability.suite import Attempts, suite
from fairtrial_analysis.stats.resampling import exact
from fairtrial_analysis.stats.resampling.bootstrap import bootstrap
from fairtrial_analysis.stats.resampling.seeds import generator
from fairtrial_analysis.stats.scores.chain_score import chain_score
from fairtrial_analysis.stats.scores.context_tax import context_tax
from fairtrial_analysis.stats.scores.familiarity import familiarity
from fairtrial_analysis.stats.scores.passed_with_code import passed_with_code
from fairtrial_analysis.stats.scores.peer_percentile import peer_percentile
from fairtrial_analysis.stats.scores.rater_bias import rater_bias
from fairtrial_analysis.stats.scores.rotation import rotation
from fairtrial_analysis.stats.value import Value, measured, missing, not_applicable

from fairtrial.usage.accounted import Rule, accounted_tokens
from fairtrial.usage.counters import Counters, Usage
from fairtrial.usage.money import Snapshot, cost

CASES = json.loads(Path("tests/cases/statistics.json").read_text("utf-8"), parse_float=Decimal)["cases"]
RNG = generator(0, "reference")
Input = dict[str, Any]


def values(numbers: list[Any]) -> list[Value]:
    return [missing("lost") if each is None else measured(each) for each in numbers]


def numbers(raw: list[Any]) -> list[Fraction]:
    return [Fraction(each) for each in raw]


def ends(interval: Any) -> list[Any]:
    return [interval.low, interval.high]


def medians(raw: Input) -> dict[str, tuple[Any, Any]]:
    return {task: (each["treatment"], each["control"]) for task, each in raw.items()}


def arm(raw: Input) -> Counts:
    return Counts(raw["successes"], raw["valid"], raw["invalid"])


def difference(i: Input) -> Any:
    return newcombe(i["treatment_successes"], i["treatment_n"], i["control_successes"], i["control_n"])


def newcombe_case(i: Input) -> Any:
    found = difference(i)
    return {"diff": found.value, "low": found.interval.low, "high": found.interval.high}


def suite_case(i: Input) -> Any:
    found = suite({t["task"]: Attempts(t["n"], t["c"]) for t in i["tasks"]}, i["k"], pass_hat_k)
    assert found.tasks_evaluable == 3
    return {
        "value": found.value,
        "tasks_evaluable": found.tasks_evaluable,
        "tasks_not_evaluable": list(found.tasks_not_evaluable),
    }


def five_numbers(i: Input) -> Any:
    found = summary(values(i["values"]))
    return {
        "q1": found.q1,
        "median": found.median,
        "q3": found.q3,
        "iqr": found.iqr,
        "min": found.minimum,
        "max": found.maximum,
        "n": found.n,
    }


def median_case(i: Input) -> Any:
    found = summary(values(i["values"]))
    return {"value": found.median, "n_used": found.n, "n_missing": found.n_missing}


def ratio_of_medians(i: Input) -> Any:
    found = bootstrap("ratio_of_medians", [numbers(i["treatment"]), numbers(i["control"])], RNG)
    assert found.how == "enumerated"
    return {"ratio": found.estimate, "low": found.interval.low, "high": found.interval.high}


def pairs(i: Input) -> Any:
    both = zip(i["treatment"], i["control"], strict=True)
    found = paired_differences({str(n): Block(measured(t), measured(c)) for n, (t, c) in enumerate(both)})
    return {
        "median_of_differences": found.median_of_differences,
        "difference_of_medians": found.difference_of_medians,
        "n_pairs": len(found.differences),
        "min": found.minimum,
        "max": found.maximum,
        "treatment_lower": found.lower,
        "ties": found.ties,
        "treatment_higher": found.higher,
    }


def blocks(i: Input) -> Any:
    found = paired_differences({b["block"]: Block(*values([b["treatment"], b["control"]])) for b in i["blocks"]})
    return {
        "differences": [each for _, each in found.differences],
        "n_complete": len(found.differences),
        "n_incomplete": len(found.incomplete),
        "median": found.median_of_differences,
    }


def wins(i: Input) -> Any:
    found = task_wins(medians(i["task_medians"]))
    return {
        "strictly_lower": found.strictly_lower,
        "ties": len(found.ties),
        "higher": len(found.higher),
        "not_evaluable": len(found.not_evaluable),
        "condition_met": found.at_least(7),
    }


def normalised(i: Input) -> Any:
    found = task_ratio(medians(i["task_medians"]))
    return {
        "per_task": {task: each.value for task, each in found.per_task},
        "geometric_mean": found.geometric_mean,
        "median": found.median,
        "n_tasks": found.tasks,
    }


def pooled(i: Input) -> Any:
    found = pooled_against_tasks(i["treatment"], i["control"])
    return {
        "pooled_median_treatment": found.pooled_treatment,
        "pooled_median_control": found.pooled_control,
        "treatment_lower_in_tasks": found.tasks_lower,
        "tasks": found.tasks,
        "task_geometric_mean_ratio": found.geometric_mean,
        "contradiction": found.contradiction,
    }


def break_even_case(i: Input) -> Any:
    inputs = (measured(i[name]) for name in ("construction_cost", "control_median", "treatment_median"))
    found = break_even(*inputs, i["unit"])
    return {"status": found.status, "value": found.value, "tasks_needed": found.tasks_needed}


def ratio_interval(found: Any) -> Any:
    return {"ratio": found.value, "low": found.interval.low, "high": found.interval.high}


def clustered(i: Input) -> Any:
    by_cluster: dict[str, list[int]] = {}
    for value, cluster in zip(i["values"], i["clusters"], strict=True):
        by_cluster.setdefault(str(cluster), []).append(value)
    return clustered_mean(by_cluster).standard_error


def t_case(i: Input) -> Any:
    found = task_t(numbers(i["task_differences"]))
    return {
        "mean": found.mean,
        "se": found.standard_error,
        "low": found.interval.low,
        "high": found.interval.high,
        "df": found.df,
    }


def margin_case(i: Input) -> Any:
    arms = [(i[f"{arm}_successes"], i[f"{arm}_n"]) for arm in ("treatment", "control")]
    found = non_inferiority(arms[0], arms[1], Fraction(i["margin"]))
    return {"lower": found.lower, "shown": found.shown}


def stages(i: Input) -> Any:
    seen = {
        str(n): measured(s["score"]) if s["status"] == "ok" else missing(s["status"]) for n, s in enumerate(i["stages"])
    }
    found = chain_score(seen, measured(i["coherence"]))
    return {
        "chain_score": found.value,
        "stages_scored": found.stages_scored,
        "stages_unmeasured": len(found.stages_unmeasured),
    }


def lift(i: Input) -> Any:
    outcomes = [[n < i[kind]["correct"] for n in range(i[kind]["of"])] for kind in ("cold_start", "masked")]
    return familiarity(outcomes[0], outcomes[1]).value


def runs(i: Input) -> Any:
    found = spread(values(i["runs"]))
    return {"mean": found.mean, "min": found.minimum, "max": found.maximum, "n": found.n}


def calibration(i: Input) -> Any:
    found = rater_bias([(Fraction(p["hard"]), Fraction(p["rater"])) for p in i["pairs"]])
    return {"bias": found.bias, "calibrated": found.calibrated(Fraction(i["soft"])), "n": found.n}


def rate_of(found: Any) -> Any:
    return {"numerator": found.numerator, "denominator": found.denominator, "value": found.value}


def s4_rates(i: Input) -> Any:
    outcomes = dict(i["outcomes"])
    found = outcome_rates(outcomes, outcomes.pop("scheduled"), tuple(i["excluded_from_denominator"]))
    names = ("outcome_rate", "harness_reliability", "policy_compliance")
    return {name: rate_of(getattr(found, name)) for name in names}


def recovery(i: Input) -> Any:
    return rate_of(recovery_rate(i["recovered"], i["injected"]))


def consort(i: Input) -> Any:
    found = Accounting(i["scheduled"], i["replacements_run"], i["valid"], i["invalid"], not_run=i["not_run"])
    return {
        "attempted": found.attempted,
        "valid": found.valid,
        "invalid": found.invalid_total,
        "balanced": found.balanced,
    }


def fisher(i: Input) -> Any:
    arms = [(i[arm]["invalid"], i[arm]["attempted"]) for arm in ("treatment", "control")]
    return differential_loss(arms[0], arms[1]).p


def money(i: Input) -> Any:
    price = i["price_per_million"]
    prices = Snapshot(
        "s",
        "p",
        "m",
        i["currency"],
        "2026-01-01",
        "",
        price["uncached_input"],
        price["cached_input"],
        "0",
        price["output"],
    )
    counters = Counters(
        uncached_input=i["uncached_input"],
        cached_input=i["cached_input"],
        cache_write=0,
        output=i["output"],
        reasoning_inside_output=True,
    )
    return Fraction(cost(Usage(state="complete", counters=counters), prices, "m").amount or "nan")


def accounted(i: Input) -> Any:
    counters = Counters(
        uncached_input=i["uncached_input"],
        cached_input=i["cached_input"],
        output=i["output"],
        reasoning=i["reasoning"],
        reasoning_inside_output=i["reasoning_semantics"] == "subset_of_output",
    )
    return accounted_tokens(counters, Rule("r", ("uncached_input", "cached_input", "output", "reasoning"))).value


def missing_case(i: Input) -> Any:
    seen = []
    for number, reason in zip(i["values"], i["reasons"], strict=True):
        absent = not_applicable(reason) if reason == "not_applicable" else missing(str(reason))
        seen.append(absent if number is None else measured(number))
    found = missingness(seen)
    return {
        "n": found.n,
        "present": found.present,
        "missing": found.missing,
        "not_applicable": found.not_applicable,
        "zero_values": found.zeros,
        "missing_rate": found.missing_rate.value,
    }


def left_out(i: Input) -> Any:
    found = leave_one_out({task: Fraction(each) for task, each in i["task_ratios"].items()})
    return {"full": found.full, "low": found.low, "high": found.high, "most_influential": found.most_influential}


def balance(i: Input) -> Any:
    found = schedule_balance([(r["task"], r["rep"], r["arm"]) for r in i["schedule"]], "T", "C")
    return {
        "blocks": found.blocks,
        "complete_blocks": found.complete,
        "treatment_first": found.treatment_first,
        "control_first": found.control_first,
    }


def fences(i: Input) -> Any:
    found = outliers(numbers(i["values"]))
    return {
        "lower_fence": found.lower_fence,
        "upper_fence": found.upper_fence,
        "flagged": [i["values"][position] for position in found.positions],
        "n_used": found.n,
    }


def no_difference(i: Input) -> Any:
    return rate_difference(*(rate(i[arm]["successes"], i[arm]["valid"]) for arm in ("treatment", "control"))).value


def deviation(i: Input) -> Any:
    found = spread(values(i["values"]))
    return {"std": found.standard_deviation, "n_used": found.n, "n_missing": found.n_missing}


def tickets(i: Input) -> Any:
    found = passed_with_code((each["pass_"], each["with_code"]) for each in i["passes"])
    return {"passed": found.passed, "passed_with_code": found.with_code, "tickets": found.tickets}


def miller(i: Input) -> Any:
    variances = Variances(*(Fraction(i[name]) for name in ("omega2", "sigma2_A", "sigma2_B")))
    return tasks_needed(Fraction(i["delta"]), variances, i["K_A"], Fraction(i["alpha"]), Fraction(i["power"]))


def totals(i: Input) -> Any:
    found = ratio_summaries(i["treatment"], i["control"])
    return {
        "ratio_of_totals": found.ratio_of_totals,
        "geometric_mean_of_ratios": found.geometric_mean,
        "median_of_ratios": found.median,
    }


def common(i: Input) -> Any:
    arms = [dict(zip(i[arm], values(list(i[arm].values())), strict=True)) for arm in ("treatment", "control")]
    found = common_support(arms[0], arms[1])
    return {
        "difference": found.difference,
        "tasks_used": list(found.tasks_used),
        "tasks_dropped": list(found.tasks_dropped),
    }


def scores(i: Input) -> Any:
    raw = {name: {task: Fraction(each) for task, each in tasks.items()} for name, tasks in i["scores"].items()}
    return {each.name: each.value for each in win_rates(raw)}


def mantel_haenszel(i: Input) -> Any:
    return stratified_difference({str(n): Stratum(**each) for n, each in enumerate(strata(i))}).mantel_haenszel


def strata(i: Input) -> list[dict[str, int]]:
    return [{name.removesuffix("_successes"): count for name, count in each.items()} for each in i["strata"]]


METHODS: dict[str, Callable[[Input], Any]] = {
    "accounted_tokens": accounted,
    "bh_adjusted_pvalues": lambda i: list(benjamini_hochberg([float(p) for p in i["pvalues"]])),
    "bootstrap_percentile_interval_mean": lambda i: ends(bootstrap("mean", [i["values"]], RNG).interval),
    "bootstrap_percentile_interval_median": lambda i: ends(bootstrap("median", [i["values"]], RNG).interval),
    "bootstrap_percentile_interval_ratio_of_medians": ratio_of_medians,
    "bootstrap_standard_error_median": lambda i: bootstrap("median", [i["values"]], RNG).standard_error,
    "break_even": break_even_case,
    "chain_score": lambda i: (
        chain_score(dict(enumerate(values(i["stage_scores"]))), measured(i["coherence"])).value  # type: ignore[arg-type]
    ),
    "chain_score_with_status": stages,
    "clopper_pearson_interval": lambda i: ends(clopper_pearson(i["successes"], i["n"])),
    "clustered_standard_error_of_mean": clustered,
    "consort_identity": consort,
    "context_tax": lambda i: (
        context_tax(measured(i["isolated_score"]), measured(i["in_chain_score"]), i["depth"]).value
    ),
    "design_effect": lambda i: design_effect(i["cluster_size"], Fraction(i["icc"])),
    "ecdf": lambda i: [list(step) for step in ecdf(values(i["values"])).steps],
    "exact_bootstrap_median_weights": lambda i: list(exact.median_weights(i["n"])),
    "familiarity_lift": lift,
    "fieller_interval_paired": lambda i: ratio_interval(fieller(numbers(i["treatment"]), numbers(i["control"]))),
    "fisher_exact_two_sided_pvalue": fisher,
    "five_number_summary_type7": five_numbers,
    "geometric_mean_ratio": lambda i: geometric_mean(numbers(i["ratios"])),
    "geometric_mean_ratio_t_interval": lambda i: ratio_interval(
        log_ratio_t([t / c for t, c in zip(numbers(i["treatment"]), numbers(i["control"]), strict=True)])
    ),
    "hodges_lehmann_estimate": lambda i: hodges_lehmann(i["differences"]),
    "holm_adjusted_pvalues": lambda i: list(holm([float(p) for p in i["pvalues"]])),
    "jeffreys_interval": lambda i: ends(jeffreys(i["successes"], i["n"])),
    "leaderboard_ranks": lambda i: ranks(dict(zip(i["scores"], values(list(i["scores"].values())), strict=True))),
    "leave_one_task_out_geometric_mean": left_out,
    "mantel_haenszel_risk_difference": mantel_haenszel,
    "mcnemar_exact_pvalue": lambda i: mcnemar(i["only_treatment"], i["only_control"]).exact,
    "mcnemar_midp_pvalue": lambda i: mcnemar(i["only_treatment"], i["only_control"]).mid_p,
    "mean_min_max": runs,
    "mean_win_rate": scores,
    "median": lambda i: median(i["values"]),
    "median_order_statistic_interval_coverage": lambda i: coverage(i["n"], i["lower_rank"], i["upper_rank"]),
    "median_order_statistic_interval_exists": lambda i: not median_interval(range(i["n"])).reason,
    "median_with_missing": median_case,
    "min_n_distribution_free_quantile_bound": lambda i: minimum_n_for_quantile(Fraction(i["q"])),
    "min_n_median_order_statistic_interval": lambda _: minimum_n_for_median(),
    "missingness": missing_case,
    "monetary_cost_exact": money,
    "monte_carlo_pvalue": lambda i: monte_carlo_p(i["exceedances"], i["resamples"]),
    "non_inferiority_n_per_arm_normal": lambda i: non_inferiority_size(
        Fraction(i["p"]), Fraction(i["margin"]), Fraction(i["alpha_one_sided"]), Fraction(i["power"])
    ),
    "non_inferiority_newcombe": margin_case,
    "paired_block_differences": blocks,
    "paired_difference_summary": pairs,
    "paired_eval_tasks_needed": miller,
    "pass_at_k": lambda i: pass_at_k(i["n"], i["c"], i["k"]).value,
    "pass_hat_k": lambda i: pass_hat_k(i["n"], i["c"], i["k"]).value,
    "pass_hat_k_curve": lambda i: [each.value for each in curve(i["n"], i["c"], pass_hat_k)],
    "pass_hat_k_suite": suite_case,
    "passed_with_code": tickets,
    "peer_percentile": lambda i: peer_percentile(Fraction(i["value"]), numbers(i["peers"])).value,
    "pooled_vs_task_normalised": pooled,
    "posterior_probability_superiority": lambda i: (
        posterior_superiority(
            i["treatment_successes"], i["treatment_n"], i["control_successes"], i["control_n"]
        ).probability
    ),
    "probability_at_least_k_of_n": lambda i: chance_of_at_least(i["needed"], i["tasks"], Fraction(i["p_win"])),
    "quantile_type7": lambda i: quantile(i["values"], Fraction(i["q"])).value,
    "rater_bias_calibration": calibration,
    "rates": s4_rates,
    "ratio": lambda i: ratio(i["treatment"], i["control"]).value,
    "ratio_summaries": totals,
    "recovery_rate": recovery,
    "repetitions_for_wilson_half_width": lambda i: repetitions_for_half_width(
        Fraction(i["p"]), Fraction(i["half_width"]), i["tasks"]
    ),
    "rotation_indices": lambda i: list(rotation(i["base"], i["roster_size"], i["runs"])),
    "sample_std": lambda i: spread(values(i["values"])).standard_deviation,
    "sample_std_with_missing": deviation,
    "schedule_balance": balance,
    "seven_of_ten_condition": wins,
    "sign_flip_permutation_pvalue": lambda i: sign_flip(i["differences"], RNG).p,
    "sign_test_pvalues": lambda i: {
        "one_sided": sign_test(i["wins"], i["losses"], i["ties"]).one_sided,
        "two_sided": sign_test(i["wins"], i["losses"], i["ties"]).two_sided,
    },
    "success_rate_difference": no_difference,
    "success_rate_difference_miettinen_nurminen95": lambda i: ends(
        miettinen_nurminen(i["treatment_successes"], i["treatment_n"], i["control_successes"], i["control_n"])
    ),
    "success_rate_difference_newcombe95": newcombe_case,
    "success_rate_difference_worst_case_bounds": lambda i: ends(worst_case(arm(i["treatment"]), arm(i["control"]))),
    "suite_difference_common_tasks": common,
    "task_level_t_interval": t_case,
    "task_normalised_ratio": normalised,
    "tipping_point_adverse_assignments": lambda i: tipping_point(arm(i["treatment"]), arm(i["control"])).turned,
    "tokens_per_success": lambda i: per_success((r["success"], measured(r["tokens"])) for r in i["runs"]).value,
    "tost_paired_pvalue": lambda i: tost(numbers(i["differences"]), Fraction(i["low"]), Fraction(i["high"])).p,
    "tukey_outliers": fences,
    "upper_bound_zero_successes": lambda i: upper_bound_of_none(i["n"]).high,
    "verdict": lambda i: conclude(i["gates"].values(), i["conditions"].values()),
    "wilcoxon_signed_rank_pvalue": lambda i: wilcoxon(i["differences"]).p,
    "wilson_interval": lambda i: ends(wilson(i["successes"], i["n"])),
}


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_reference_value_is_reproduced(case: dict[str, Any]):
    found = METHODS[case["statistic"]](case["input"])

    assert differences_of(found, case["expected"], Fraction(case["tolerance"])) == []


def test_no_method_is_without_a_reference_value():
    assert {case["statistic"] for case in CASES} == set(METHODS)


def differences_of(found: Any, expected: Any, tolerance: Fraction, path: str = "") -> list[str]:
    """Where the two differ: everything exact but numbers, and those within the case's tolerance."""
    if isinstance(expected, dict):
        assert isinstance(found, dict)
        inner = [differences_of(found.get(key), expected[key], tolerance, f"{path}.{key}") for key in expected]
        return [f"{path}: keys"] * (set(found) != set(expected)) + list(chain.from_iterable(inner))
    if isinstance(expected, list):
        inner = [differences_of(one, other, tolerance, path) for one, other in zip(found, expected, strict=True)]
        return list(chain.from_iterable(inner))
    if isinstance(expected, int | Decimal) and not isinstance(expected, bool):
        assert isinstance(found, int | float | Fraction), path
        close = abs(Fraction(found) - Fraction(expected)) <= tolerance
        return [] if close else [f"{path}: {found} is not {expected}"]
    return [] if found == expected and type(found) is type(expected) else [f"{path}: {found!r} is not {expected!r}"]
