"""One metric that every run has: by task and arm, among successes and over all valid runs, and what they come to. Pure.

Efficiency among successes is selected by success, so it never stands alone: all valid runs, what a success took,
ratios by task and differences within blocks stand beside it.
"""

from collections.abc import Mapping
from fractions import Fraction

from fairtrial_analysis.load.rows import Row
from fairtrial_analysis.report.data import Data
from fairtrial_analysis.report.measured import Amount, ArmAmount, Outlier, Paired, TaskAmount, TaskRatios
from fairtrial_analysis.report.numbers import exact, measured_values, none, number, of_interval, summarised
from fairtrial_analysis.report.values import Exact, Number, Of
from fairtrial_analysis.stats.location.outliers import outliers
from fairtrial_analysis.stats.location.summary import median
from fairtrial_analysis.stats.paired.hodges_lehmann import hodges_lehmann
from fairtrial_analysis.stats.ratios.per_success import per_success
from fairtrial_analysis.stats.ratios.pooled import pooled_against_tasks
from fairtrial_analysis.stats.ratios.ratio import ratio
from fairtrial_analysis.stats.ratios.task_ratio import Medians, task_ratio
from fairtrial_analysis.stats.ratios.task_wins import task_wins
from fairtrial_analysis.stats.value import Number as Real

_RATIOS = ("geometric_mean", "median_of_ratios", "leave_one_out_low", "leave_one_out_high")
HODGES_LEHMANN_MAX = 500  # pairs; beyond it their averages are too many to be worth it


def amounts(data: Data) -> list[Amount]:
    """Every metric, primary ones first."""
    return [_amount(data, metric) for metric in data.metrics]


def _amount(data: Data, metric: str) -> Amount:
    medians = task_medians(data, metric)
    return Amount(
        metric,
        data.unit(metric),
        data.role(metric),
        [_arm(data, metric, arm) for arm in data.arms],
        [_task(data, metric, task) for task in data.tasks],
        _ratios(data, metric, medians),
        _pooled(data, metric, "passed"),
        _pooled(data, metric, "valid"),
        _per_success_ratio(data, metric),
        _contradiction(data, metric),
        _paired(data, metric),
        _outliers(data, metric),
    )


def _arm(data: Data, metric: str, arm: str) -> ArmAmount:
    unit, valid = data.unit(metric), data.valid(None, arm)
    spent = per_success((row.outcome == "passed", data.value(row, metric)) for row in valid)
    of = Of("valid", metric, arm=arm)
    return ArmAmount(
        arm,
        summarised(data.values(data.passed(None, arm), metric), Of("passed", metric, arm=arm), unit, data.conventions),
        summarised(data.values(valid, metric), of, unit, data.conventions),
        number(spent.total, "sum", of, reason=spent.reason, unit=unit, n=spent.runs - spent.n_missing),
        number(spent.value, "per_success", of, reason=spent.reason, unit=unit, n=spent.successes),
    )


def _task(data: Data, metric: str, task: str) -> TaskAmount:
    unit = data.unit(metric)
    passed = [
        summarised(data.values(data.passed(task, arm), metric), Of("passed", metric, task, arm), unit, data.conventions)
        for arm in data.arms
    ]
    valid = [
        summarised(data.values(data.valid(task, arm), metric), Of("valid", metric, task, arm), unit, data.conventions)
        for arm in data.arms
    ]
    of = Of("passed", metric, task)
    if data.pair is None:
        return TaskAmount(task, passed, valid, none("ratio_of_medians", of), None)
    if why := data.ratios(metric):
        made = none("ratio_of_medians", of, why)
    else:
        found = ratio(*(median(measured_values(data.values(data.passed(task, arm), metric))) for arm in data.pair))
        made = number(found.value, "ratio_of_medians", of, reason=found.reason)
    (top, bottom), (other, below) = (data.counts(task, arm) for arm in data.pair)
    worse = Fraction(top, bottom) < Fraction(other, below) if bottom and below else None
    return TaskAmount(task, passed, valid, made, worse)


def task_medians(data: Data, metric: str) -> Medians:
    """Both arms' medians among successes, by task."""
    if data.pair is None:
        return {}
    ours, theirs = data.pair

    def middle(task: str, arm: str) -> Fraction | None:
        return median(measured_values(data.values(data.passed(task, arm), metric)))

    return {task: (middle(task, ours), middle(task, theirs)) for task in data.tasks}


def _ratios(data: Data, metric: str, medians: Medians) -> TaskRatios:
    of = Of("tasks", metric)
    if data.pair is None:
        names = (*_RATIOS, "tasks_lower", "tasks_equal", "tasks_higher")
        a, b, c, d, e, f, g = (none(name, of) for name in names)
        return TaskRatios(a, b, c, d, None, e, f, g, list(data.tasks), [])
    why, wins = data.ratios(metric), task_wins(medians)
    found = task_ratio({} if why else medians, data.conventions)
    left = found.leave_one_out
    positive = found.tasks - len(found.zeros_left_out)
    mean, middle, low, high = (
        (none(name, of, why) for name in _RATIOS)
        if why
        else (
            number(
                found.geometric_mean, "geometric_mean", of, reason=found.reason, n=positive,
                interval=of_interval(found.interval),
            ),
            number(found.median, "median_of_ratios", of, reason=found.reason, n=found.tasks),
            number(left.low, "leave_one_out_low", of, reason=left.reason, n=positive),
            number(left.high, "leave_one_out_high", of, reason=left.reason, n=positive),
        )
    )  # fmt: skip
    return TaskRatios(
        mean,
        middle,
        low,
        high,
        left.most_influential,
        number(len(wins.lower), "tasks_lower", of, unit="tasks", n=wins.tasks),
        number(len(wins.ties), "tasks_equal", of, unit="tasks", n=wins.tasks),
        number(len(wins.higher), "tasks_higher", of, unit="tasks", n=wins.tasks),
        list(wins.not_evaluable),
        list(found.zeros_left_out),
    )  # fmt: skip


def _pooled(data: Data, metric: str, among: str) -> Number:
    of = Of("passed" if among == "passed" else "valid", metric)
    if (why := data.ratios(metric)) or data.pair is None:
        return none("ratio_of_medians", of, why)
    chosen = data.passed if among == "passed" else data.valid
    values = [measured_values(data.values(chosen(None, arm), metric)) for arm in data.pair]
    found = ratio(median(values[0]), median(values[1]))
    return number(found.value, "ratio_of_medians", of, reason=found.reason, n=sum(map(len, values)))


def _per_success_ratio(data: Data, metric: str) -> Number:
    of = Of("valid", metric)
    if (why := data.ratios(metric)) or data.pair is None:
        return none("ratio", of, why)
    ours, theirs = (
        per_success((row.outcome == "passed", data.value(row, metric)) for row in data.valid(None, arm))
        for arm in data.pair
    )
    found = ratio(ours.value, theirs.value)
    return number(found.value, "ratio", of, reason=ours.reason or theirs.reason or found.reason)


def _contradiction(data: Data, metric: str) -> bool | None:
    if data.pair is None or data.ratios(metric):
        return None
    ours, theirs = (
        {task: measured_values(data.values(data.passed(task, arm), metric)) for task in data.tasks} for arm in data.pair
    )
    return pooled_against_tasks(ours, theirs).contradiction


def _paired(data: Data, metric: str) -> Paired:
    of = Of("blocks", metric)
    names = (
        "median_of_differences", "difference_of_medians", "hodges_lehmann", "least_difference", "greatest_difference",
    )  # fmt: skip
    if data.pair is None:
        made = [none(name, of) for name in names]
        return Paired(0, 0, 0, 0, made[0], made[1], made[2], made[3], made[4], list(data.blocks))
    pairs, incomplete = _pairs(data, metric, data.pair)
    differences: list[Real] = [ours - theirs for ours, theirs in pairs]
    middles = [median(ours for ours, _ in pairs), median(theirs for _, theirs in pairs)]
    between = middles[0] - middles[1] if middles[0] is not None and middles[1] is not None else None
    few = len(differences) <= HODGES_LEHMANN_MAX
    found: list[Real | None] = [
        median(differences),
        between,
        hodges_lehmann(differences) if few else None,
        min(differences, default=None),
        max(differences, default=None),
    ]
    unit, n = data.unit(metric), len(differences)
    made = [
        number(each, name, of, reason="no_complete_block", unit=unit, n=n)
        for each, name in zip(found, names, strict=True)
    ]
    if not few:
        made[2] = none("hodges_lehmann", of, "too_many_pairs")
    lower, higher = sum(each < 0 for each in differences), sum(each > 0 for each in differences)
    return Paired(n, lower, n - lower - higher, higher, made[0], made[1], made[2], made[3], made[4], incomplete)


def _pairs(data: Data, metric: str, pair: tuple[str, str]) -> tuple[list[tuple[Real, Real]], list[str]]:
    """Both arms' values of every block in which both passed and have the metric, and the other blocks."""
    pairs, incomplete = [], []
    for block, members in data.blocks.items():
        both = [_won(data, members, arm, metric) for arm in pair]
        if both[0] is None or both[1] is None:
            incomplete.append(block)
        else:
            pairs.append((both[0], both[1]))
    return pairs, incomplete


def _won(data: Data, members: Mapping[str, Row], arm: str, metric: str) -> Real | None:
    row = members.get(arm)
    return data.value(row, metric).value if row is not None and row.outcome == "passed" else None


def _outliers(data: Data, metric: str) -> list[Outlier]:
    made = []
    for task in data.tasks:
        for arm in data.arms:
            rows = [row for row in data.valid(task, arm) if data.value(row, metric).value is not None]
            values = measured_values(data.values(rows, metric))
            found = outliers(values, data.conventions)
            fences = [each for each in (exact(found.lower_fence), exact(found.upper_fence)) if each is not None]
            for position in found.positions:
                value = exact(values[position]) or Exact(0)
                made.append(Outlier(rows[position].run, task, arm, value, fences[0], fences[1]))
    return made
