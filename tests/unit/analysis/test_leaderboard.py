"""Ranks, the ranks that chance allows, and who is tied with whom: against cases that can be worked out by hand."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement
from typing import Any

import pytest
from fairtrial_analysis.examples import CONTROL, TREATMENT, Came, example
from fairtrial_analysis.html.page import render
from fairtrial_analysis.load.loaded import Loaded
from fairtrial_analysis.load.results import load
from fairtrial_analysis.report.canonical import to_json
from fairtrial_analysis.report.compute import Made, compute
from fairtrial_analysis.report.data import Data
from fairtrial_analysis.report.leaderboard import leaderboard
from fairtrial_analysis.report.measured import Leaderboard, Pair, Standing
from fairtrial_analysis.report.model import Report
from fairtrial_analysis.report.success import success
from fairtrial_analysis.rule.results import Outcome
from fairtrial_analysis.stats.conventions import CONVENTIONS, Conventions
from fairtrial_analysis.stats.multiplicity.holm import holm
from fairtrial_analysis.stats.multiplicity.tie_sets import tie_sets
from fairtrial_analysis.stats.paired.counted_flip import counted_flip
from fairtrial_analysis.stats.paired.sign_flip import sign_flip
from fairtrial_analysis.stats.planning.resolvable import smallest_resolvable
from fairtrial_analysis.stats.resampling.seeds import generator
from hypothesis import given
from hypothesis import strategies as st

from fairtrial.audit.numbers import distributions as flips
from fairtrial.audit.numbers import leaderboard as verified
from fairtrial.audit.numbers.expect import problems
from fairtrial.audit.numbers.rows import Row
from fairtrial.audit.numbers.sample import Sample
from fairtrial.testing import CANDIDATE_IMAGE

F = Fraction
HYBRID = "hybrid"
Passes = Callable[[int, str, int], bool | None]  # task, candidate, repetition; None: the run is lost


def stored(passes: Passes, *names: str, tasks: int = 10, **spec: Any) -> Loaded:
    def story(task: int, arm: str, repetition: int, _attempt: int) -> Came:
        passed = passes(task, arm, repetition)
        return Came("invalid", None) if passed is None else Came("passed" if passed else "failed")

    names = names or (CONTROL, HYBRID, TREATMENT)
    roles = {TREATMENT: {"role": "treatment"}, CONTROL: {"role": "control"}}
    candidates = [
        {"name": name, "version": "1.0", "image": CANDIDATE_IMAGE, "argv": ["/bin/agent", name, "{prompt}"]}
        | roles.get(name, {})
        for name in names
    ]
    changed = {"stage": "pilot", "decisionRule": None, "candidates": candidates} | spec
    return load(example(story, tasks, **changed).source())


def report(passes: Passes, *names: str, tasks: int = 10, **spec: Any) -> Report:
    return compute(stored(passes, *names, tasks=tasks, **spec), Made("0.1.0"))


def board(passes: Passes, *names: str, tasks: int = 10) -> Leaderboard:
    """The board alone: the rest of a report takes as long again."""
    data = data_of(passes, *names, tasks=tasks)
    return leaderboard(data, success(data))


def data_of(passes: Passes, *names: str, **options: Any) -> Data:
    return Data(stored(passes, *names, **options), CONVENTIONS)


def standing(of: Leaderboard, arm: str) -> Standing:
    return next(one for one in of.standings if one.arm == arm)


def places(of: Leaderboard) -> dict[str, tuple[Any, Any, Any, list[str]]]:
    """By candidate in the order of the board: rank, the ranks it may have, and with whom it is tied."""
    found = {}
    for one in of.standings:
        possible = one.rank.interval
        ends = (possible.low, possible.high) if possible else (None, None)
        found[one.arm] = (one.rank.value, *ends, one.tied_with)
    return found


def pair(of: Leaderboard, *arms: str) -> Pair:
    return next(one for one in of.pairs if {one.arm, one.against} == set(arms))


# --- the board --------------------------------------------------------------------------------------------------------
def test_a_clear_winner_is_first_and_the_others_share_the_second_rank():
    found = board(lambda _task, arm, repetition: arm == TREATMENT or repetition <= 2)

    assert places(found) == {
        TREATMENT: (1, 1, 1, []),
        CONTROL: (2, 2, 3, [HYBRID]),
        HYBRID: (2, 2, 3, [CONTROL]),
    }
    won, even = pair(found, TREATMENT, CONTROL), pair(found, CONTROL, HYBRID)
    assert (won.arm, won.difference.exact, won.p.exact, won.adjusted.exact) == (TREATMENT, "3/5", "1/512", "3/512")
    assert (won.apart, even.apart, even.p.value, even.adjusted.value) == (True, False, 1, 1)


def test_candidates_that_do_alike_are_all_first_and_all_tied():
    found = board(lambda _task, _arm, repetition: repetition <= 3)

    assert places(found) == {
        TREATMENT: (1, 1, 3, [CONTROL, HYBRID]),
        CONTROL: (1, 1, 3, [TREATMENT, HYBRID]),
        HYBRID: (1, 1, 3, [TREATMENT, CONTROL]),
    }


@pytest.mark.parametrize(
    ("tasks", "adjusted", "rank_of_last", "tied"), [(7, "3/64", (3, 3), []), (6, "3/32", (1, 3), [TREATMENT, CONTROL])]
)
def test_after_two_firsts_comes_a_third_and_the_smallest_difference_decides_who_is_tied(
    tasks: int, adjusted: str, rank_of_last: tuple[int, int], tied: list[str]
):
    """One run less in seven of ten tasks is the least that three pairs and five repetitions can tell apart."""
    found = board(lambda task, arm, repetition: repetition < 5 or arm != HYBRID or task > tasks)

    assert [one.rank.value for one in found.standings] == [1, 1, 3]
    assert found.smallest.exact == "7/50"
    assert pair(found, HYBRID, CONTROL).adjusted.exact == adjusted
    assert places(found)[HYBRID] == (3, *rank_of_last, tied)


def test_who_was_not_measured_is_unranked_and_keeps_a_place_in_the_family():
    found = board(lambda _task, arm, repetition: None if arm == HYBRID else arm == TREATMENT or repetition <= 2)

    assert places(found) == {
        TREATMENT: (1, 1, 1, []),
        CONTROL: (2, 2, 2, []),
        HYBRID: (None, None, None, []),
    }
    unranked = standing(found, HYBRID)
    assert (unranked.rank.reason, unranked.score.reason) == ("no_valid_runs", "no_valid_runs")
    assert pair(found, TREATMENT, CONTROL).adjusted.exact == "3/512"  # not 1/512
    assert pair(found, TREATMENT, HYBRID).p.reason == "no_valid_runs"


def test_a_task_that_one_candidate_lost_is_left_out_for_all():
    """Without its first task, in which all others fail, the hybrid would be ahead."""
    found = board(
        lambda task, arm, repetition: (None if arm == HYBRID else False) if task == 1 else repetition <= 4, tasks=3
    )

    assert (found.tasks, found.left_out) == (["task-02", "task-03"], ["task-01"])
    assert [one.rank.value for one in found.standings] == [1, 1, 1]
    assert {one.score.exact for one in found.standings} == {"4/5"}
    assert {one.rate.exact for one in found.standings} == {"8/15", "4/5"}


def test_candidates_without_a_common_task_are_not_ranked():
    found = board(
        lambda task, arm, _repetition: None if (task == 1) == (arm == TREATMENT) else True, CONTROL, TREATMENT, tasks=2
    )

    assert [one.rank.reason for one in found.standings] == ["no_task_in_common"] * 2
    assert (found.tasks, found.left_out) == ([], ["task-01", "task-02"])


def test_so_few_tasks_tell_nobody_apart():
    found = board(lambda _task, arm, _repetition: arm == TREATMENT, tasks=5)

    assert found.smallest.reason == "too_few_tasks_to_tell_any_pair_apart"
    assert places(found)[TREATMENT] == (1, 1, 3, [CONTROL, HYBRID])


def test_one_candidate_alone_is_first_of_one():
    found = board(lambda *_: True, CONTROL, tasks=2)

    assert (places(found), found.pairs, found.smallest.reason) == ({CONTROL: (1, 1, 1, [])}, [], "no_pair")


def test_the_order_in_which_candidates_are_named_changes_no_rank():
    orders = (CONTROL, HYBRID, TREATMENT), (HYBRID, TREATMENT, CONTROL)

    one, other = (board(lambda task, arm, _: arm != HYBRID or task > 7, *names) for names in orders)

    assert places(one) == places(other)


def test_the_page_shows_ranks_ties_and_what_could_not_be_told_apart():
    made = report(lambda _task, arm, repetition: None if arm == HYBRID else arm == TREATMENT or repetition <= 2)

    page = render(made).decode()

    assert "framework: 50/50, possible ranks 1; plain: 20/50, possible ranks 2; hybrid: 0/0, unranked." in page
    assert "one pair alone must differ by 14.0 points to be told apart" in page


def test_success_and_leaderboard_tell_the_same_p_also_of_more_tasks_than_can_be_enumerated():
    given = data_of(lambda task, arm, repetition: arm == TREATMENT or (task + repetition) % 3 > 0, tasks=24)

    found, told = leaderboard(given, success(given)), success(given).sign_flip
    assert told.value == pair(found, CONTROL, TREATMENT).p.value is not None
    assert told.n == 24


# --- another computation ----------------------------------------------------------------------------------------------
@cache
def eight_tasks() -> Loaded:
    return stored(lambda *_: True, tasks=8, repetitions=2)


def with_outcomes(drawn: Mapping[tuple[int, str, int], bool | None]) -> Data:
    """Eight tasks twice; both computations are given the same rows, whatever evidence they would come from."""
    whole = eight_tasks()
    tasks = {name: number for number, name in enumerate(sorted({row.task for row in whole.rows}), 1)}
    outcomes: dict[bool | None, Outcome] = {None: "invalid", True: "passed", False: "failed"}
    came = [outcomes[drawn[tasks[row.task], row.arm, row.repetition]] for row in whole.rows]
    rows = [replace(row, outcome=outcome) for row, outcome in zip(whole.rows, came, strict=True)]
    return Data(replace(whole, rows=tuple(rows)), CONVENTIONS)


@pytest.mark.parametrize("lost_of_ten", [0, 1, 4, 9])
@pytest.mark.parametrize("seed", range(3))
def test_the_verifiers_own_code_finds_the_same_board(seed: int, lost_of_ten: int):
    """Of any outcomes: three candidates, eight tasks, with and without lost runs."""
    rng = generator(seed, "outcomes")
    drawn = {
        (task, arm, repetition): None if rng.integers(10) < lost_of_ten else bool(rng.integers(6) > arm_at)
        for task in range(1, 9)
        for arm_at, arm in enumerate((TREATMENT, CONTROL, HYBRID))
        for repetition in (1, 2)
    }
    given = with_outcomes(drawn)
    rows = [
        Row(run.run, run.uid, run.index, run.block, run.task, run.arm, run.repetition, run.place, 0, run.outcome)
        for run in given.rows
    ]
    plan = given.loaded.plan
    sample = Sample(tuple(rows), given.tasks, given.arms, given.repetitions, plan.treatment, plan.control)

    found = to_json(leaderboard(given, success(given)))
    assert list(problems(found, verified.leaderboard(sample), "leaderboard")) == []


# --- its parts --------------------------------------------------------------------------------------------------------
@given(st.lists(st.fractions(-1, 1, max_denominator=12), min_size=1, max_size=10))
def test_flips_that_are_counted_give_the_p_of_flips_that_are_enumerated(differences: list[Fraction]):
    assert float(counted_flip(differences) or 0) == pytest.approx(sign_flip(differences, generator(0, "unused")).p)


def test_flips_of_many_tasks_are_counted_exactly_and_too_many_sums_give_no_p():
    assert counted_flip([F(1, 5)] * 400) == F(2, 2**400)
    assert counted_flip([F(1, n) for n in range(1, 17)]) is not None
    assert counted_flip([F(1, n) for n in range(1, 41)]) is None
    assert counted_flip([]) is None


def test_both_computations_count_up_to_the_same_limit():
    step = F(1, 249_961)  # with 39 steps and a difference of one, 40 tasks have a sum of 250,000
    at_most, beyond = [step] * 39 + [F(1)], [step] * 38 + [2 * step, F(1)]

    assert [counted_flip(each) is None for each in (at_most, beyond)] == [False, True]
    assert [flips.counted_flip(each) for each in (at_most, beyond)] == [counted_flip(at_most), None]


def test_a_pair_that_can_not_be_tested_is_tied():
    found = tie_sets({"a": {str(n): F(1, n) for n in range(1, 41)}, "b": {str(n): 0 for n in range(1, 41)}})

    assert found.comparisons[0].p is None
    assert [(one.worst_rank, one.tied_with) for one in found.standings] == [(2, ("b",)), (2, ("a",))]


def test_holms_adjustment_of_fractions_is_exact():
    assert holm([F(1, 3), None, F(1, 512)]) == (F(2, 3), None, F(3, 512))
    assert holm([F(1, 2), F(2, 3)]) == (1, 1)


@pytest.mark.parametrize(("pairs", "expected"), [(1, 6), (2, 7), (3, 7), (4, None)])
def test_no_smaller_difference_can_be_told_apart_whatever_the_tasks_do(pairs: int, expected: int | None):
    """Against every set of seven differences of up to two runs each."""
    level = 2 * Conventions().tail
    able = [
        abs(sum(each))
        for each in combinations_with_replacement(range(-2, 3), 7)
        if sum(each) and pairs * (counted_flip(each) or 1) <= level
    ]

    assert min(able, default=None) == expected
    assert smallest_resolvable(7, 1, pairs) == (expected and F(expected, 7))
