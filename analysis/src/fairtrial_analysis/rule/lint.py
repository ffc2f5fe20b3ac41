"""What can't be right in a rule, and what is unwise, before anything depends on it. Pure.

An error is a rule that can't be evaluated or can't decide; a warning is one that decides otherwise than its author may
think. Numbers in warnings are computed for the design, not quoted.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from fairtrial.errors import InvalidInput
from fairtrial.usage.accounted import RULES
from fairtrial_analysis.rule.model import ORDER, Condition, DecisionRule
from fairtrial_analysis.rule.results import Design
from fairtrial_analysis.rule.vocabulary import METRICS, STATISTICS
from fairtrial_analysis.stats.conventions import CONVENTIONS, Conventions
from fairtrial_analysis.stats.flow.taxonomy import CATEGORIES
from fairtrial_analysis.stats.proportions.newcombe import newcombe
from fairtrial_analysis.stats.ratios.task_wins import chance_of_at_least

_LIKELY_BY_CHANCE = Fraction(1, 20)


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong or unwise, and where."""

    code: str
    severity: Literal["error", "warning"]
    field: str
    message: str


def lint(
    rule: DecisionRule,
    design: Design,
    assumed_rate: Fraction = Fraction(4, 5),
    conventions: Conventions = CONVENTIONS,
) -> tuple[Finding, ...]:
    """Everything found, errors first. `assumed_rate` is the success rate for which margins are judged."""
    found = [*_of_rule(rule, design)]
    for key, conditions in (("dataGates", rule.data_gates), ("conditions", rule.conditions)):
        for index, condition in enumerate(conditions):
            field = f"{key}[{index}]"
            wrong = list(_of_condition(condition, design, field))
            found += wrong
            if not any(each.severity == "error" for each in wrong):
                found += _unwise(condition, design, field, assumed_rate, conventions)
    if not any(each.severity == "error" for each in found):
        found += _of_all(rule, design)
    return tuple(sorted(found, key=lambda each: (each.severity != "error", each.field, each.code)))


def _of_rule(rule: DecisionRule, design: Design) -> Iterator[Finding]:
    if not rule.conditions:
        yield Finding("no_conditions", "error", "conditions", "there is no condition, so all would be supported")
    yield from _of_arms(rule, design)
    if rule.accounted_tokens not in RULES:
        known = ", ".join(sorted(RULES))
        yield Finding("unknown_token_rule", "error", "accountedTokens", f"{rule.accounted_tokens!r} is none of {known}")
    if not 1 <= rule.min_valid_per_cell <= design.repetitions:
        message = f"{rule.min_valid_per_cell} valid runs of {design.repetitions} scheduled ones"
        yield Finding("impossible_cell_size", "error", "minValidPerCell", f"{message}: always inconclusive")
    if sorted(rule.order) != sorted(ORDER):
        yield Finding("bad_order", "error", "order", f"must hold each of {', '.join(ORDER)} once")
    for name in sorted(set(rule.critical_categories) - set(CATEGORIES)):
        yield Finding("unknown_category", "error", "criticalCategories", f"{name!r} is no failure category")
    if rule.runtime_required and not rule.budgets:
        yield Finding(
            "no_budgets", "error", "budgets", "runtime is required and no budget is fixed: always inconclusive"
        )
    conditions = [each.name for each in (*rule.data_gates, *rule.conditions)]
    names = Counter([*rule.gates, *conditions, *(each.name for each in rule.budgets)])
    for name in sorted(name for name, count in names.items() if count > 1):
        yield Finding(
            "duplicate_name", "error", "conditions", f"several gates, conditions or budgets are named {name!r}"
        )
    for index, budget in enumerate(rule.budgets):
        yield from _of_budget(f"budgets[{index}]", budget.metric, budget.maximum)


def _of_arms(rule: DecisionRule, design: Design) -> Iterator[Finding]:
    if rule.treatment == rule.control:
        yield Finding("same_arm", "error", "control", f"{rule.control!r} would be compared with itself")
    for key, arm in (("treatment", rule.treatment), ("control", rule.control)):
        if arm not in design.arms:
            yield Finding("unknown_arm", "error", key, f"{arm!r} is no candidate of {', '.join(design.arms)}")


def _of_budget(field: str, metric: str, maximum: str) -> Iterator[Finding]:
    known = METRICS.get(metric)
    if known is None or not known.runtime:
        yield Finding("unknown_metric", "error", f"{field}.metric", f"{metric!r} is no metric of measurement tasks")
    try:
        if Fraction(maximum) <= 0:
            yield Finding("impossible_threshold", "error", f"{field}.maximum", f"nothing takes {maximum} or less")
    except (ValueError, ZeroDivisionError):
        yield Finding("not_a_number", "error", f"{field}.maximum", f"{maximum!r} is not a decimal number")


def _of_condition(condition: Condition, design: Design, field: str) -> Iterator[Finding]:
    metric, statistic = METRICS.get(condition.metric), STATISTICS.get(condition.statistic)
    if metric is None:
        yield Finding("unknown_metric", "error", f"{field}.metric", f"{condition.metric!r} is no metric")
    if statistic is None:
        yield Finding("unknown_statistic", "error", f"{field}.statistic", f"{condition.statistic!r} is no statistic")
    try:
        limit = condition.limit
    except InvalidInput as error:
        yield Finding("not_a_number", "error", f"{field}.threshold", error.message)
        return
    if metric is None or statistic is None:
        return
    if metric.kind not in statistic.kinds:
        message = f"{condition.statistic} says nothing of {condition.metric}, a metric of kind {metric.kind}"
        yield Finding("statistic_does_not_apply", "error", f"{field}.statistic", message)
        return
    if condition.bound != "point" and not statistic.interval:
        yield Finding("no_interval", "error", f"{field}.bound", f"{condition.statistic} has no interval")
    low, high = statistic.values(metric.kind)
    if statistic.whole:
        high = Fraction(len(design.tasks)) if condition.statistic != "criticalExcess" else high
        if limit.denominator != 1:
            yield Finding("fraction_of_a_count", "error", f"{field}.threshold", f"{limit} is not a whole number")
    yield from _possible(condition, limit, low, high, field)


def _possible(
    condition: Condition, limit: Fraction, low: Fraction | None, high: Fraction | None, field: str
) -> Iterator[Finding]:
    """Whether the threshold cuts the range of possible values at all."""
    comparison = condition.comparison
    never = {
        "below": low is not None and limit <= low,
        "atMost": low is not None and limit < low,
        "above": high is not None and limit >= high,
        "atLeast": high is not None and limit > high,
    }[comparison]
    always = {
        "below": high is not None and limit > high,
        "atMost": high is not None and limit >= high,
        "above": low is not None and limit < low,
        "atLeast": low is not None and limit <= low,
    }[comparison]
    where = f"{condition.statistic} lies between {'-∞' if low is None else low} and {'∞' if high is None else high}"
    if never:
        yield Finding("impossible_threshold", "error", f"{field}.threshold", f"can never hold: {where}")
    elif always:
        yield Finding("empty_condition", "error", f"{field}.threshold", f"always holds: {where}")


def _unwise(
    condition: Condition, design: Design, field: str, assumed: Fraction, conventions: Conventions
) -> Iterator[Finding]:
    at = f"{field}.threshold"
    if condition.statistic in ("difference", "pooledDifference") and condition.metric == "success_rate":
        if condition.bound == "point" and condition.limit == 0 and condition.comparison in ("atLeast", "above"):
            message = "if rates are equal it is met about half the time, whatever the number of runs"
            yield Finding("coin_flip", "warning", at, f"{message}; use lower95 and a margin")
        if condition.bound == "lower95" and condition.limit < 0:
            yield from _margin(-condition.limit, design, at, assumed, conventions)
        if condition.bound != "point" and condition.comparison in ("below", "atMost"):
            yield Finding("upper_limit_of_success", "warning", f"{field}.comparison", "asks that success is not better")
    if condition.statistic in ("tasksLower", "tasksHigher") and condition.comparison in ("atLeast", "above"):
        needed = int(condition.limit) + (condition.comparison == "above")
        chance = chance_of_at_least(needed, len(design.tasks))
        if chance > _LIKELY_BY_CHANCE:
            message = f"without a difference it is met in {_percent(chance)} of experiments"
            yield Finding("likely_by_chance", "warning", at, f"{message}; more repetitions don't lower that")
    if condition.statistic == "ratio" and METRICS[condition.metric].unit == "count":
        message = "tasks in which a median is zero have no logarithm and leave the geometric mean"
        yield Finding("zeros_leave_the_ratio", "warning", f"{field}.statistic", message)
    if condition.statistic == "pooledMedianRatio" and condition.bound != "point":
        yield Finding(
            "pooled_interval", "warning", f"{field}.bound", "speaks of these tasks only, and takes long to simulate"
        )


def _margin(
    margin: Fraction, design: Design, field: str, assumed: Fraction, conventions: Conventions
) -> Iterator[Finding]:
    """Whether equal observed rates would show the margin with the runs that there are."""
    runs = len(design.tasks) * design.repetitions
    for rate, code in ((Fraction(1), "margin_out_of_reach"), (assumed, "margin_hard_to_show")):
        successes = round(rate * runs)
        low = newcombe(successes, runs, successes, runs, conventions).interval.low
        if low is not None and Fraction(low) <= -margin:
            message = f"if {_percent(rate)} of {runs} runs succeed in both arms, the lower limit is {float(low):.3f}"
            yield Finding(code, "warning", field, f"{message}: a margin of {float(margin)} is not shown")
            return


def _of_all(rule: DecisionRule, design: Design) -> Iterator[Finding]:
    """What only the conditions together show."""
    seen: dict[tuple[str, str, str], list[Condition]] = {}
    for condition in rule.conditions:
        seen.setdefault((condition.metric, condition.statistic, condition.bound), []).append(condition)
    for (metric, statistic, _), conditions in seen.items():
        floor = [each for each in conditions if each.comparison in ("above", "atLeast")]
        ceiling = [each for each in conditions if each.comparison in ("below", "atMost")]
        for low in floor:
            for high in ceiling:
                strict = "above" in low.comparison or "below" in high.comparison
                if low.limit > high.limit or (strict and low.limit == high.limit):
                    message = f"{low.name} and {high.name} can't both hold for {statistic} of {metric}"
                    yield Finding("contradiction", "error", "conditions", message)
    success = [each for each in rule.conditions if each.metric == "success_rate"]
    if not success:
        yield Finding(
            "no_success_condition", "warning", "conditions", "efficiency could be supported while success fell"
        )
    amounts = [each for each in rule.conditions if METRICS[each.metric].kind != "rate"]
    if amounts and {each.statistic for each in amounts} <= {"tasksLower"}:
        yield Finding("count_alone", "warning", "conditions", "a count of tasks says nothing of how much; add a ratio")
    read = {each.metric for each in amounts if not METRICS[each.metric].runtime}
    for metric in sorted(read - {each.metric for each in rule.data_gates if each.statistic == "coverage"}):
        message = f"no gate asks how much of {metric} was measured, so a verdict may rest on few runs"
        yield Finding("no_coverage_gate", "warning", "dataGates", message)
    if len(design.tasks) == 1:
        yield Finding("one_task", "warning", "conditions", "with one task nothing can be said of others")


def _percent(value: Fraction) -> str:
    return f"{float(100 * value):.1f} %"
