"""Cells of tables that hold one number of the report: the value leads to its runs, a missing one says why. Pure."""

from collections.abc import Callable

from fairtrial_analysis.html import numbers
from fairtrial_analysis.html.lookup import Lookup
from fairtrial_analysis.html.markup import Element, tag
from fairtrial_analysis.report.values import Number, Real

Written = Callable[[Real], str]
_ABOUT = {"these_tasks": "these tasks", "task_population": "the task population"}


def value(lookup: Lookup, number: Number, written: Written = numbers.amount) -> Element | str:
    """The number alone."""
    if number.value is None:
        return tag("span", numbers.absent(number), class_="quiet")
    return lookup.evidence(number, written(number.value))


def share(lookup: Lookup, number: Number) -> Element | str:
    """A rate with its counts: 37/50, 74.0 %."""
    if number.value is None:
        planned = f" (0 of {number.scheduled} scheduled)" if number.scheduled is not None else ""
        return tag("span", numbers.absent(number) + planned, class_="quiet")
    shown = numbers.percent(number.value)
    if number.numerator is None or number.denominator is None:
        return lookup.evidence(number, shown)
    counts = lookup.evidence(number, f"{number.numerator}/{number.denominator}")
    return tag("span", counts, tag("span", f" {shown}", class_="of"))


def interval(number: Number, written: Written = numbers.amount) -> str:
    """Its interval."""
    return numbers.between(number.interval, written)


def about(number: Number) -> str:
    """What the interval speaks of."""
    found = number.interval.about if number.interval else None
    return _ABOUT.get(found or "", numbers.NO_VALUE)
