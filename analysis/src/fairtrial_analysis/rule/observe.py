"""One statistic of one metric, with its interval, as a rule sees it. Chooses the method; pure."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from fairtrial_analysis.rule.model import Condition
from fairtrial_analysis.rule.view import View
from fairtrial_analysis.rule.vocabulary import METRICS
from fairtrial_analysis.stats.flow.differential import differential_loss
from fairtrial_analysis.stats.flow.missingness import missingness
from fairtrial_analysis.stats.flow.worst_case import Counts, worst_case
from fairtrial_analysis.stats.interval import Interval
from fairtrial_analysis.stats.location.order_statistic import median_interval
from fairtrial_analysis.stats.location.summary import median
from fairtrial_analysis.stats.paired.task_t import DIFFERENCE_OF_SHARES, task_t
from fairtrial_analysis.stats.proportions.newcombe import newcombe
from fairtrial_analysis.stats.proportions.rate import rate
from fairtrial_analysis.stats.proportions.wilson import wilson
from fairtrial_analysis.stats.ratios.per_success import per_success
from fairtrial_analysis.stats.ratios.ratio import ratio
from fairtrial_analysis.stats.ratios.task_ratio import task_ratio
from fairtrial_analysis.stats.ratios.task_wins import task_wins
from fairtrial_analysis.stats.resampling.bootstrap import bootstrap
from fairtrial_analysis.stats.resampling.seeds import generator
from fairtrial_analysis.stats.value import Number

Real = Number | float


@dataclass(frozen=True)
class Observed:
    """What was found. Where missing data could have changed it, `at_most` is how high it might have been."""

    value: Real | None
    low: Real | None = None
    high: Real | None = None
    at_most: Real | None = None
    reason: str = ""

    def at(self, bound: str) -> Real | None:
        """The value, or an end of its interval."""
        return {"point": self.value, "lower95": self.low, "upper95": self.high}[bound]


def observe(condition: Condition, view: View) -> Observed:
    """What a condition looks at."""
    return _METHODS[condition.statistic](view, condition.metric)


def _with(value: Real | None, interval: Interval, reason: str = "") -> Observed:
    return Observed(value, interval.low, interval.high, reason=reason or interval.reason)


def _over_tasks(value: Real | None, interval: Interval, of_tasks: list[Fraction], view: View) -> Observed:
    """A t interval; where all tasks are equal it has no width, and order statistics must say whether that is enough."""
    if not interval.degenerate:
        return _with(value, interval)
    ranked = median_interval(of_tasks, view.conventions)
    return Observed(value, reason=ranked.reason) if ranked.reason else _with(value, ranked)


def _difference(view: View, metric: str) -> Observed:
    pairs = [
        (ours, theirs) for ours, theirs in view.by_task(metric).values() if ours is not None and theirs is not None
    ]
    differences = [Fraction(ours) - Fraction(theirs) for ours, theirs in pairs]
    possible = DIFFERENCE_OF_SHARES if metric == "success_rate" else None
    found = task_t(differences, view.conventions, possible=possible)
    if metric != "success_rate" or found.mean is None:
        return _over_tasks(found.mean, found.interval, differences, view)
    ours, theirs = (view.arm_counts(metric, arm) for arm in view.arms)
    pooled = newcombe(*ours, *theirs, view.conventions).interval
    ends = [each for each in (found.interval, pooled) if each.low is not None and each.high is not None]
    lows, highs = (
        [each.low for each in ends if each.low is not None],
        [each.high for each in ends if each.high is not None],
    )
    return Observed(found.mean, min(lows), max(highs))


def _pooled_difference(view: View, metric: str) -> Observed:
    ours, theirs = (view.arm_counts(metric, arm) for arm in view.arms)
    found = newcombe(*ours, *theirs, view.conventions)
    return _with(found.value, found.interval)


def _worst_case(view: View, metric: str) -> Observed:
    counts = []
    for arm in view.arms:
        top, bottom = view.arm_counts(metric, arm)
        scheduled = len(view.tasks) * view.results.design.repetitions
        counts.append(Counts(top, bottom, max(scheduled - bottom, 0)))
    found = worst_case(counts[0], counts[1])
    return Observed(found.low, reason=found.reason)


def _ratio(view: View, metric: str) -> Observed:
    found = task_ratio(view.by_task(metric), view.conventions)
    ratios = [each.value for _, each in found.per_task if each.value]
    return _over_tasks(found.geometric_mean, found.interval, ratios, view)


def _median_task_ratio(view: View, metric: str) -> Observed:
    found = task_ratio(view.by_task(metric), view.conventions)
    return Observed(found.median, reason=found.reason if found.median is None else "")


def _worst_leave_one_out(view: View, metric: str) -> Observed:
    found = task_ratio(view.by_task(metric), view.conventions).leave_one_out
    return Observed(found.high, reason=found.reason)


def _pooled_median_ratio(view: View, metric: str) -> Observed:
    samples = [view.arm_amounts(metric, arm) for arm in view.arms]
    medians = [median(each) for each in samples]
    found = ratio(medians[0], medians[1])
    reading = (*view.rule.conditions, *view.rule.data_gates)
    wanted = {each.bound for each in reading if (each.statistic, each.metric) == ("pooledMedianRatio", metric)}
    if found.value is None or wanted <= {"point"}:
        return Observed(found.value, reason=found.reason)
    drawn = bootstrap(
        "ratio_of_medians", samples, generator(view.seed, f"pooledMedianRatio/{metric}"), view.conventions
    )
    return _with(found.value, drawn.interval)


def _all_runs_median_ratio(view: View, metric: str) -> Observed:
    medians = [median(view.arm_amounts(metric, arm, passed=False)) for arm in view.arms]
    found = ratio(medians[0], medians[1])
    return Observed(found.value, reason=found.reason)


def _per_success_ratio(view: View, metric: str) -> Observed:
    ours, theirs = (
        per_success((trial.passed, view.value(trial, metric)) for trial in view.of_arm(arm)) for arm in view.arms
    )
    found = ratio(ours.value, theirs.value)
    return Observed(found.value, reason=ours.reason or theirs.reason or found.reason)


def _tasks_lower(view: View, metric: str) -> Observed:
    lower = task_wins(view.by_task(metric)).strictly_lower
    return Observed(lower, at_most=lower + len(view.hidden(metric)))


def _tasks_higher(view: View, metric: str) -> Observed:
    higher = len(task_wins(view.by_task(metric)).higher)
    return Observed(higher, at_most=higher + len(view.hidden(metric)))


def _own_value(arm: int) -> Callable[[View, str], Observed]:
    def value(view: View, metric: str) -> Observed:
        if METRICS[metric].kind != "rate":
            amounts = view.arm_amounts(metric, view.arms[arm])
            middle, interval = median(amounts), median_interval(amounts, view.conventions)
            # too few values for the confidence: the range does not have it, so there is no bound
            return Observed(middle, reason=interval.reason) if interval.reason else _with(middle, interval)
        top, bottom = view.arm_counts(metric, view.arms[arm])
        found = rate(top, bottom)
        return _with(found.value, wilson(top, bottom, view.conventions), found.reason)

    return value


def _critical_excess(view: View, _metric: str) -> Observed:
    ours, theirs = (sum(view.critical(task, arm) for task in view.tasks) for arm in view.arms)
    return Observed(ours - theirs)


def _critical_tasks(view: View, _metric: str) -> Observed:
    treatment, control = view.arms
    return Observed(sum(view.critical(task, treatment) > view.critical(task, control) for task in view.tasks))


def _coverage(view: View, metric: str) -> Observed:
    shares = []
    for arm in view.arms:
        missing = missingness(view.value(trial, metric) for trial in view.of_arm(arm)).missing_rate
        if missing.value is None:
            return Observed(None, reason=missing.reason)
        shares.append(1 - missing.value)
    return Observed(min(shares))


def _unjudged(view: View, _metric: str) -> Observed:
    scheduled = len(view.tasks) * view.results.design.repetitions
    shares = [1 - Fraction(len(view.of_arm(arm)), scheduled) for arm in view.arms]
    return Observed(max(shares))


def _differential_loss(view: View, _metric: str) -> Observed:
    lost = []
    for arm in view.arms:
        begun = [
            trial for task in view.tasks for trial in view.trials.get((task, arm), ()) if trial.outcome != "not_run"
        ]
        lost.append((sum(not trial.valid for trial in begun), len(begun)))
    found = differential_loss(lost[0], lost[1])
    return Observed(found.p, reason=found.reason)


_METHODS: dict[str, Callable[[View, str], Observed]] = {
    "difference": _difference,
    "ratio": _ratio,
    "pooledMedianRatio": _pooled_median_ratio,
    "tasksLower": _tasks_lower,
    "tasksHigher": _tasks_higher,
    "treatmentValue": _own_value(0),
    "controlValue": _own_value(1),
    "pooledDifference": _pooled_difference,
    "worstCaseDifference": _worst_case,
    "medianTaskRatio": _median_task_ratio,
    "worstLeaveOneOutRatio": _worst_leave_one_out,
    "perSuccessRatio": _per_success_ratio,
    "allRunsMedianRatio": _all_runs_median_ratio,
    "criticalExcess": _critical_excess,
    "criticalTasks": _critical_tasks,
    "coverage": _coverage,
    "unjudgedRate": _unjudged,
    "differentialLossP": _differential_loss,
}
