"""Figures as data: what they hold, and what becomes of them at their limits."""

import re

import pytest
from fairtrial_analysis.html.plots import (
    ecdf,
    flow,
    forest,
    leaderboard,
    missingness,
    reliability,
    slope,
    taxonomy,
    timeline,
    tipping,
)
from fairtrial_analysis.html.plots.arms import arms_of

ARMS = arms_of(("framework", "plain"))


def entry(place: int, tied: set[int]) -> leaderboard.Entry:
    return leaderboard.Entry(arms_of(("a", "b", "c", "d"))[place], "4/5", 0.8, 0.4, 0.95, "1-2", frozenset(tied))


def row(number: int, *, point: float | None = 0.8, low: float | None = 0.5, high: float | None = 1.2) -> forest.Row:
    return forest.Row(f"task-{number}", "5 v 5", point, low, high, "0.8")


def make_forest(*rows: forest.Row) -> forest.Forest:
    return forest.Forest(
        "Ratios", "All tasks.", "ratio", "successes", "ratio", rows, ("less", "more"), logarithmic=True
    )


def test_no_two_of_the_first_fifty_six_candidates_look_alike():
    arms = arms_of(tuple(f"candidate-{number}" for number in range(56)))

    assert len({(arm.shape, arm.colour) for arm in arms}) == 56


def test_a_long_forest_is_cut_into_sheets_on_one_scale_with_the_aggregate_on_the_last():
    rows = [row(number) for number in range(100)]
    mean = forest.Row("Geometric mean", "100 tasks", 0.9, 0.8, 1.0, "0.9", "aggregate")

    sheets = forest.drawings(make_forest(*rows, mean), "ratios")

    assert [sheet.id for sheet in sheets] == ["ratios-1", "ratios-2", "ratios-3"]
    assert ["Geometric mean" in str(sheet.svg) for sheet in sheets] == [False, False, True]
    axes = [re.findall(r'class="tick"[^>]*>([^<]+)<', str(sheet.svg)) for sheet in sheets]
    assert axes[0] == axes[1] == axes[2]


def test_a_row_without_an_estimate_has_its_words_and_no_marker():
    drawn = str(forest.drawings(make_forest(row(1), row(2, point=None, low=None, high=None)), "f")[0].svg)

    assert drawn.count('class="estimate task"') == 1
    assert "task-2" in drawn


def test_a_ratio_of_zero_has_no_place_on_a_logarithmic_axis_and_does_not_stop_it():
    drawn = str(forest.drawings(make_forest(row(1), row(2, point=0.0, low=0.0, high=2.0)), "f")[0].svg)

    assert drawn.count('class="estimate task"') == 1
    assert drawn.count('class="open interval task"') == 2


def test_the_flow_names_every_count_that_it_adds_up():
    counts = flow.ArmFlow(ARMS[0], 50, 2, (("host_failure", 1),), 1, 1, 1, 40, 8)

    drawn = str(flow.drawing((counts,), "flow").svg)

    assert counts.begun + counts.not_run == counts.scheduled + counts.replacements
    assert "host failure" in drawn
    assert "void" in drawn
    assert "cancelled" in drawn


@pytest.mark.parametrize(("n", "size"), [(30, "3.4"), (300, "2.4"), (301, "4")])
def test_up_to_three_hundred_runs_are_each_a_dot_and_of_more_the_median_is(n: int, size: str):
    drawn = str(ecdf.drawing((ecdf.Curve(ARMS[0], tuple(map(float, range(1, n + 1)))),), "e", "Tokens", "tokens").svg)
    dots = re.findall(r'<path d="([^"]*)" class="mark a0"', drawn)[-1]  # the first is the legend's

    assert dots.count("z") == (n if n <= 300 else 1)
    assert f"a{size} {size}" in dots


def test_a_failed_run_is_hollow_and_a_block_without_a_value_has_no_line():
    whole = slope.Block(1, (slope.End(10, passed=True), slope.End(20, passed=False)), first=True)
    half = slope.Block(2, (slope.End(12, passed=True), slope.End(None, passed=True)), first=False)

    drawn = str(slope.drawing(slope.Slopes("task-01", ARMS, (whole, half), "tokens"), "s").svg)

    assert drawn.count('class="hollow a1"') == 1
    assert drawn.count('class="open slope first"') == 1
    assert "slope second" not in drawn


def test_neighbours_that_are_all_tied_share_one_bar():
    entries = (entry(0, {1}), entry(1, {0, 2}), entry(2, {1, 3}), entry(3, {2}))

    assert leaderboard.tie_bars(entries) == [(0, 1), (1, 2), (2, 3)]


def test_a_tie_within_a_longer_one_has_no_bar_of_its_own():
    entries = (entry(0, {1, 2}), entry(1, {0, 2}), entry(2, {0, 1}), entry(3, set()))

    assert leaderboard.tie_bars(entries) == [(0, 2)]


def test_a_cell_of_the_map_says_its_count_as_well_as_its_shade():
    cells = (missingness.Cell(0.0, 0, 50), missingness.Cell(0.04, 2, 50))
    drawn = str(missingness.drawing(missingness.HeatMap(ARMS, (("cost", cells),)), "m").svg)

    assert "complete" in drawn
    assert "2 of 50 missing" in drawn
    assert 'class="cell m1"' in drawn


def test_a_category_that_never_happened_has_a_row_with_a_zero():
    drawn = str(taxonomy.drawing((taxonomy.Category("time_limit", (0, 0)),), ARMS, "t").svg)

    assert "time limit" in drawn
    assert "<rect" not in drawn


def test_as_many_cells_are_filled_as_runs_must_be_turned():
    strip = tipping.Strip(0.1, -0.05, 0.2, 3, 7, "3 of 7 must have gone against the treatment.")

    drawn = str(tipping.drawing(strip, "t").svg)

    assert drawn.count('class="cell turned"') == 3
    assert drawn.count('class="cell none"') == 4


def test_a_curve_ends_where_too_few_runs_are_valid():
    curve = reliability.Curve(ARMS[0], (0.8, 0.5, None), (0.8, 0.9, None))

    drawn = str(reliability.drawing((curve,), "r").svg)

    assert max(path.count("z") for path in re.findall(r'<path d="([^"]*)" class="mark a0"', drawn)) == 2


def test_machines_beyond_the_first_ten_share_a_line():
    moments = tuple(timeline.Moment(number, ARMS[0], 0, ("model",), f"node-{number:02}") for number in range(1, 16))

    drawn = str(timeline.drawing(moments, ARMS, "t").svg)

    assert "node-10" in drawn
    assert "node-11" not in drawn
    assert "5 others" in drawn
