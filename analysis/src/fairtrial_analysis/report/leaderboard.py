"""Candidates by rank, with the ranks that chance allows: every pair tested over the same tasks, adjusted by Holm. Pure.

All is over the tasks in which every candidate with a valid run has one. So no candidate is ranked by easier tasks than
another, and a pair's mean difference is that of the scores: a rank can't lie outside its own interval.
"""

from fractions import Fraction
from itertools import combinations

from fairtrial_analysis.report.data import Data
from fairtrial_analysis.report.measured import Leaderboard, Pair, Standing, Success
from fairtrial_analysis.report.numbers import none, number, of_interval
from fairtrial_analysis.report.success import METRIC
from fairtrial_analysis.report.values import Interval, Number, Of
from fairtrial_analysis.stats.multiplicity.ranks import ranks
from fairtrial_analysis.stats.multiplicity.tie_sets import Comparison, tie_sets
from fairtrial_analysis.stats.multiplicity.tie_sets import Standing as Ties
from fairtrial_analysis.stats.paired.task_t import DIFFERENCE_OF_SHARES, task_t
from fairtrial_analysis.stats.planning.resolvable import smallest_resolvable
from fairtrial_analysis.stats.value import measured, missing

Scores = dict[str, dict[str, Fraction]]  # by candidate and task


def leaderboard(data: Data, success: Success) -> Leaderboard:
    """Of all candidates, one alone too."""
    scores = _scores(data)
    tasks = list(next((each for each in scores.values() if each), {}))
    found = tie_sets(scores, data.conventions)
    means = {arm: _mean(each) for arm, each in scores.items()}
    by_arm = ranks({arm: missing("unranked") if mean is None else measured(mean) for arm, mean in means.items()})
    ranked = sum(rank is not None for rank in by_arm.values())
    standings = []
    for rate, ties in zip(success.rates, found.standings, strict=True):
        of, reason = Of("tasks", METRIC, arm=ties.name), _reason(data, ties.name)
        score = number(means[ties.name], "mean_of_task_shares", of, reason=reason, n=len(tasks))
        place = number(
            by_arm[ties.name], "competition_rank", of, reason=reason, n=ranked, interval=_possible(data, ties)
        )
        standings.append(Standing(ties.name, rate, score, place, list(ties.tied_with)))
    return Leaderboard(
        sorted(standings, key=lambda one: ranked + 1 if one.rank.value is None else one.rank.value),
        [_pair(data, each) for each in found.comparisons],
        tasks,
        [task for task in data.tasks if task not in tasks],
        _smallest(data),
    )


def _scores(data: Data) -> Scores:
    """Rates over the common tasks; nothing of a candidate without a valid run."""
    cells = {arm: {task: data.counts(task, arm) for task in data.tasks} for arm in data.arms}
    able = [arm for arm in data.arms if any(valid for _, valid in cells[arm].values())]
    common = [task for task in data.tasks if able and all(cells[arm][task][1] for arm in able)]
    return {arm: {task: Fraction(*cells[arm][task]) for task in common} if arm in able else {} for arm in data.arms}


def _mean(scores: dict[str, Fraction]) -> Fraction | None:
    return sum(scores.values(), Fraction(0)) / len(scores) if scores else None


def _reason(data: Data, *arms: str) -> str:
    """Why there is nothing to rank or to compare, if there is nothing."""
    return "no_task_in_common" if all(data.valid(None, arm) for arm in arms) else "no_valid_runs"


def _possible(data: Data, ties: Ties) -> Interval | None:
    if ties.best_rank is None:
        return None
    confidence = data.conventions.confidence
    return Interval("pairwise_holm", confidence, ties.best_rank, ties.worst_rank, "task_population")


def _pair(data: Data, found: Comparison) -> Pair:
    of, n = Of("tasks", METRIC, arm=found.one, against=found.other), len(found.differences)
    over = task_t(found.differences, data.conventions, possible=DIFFERENCE_OF_SHARES)
    reason = "too_many_sums_to_count" if n else _reason(data, found.one, found.other)
    return Pair(
        found.one,
        found.other,
        number(over.mean, "mean_of_task_differences", of, reason=reason, n=n, interval=of_interval(over.interval)),
        number(found.p, "sign_flip", of, reason=reason, n=n),
        number(found.adjusted, "holm", of, reason=reason, n=n),
        found.apart,
    )


def _smallest(data: Data) -> Number:
    of, pairs = Of("scheduled", METRIC), len(list(combinations(data.arms, 2)))
    if not pairs:
        return none("smallest_resolvable", of, "no_pair")
    found = smallest_resolvable(len(data.tasks), data.repetitions, pairs, data.conventions)
    if found is None:
        return none("smallest_resolvable", of, "too_few_tasks_to_tell_any_pair_apart")
    return number(found, "smallest_resolvable", of, n=len(data.tasks))
