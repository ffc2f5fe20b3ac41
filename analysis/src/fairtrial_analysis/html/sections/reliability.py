"""How reliably candidates succeed when a task is repeated."""

from fairtrial_analysis.html import cells, numbers
from fairtrial_analysis.html.lookup import Lookup
from fairtrial_analysis.html.markup import Element, name_of
from fairtrial_analysis.html.plots import reliability as plot
from fairtrial_analysis.html.section import Section, figure, paragraph, section
from fairtrial_analysis.html.tables import Column, Listed, folded, table
from fairtrial_analysis.report.measured import CurvePoint
from fairtrial_analysis.report.measured import Reliability as Curves
from fairtrial_analysis.report.values import Number


def reliability(lookup: Lookup) -> Section:
    """The section."""
    curves = lookup.report.reliability
    if not curves:
        return section("reliability", "Reliability", paragraph("No run could be judged."))
    drawn = plot.drawing(tuple(_curve(lookup, each) for each in curves), "reliability-figure")
    return section(
        "reliability",
        "Reliability",
        figure(
            drawn,
            "All of k runs succeed, and at least one of k",
            "Mean over tasks, each with one weight; a task with fewer than k valid runs is left out at that k and "
            "counted. No interval: these few tasks identify none.",
            _suite(lookup, curves),
        ),
        folded("pass^k by task", _tasks(lookup, curves)),
    )


def _curve(lookup: Lookup, curves: Curves) -> plot.Curve:
    return plot.Curve(
        lookup.arm(curves.arm),
        tuple(_float(point.pass_hat_k) for point in curves.suite),
        tuple(_float(point.pass_at_k) for point in curves.suite),
    )


def _float(number: Number) -> float | None:
    return None if number.value is None else float(number.value)


def _suite(lookup: Lookup, curves: list[Curves]) -> Element:
    columns = [
        Column("Candidate", "head"), Column("k", "number"), Column("pass^k", "number"), Column("pass@k", "number"),
        Column("pass^k, unjudged as failed", "number"), Column("pass@k, unjudged as failed", "number"),
        Column("Tasks left out", "number"),
    ]  # fmt: skip
    rows: list[Listed] = [
        [
            lookup.key(each.arm), str(point.k), _value(lookup, point.pass_hat_k), _value(lookup, point.pass_at_k),
            _value(lookup, point.pass_hat_k_unjudged_fail), _value(lookup, point.pass_at_k_unjudged_fail),
            str(len(point.not_evaluable or [])),
        ]
        for each in curves
        for point in each.suite
    ]  # fmt: skip
    found = table("reliability-suite", "pass^k and pass@k over tasks", columns, rows)
    return found if len(rows) <= 24 else folded(f"Data table, {len(rows)} rows", found)  # noqa: PLR2004 - a page


def _value(lookup: Lookup, number: Number | None) -> Element | str:
    return numbers.NO_VALUE if number is None else cells.value(lookup, number, _three)


def _three(value: float) -> str:
    return f"{value:.3f}"


def _tasks(lookup: Lookup, curves: list[Curves]) -> Element:
    most = max((len(task.points) for each in curves for task in each.tasks), default=0)
    shown = sorted({1, 2, 3, most} & set(range(1, most + 1)))
    columns = [Column("Task", "head"), Column("Candidate"), *(Column(f"pass^{k}", "number") for k in shown)]
    every = [(task.task, lookup.arm(each.arm).index, each.arm, task.points) for each in curves for task in each.tasks]
    rows: list[Listed] = [
        [name_of(task), lookup.key(arm), *(_at(lookup, points, k) for k in shown)]
        for task, _, arm, points in sorted(every, key=lambda each: each[:2])
    ]
    return table("reliability-tasks", "pass^k by task", columns, rows, note="Every k is in report.json.")


def _at(lookup: Lookup, points: list[CurvePoint], k: int) -> Element | str:
    return next((_value(lookup, point.pass_hat_k) for point in points if point.k == k), numbers.NO_VALUE)
