"""What the report must say of each metric that every run has: summaries, ratios, differences in blocks. Pure."""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

from fairtrial.audit.numbers.conduct import CHANGES
from fairtrial.audit.numbers.expect import Alone, Ends, Five, Num, five, of
from fairtrial.audit.numbers.intervals import log_ratio_t
from fairtrial.audit.numbers.rows import Row
from fairtrial.audit.numbers.rule import geometric_mean, per_success, ratios
from fairtrial.audit.numbers.sample import Sample, median, numbers, value

HODGES_LEHMANN_MAX, SCALE_BITS_MAX = 500, 512
_ONE = 1e-12  # a geometric mean of exactly 1 may come out on either side of it
_FENCE = Fraction(3, 2)


def amounts(sample: Sample, metrics: Sequence[str], roles: dict[str, str], units: dict[str, str]) -> list[Any]:
    """The section of every metric."""
    return [_amount(sample, metric, roles[metric], units[metric]) for metric in metrics]


def _amount(sample: Sample, metric: str, role: str, unit: str) -> dict[str, Any]:
    return {
        "metric": metric,
        "unit": unit,
        "role": role,
        "arms": [_arm(sample, metric, arm) for arm in sample.arms],
        "tasks": [_task(sample, metric, task) for task in sample.tasks],
        "ratios": _ratios(sample, metric),
        "pooledRatio": _pooled(sample, metric, "passed"),
        "allRunsRatio": _pooled(sample, metric, "valid"),
        "perSuccessRatio": _per_success_ratio(sample, metric),
        "contradiction": _contradiction(sample, metric),
        "paired": _paired(sample, metric),
        "outliers": _outliers(sample, metric),
    }


def summary(rows: Sequence[Row], metric: str, about: dict[str, Any]) -> Five:
    """The summary of what some runs have."""
    return Five(about, tuple(value(row, metric) for row in rows))


def _arm(sample: Sample, metric: str, arm: str) -> dict[str, Any]:
    passed, valid, about = sample.passed(None, arm), sample.valid(None, arm), of("valid", metric, arm=arm)
    spent = numbers(valid, metric)
    whole = sum(spent, Fraction(0)) if spent and len(spent) == len(valid) else None
    return {
        "arm": arm,
        "passed": summary(passed, metric, of("passed", metric, arm=arm)),
        "valid": summary(valid, metric, about),
        "total": Num("sum", about, whole, counts={"n": len(spent)}),
        "perSuccess": Num("per_success", about, per_success(metric, sample, arm), counts={"n": len(passed)}),
    }


def _task(sample: Sample, metric: str, task: str) -> dict[str, Any]:
    made: dict[str, Any] = {"task": task}
    for among, chosen in (("passed", sample.passed), ("valid", sample.valid)):
        made[among] = [summary(chosen(task, arm), metric, of(among, metric, task=task, arm=arm)) for arm in sample.arms]
    about = of("passed", metric, task=task)
    made["ratio"], made["successWorse"] = Num("ratio_of_medians", about, None), None
    if sample.compares:
        ours, theirs = (median(numbers(sample.passed(task, arm), metric)) for arm in sample.pair)
        made["ratio"] = Num("ratio_of_medians", about, None if metric in CHANGES else _over(ours, theirs))
        (a, n), (b, m) = (sample.counts("success_rate", task, arm) for arm in sample.pair)
        made["successWorse"] = Fraction(a, n) < Fraction(b, m) if n and m else None
    return made


def _over(ours: Fraction | None, theirs: Fraction | None) -> Fraction | None:
    return None if ours is None or theirs is None or theirs == 0 else ours / theirs


def _ratios(sample: Sample, metric: str) -> dict[str, Any]:
    about = of("tasks", metric)
    if not sample.compares:
        return _no_ratios(sample, about)
    found, by_task = ratios(metric, sample), sample.by_task(metric)
    positive = {task: each for task, each in found.items() if each > 0}
    all_of_them = list(positive.values())
    without = {
        task: geometric_mean([each for name, each in positive.items() if name != task])
        for task in positive
        if len(positive) > 1
    }
    left, whole, count = (
        [each for each in without.values() if each is not None],
        geometric_mean(all_of_them),
        len(positive),
    )
    ends = log_ratio_t(all_of_them)
    both = [(a, b) for a, b in by_task.values() if a is not None and b is not None]
    tasks = {"n": len(sample.tasks)}
    of_tasks = {
        "lower": Num("tasks_lower", about, sum(a < b for a, b in both), counts=tasks),
        "equal": Num("tasks_equal", about, sum(a == b for a, b in both), counts=tasks),
        "higher": Num("tasks_higher", about, sum(a > b for a, b in both), counts=tasks),
        "notEvaluable": [task for task, pair in by_task.items() if None in pair],
    }
    if metric in CHANGES:  # below zero, and zero is no change: it has no ratio
        return _no_ratios(sample, about) | of_tasks
    return of_tasks | {
        "geometricMean": Num(
            "geometric_mean", about, whole, Ends("log_ratio_t", *ends) if ends else None, counts={"n": count}
        ),
        "median": Num("median_of_ratios", about, median(found.values()), counts={"n": len(found)}),
        "withoutOneLow": Num("leave_one_out_low", about, min(left, default=None), counts={"n": count}),
        "withoutOneHigh": Num("leave_one_out_high", about, max(left, default=None), counts={"n": count}),
        "mostInfluential": _most_influential(without, whole),
        "zerosLeftOut": [task for task in found if task not in positive],
    }


def _no_ratios(sample: Sample, about: dict[str, Any]) -> dict[str, Any]:
    names = {
        "geometricMean": "geometric_mean",
        "median": "median_of_ratios",
        "withoutOneLow": "leave_one_out_low",
        "withoutOneHigh": "leave_one_out_high",
        "lower": "tasks_lower",
        "equal": "tasks_equal",
        "higher": "tasks_higher",
    }
    made: dict[str, Any] = {key: Num(method, about, None) for key, method in names.items()}
    return made | {"mostInfluential": None, "notEvaluable": list(sample.tasks), "zerosLeftOut": []}


def _most_influential(without: dict[str, float | None], whole: float | None) -> str | None:
    """The task whose absence moves the mean most; of several that move it alike, the first by name."""
    if whole is None or not without:
        return None
    return max(sorted(without), key=lambda task: abs((without[task] or 0.0) - whole))


def _pooled(sample: Sample, metric: str, among: str) -> Num:
    about = of(among, metric)
    if not sample.compares or metric in CHANGES:
        return Num("ratio_of_medians", about, None)
    chosen = sample.passed if among == "passed" else sample.valid
    ours, theirs = (numbers(chosen(None, arm), metric) for arm in sample.pair)
    count = {"n": len(ours) + len(theirs)}
    return Num("ratio_of_medians", about, _over(median(ours), median(theirs)), counts=count)


def _per_success_ratio(sample: Sample, metric: str) -> Num:
    about = of("valid", metric)
    if not sample.compares or metric in CHANGES:
        return Num("ratio", about, None)
    ours, theirs = (per_success(metric, sample, arm) for arm in sample.pair)
    return Num("ratio", about, _over(ours, theirs))


def _contradiction(sample: Sample, metric: str) -> bool | None:
    """Whether pooled medians and task-normalised ratios point in different directions."""
    if not sample.compares or metric in CHANGES:
        return None
    ours, theirs = (median(numbers(sample.passed(None, arm), metric)) for arm in sample.pair)
    mean = geometric_mean([each for each in ratios(metric, sample).values() if each > 0])
    if ours is None or theirs is None or mean is None:
        return None
    normal = 0 if abs(mean - 1) < _ONE else _sign(mean - 1)
    return _sign(ours - theirs) * normal < 0


def _sign(number: Fraction | float) -> int:
    return (number > 0) - (number < 0)


def _paired(sample: Sample, metric: str) -> dict[str, Any]:
    about, names = (
        of("blocks", metric),
        ("medianOfDifferences", "differenceOfMedians", "hodgesLehmann", "least", "greatest"),
    )
    methods = (
        "median_of_differences", "difference_of_medians", "hodges_lehmann", "least_difference", "greatest_difference",
    )  # fmt: skip
    pairs, incomplete = [], []
    for block, members in sample.blocks.items():
        both = [_won(members.get(arm), metric) for arm in sample.pair] if sample.compares else [None]
        if None in both:
            incomplete.append(block)
        else:
            pairs.append(both)
    differences = [a - b for a, b in pairs]  # type: ignore[operator]
    medians = [median(each) for each in zip(*pairs, strict=True)] or [None, None]
    found = [
        median(differences),
        medians[0] - medians[1] if medians[0] is not None and medians[1] is not None else None,
        _hodges_lehmann(differences),
        min(differences, default=None),
        max(differences, default=None),
    ]
    made: dict[str, Any] = {
        key: Num(method, about, each, counts={"n": len(pairs)} if sample.compares else {})
        for key, method, each in zip(names, methods, found, strict=True)
    }
    if len(pairs) > HODGES_LEHMANN_MAX:  # so many averages are not worth it, and it says so
        made["hodgesLehmann"] = Num("hodges_lehmann", about, None)
    lower, higher = sum(each < 0 for each in differences), sum(each > 0 for each in differences)
    counts = {"pairs": len(pairs), "lower": lower, "equal": len(pairs) - lower - higher, "higher": higher}
    return made | counts | {"incomplete": incomplete}


def _won(row: Row | None, metric: str) -> Fraction | None:
    return value(row, metric).number if row is not None and row.outcome == "passed" else None


def _hodges_lehmann(differences: list[Fraction]) -> Fraction | None:
    if len(differences) > HODGES_LEHMANN_MAX:
        return None
    scale = math.lcm(*(each.denominator for each in differences))
    if scale.bit_length() > SCALE_BITS_MAX:
        return median((a + b) / 2 for a, b in combinations_with_replacement(differences, 2))
    whole = [int(each * scale) for each in differences]  # integers take a tenth of the time
    sums = sorted(a + b for a, b in combinations_with_replacement(whole, 2))
    if not sums:
        return None
    return Fraction(sums[(len(sums) - 1) // 2] + sums[len(sums) // 2], 4 * scale)


def _outliers(sample: Sample, metric: str) -> list[dict[str, Any]]:
    """Valid runs beyond Tukey's fences of their task and arm."""
    made = []
    for task in sample.tasks:
        for arm in sample.arms:
            rows = [row for row in sample.valid(task, arm) if value(row, metric).number is not None]
            shape = five(numbers(rows, metric))
            low, high = shape["q1"], shape["q3"]
            if low is None or high is None:
                continue
            reach = _FENCE * (high - low)
            for row in rows:
                has = value(row, metric).number
                if has is not None and not low - reach <= has <= high + reach:
                    fences = {"value": Alone(has), "lowerFence": Alone(low - reach), "upperFence": Alone(high + reach)}
                    made.append({"run": row.run, "task": task, "arm": arm, **fences})
    return made
