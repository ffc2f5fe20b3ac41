"""What is undefined is None with a reason: never zero, never one, never NaN, never an exception."""

import ast
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from fairtrial_analysis.stats.conventions import CONVENTIONS, Conventions
from fairtrial_analysis.stats.flow.differential import differential_loss
from fairtrial_analysis.stats.flow.missingness import by_field_and_arm, missingness
from fairtrial_analysis.stats.flow.taxonomy import CATEGORIES, Failure, taxonomy
from fairtrial_analysis.stats.flow.tipping_point import tipping_point
from fairtrial_analysis.stats.flow.worst_case import Counts, worst_case
from fairtrial_analysis.stats.interval import Interval
from fairtrial_analysis.stats.location.ecdf import ecdf
from fairtrial_analysis.stats.location.order_statistic import median_interval
from fairtrial_analysis.stats.location.outliers import outliers
from fairtrial_analysis.stats.location.quantile import quantile
from fairtrial_analysis.stats.location.spread import spread
from fairtrial_analysis.stats.location.summary import summary
from fairtrial_analysis.stats.multiplicity.benjamini_hochberg import benjamini_hochberg
from fairtrial_analysis.stats.multiplicity.holm import holm
from fairtrial_analysis.stats.multiplicity.tie_sets import tie_sets
from fairtrial_analysis.stats.multiplicity.win_rate import win_rates
from fairtrial_analysis.stats.paired.blocks import Block, paired_differences
from fairtrial_analysis.stats.paired.clustered import clustered_mean
from fairtrial_analysis.stats.paired.hodges_lehmann import hodges_lehmann
from fairtrial_analysis.stats.paired.log_ratio_t import log_ratio_t
from fairtrial_analysis.stats.paired.mcnemar import mcnemar
from fairtrial_analysis.stats.paired.sign_flip import sign_flip
from fairtrial_analysis.stats.paired.sign_test import sign_test, sign_test_of
from fairtrial_analysis.stats.paired.task_t import task_t
from fairtrial_analysis.stats.paired.tost import tost
from fairtrial_analysis.stats.paired.wilcoxon import wilcoxon
from fairtrial_analysis.stats.planning.attainable import attainable, expected_replacements
from fairtrial_analysis.stats.planning.design_effect import effective_size
from fairtrial_analysis.stats.planning.paired_size import Variances, repetition_limit
from fairtrial_analysis.stats.proportions.clopper_pearson import clopper_pearson, upper_bound_of_none
from fairtrial_analysis.stats.proportions.jeffreys import jeffreys
from fairtrial_analysis.stats.proportions.mantel_haenszel import Stratum, stratified_difference
from fairtrial_analysis.stats.proportions.miettinen_nurminen import miettinen_nurminen
from fairtrial_analysis.stats.proportions.newcombe import newcombe
from fairtrial_analysis.stats.proportions.non_inferiority import non_inferiority
from fairtrial_analysis.stats.proportions.posterior import posterior_superiority
from fairtrial_analysis.stats.proportions.rate import rate
from fairtrial_analysis.stats.proportions.wilson import wilson
from fairtrial_analysis.stats.ratios.break_even import break_even, break_even_interval
from fairtrial_analysis.stats.ratios.common_support import common_support
from fairtrial_analysis.stats.ratios.construction import Session, construction
from fairtrial_analysis.stats.ratios.fieller import fieller
from fairtrial_analysis.stats.ratios.leave_one_out import leave_one_out
from fairtrial_analysis.stats.ratios.per_success import per_success
from fairtrial_analysis.stats.ratios.pooled import pooled_against_tasks
from fairtrial_analysis.stats.ratios.summaries import ratio_summaries
from fairtrial_analysis.stats.ratios.task_ratio import task_ratio
from fairtrial_analysis.stats.reliability.pass_at_k import pass_at_k
from fairtrial_analysis.stats.reliability.pass_hat_k import pass_hat_k
from fairtrial_analysis.stats.reliability.suite import Attempts, suite
from fairtrial_analysis.stats.render import plain, rounded
from fairtrial_analysis.stats.resampling.bootstrap import bootstrap
from fairtrial_analysis.stats.resampling.seeds import generator, seed_of
from fairtrial_analysis.stats.scores.ab_pair import ab_pairs
from fairtrial_analysis.stats.scores.chain_score import chain_score
from fairtrial_analysis.stats.scores.context_tax import context_tax
from fairtrial_analysis.stats.scores.familiarity import familiarity
from fairtrial_analysis.stats.scores.peer_percentile import peer_percentile
from fairtrial_analysis.stats.scores.rater_bias import rater_bias
from fairtrial_analysis.stats.value import Value, measured, missing, not_applicable, sample, void

RNG = generator(0, "honesty")
LOST = missing("lost")

EMPTY = {
    "wilson": wilson(0, 0).reason,
    "clopper_pearson": clopper_pearson(0, 0).reason,
    "upper_bound_of_none": upper_bound_of_none(0).reason,
    "jeffreys": jeffreys(0, 0).reason,
    "newcombe": newcombe(0, 0, 3, 5).interval.reason,
    "miettinen_nurminen": miettinen_nurminen(1, 5, 0, 0).reason,
    "non_inferiority": non_inferiority((0, 0), (1, 5), Fraction(1, 10)).reason,
    "stratified": stratified_difference({"a": Stratum(0, 0, 1, 2)}).reason,
    "rate": rate(0, 0, 5).reason,
    "pass_at_k": pass_at_k(0, 0, 1).reason,
    "pass_hat_k": pass_hat_k(4, 4, 5).reason,
    "suite": suite({"a": Attempts(0, 0)}, 1, pass_at_k).reason,
    "quantile": quantile([], Fraction(1, 2)).reason,
    "summary": summary([LOST]).reason,
    "spread": spread([]).reason,
    "median_interval": median_interval([]).reason,
    "outliers": outliers([]).reason,
    "ecdf": ecdf([LOST]).reason,
    "bootstrap": bootstrap("median", [[]], RNG).interval.reason,
    "bootstrap_of_one": bootstrap("median", [[7]], RNG).interval.reason,
    "bootstrap_over_zero": bootstrap("ratio_of_medians", [[1, 2], [0, 0]], RNG).interval.reason,
    "blocks": paired_differences({"a": Block(LOST, measured(1))}).reason,
    "sign_flip": sign_flip([], RNG).reason,
    "task_t": task_t([]).interval.reason,
    "task_t_of_one": task_t([1]).interval.reason,
    "log_ratio_t": log_ratio_t([]).interval.reason,
    "clustered": clustered_mean({"a": []}).reason,
    "clustered_of_one": clustered_mean({"a": [1, 0]}).reason,
    "tost": tost([], Fraction(-1), Fraction(1)).reason,
    "task_ratio": task_ratio({"a": (None, 1), "b": (1, 0)}).reason,
    "leave_one_out": leave_one_out({"a": 1}).reason,
    "summaries": ratio_summaries([], []).reason,
    "pooled": pooled_against_tasks({"a": [1]}, {"b": [1]}).reason,
    "break_even": break_even(LOST, measured(2), measured(3), "tokens").reason,
    "fieller": fieller([1], [1]).interval.reason,
    "per_success": per_success([(False, measured(3))]).reason,
    "per_success_with_missing": per_success([(True, measured(3)), (False, LOST)]).reason,
    "common_support": common_support({"a": measured(1)}, {"a": LOST}).reason,
    "missingness": missingness([not_applicable("no_such_thing")]).missing_rate.reason,
    "differential_loss": differential_loss((0, 0), (1, 5)).reason,
    "worst_case": worst_case(Counts(0, 0), Counts(1, 2)).reason,
    "tipping_point": tipping_point(Counts(5, 5, 1), Counts(0, 5, 1)).reason,
    "chain_score": chain_score({"a": measured(1)}, LOST).reason,
    "context_tax": context_tax(LOST, measured(1), 3).reason,
    "familiarity": familiarity([], []).reason,
    "familiarity_void": familiarity([True], [False], void="mask_leaked").reason,
    "rater_bias": rater_bias([]).reason,
    "peer_percentile": peer_percentile(1, []).reason,
    "win_rate": win_rates({"a": {"t": 1}})[0].reason,
    "ab_pairs": ab_pairs({"p": Block(measured(1), measured(2))}).mean.interval.reason,
}


@pytest.mark.parametrize("name", EMPTY)
def test_what_is_undefined_says_why(name: str):
    assert EMPTY[name]


def test_a_statistic_of_nothing_has_no_number():
    assert (wilson(0, 0).low, jeffreys(0, 0).high, rate(0, 0, 5).value) == (None, None, None)
    assert rate(0, 0, 5).text == "n/a (0 of 5 scheduled)"
    assert (rate(3, 4, 5).text, rate(3, 4).text) == ("3/4 (4 of 5 scheduled)", "3/4")
    assert hodges_lehmann([]) is None
    assert rater_bias([]).calibrated(1) is None
    assert tipping_point(Counts(5, 5, 1), Counts(0, 5, 1)).turned is None
    assert tipping_point(Counts(0, 5, 0), Counts(5, 5, 0)).turned == 0


# --- where libraries go wrong ----------------------------------------------------------------------------------------
def test_identical_arms_are_not_significant():
    assert mcnemar(3, 3).mid_p == pytest.approx(1 - 20 / 64)
    assert (mcnemar(0, 0).exact, mcnemar(0, 0).mid_p, mcnemar(3, 3).exact) == (1, 1, 1)
    assert (wilcoxon([0, 0, 0]).p, wilcoxon([0, 0, 0]).zeros) == (1, 3)
    assert (sign_test(0, 0, 10).one_sided, sign_test_of([0, -1, 2]).ties) == (1, 1)
    assert (sign_flip([5], RNG).p, sign_flip([0] * 5, RNG).p) == (1, 1)
    assert tost([0, 0, 0], Fraction(-1), Fraction(1)).degenerate


def test_arms_that_are_all_or_nothing_have_wide_intervals():
    interval = newcombe(5, 5, 5, 5).interval
    assert (interval.low, interval.high) == (pytest.approx(-0.43448246), pytest.approx(0.43448246))
    assert (wilson(0, 5).low, wilson(5, 5).high) == (0, 1)
    for counts in ((5, 5, 5, 5), (0, 5, 0, 5), (5, 5, 2, 5), (0, 5, 5, 5)):
        found = miettinen_nurminen(*counts)
        assert found.low is not None
        assert found.high is not None
        assert -1 <= found.low <= counts[0] / 5 - counts[2] / 5 <= found.high <= 1
        assert found.high - found.low > 0.2


def test_a_tail_of_few_values_is_marked():
    assert quantile([1, 2, 3], Fraction(95, 100)).interpolation_only
    assert not quantile(list(range(20)), Fraction(95, 100)).interpolation_only
    assert not quantile([1, 2, 3], Fraction(1, 2)).interpolation_only
    assert quantile([7], Fraction(1, 4)).value == 7


def test_five_values_give_the_range_and_its_true_coverage():
    interval = median_interval([10, 12, 13, 17, 40])
    assert (interval.low, interval.high, interval.coverage) == (10, 40, Fraction(15, 16))
    assert interval.reason == "too_few_values_for_this_confidence"
    nine = median_interval(range(9))
    assert (nine.low, nine.high, float(nine.coverage or 0)) == (1, 7, pytest.approx(0.961, abs=1e-3))
    boot = bootstrap("median", [[10, 12, 13, 17, 40]], RNG).interval
    assert boot.coverage == Fraction(15, 16)


def test_equal_values_are_degenerate_not_precise():
    for interval in (
        bootstrap("median", [[3] * 6], RNG).interval,
        task_t([3] * 6).interval,
        log_ratio_t([2, 2]).interval,
    ):
        assert interval.degenerate
        assert interval.low == interval.high


def test_ties_are_exact():
    tenths = [Fraction(1, 10) + Fraction(2, 10) - Fraction(3, 10), Fraction(1, 10)]
    assert sign_test_of(tenths).ties == 1
    assert sign_flip([Fraction(1, 3), Fraction(-1, 3), Fraction(2, 3), Fraction(1, 7)], RNG).p == 0.5


def test_one_sided_flips():
    assert sign_flip([-1, -2, -3], RNG, alternative="less").p == 0.125
    assert sign_flip([-1], RNG, alternative="less").p == 0.5
    assert sign_flip([-1], RNG, alternative="greater").p == 1


def test_drawn_flips_are_never_zero():
    found = sign_flip(list(range(1, 51)), generator(1, "p"))
    assert (found.how, found.p) == ("drawn", pytest.approx(2 / 10_000))


def test_unbounded_is_said():
    saving = Interval(Fraction(-1), Fraction(4), "m", "0.95")
    found = break_even_interval(100, saving)
    assert (found.low, found.high, found.unbounded) == (25, None, True)
    assert break_even_interval(100, Interval(Fraction(-4), Fraction(-1), "m", "0.95")).reason == "no_saving"
    wild = fieller([1, 2, 3], [-1, 0, 2]).interval
    assert (wild.low, wild.unbounded) == (None, True)


def test_a_missing_input_is_said_before_a_missing_saving():
    assert break_even(LOST, measured(2), measured(3), "tokens").status == "unavailable"
    assert break_even(measured(1), measured(3), measured(3), "tokens").reason == "no_saving"
    assert break_even(measured(1), measured(2), measured(3), "tokens").reason == "negative_saving"
    assert break_even(measured(10), measured(5), measured(2), "tokens").tasks_needed == 4


def test_a_zero_ratio_stays_but_leaves_the_geometric_mean():
    found = task_ratio({"a": (0, 5), "b": (1, 2), "c": (2, 4)})
    assert found.zeros_left_out == ("a",)
    assert (found.median, found.geometric_mean, found.tasks) == (Fraction(1, 2), pytest.approx(0.5), 3)


def test_families_keep_what_could_not_be_tested():
    assert holm([0.01, None, 0.04]) == (pytest.approx(0.03), None, pytest.approx(0.08))
    assert benjamini_hochberg([0.01, None, 0.04]) == (pytest.approx(0.03), None, pytest.approx(0.06))
    assert benjamini_hochberg([]) == ()


def test_infrastructure_errors_are_excluded_and_the_other_convention_is_shown():
    found = suite({"a": Attempts(valid=1, successes=1, invalid=4), "b": Attempts(0, 0, 5)}, 1, pass_hat_k)
    assert (found.value, found.flipped, found.tasks_not_evaluable) == (1, Fraction(1, 10), ("b",))


def test_ranks_that_chance_may_have_made_are_ties():
    scores = {"a": dict.fromkeys("0123456789", 9), "b": {str(n): 5 + n % 2 for n in range(10)}, "c": {}}
    scores["c"] = {str(n): 5 + (n + 1) % 2 for n in range(10)}
    found = {each.name: each for each in tie_sets(scores).standings}
    assert (found["a"].best_rank, found["a"].worst_rank) == (1, 1)
    assert (found["b"].best_rank, found["b"].worst_rank, found["b"].tied_with) == (2, 3, ("c",))
    close = {"a": {"t1": 3, "t2": 4}, "b": {"t1": 2, "t2": 1}}  # two tasks can't tell any two apart
    assert {each.worst_rank for each in tie_sets(close).standings} == {2}


def test_a_taxonomy_shows_what_did_not_happen():
    failures = [Failure("x", "t1", "type_error", ("slow",)), Failure("x", "t1", None, ambiguous=True)]
    (found,) = taxonomy(failures)
    assert (found.failures, found.ambiguous, dict(found.primary)["unclassified"]) == (2, 1, 1)
    assert set(CATEGORIES) <= set(dict(found.primary))
    assert found.by_task == (("t1", "type_error", 1), ("t1", "unclassified", 1))


def test_construction_cost_is_whole_or_unavailable():
    log = [Session("framework", {"tokens": measured(10)}), Session("shared_acceptance", {"tokens": LOST})]
    found = construction(log, "tokens")
    assert (found.main, found.inclusive) == (measured(10), LOST)
    assert construction([Session("framework", {})], "tokens").main.reason == "not_logged"


def test_a_table_of_missingness_keeps_reasons_by_arm():
    table = by_field_and_arm({"cost": {"b": [void("bad"), measured(0)], "a": [LOST]}})
    assert [(name, arm) for name, arm, _ in table] == [("cost", "a"), ("cost", "b")]
    assert (table[1][2].void, table[1][2].zeros, table[1][2].reasons) == (1, 1, (("bad", 1),))


def test_limits_of_a_design():
    found = attainable(10, 5)
    assert (found.smallest_p_over_tasks, found.median_interval_exists) == (Fraction(1, 512), False)
    assert expected_replacements(100, Fraction(1, 10), 2) == 11
    assert effective_size(10, 5, Fraction(3, 10)) == Fraction(50) / Fraction(22, 10)
    limit = repetition_limit(10, 5, Variances(Fraction(9, 100), Fraction(1, 4), Fraction(1, 4)))
    assert limit.floor == pytest.approx(0.0949, abs=1e-4)
    assert limit.standard_error > limit.floor
    assert posterior_superiority(0, 0, 0, 0).probability == Fraction(1, 2)


# --- values ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("raw", ["nan", "inf", "-inf", "NaN"])
def test_nan_never_enters(raw: str):
    with pytest.raises((ValueError, OverflowError)):
        measured(raw)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Value("measured"),
        lambda: Value("missing"),
        lambda: Value("missing", 3, "x"),
        lambda: Value("measured", 3, "x"),
        lambda: Value("measured", True),
        lambda: Value("measured", 0.5),  # type: ignore[arg-type]
    ],
)
def test_a_value_has_a_number_or_a_reason(wrong: Any):
    with pytest.raises(ValueError, match="a number if measured"):
        wrong()


def test_a_sample_counts_what_it_leaves_out():
    seen = sample([measured(0), LOST, LOST, not_applicable("n"), void("v"), measured("0.25")])
    assert seen.numbers == (0, Fraction(1, 4))
    assert (seen.missing, seen.not_applicable, seen.void) == (2, 1, 1)
    assert seen.reasons == (("lost", 2), ("n", 1), ("v", 1))


# --- writing down ----------------------------------------------------------------------------------------------------
def test_results_become_json_without_losing_exactness():
    written = plain({"rate": rate(37, 50), "interval": wilson(37, 50)})
    assert written["rate"]["value"] == {"rational": "37/50", "value": 0.74}
    assert written["interval"]["low"] == 0.604468427352
    assert json.loads(json.dumps(written, allow_nan=False)) == written
    assert plain(measured("0.1"))["value"] == {"rational": "1/10", "value": 0.1}


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_nan_never_leaves(number: float):
    with pytest.raises(ValueError, match="no result"):
        plain({"x": [number]})


def test_what_is_written_has_twelve_digits_and_no_negative_zero():
    assert str(rounded(0.1 + 0.2)) == "0.3"
    assert str(rounded(-0.0)) == "0.0"
    assert rounded(123456789.123456789) == 123456789.123
    with pytest.raises(ValueError, match="beyond floating point"):
        plain(Fraction(10**400))
    with pytest.raises(TypeError):
        plain({1, 2})


# --- conventions and seeds -------------------------------------------------------------------------------------------
def test_conventions_have_a_digest_that_changes_with_them():
    assert CONVENTIONS.sha256 == Conventions().sha256
    assert Conventions(confidence="0.90").sha256 != CONVENTIONS.sha256
    assert wilson(4, 5, Conventions(confidence="0.90")).low != wilson(4, 5).low


def test_a_metric_has_its_own_seed():
    assert seed_of(7, "a") == 0x681EBD31F1942012739312A095442FF5
    assert seed_of(7, "a") != seed_of(7, "b")
    values = [float(n * n % 17) for n in range(40)]
    exact = [Fraction(value) for value in values]
    first, again, other = (bootstrap("median", [exact], generator(7, name)) for name in ("a", "a", "b"))
    assert first == again
    assert first.how == "drawn"
    assert first.standard_error != other.standard_error
    assert bootstrap("median", [exact[::-1]], generator(7, "a")) == first


# --- house rules -----------------------------------------------------------------------------------------------------
ALL = sorted(Path("analysis/src/fairtrial_analysis/stats").rglob("*.py"))


METHODS = [path for path in ALL if path.parent.name != "stats" and path.stem not in ("__init__", "curve", "seeds")]


@pytest.mark.parametrize("path", METHODS, ids=lambda path: path.stem)
def test_a_method_names_its_reference(path: Path):
    assert "Reference: " in (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "")


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_a_method_reads_no_clock_and_no_environment(path: Path):
    tree = ast.parse(path.read_text("utf-8"))
    imported = {
        alias.name.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
    } | {str(node.module).split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}

    assert ast.get_docstring(tree)
    assert not imported & {"time", "datetime", "random", "os", "secrets", "uuid", "socket", "subprocess"}
