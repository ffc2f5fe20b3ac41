"""What must hold of every input: bounds, symmetry, order, agreement of methods that estimate the same."""

import math
import statistics
from fractions import Fraction

import numpy as np
import pytest
from fairtrial_analysis.stats.flow.tipping_point import tipping_point
from fairtrial_analysis.stats.flow.worst_case import Counts, worst_case
from fairtrial_analysis.stats.location.quantile import quantile
from fairtrial_analysis.stats.location.summary import median, summary
from fairtrial_analysis.stats.multiplicity.holm import holm
from fairtrial_analysis.stats.paired.hodges_lehmann import hodges_lehmann
from fairtrial_analysis.stats.paired.log_ratio_t import log_ratio_t
from fairtrial_analysis.stats.paired.sign_flip import sign_flip
from fairtrial_analysis.stats.paired.task_t import DIFFERENCE_OF_SHARES, task_t
from fairtrial_analysis.stats.paired.tost import tost
from fairtrial_analysis.stats.proportions.clopper_pearson import clopper_pearson
from fairtrial_analysis.stats.proportions.mantel_haenszel import Stratum, stratified_difference
from fairtrial_analysis.stats.proportions.miettinen_nurminen import miettinen_nurminen
from fairtrial_analysis.stats.proportions.newcombe import newcombe
from fairtrial_analysis.stats.proportions.posterior import posterior_superiority
from fairtrial_analysis.stats.proportions.wilson import wilson
from fairtrial_analysis.stats.ratios.task_wins import task_wins
from fairtrial_analysis.stats.reliability.pass_at_k import pass_at_k
from fairtrial_analysis.stats.reliability.pass_hat_k import pass_hat_k
from fairtrial_analysis.stats.resampling import exact
from fairtrial_analysis.stats.resampling.seeds import generator
from fairtrial_analysis.stats.scores.peer_percentile import peer_percentile
from fairtrial_analysis.stats.value import Sample
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fairtrial.audit.numbers import intervals

counts = st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
integers = st.lists(st.integers(-(10**12), 10**12), min_size=1, max_size=12)
rationals = st.lists(st.fractions(-1000, 1000, max_denominator=50), min_size=2, max_size=10)
few = settings(max_examples=25, deadline=None)


@few
@given(counts)
def test_intervals_of_a_rate_hold_it_and_mirror(pair: tuple[int, int]):
    c, n = pair
    for method in (wilson, clopper_pearson):
        found, mirror = method(c, n), method(n - c, n)
        assert found.low is not None
        assert found.high is not None
        assert mirror.high is not None
        assert 0 <= found.low <= c / n <= found.high <= 1
        assert found.low == pytest.approx(1 - mirror.high, abs=1e-9)


@few
@given(counts, counts)
def test_intervals_of_a_difference_hold_it_and_mirror(ours: tuple[int, int], theirs: tuple[int, int]):
    for method in (lambda *c: newcombe(*c).interval, miettinen_nurminen):
        found, mirror = method(*ours, *theirs), method(*theirs, *ours)
        difference = ours[0] / ours[1] - theirs[0] / theirs[1]
        assert found.low is not None
        assert found.high is not None
        assert mirror.high is not None
        assert -1 <= found.low <= difference + 1e-9
        assert difference - 1e-9 <= found.high <= 1
        assert found.low == pytest.approx(-mirror.high, abs=1e-7)


@few
@given(st.integers(0, 12), st.integers(0, 12), st.integers(1, 12))
def test_a_posterior_and_its_opposite_make_one(a: int, b: int, n: int):
    ours, theirs = min(a, n), min(b, n)
    one = posterior_superiority(ours, n, theirs, n).probability
    assert one + posterior_superiority(theirs, n, ours, n).probability == 1
    assert (one > Fraction(1, 2)) == (ours > theirs)


@few
@given(integers)
def test_quantiles_agree_with_numpy_and_stay_exact(values: list[int]):
    for q in (Fraction(1, 4), Fraction(1, 2), Fraction(9, 10)):
        found = quantile(values, q).value
        assert isinstance(found, Fraction)
        assert float(found) == pytest.approx(float(np.quantile(np.array(values, float), float(q))), rel=1e-9, abs=1e-3)
    five = summary(Sample(tuple(values)))
    assert five.median == median(values) == quantile(values, Fraction(1, 2)).value
    assert five.median == statistics.median(map(Fraction, values))


@few
@given(rationals)
def test_shift_estimates_move_with_the_data(values: list[Fraction]):
    base, moved = hodges_lehmann(values), hodges_lehmann([each + 7 for each in values])
    assert base is not None
    assert moved == base + 7
    found = task_t(values)
    if not found.interval.degenerate:
        reference = stats.ttest_1samp([float(each) for each in values], 0).confidence_interval()
        assert found.interval.low == pytest.approx(reference.low, rel=1e-6, abs=1e-6)
        assert found.interval.high == pytest.approx(reference.high, rel=1e-6, abs=1e-6)


SHARES = st.fractions(-1, 1, max_denominator=10)


@few
@given(st.lists(SHARES, min_size=1, max_size=12))
def test_no_end_of_a_difference_of_shares_is_beyond_what_one_can_be(differences: list[Fraction]):
    free, cut = task_t(differences), task_t(differences, possible=DIFFERENCE_OF_SHARES)

    assert (cut.mean, cut.standard_error) == (free.mean, free.standard_error)
    if free.interval.low is None or free.interval.high is None:
        assert cut == free
        return
    ends = (max(-1.0, float(free.interval.low)), min(1.0, float(free.interval.high)))
    assert (cut.interval.low, cut.interval.high) == ends
    assert intervals.share_difference_t(differences) == pytest.approx(ends)
    assert cut.mean is not None
    assert ends[0] <= cut.mean <= ends[1] or cut.interval.degenerate


@few
@given(st.lists(st.fractions(Fraction(1, 50), 50, max_denominator=50), min_size=2, max_size=10))
def test_a_geometric_mean_is_the_inverse_of_the_exchanged_one(ratios: list[Fraction]):
    one, other = log_ratio_t(ratios), log_ratio_t([1 / each for each in ratios])
    assert one.value is not None
    assert other.value is not None
    assert one.value * other.value == pytest.approx(1)
    assert one.interval.low is not None
    assert other.interval.high is not None
    assert float(one.interval.low) * float(other.interval.high) == pytest.approx(1)


@few
@given(st.lists(st.integers(-20, 20), min_size=1, max_size=8))
def test_flips_agree_with_plain_enumeration(differences: list[int]):
    total = abs(sum(differences))
    sums = [0]
    for each in differences:
        sums = [old + sign * each for old in sums for sign in (1, -1)]
    expected = Fraction(sum(abs(each) >= total for each in sums), len(sums))
    assert sign_flip(differences, generator(0, "x")).p == pytest.approx(float(expected))


@few
@given(st.integers(1, 12).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_all_of_k_is_never_likelier_than_one_of_k(nck: tuple[int, int, int]):
    n, c, k = nck
    at_least_one, all_of_them = pass_at_k(n, c, k).value, pass_hat_k(n, c, k).value
    assert at_least_one is not None
    assert all_of_them is not None
    assert 0 <= all_of_them <= Fraction(c, n) <= at_least_one <= 1
    assert all_of_them == 1 - (pass_at_k(n, n - c, k).value or 0)


@few
@given(counts, counts, st.integers(0, 8), st.integers(0, 8))
def test_no_judgement_of_lost_runs_leads_outside_the_bounds(
    ours: tuple[int, int], theirs: tuple[int, int], lost: int, others: int
):
    treatment, control = Counts(*ours, lost), Counts(*theirs, others)
    bounds = worst_case(treatment, control)
    assert bounds.low is not None
    assert bounds.high is not None
    reached = [
        Fraction(treatment.successes + x, treatment.total) - Fraction(control.successes + y, control.total)
        for x in range(lost + 1)
        for y in range(others + 1)
    ]
    assert (min(reached), max(reached)) == (bounds.low, bounds.high)
    turned = tipping_point(treatment, control).turned
    needed = [
        lost - x + y
        for x in range(lost + 1)
        for y in range(others + 1)
        if Fraction(treatment.successes + x, treatment.total) <= Fraction(control.successes + y, control.total)
    ]
    assert turned == (min(needed) if needed else None)


@few
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=10))
def test_in_balanced_cells_all_aggregates_are_equal(cells: list[tuple[int, int]]):
    found = stratified_difference({str(n): Stratum(ours, 5, theirs, 5) for n, (ours, theirs) in enumerate(cells)})
    pooled = Fraction(sum(ours for ours, _ in cells) - sum(theirs for _, theirs in cells), 5 * len(cells))
    assert found.mantel_haenszel == found.mean_of_tasks == pooled


@few
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_adjusted_values_keep_their_order_and_never_shrink(p_values: list[float]):
    adjusted = [each for each in holm(p_values) if each is not None]
    assert all(old <= new <= 1 for old, new in zip(p_values, adjusted, strict=True))
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    assert [adjusted[place] for place in order] == sorted(adjusted)


@few
@given(st.lists(st.integers(0, 30), min_size=1, max_size=4))
def test_enumerated_resamples_have_all_the_weight(values: list[int]):
    found = exact.distribution(values, exact.mean)
    assert sum(weight for _, weight in found) == 1
    assert sum(value * weight for value, weight in found) == Fraction(sum(values), len(values))
    assert exact.percentile(found, Fraction(1)) <= max(values)
    variance = statistics.pvariance(map(Fraction, values)) / len(values)
    assert exact.standard_error(found) == pytest.approx(math.sqrt(variance))


@few
@given(st.dictionaries(st.text(max_size=3), st.tuples(*[st.none() | st.integers(0, 3)] * 2), max_size=10))
def test_every_task_is_in_one_class(medians: dict[str, tuple[int | None, int | None]]):
    found = task_wins(medians)
    assert sorted(found.lower + found.ties + found.higher + found.not_evaluable) == sorted(medians)
    for needed in range(1, 11):
        best = found.strictly_lower + len(found.not_evaluable)
        assert found.at_least(needed) == (True if found.strictly_lower >= needed else None if best >= needed else False)


@few
@given(rationals)
def test_equivalence_is_easier_within_wider_margins(values: list[Fraction]):
    narrow, wide = (tost(values, Fraction(-reach), Fraction(reach)).p for reach in (1, 500))
    assert narrow is not None
    assert wide is not None
    assert wide <= narrow


@few
@given(st.integers(-5, 5), st.lists(st.integers(-5, 5), min_size=1, max_size=9))
def test_percentiles_agree_with_scipy(value: int, peers: list[int]):
    found = peer_percentile(value, peers).value
    assert found is not None
    assert float(found) == pytest.approx(stats.percentileofscore(peers, value, kind="mean") / 100)
