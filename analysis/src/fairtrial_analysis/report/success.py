"""The success section: rates by task, category and arm, and their difference in several readings. Pure."""

from collections import Counter
from fractions import Fraction

from fairtrial_analysis.report.data import Data
from fairtrial_analysis.report.measured import GroupSuccess, Outcomes, Success, TaskSuccess
from fairtrial_analysis.report.numbers import none, number, of_interval, share
from fairtrial_analysis.report.values import Interval, Number, Of
from fairtrial_analysis.stats.interval import Interval as StatsInterval
from fairtrial_analysis.stats.paired.counted_flip import counted_flip
from fairtrial_analysis.stats.paired.task_t import DIFFERENCE_OF_SHARES, task_t
from fairtrial_analysis.stats.proportions.mantel_haenszel import Stratum, stratified_difference
from fairtrial_analysis.stats.proportions.newcombe import newcombe
from fairtrial_analysis.stats.proportions.posterior import posterior_superiority

METRIC = "success_rate"
SUPERIORITY_MAX = 1000  # runs; the exact sum of more has thousands of digits, and says no more


def success(data: Data) -> Success:
    """All that is told of success."""
    tasks = [
        TaskSuccess(task, categories(data).get(task), [_rate(data, task, arm) for arm in data.arms], pooled(data, task))
        for task in data.tasks
    ]
    rates = [_rate(data, None, arm) for arm in data.arms]
    if data.pair is None:
        of = Of("tasks", METRIC)
        missing = [none(name, of) for name in ("mean_of_task_differences", "wider_interval", "mantel_haenszel")]
        return Success(
            rates, tasks, pooled(data, None), missing[0], missing[1], missing[2],
            none("probability_of_superiority", Of("valid", METRIC)), none("sign_flip", of),
            Outcomes(0, 0, 0, 0, list(data.blocks)), _groups(data),
        )  # fmt: skip
    over, widest = _over_tasks(data, data.pair)
    return Success(
        rates,
        tasks,
        pooled(data, None),
        over,
        widest,
        _stratified(data, data.pair),
        _superiority(data, data.pair),
        _sign_flip(data),
        _outcomes(data, data.pair),
        _groups(data),
    )


def categories(data: Data) -> dict[str, str]:
    """The category of each task that has one."""
    return {task["name"]: task["category"] for task in data.loaded.plan.document["tasks"] if task.get("category")}


def _rate(data: Data, task: str | None, arm: str) -> Number:
    top, bottom = data.counts(task, arm)
    of = Of("valid", METRIC, task, arm)
    return share(top, bottom, of, scheduled=data.scheduled(task), conventions=data.conventions)


def pooled(data: Data, task: str | None) -> Number:
    """Treatment minus control over the runs of one task or of all: it speaks of these tasks."""
    of = Of("valid", METRIC, task)
    if data.pair is None:
        return none("difference_of_shares", of)
    ours, theirs = (data.counts(task, arm) for arm in data.pair)
    found = newcombe(*ours, *theirs, data.conventions)
    interval = of_interval(found.interval)
    return number(
        found.value, "difference_of_shares", of, reason="no_valid_runs", n=ours[1] + theirs[1], interval=interval
    )


def task_differences(data: Data) -> dict[str, Fraction]:
    """Of each task in which both arms have valid runs."""
    if data.pair is None:
        return {}
    found = {}
    for task in data.tasks:
        (top, bottom), (other, below) = (data.counts(task, arm) for arm in data.pair)
        if bottom and below:
            found[task] = Fraction(top, bottom) - Fraction(other, below)
    return found


def _over_tasks(data: Data, pair: tuple[str, str]) -> tuple[Number, Number]:
    """The mean over tasks with Student's interval, and with the one that a rule looks at."""
    of = Of("tasks", METRIC)
    found = task_t(list(task_differences(data).values()), data.conventions, possible=DIFFERENCE_OF_SHARES)
    ours, theirs = (data.counts(None, arm) for arm in pair)
    both = [found.interval, newcombe(*ours, *theirs, data.conventions).interval]
    plain = number(
        found.mean,
        "mean_of_task_differences",
        of,
        reason="no_task_with_runs_in_both_arms",
        n=found.tasks,
        interval=of_interval(found.interval),
    )
    widest = number(
        found.mean, "wider_interval", of, reason=plain.reason or "", n=found.tasks, interval=_hull(both, data)
    )
    return plain, widest


def _hull(intervals: list[StatsInterval], data: Data) -> Interval:
    name, confidence = "wider_of_newcombe_and_task_t", data.conventions.confidence
    lows = [each.low for each in intervals if each.low is not None and each.high is not None]
    highs = [each.high for each in intervals if each.low is not None and each.high is not None]
    if not lows:
        return Interval(name, confidence, reason="no_interval")
    made = StatsInterval(min(lows), max(highs), "task_t", confidence, "task_population")
    return of_interval(made, name)


def _stratified(data: Data, pair: tuple[str, str]) -> Number:
    strata = {task: Stratum(*data.counts(task, pair[0]), *data.counts(task, pair[1])) for task in data.tasks}
    found = stratified_difference(strata)
    return number(found.mantel_haenszel, "mantel_haenszel", Of("tasks", METRIC), reason=found.reason, n=found.tasks)


def _superiority(data: Data, pair: tuple[str, str]) -> Number:
    ours, theirs = (data.counts(None, arm) for arm in pair)
    if ours[1] + theirs[1] > SUPERIORITY_MAX:
        return none("probability_of_superiority", Of("valid", METRIC), "too_many_runs")
    found = posterior_superiority(*ours, *theirs)
    return number(found.probability, "probability_of_superiority", Of("valid", METRIC), n=ours[1] + theirs[1])


def _sign_flip(data: Data) -> Number:
    """Counted, never drawn: no seed, and anybody finds the same number."""
    of, differences = Of("tasks", METRIC), list(task_differences(data).values())
    reason = "too_many_sums_to_count" if differences else "no_differences"
    return number(counted_flip(differences, data.conventions), "sign_flip", of, reason=reason, n=len(differences))


def _outcomes(data: Data, pair: tuple[str, str]) -> Outcomes:
    treatment, control = pair
    won: Counter[tuple[bool, bool]] = Counter()
    incomplete = []
    for block, members in data.blocks.items():
        if treatment in members and control in members:
            won[members[treatment].outcome == "passed", members[control].outcome == "passed"] += 1
        else:
            incomplete.append(block)
    return Outcomes(won[True, True], won[True, False], won[False, True], won[False, False], incomplete)


def _groups(data: Data) -> list[GroupSuccess]:
    named = categories(data)
    made = []
    for category in sorted(set(named.values())):
        tasks = [task for task in data.tasks if named.get(task) == category]
        rates = []
        for arm in data.arms:
            counts = [data.counts(task, arm) for task in tasks]
            top, bottom = sum(one for one, _ in counts), sum(other for _, other in counts)
            of = Of("valid", METRIC, arm=arm, reason=category)
            scheduled = data.repetitions * len(tasks)
            rates.append(share(top, bottom, of, scheduled=scheduled, conventions=data.conventions))
        made.append(GroupSuccess(category, tasks, rates))
    return made
