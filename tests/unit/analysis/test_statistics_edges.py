"""Where a statistic turns from one answer to another: the edge itself, and what only a second case tells apart."""

from fractions import Fraction

import pytest
from fairtrial_analysis.stats.conventions import CONVENTIONS, Conventions
from fairtrial_analysis.stats.flow.accounting import Accounting
from fairtrial_analysis.stats.flow.missingness import by_field_and_arm
from fairtrial_analysis.stats.flow.outcome_rates import outcome_rates
from fairtrial_analysis.stats.location.ecdf import ecdf
from fairtrial_analysis.stats.location.order_statistic import median_interval
from fairtrial_analysis.stats.location.quantile import quantile
from fairtrial_analysis.stats.paired.blocks import Block
from fairtrial_analysis.stats.paired.mcnemar import McNemar, mcnemar
from fairtrial_analysis.stats.paired.sign_flip import sign_flip
from fairtrial_analysis.stats.paired.sign_test import sign_test_of
from fairtrial_analysis.stats.paired.tost import tost
from fairtrial_analysis.stats.planning.attainable import attainable
from fairtrial_analysis.stats.planning.wilson_repetitions import repetitions_for_half_width
from fairtrial_analysis.stats.proportions.newcombe import newcombe
from fairtrial_analysis.stats.proportions.non_inferiority import non_inferiority
from fairtrial_analysis.stats.proportions.rate import rate, rate_difference
from fairtrial_analysis.stats.proportions.wilson import wilson
from fairtrial_analysis.stats.ratios.common_support import common_support
from fairtrial_analysis.stats.ratios.fieller import fieller
from fairtrial_analysis.stats.ratios.per_success import per_success
from fairtrial_analysis.stats.ratios.pooled import pooled_against_tasks
from fairtrial_analysis.stats.reliability.pass_hat_k import pass_hat_k
from fairtrial_analysis.stats.reliability.suite import Attempts, suite
from fairtrial_analysis.stats.resampling.seeds import generator
from fairtrial_analysis.stats.scores.ab_pair import ab_pairs
from fairtrial_analysis.stats.scores.familiarity import familiarity
from fairtrial_analysis.stats.scores.rater_bias import rater_bias
from fairtrial_analysis.stats.value import measured, missing, not_applicable, sample, void
from scipy import stats

RNG = generator(0, "edges")
LOST = missing("lost")


def test_the_stored_quantile_is_that_of_the_confidence():
    assert float(CONVENTIONS.z) == pytest.approx(float(stats.norm.ppf(1 - float(CONVENTIONS.tail))), abs=1e-15)
    assert len(CONVENTIONS.z) == len("1.959963984540054")


# --- what became of runs and fields -----------------------------------------------------------------------------------
def test_every_end_of_a_run_is_on_one_side_of_the_account():
    account = Accounting(10, 2, 5, {"host_failure": 2}, void=1, cancelled=1, not_run=3)

    assert (account.attempted, account.balanced) == (9, True)
    assert not Accounting(10, 2, 5, {"host_failure": 2}, void=1, cancelled=1, not_run=2).balanced
    assert Accounting(5, 0, 5).balanced


def test_outcomes_that_did_not_come_are_none():
    failures = outcome_rates({"agent_failure": 4}, 5)
    assert (failures.outcome_rate.value, failures.policy_compliance.value) == (0, 1)
    assert failures.harness_reliability.value == Fraction(4, 5)


def test_tables_are_in_the_order_of_names():
    table = by_field_and_arm({"tokens": {"a": [LOST]}, "cost": {"b": [LOST], "a": [LOST]}})
    assert [(name, arm) for name, arm, _ in table] == [("cost", "a"), ("cost", "b"), ("tokens", "a")]
    assert sample([void("z"), missing("a")]).reasons == (("a", 1), ("z", 1))
    assert common_support({"b": LOST, "a": LOST}, {"c": LOST}).tasks_dropped == ("a", "b", "c")


# --- distributions ----------------------------------------------------------------------------------------------------
def test_a_distribution_counts_all_that_it_could_not_place():
    assert ecdf([measured(1), LOST, not_applicable("n"), not_applicable("n"), void("v")]).n_missing == 4


def test_an_interval_that_covers_exactly_the_confidence_is_one():
    exactly = Conventions(confidence="0.9375")  # what the range of five values covers
    assert median_interval([1, 2, 3, 4, 5], exactly).reason == ""
    assert median_interval([1, 2, 3, 4, 5]).reason == "too_few_values_for_this_confidence"


def test_a_quantile_beyond_the_quartiles_needs_values_beyond_it():
    assert quantile([1, 2, 3, 4], Fraction(11, 50)).interpolation_only
    assert not quantile([1, 2, 3, 4, 5], Fraction(11, 50)).interpolation_only
    assert not quantile([1], Fraction(1, 4)).interpolation_only


# --- tests ------------------------------------------------------------------------------------------------------------
def test_no_pair_that_disagrees_is_no_pair():
    assert mcnemar(0, 0) == McNemar(0, 0, 1.0, 1.0)


def test_flips_are_enumerated_up_to_the_declared_size_and_say_what_they_could_give():
    most = CONVENTIONS.permutation_exact_max_n
    few, many = (sign_flip([1] * n, RNG) for n in (most, most + 1))

    assert (few.how, few.smallest_attainable) == ("enumerated", Fraction(2, 2**most))
    assert (many.how, many.smallest_attainable) == ("drawn", Fraction(1, 10_000))
    assert sign_flip([1, 2, 3], RNG, alternative="greater").smallest_attainable == Fraction(1, 8)


def test_lower_higher_and_equal_are_told_apart():
    found = sign_test_of([-3, -1, 1, Fraction(1, 2), 2, 0])
    assert (found.wins, found.losses, found.ties) == (2, 3, 1)


def test_on_the_margin_is_not_inside_it():
    for value in (-1, 1):
        assert tost([value, value], Fraction(-1), Fraction(1)).p == 1
    assert tost([0, 0], Fraction(-1), Fraction(1)).p == 0
    low = newcombe(40, 50, 40, 50).interval.low
    assert low is not None
    assert non_inferiority((40, 50), (40, 50), -Fraction(low)).shown is False
    assert non_inferiority((40, 50), (40, 50), -Fraction(low) + Fraction(1, 10**9)).shown is True


# --- sizes ------------------------------------------------------------------------------------------------------------
def test_the_widest_interval_of_a_cell_is_that_of_half_its_runs():
    assert attainable(10, 5).widest_cell_interval == wilson(2, 5)
    assert attainable(10, 6).median_interval_exists


def test_one_repetition_may_be_enough():
    assert repetitions_for_half_width(Fraction(1, 2), Fraction(1, 2), 1) == 1


# --- ratios -----------------------------------------------------------------------------------------------------------
def test_a_measured_zero_is_no_missing_value_and_no_one():
    assert per_success([(True, measured(0)), (False, measured(0))]).value == 0


def test_two_pairs_have_a_ratio():
    assert fieller([2, 2], [1, 1]).value == 2


def test_a_contradiction_needs_both_to_point_somewhere():
    lower = pooled_against_tasks({"a": [1], "b": [2]}, {"a": [2], "b": [4]})
    equal = pooled_against_tasks({"a": [1], "b": [4]}, {"a": [2], "b": [2]})
    crossed = pooled_against_tasks({"a": [11], "b": [110]}, {"a": [10], "b": [100, 100, 100]})

    assert (lower.contradiction, equal.contradiction, crossed.contradiction) == (False, False, True)
    assert pooled_against_tasks({"a": [0]}, {"a": [2]}).contradiction is None
    assert pooled_against_tasks({}, {"a": [2]}).contradiction is None


def test_a_difference_that_is_none_says_of_which_arm():
    nothing = rate(0, 0, 5, empty="nothing_attempted")
    assert rate_difference(rate(1, 2), nothing).reason == "nothing_attempted"
    assert rate_difference(nothing, rate(1, 2)).reason == "nothing_attempted"


# --- scores -----------------------------------------------------------------------------------------------------------
def test_a_suite_without_lost_runs_is_the_same_under_both_conventions():
    found = suite({"a": Attempts(5, 4)}, 1, pass_hat_k)
    assert found.value == found.flipped == Fraction(4, 5)


def test_outcomes_of_the_same_items_are_a_table():
    found = familiarity([True, True, True, False, False, False], [True, False, False, True, False, False])
    assert (found.both, found.only_cold, found.only_masked, found.neither) == (1, 2, 1, 2)


def test_pairs_are_in_the_order_of_their_names_and_those_without_a_delta_are_listed():
    whole, lacking = Block(measured(3), measured(1)), Block(measured(3), LOST)
    found = ab_pairs({"d": lacking, "b": whole, "c": lacking, "a": whole})
    assert found.deltas == (("a", 2), ("b", 2))
    assert found.incomplete == ("c", "d")


def test_a_rater_without_a_pair_has_none():
    assert rater_bias([]).n == 0
