"""The writer of figures: scales, ticks, marks and text."""

from fractions import Fraction

import pytest
from fairtrial_analysis.html.svg import axis, marks, scale
from fairtrial_analysis.html.svg.figure import Drawing
from fairtrial_analysis.html.svg.text import fitted, width


def texts(element) -> list[str]:
    """All text within an element, in order."""
    found: list[str] = []
    for child in element.children:
        found += [child] if isinstance(child, str) else texts(child)
    return found


def test_a_linear_scale_puts_equal_differences_at_equal_distances():
    placed = scale.Linear(0, 10, 100, 300)

    assert [placed(value) for value in (0, 5, Fraction(15, 2), 10)] == [100, 200, 250, 300]


def test_a_scale_may_run_upwards():
    assert scale.Linear(0, 1, 200, 0)(0.25) == 150


def test_a_logarithmic_scale_puts_equal_ratios_at_equal_distances():
    placed = scale.Log(0.25, 4, 0, 400)

    assert [round(placed(value), 9) for value in (0.25, 0.5, 1, 2, 4)] == [0, 100, 200, 300, 400]


@pytest.mark.parametrize(
    ("low", "high", "about", "expected"),
    [
        (0, 1, 5, ["0", "0.2", "0.4", "0.6", "0.8", "1"]),
        (-0.5, 0.5, 4, ["\N{MINUS SIGN}0.5", "0", "0.5"]),
        (0, 98_000, 5, ["0", "20 k", "40 k", "60 k", "80 k"]),
        (0.0011, 0.0049, 4, ["0.002", "0.003", "0.004"]),
    ],
)
def test_ticks_are_round_and_inside_the_domain(low, high, about, expected):
    assert [scale.plain(each) for each in scale.round_values(low, high, about)] == expected


@pytest.mark.parametrize(
    ("low", "high"), [(0.9, 1.15), (0.5, 2), (0.1, 10), (0.001, 90_000), (0.2, 1.1), (1, 1.0000001), (3e-9, 4e-9)]
)
def test_a_logarithmic_axis_always_has_some_ticks_and_never_a_crowd(low, high):
    ticks = scale.Log(low, high, 0, 400).ticks()

    assert 2 <= len(ticks) <= 12
    assert all(low <= tick <= high for tick in ticks)
    assert list(ticks) == sorted(ticks)


@pytest.mark.parametrize("values", [[], [5], [5, 5], [0], [-3, -3], [0, 0]])
def test_values_without_a_spread_still_have_a_scale(values):
    placed = scale.linear(values, 0, 100, zero=True)

    assert placed.low < placed.high
    assert placed.ticks()


def test_a_logarithmic_scale_leaves_out_what_has_no_logarithm():
    placed = scale.log([0, 2, 8], 0, 100)

    assert 0 < placed.low < 2
    assert placed.high > 8


@pytest.mark.parametrize(
    ("number", "expected"), [(1, "1"), (1.005, "1"), (-0.001, "0"), (2.5, "2.5"), (1 / 3, "0.33"), (-12.345, "-12.35")]
)
def test_coordinates_have_two_decimals_and_no_minus_zero(number, expected):
    assert marks.at(number) == expected


def test_every_candidate_up_to_eight_has_a_shape_of_its_own():
    assert len({marks.outline(shape, 0, 0, 5) for shape in marks.SHAPES}) == len(marks.SHAPES) == 8


def test_many_markers_are_one_path():
    drawn = marks.markers("square", [(1, 2), (3, 4), (5, 6)], 2, "mark")

    assert str(drawn).count("<path") == 1
    assert dict(drawn.attributes)["d"].count("z") == 3


def test_an_end_beyond_the_limits_becomes_an_arrow_at_the_limit():
    inside = dict(marks.interval(20, 80, 5, "interval", limits=(0, 100)).attributes)["d"]
    beyond = dict(marks.interval(20, 1e9, 5, "interval", limits=(0, 100)).attributes)["d"]

    assert "80 " in inside
    assert "1000000000" not in beyond
    assert "100 5" in beyond
    assert inside.count("M") == beyond.count("M") == 3


def test_labels_that_would_touch_are_left_out_and_their_ticks_are_not():
    crowded = axis.below(scale.Linear(0, 1_000_000, 0, 60), 50, "", top=0, label=lambda _: "a long label", about=10)

    assert str(crowded).count('class="axis"') > 1 + len(texts(crowded))


def test_text_is_shortened_in_its_middle_and_only_if_it_must_be():
    assert fitted("task-01", 200) == "task-01"
    short = fitted("task-06-misleading-symptom-of-the-other-module", 120)
    assert "…" in short
    assert short.startswith("task-06")
    assert width(short) <= 120


def test_wide_characters_take_more_room_and_combining_ones_none():
    assert width("漢字") > width("ab")
    assert width("e\u0301") == width("e")


def test_what_is_invisible_is_shown_before_it_is_measured():
    assert fitted("a\u202eb", 200) == "a⟨U+202E⟩b"


def test_a_figure_tells_its_title_and_its_meaning_to_those_who_cannot_see_it():
    svg = str(Drawing("forest", "Ratios", "Two tasks.", 100, 50, ()).svg)

    assert 'role="img"' in svg
    assert 'aria-labelledby="forest-title forest-says"' in svg
    assert '<title id="forest-title">Ratios</title><desc id="forest-says">Two tasks.</desc>' in svg
