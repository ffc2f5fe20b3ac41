"""The verdict again: the sealed rule, its statistics, and the order in which they are read. Pure.

A statistic is a value with an interval, or a reason for there being none; a condition compares one of the three with
its threshold, exactly. What can't be computed is unknown: neither true nor false. Two gates are always there besides
the rule's own: the cohort is confirmatory, and everything scheduled is accounted for.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from fairtrial.audit.numbers import bootstrap
from fairtrial.audit.numbers.distributions import fisher_two_sided
from fairtrial.audit.numbers.intervals import (
    Ends,
    log_ratio_t,
    newcombe,
    order_statistics,
    share_difference_t,
    task_t,
    wilson,
)
from fairtrial.audit.numbers.sample import RATES, Sample, median, numbers, value

JsonObject = dict[str, Any]
Real = Fraction | float | int
LEVEL = Fraction(95, 100)


@dataclass(frozen=True)
class Seen:
    """What a condition looks at. `most`: how high it might have been, had nothing been missing."""

    value: Real | None
    ends: Ends | None = None
    most: Real | None = None


@dataclass(frozen=True)
class Line:
    """One row of the verdict table: its kind, its state, and what was seen."""

    kind: str
    name: str
    state: str
    seen: Seen = field(default_factory=lambda: Seen(None))


@dataclass(frozen=True)
class Facts:
    """What a rule looks at besides runs."""

    stage: str
    whole: bool  # everything scheduled is accounted for, and every record is what it should be
    gates: Mapping[str, str]  # state by name
    runtime: Mapping[str, Fraction]  # of the treatment, by metric
    seed: int


def lines(rule: JsonObject, sample: Sample, facts: Facts) -> list[Line]:
    """Every row, in the order of the table."""
    made = [
        Line("gate", "confirmatory", _state(facts.stage == "confirmatory")),
        Line("gate", "integrity", _state(facts.whole), Seen(0)),
        _valid_runs(rule, sample),
        *(Line("gate", name, facts.gates.get(name, "unknown")) for name in rule.get("gates", ())),
    ]
    if rule.get("runtimeRequired"):
        made.append(Line("gate", "runtime-budgets-fixed", _state(bool(rule.get("budgets")))))
    made += [_condition("gate", one, rule, sample, facts.seed) for one in rule.get("dataGates", ())]
    made += [_condition("condition", one, rule, sample, facts.seed) for one in rule["conditions"]]
    for one in rule.get("budgets", ()):
        has = facts.runtime.get(one["metric"])
        state = "unknown" if has is None else _state(has <= Fraction(one["maximum"]))
        made.append(Line("budget", one["name"], state, Seen(has)))
    return made


def verdict(rule: JsonObject, table: list[Line]) -> str:
    """The first step that holds decides; SUPPORTED if none does."""
    gates = {line.state for line in table if line.kind == "gate"}
    rest = {line.state for line in table if line.kind != "gate"}
    ends = {
        "gates": (gates - {"pass"}, "INCONCLUSIVE"),
        "falseConditions": ("fail" in rest, "NOT SUPPORTED"),
        "undecidedConditions": ("unknown" in rest or not rest, "INCONCLUSIVE"),
    }
    return next((says for holds, says in (ends[step] for step in order_of(rule)) if holds), "SUPPORTED")


def because(rule: JsonObject, table: list[Line], found: str) -> list[str]:
    """The names of the rows that decided."""
    gates, rest = ([line for line in table if (line.kind == "gate") == is_gate] for is_gate in (True, False))
    if found == "SUPPORTED":
        return [line.name for line in rest]
    held = {
        "gates": ("INCONCLUSIVE", [line.name for line in gates if line.state != "pass"]),
        "falseConditions": ("NOT SUPPORTED", [line.name for line in rest if line.state == "fail"]),
        "undecidedConditions": ("INCONCLUSIVE", [line.name for line in rest if line.state == "unknown"]),
    }
    return next((names for says, names in (held[step] for step in order_of(rule)) if names and says == found), [])


def order_of(rule: JsonObject) -> tuple[str, ...]:
    """In which order gates and conditions are read."""
    return tuple(rule.get("order") or ("gates", "falseConditions", "undecidedConditions"))


def _state(holds: bool) -> str:
    return "pass" if holds else "fail"


def _valid_runs(rule: JsonObject, sample: Sample) -> Line:
    fewest = min((len(sample.valid(task, arm)) for task in sample.tasks for arm in sample.pair), default=0)
    return Line("gate", "valid-runs", _state(fewest >= rule.get("minValidPerCell", 5)), Seen(fewest))


def _condition(kind: str, one: JsonObject, rule: JsonObject, sample: Sample, seed: int) -> Line:
    wanted = {
        each.get("bound", "point")
        for each in (*rule["conditions"], *rule.get("dataGates", ()))
        if (each["statistic"], each["metric"]) == (one["statistic"], one["metric"])
    }
    seen = observe(one["statistic"], one["metric"], sample, rule, seed if wanted - {"point"} else None)
    return Line(kind, one["name"], _compare(one, seen), seen)


def _compare(one: JsonObject, seen: Seen) -> str:
    bound = one.get("bound", "point")
    at = {"point": seen.value, "lower95": seen.ends and seen.ends[0], "upper95": seen.ends and seen.ends[1]}[bound]
    if at is None:
        return "unknown"
    highest = seen.most if bound == "point" and seen.most is not None else at
    limit = Fraction(one["threshold"])
    holds: Callable[[Fraction], bool] = {
        "below": lambda x: x < limit,
        "atMost": lambda x: x <= limit,
        "above": lambda x: x > limit,
        "atLeast": lambda x: x >= limit,
    }[one["comparison"]]
    held = {holds(Fraction(at)), holds(Fraction(highest))}
    return "unknown" if len(held) > 1 else _state(held.pop())


# --- the statistics that a rule may name ------------------------------------------------------------------------------
def observe(statistic: str, metric: str, sample: Sample, rule: JsonObject, seed: int | None) -> Seen:
    """One statistic of one metric. `seed` is given where a bound has to be drawn."""
    ours, theirs = sample.pair
    if statistic in ("treatmentValue", "controlValue"):
        return _own_value(metric, sample, ours if statistic == "treatmentValue" else theirs)
    if statistic == "pooledMedianRatio":
        return _pooled_median_ratio(metric, sample, seed)
    if statistic in ("criticalExcess", "criticalTasks"):
        return _critical(statistic, sample, set(rule.get("criticalCategories") or _CRITICAL))
    return _STATISTICS[statistic](metric, sample)


_CRITICAL = ("security_regression", "data_migration_error")


def pairs(metric: str, sample: Sample) -> list[tuple[Fraction, Fraction]]:
    """Both arms' values in the tasks in which both have one."""
    return [(a, b) for a, b in sample.by_task(metric).values() if a is not None and b is not None]


def ratios(metric: str, sample: Sample) -> dict[str, Fraction]:
    """Treatment over control by task, where both are there and the control is not zero."""
    found = sample.by_task(metric).items()
    return {task: a / b for task, (a, b) in found if a is not None and b is not None and b != 0}


def geometric_mean(of: list[Fraction]) -> float | None:
    """Of positive numbers; None of none."""
    return math.exp(math.fsum(math.log(each) for each in of) / len(of)) if of else None


def _over_tasks(values: list[Fraction], ends: Ends | None) -> Ends | None:
    """Where all tasks are equal a t interval has no width: order statistics must say whether that is enough."""
    if ends is None or len(set(values)) > 1:
        return ends
    ranked = order_statistics(values)
    return ranked[:2] if ranked and ranked[2] >= LEVEL else None


def _difference(metric: str, sample: Sample) -> Seen:
    differences = [a - b for a, b in pairs(metric, sample)]
    if not differences:
        return Seen(None)
    mean = sum(differences, Fraction(0)) / len(differences)
    if metric != "success_rate":
        return Seen(mean, _over_tasks(differences, task_t(differences)))
    ends = share_difference_t(differences)
    ours, theirs = (sample.counts(metric, None, arm) for arm in sample.pair)
    both = [each for each in (ends, newcombe(*ours, *theirs)) if each is not None]
    return Seen(mean, (min(each[0] for each in both), max(each[1] for each in both)))


def _pooled_difference(metric: str, sample: Sample) -> Seen:
    (a, n), (b, m) = (sample.counts(metric, None, arm) for arm in sample.pair)
    return Seen(Fraction(a, n) - Fraction(b, m), newcombe(a, n, b, m)) if n and m else Seen(None)


def _worst_case(metric: str, sample: Sample) -> Seen:
    (a, n), (b, m) = (sample.counts(metric, None, arm) for arm in sample.pair)
    planned = sample.repetitions * len(sample.tasks)
    lost_ours, lost = max(planned - n, 0), max(planned - m, 0)
    if not n + lost_ours or not m + lost:
        return Seen(None)
    return Seen(Fraction(a, n + lost_ours) - Fraction(b + lost, m + lost))


def _ratio(metric: str, sample: Sample) -> Seen:
    positive = [each for each in ratios(metric, sample).values() if each > 0]
    return Seen(geometric_mean(positive), _over_tasks(positive, log_ratio_t(positive)))


def _worst_leave_one_out(metric: str, sample: Sample) -> Seen:
    positive = [each for each in ratios(metric, sample).values() if each > 0]
    if len(positive) <= 1:
        return Seen(None)
    without = [geometric_mean(positive[:at] + positive[at + 1 :]) for at in range(len(positive))]
    return Seen(max(each for each in without if each is not None))


def _pooled_median_ratio(metric: str, sample: Sample, seed: int | None) -> Seen:
    ours, theirs = (
        [x for task in sample.tasks for x in numbers(sample.passed(task, arm), metric)] for arm in sample.pair
    )
    a, b = median(ours), median(theirs)
    if a is None or b is None or b == 0:
        return Seen(None)
    return Seen(a / b, None if seed is None else bootstrap.ratio_of_medians(ours, theirs, seed, metric))


def _all_runs_median_ratio(metric: str, sample: Sample) -> Seen:
    a, b = (median(numbers(sample.valid(None, arm), metric)) for arm in sample.pair)
    return Seen(None if a is None or b is None or b == 0 else a / b)


def per_success(metric: str, sample: Sample, arm: str, task: str | None = None) -> Fraction | None:
    """What was spent on valid runs over the successes; None as soon as one run's spending is missing."""
    valid = sample.valid(task, arm)
    spent, successes = numbers(valid, metric), sum(row.outcome == "passed" for row in valid)
    if len(spent) < len(valid) or not successes:
        return None
    return sum(spent, Fraction(0)) / successes


def _per_success_ratio(metric: str, sample: Sample) -> Seen:
    a, b = (per_success(metric, sample, arm) for arm in sample.pair)
    return Seen(None if a is None or b is None or b == 0 else a / b)


def _tasks(wins: Callable[[Fraction, Fraction], bool]) -> Callable[[str, Sample], Seen]:
    def counted(metric: str, sample: Sample) -> Seen:
        won = Fraction(sum(wins(a, b) for a, b in pairs(metric, sample)))
        return Seen(won, most=won + hidden(metric, sample))

    return counted


def hidden(metric: str, sample: Sample) -> int:
    """Tasks whose comparison is lost for nothing but missing values: they might have gone either way."""
    if metric in RATES:
        return 0

    def measurable(task: str, arm: str) -> bool:
        return any(value(row, metric).state in ("measured", "missing") for row in sample.passed(task, arm))

    lost = [task for task, pair in sample.by_task(metric).items() if None in pair]
    return sum(all(measurable(task, arm) for arm in sample.pair) for task in lost)


def _own_value(metric: str, sample: Sample, arm: str) -> Seen:
    if metric in RATES:
        top, bottom = sample.counts(metric, None, arm)
        return Seen(Fraction(top, bottom), wilson(top, bottom)) if bottom else Seen(None)
    found = numbers(sample.passed(None, arm), metric)
    ranked = order_statistics(found)
    return Seen(median(found), ranked[:2] if ranked and ranked[2] >= LEVEL else None)


def critical(sample: Sample, task: str, arm: str, categories: set[str]) -> int:
    """Failed runs of a cell with a failure of one of these categories, primary or secondary."""
    failed = [row for row in sample.of(task, arm) if row.outcome == "failed"]
    return sum(bool(categories & {row.end.get("category"), *row.end.get("tags", ())}) for row in failed)


def _critical(statistic: str, sample: Sample, categories: set[str]) -> Seen:
    by_task = [tuple(critical(sample, task, arm, categories) for arm in sample.pair) for task in sample.tasks]
    if statistic == "criticalTasks":
        return Seen(Fraction(sum(a > b for a, b in by_task)))
    return Seen(Fraction(sum(a for a, _ in by_task) - sum(b for _, b in by_task)))


def _coverage(metric: str, sample: Sample) -> Seen:
    shares = []
    for arm in sample.pair:
        states = [value(row, metric).state for row in sample.valid(None, arm)]
        applies = [state for state in states if state != "not_applicable"]
        if not applies:
            return Seen(None)
        shares.append(Fraction(applies.count("measured"), len(applies)))
    return Seen(min(shares))


def _unjudged(_metric: str, sample: Sample) -> Seen:
    planned = sample.repetitions * len(sample.tasks)
    return Seen(max(1 - Fraction(len(sample.valid(None, arm)), planned) for arm in sample.pair))


def _differential_loss(_metric: str, sample: Sample) -> Seen:
    lost, begun = zip(*(loss(sample, arm) for arm in sample.pair), strict=True)
    return Seen(fisher_two_sided(lost, begun) if all(begun) else None)


def loss(sample: Sample, arm: str) -> tuple[int, int]:
    """How many begun runs of an arm have no judgement, and how many were begun."""
    begun = [row for row in sample.of(None, arm) if row.begun]
    return sum(not row.valid for row in begun), len(begun)


_STATISTICS: dict[str, Callable[[str, Sample], Seen]] = {
    "difference": _difference,
    "ratio": _ratio,
    "tasksLower": _tasks(lambda a, b: a < b),
    "tasksHigher": _tasks(lambda a, b: a > b),
    "pooledDifference": _pooled_difference,
    "worstCaseDifference": _worst_case,
    "medianTaskRatio": lambda metric, sample: Seen(median(ratios(metric, sample).values())),
    "worstLeaveOneOutRatio": _worst_leave_one_out,
    "perSuccessRatio": _per_success_ratio,
    "allRunsMedianRatio": _all_runs_median_ratio,
    "coverage": _coverage,
    "unjudgedRate": _unjudged,
    "differentialLossP": _differential_loss,
}
