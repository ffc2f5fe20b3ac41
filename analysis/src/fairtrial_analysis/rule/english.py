"""A rule in sentences, for preregistration and report: what people sign is what the machine evaluates. Pure."""

from fairtrial_analysis.rule.model import ORDER, Condition, DecisionRule, Step
from fairtrial_analysis.rule.results import Design
from fairtrial_analysis.rule.vocabulary import METRICS, STATISTICS
from fairtrial_analysis.stats.conventions import CONVENTIONS, Conventions

_COMPARED = {"below": "below", "atMost": "at most", "above": "above", "atLeast": "at least"}
_ENDS = {"lower95": "The lower end", "upper95": "The upper end"}
_STEPS: dict[Step, str] = {
    "gates": "If a gate is not passed, or nobody knows, the verdict is INCONCLUSIVE, whatever the conditions say.",
    "falseConditions": "If a condition is false or a budget exceeded, the verdict is NOT SUPPORTED.",
    "undecidedConditions": "If a condition can't be decided, the verdict is INCONCLUSIVE.",
}


def english(rule: DecisionRule, design: Design, conventions: Conventions = CONVENTIONS) -> str:
    """The rule as text; ends with its digest and that of the conventions."""
    tasks, repetitions = len(design.tasks), design.repetitions
    lines = [
        f"Decision rule {rule.name}: {rule.treatment} (treatment) against {rule.control} (control), "
        f"{tasks} tasks, {repetitions} repetitions, {2 * tasks * repetitions} scheduled runs.",
        *([rule.says] if rule.says else []),
        "",
        "Gates",
        *_numbered(_gates(rule)),
        "",
        "Conditions, which must all hold",
        *_numbered([*(sentence(each) for each in rule.conditions), *_budgets(rule)]),
        "",
        "Verdict",
        *_numbered([_STEPS[step] for step in rule.order] + ["Otherwise the verdict is SUPPORTED."]),
        *([] if rule.order == list(ORDER) else ["This order is not the usual one, in which gates come first."]),
        "",
        f"accounted_tokens follows the rule {rule.accounted_tokens}. Amounts are compared among successful runs;",
        "failed runs get no artificial penalty. Comparisons are exact; equal is neither below nor above.",
        f"Critical failures are those of the categories {', '.join(rule.critical_categories) or '(none)'}.",
        f"Rule SHA-256 {rule.sha256}. Conventions SHA-256 {conventions.sha256}.",
    ]
    return "\n".join(lines) + "\n"


def sentence(condition: Condition) -> str:
    """One condition, such as `The lower end of … is above -0.10.`"""
    statistic = STATISTICS[condition.statistic]
    what = f"{condition.metric}, {statistic.title}"
    if condition.bound != "point":
        what = f"{_ENDS[condition.bound]} of the 95 % interval ({statistic.interval}) of {what},"
    unit = METRICS[condition.metric].unit if condition.statistic in ("treatmentValue", "controlValue") else ""
    unit = unit or ("tasks" if condition.statistic in ("tasksLower", "tasksHigher", "criticalTasks") else "")
    text = f"{condition.name}: {what} is {_COMPARED[condition.comparison]} {condition.threshold}{unit and ' ' + unit}."
    return f"{text} {condition.says}".rstrip()


def _gates(rule: DecisionRule) -> list[str]:
    gates = [
        "confirmatory: the cohort is confirmatory.",
        "integrity: every record belongs to the schedule, and everything scheduled is accounted for.",
        f"valid-runs: each task has {rule.min_valid_per_cell} valid runs or more in each arm, failed ones included.",
        *(f"{name}: there is evidence for it." for name in rule.gates),
    ]
    if rule.runtime_required:
        gates.append("runtime-budgets-fixed: budgets for runtime were fixed before any result.")
    return gates + [sentence(each) for each in rule.data_gates]


def _budgets(rule: DecisionRule) -> list[str]:
    return [
        f"{each.name}: {each.metric} of {rule.treatment} is at most {each.maximum} {METRICS[each.metric].unit}. "
        f"{each.says}".rstrip()
        for each in rule.budgets
    ]


def _numbered(texts: list[str]) -> list[str]:
    return [f"{number}. {text}" for number, text in enumerate(texts, start=1)]
