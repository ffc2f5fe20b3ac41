"""Figures of one metric: ratios by task, distributions, and blocks; each with the table that it can be drawn from."""

from fairtrial_analysis.html import cells, numbers
from fairtrial_analysis.html.lookup import Lookup
from fairtrial_analysis.html.markup import Element, identifier, tag
from fairtrial_analysis.html.plots import ecdf, forest, slope
from fairtrial_analysis.html.section import figure, multiples, note
from fairtrial_analysis.html.sections.amount import Metric
from fairtrial_analysis.html.sections.amount_tables import by_task
from fairtrial_analysis.html.sections.values import number_of, values
from fairtrial_analysis.html.tables import folded, table_of_figure
from fairtrial_analysis.report.model import Run
from fairtrial_analysis.report.values import Number

_SHEETS_SHOWN = 12


def ratios(lookup: Lookup, shown: Metric) -> Element:
    """The forest of ratios."""
    return figure(
        forest.drawings(_forest(lookup, shown), identifier("ratio-forest", shown.slug)),
        f"{shown.title}: ratio of medians by task",
        "Median of successful treatment runs over that of successful control runs; logarithmic scale. Diamond: "
        "geometric mean over tasks with its interval. Band: its range when any one task is left out.",
        table_of_figure(len(shown.amount.tasks), by_task(lookup, shown)),
    )


def _forest(lookup: Lookup, shown: Metric) -> forest.Forest:
    ratios, mean = shown.amount.ratios, shown.amount.ratios.geometric_mean
    rows = [
        _row(each.task, " v ".join(str(summary.n) for summary in each.passed[:2]), each.ratio, "task")
        for each in shown.amount.tasks
    ]
    rows.append(_row("Geometric mean", numbers.counted(mean.n or 0, "task"), mean, "aggregate"))
    low, high = ratios.without_one_low.value, ratios.without_one_high.value
    if low is not None and high is not None:
        words = f"{numbers.ratio(low)} to {numbers.ratio(high)}"
        rows.append(forest.Row("Leaving one task out", "", None, low, high, words, "range"))
    ours, theirs = lookup.sides
    says = (
        f"{len(shown.amount.tasks)} tasks, {len(ratios.not_evaluable)} without a ratio. Geometric mean "
        f"{numbers.ratio(mean.value) if mean.value is not None else numbers.absent(mean)}, "
        f"interval {cells.interval(mean, numbers.ratio)}."
    )
    return forest.Forest(
        title=f"{shown.title}: ratio by task",
        says=says,
        axis="ratio, logarithmic scale",
        counts="successes",
        estimate="ratio [95 % interval]",
        rows=tuple(rows),
        towards=(f"{ours} needs less", f"{theirs} needs less"),
        logarithmic=True,
    )


def _row(label: str, counts: str, number: Number, kind: forest.Kind) -> forest.Row:
    if number.value is None:
        return forest.Row(label, counts, None, None, None, numbers.absent(number), kind)
    found = number.interval
    low, high = (found.low, found.high) if found else (None, None)
    words = f" {numbers.between(found, numbers.ratio)}" if low is not None and high is not None else ""
    return forest.Row(label, counts, float(number.value), low, high, numbers.ratio(number.value) + words, kind)


def distribution(lookup: Lookup, shown: Metric) -> Element:
    """The empirical distribution over all valid runs, failures included."""
    curves = tuple(
        ecdf.Curve(
            arm, tuple(sorted(_amount(run, shown) for run in _valid(lookup, arm.name) if shown.name in run.values))
        )
        for arm in lookup.arms
    )
    title = f"{shown.title}: distribution"
    return figure(
        ecdf.drawing(curves, identifier("ecdf", shown.slug), title, shown.unit.label or shown.title.lower()),
        title,
        "Share of valid runs, failed ones included, that needed at most so much. Every run is a marker; of more than "
        "three hundred only the median is.",
        values(lookup, shown.name, shown.title, shown.unit),
    )


def _valid(lookup: Lookup, arm: str) -> list[Run]:
    return [run for run in lookup.report.runs if run.arm == arm and run.outcome in ("passed", "failed")]


def _amount(run: Run, shown: Metric) -> float:
    return float(number_of(run.values[shown.name])) / float(shown.unit.size)


def blocks(lookup: Lookup, shown: Metric) -> Element:
    """A sheet of slopes for each task; many tasks are folded."""
    drawings = [
        slope.drawing(_slopes(lookup, shown, task), identifier("slope", shown.slug, task))
        for task in lookup.report.design.tasks
    ]
    says = (
        "Each line is one block. Whole line: the treatment ran before the control; dashed: after it. Hollow marker: "
        "the run failed. Runs without a judgement or without the value have no marker."
    )
    source = "#" + identifier("values", shown.slug)
    words = note("Its values: ", tag("a", "every value by task", href=source), ", above.")
    found = multiples(drawings, f"{shown.title}: blocks by task", says, words)
    if len(drawings) <= _SHEETS_SHOWN:
        return found
    return folded(f"{shown.title}: blocks of {len(drawings)} tasks", found)


def _slopes(lookup: Lookup, shown: Metric, task: str) -> slope.Slopes:
    sides = lookup.sides
    ours, theirs = (
        {run.repetition: run for run in lookup.cells.get((task, side), []) if run.outcome in ("passed", "failed")}
        for side in sides
    )
    found = []
    for repetition in sorted({*ours, *theirs}):
        pair = (ours.get(repetition), theirs.get(repetition))
        first = None if pair[0] is None or pair[1] is None else pair[0].place < pair[1].place
        found.append(slope.Block(repetition, tuple(_end(run, shown) for run in pair), first))
    return slope.Slopes(task, tuple(map(lookup.arm, sides)), tuple(found), shown.unit.label)


def _end(run: Run | None, shown: Metric) -> slope.End:
    if run is None:
        return slope.End(None, passed=True)
    value = _amount(run, shown) if shown.name in run.values else None
    return slope.End(value, run.outcome == "passed")
