"""Tables of one metric: by candidate, by task, as ratios, within blocks, outliers; and one line per metric."""

from fairtrial_analysis.html import cells, numbers
from fairtrial_analysis.html.lookup import Lookup
from fairtrial_analysis.html.markup import Element, identifier, name_of, tag
from fairtrial_analysis.html.numbers import Unit
from fairtrial_analysis.html.sections.amount import Metric
from fairtrial_analysis.html.sections.outcomes import method
from fairtrial_analysis.html.tables import Column, Listed, lines, table, table_of_figure
from fairtrial_analysis.html.words import yes_no
from fairtrial_analysis.report.values import Exact, Number, Summary

_NAMED = 6


def by_arm(lookup: Lookup, shown: Metric) -> tuple[Element, Element]:
    """Five numbers by candidate, and totals."""
    columns = [
        Column("Candidate", "head"), Column("Among", "text"), Column("n", "number"), Column("Missing", "number"),
        Column("Least", "number"), Column("Q1", "number"), Column("Median", "number"), Column("Q3", "number"),
        Column("Greatest", "number"), Column("Interval of the median", "number"), Column("Mean", "number"),
        Column("SD", "number"),
    ]  # fmt: skip
    rows: list[Listed] = []
    for arm in shown.amount.arms:
        for among, summary in (("successful runs", arm.passed), ("all valid runs", arm.valid)):
            rows.append([lookup.key(arm.arm), among, *_five(lookup, summary, shown.unit)])
    name = identifier("amounts", shown.slug)
    words = f"Unit: {shown.unit.label or 'count'}. Quartiles by Hyndman and Fan's type 7; SD with n - 1."
    return table(name, f"{shown.title} over all tasks", columns, rows, note=words), _totals(lookup, shown)


def _totals(lookup: Lookup, shown: Metric) -> Element:
    columns = [
        Column("Candidate", "head"),
        Column("Total of all valid runs", "number"),
        Column("Per success, failures included", "number"),
    ]
    rows: list[Listed] = [
        [
            lookup.key(arm.arm),
            cells.value(lookup, arm.total, shown.unit),
            cells.value(lookup, arm.per_success, shown.unit),
        ]
        for arm in shown.amount.arms
    ]
    return table(identifier("totals", shown.slug), shown.labelled(f"{shown.title}: totals"), columns, rows)


def _five(lookup: Lookup, summary: Summary, printed: Unit) -> list[Element | str]:
    count = tag("a", str(summary.n), href=lookup.behind(summary.of), class_="ev")
    lost = str(summary.missing + summary.void) + (f" (+{summary.not_applicable} n/a)" if summary.not_applicable else "")
    values = (summary.minimum, summary.q1, summary.median, summary.q3, summary.maximum)
    spread = numbers.NO_VALUE if summary.standard_deviation is None else printed(summary.standard_deviation)
    return [
        count, lost, *(_exact(each, printed) for each in values), numbers.between(summary.interval, printed),
        _exact(summary.mean, printed), spread,
    ]  # fmt: skip


def _exact(value: Exact | None, printed: Unit) -> str:
    return numbers.NO_VALUE if value is None else printed(value.value)


def by_task(lookup: Lookup, shown: Metric) -> Element:
    """Medians, quartiles and ranges of successful runs by task and candidate, and the ratios of the medians."""
    arms = lookup.report.design.arms
    columns = [
        Column("Task", "head"),
        *(Column(tag("span", lookup.key(arm), " median (n)"), "number") for arm in arms),
        Column("Ratio", "number"),
        Column("Success rate lower", "text"),
    ]
    rows: list[Listed] = [
        [
            name_of(each.task),
            *(_spread(lookup, summary, shown.unit) for summary in each.passed),
            cells.value(lookup, each.ratio, numbers.ratio),
            yes_no(each.success_worse),
        ]
        for each in shown.amount.tasks
    ]
    words = (
        "Of successful runs: the median, and below it least, Q1, Q3 and greatest. The last column flags tasks in which "
        "the treatment also succeeds less often."
    )
    return table(identifier("by-task", shown.slug), shown.labelled(f"{shown.title} by task"), columns, rows, note=words)


def _spread(lookup: Lookup, summary: Summary, printed: Unit) -> Element | str:
    if summary.n <= 1:
        return _median(lookup, summary, printed)
    ends = (summary.minimum, summary.q1, summary.q3, summary.maximum)
    below = tag("span", " · ".join(_exact(each, printed) for each in ends), class_="of")
    return lines([_median(lookup, summary, printed), below])


def _median(lookup: Lookup, summary: Summary, printed: Unit) -> Element | str:
    if summary.median is None:
        return tag(
            "span",
            f"{numbers.NO_VALUE} (0 of {summary.n + summary.missing + summary.void + summary.not_applicable})",
            class_="quiet",
        )
    return tag("a", f"{printed(summary.median.value)} ({summary.n})", href=lookup.behind(summary.of), class_="ev")


def ratios(lookup: Lookup, shown: Metric) -> Element:
    """What the tasks' ratios come to."""
    found = shown.amount.ratios
    columns = [
        Column("Over all tasks", "head"),
        Column("Value", "number"),
        Column("95 % interval", "number"),
        Column("Interval speaks of"),
        Column("Method", "mid"),
    ]
    listed = [
        ("Geometric mean of task ratios", found.geometric_mean),
        ("Median of task ratios", found.median),
        ("Lowest mean without one task", found.without_one_low),
        ("Highest mean without one task", found.without_one_high),
        ("Pooled medians, successes", shown.amount.pooled_ratio),
        ("Pooled medians, all valid runs", shown.amount.all_runs_ratio),
        ("Amount per success", shown.amount.per_success_ratio),
    ]
    rows: list[Listed] = [
        [
            title,
            cells.value(lookup, number, numbers.ratio),
            cells.interval(number, numbers.ratio),
            cells.about(number),
            method(number),
        ]
        for title, number in listed
    ]
    counts = [
        f"{title} in {_count(number)}"
        for title, number in (("lower", found.lower), ("equal", found.equal), ("higher", found.higher))
    ]
    words = f"Treatment over control. The treatment's median is {', '.join(counts)} of {len(shown.amount.tasks)} tasks"
    if found.not_evaluable:
        more = " …" if len(found.not_evaluable) > _NAMED else ""
        words += f"; {len(found.not_evaluable)} can't be compared ({', '.join(found.not_evaluable[:_NAMED])}{more})"
    return table(identifier("ratios", shown.slug), f"{shown.title}: ratios", columns, rows, note=words + ".")


def _count(number: Number) -> str:
    return numbers.NO_VALUE if number.value is None else numbers.integer(int(number.value))


def within_blocks(lookup: Lookup, shown: Metric) -> Element:
    """Differences within blocks."""
    paired = shown.amount.paired
    columns = [Column("Differences within blocks", "head"), Column("Value", "number"), Column("Method", "mid")]
    listed = [
        ("Median of differences", paired.median_of_differences),
        ("Difference of medians", paired.difference_of_medians),
        ("Hodges-Lehmann", paired.hodges_lehmann),
        ("Least", paired.least),
        ("Greatest", paired.greatest),
    ]
    rows: list[Listed] = [[title, cells.value(lookup, number, shown.unit), method(number)] for title, number in listed]
    words = (
        f"{paired.pairs} blocks in which both candidates passed and have the metric: the treatment lower in "
        f"{paired.lower}, equal in {paired.equal}, higher in {paired.higher}. Incomplete: "
        f"{numbers.counted(len(paired.incomplete), 'block')}. Repeated random runs are no deterministic pairs: this "
        "describes and tests nothing."
    )
    return table(
        identifier("paired", shown.slug),
        shown.labelled(f"{shown.title}: within blocks"),
        columns,
        rows,
        note=words,
    )


def outliers(lookup: Lookup, shown: Metric) -> Element:
    """Runs outside the fences."""
    columns = [
        Column("Run", "head"), Column("Task"), Column("Candidate"), Column("Value", "number"),
        Column("Fences", "number"),
    ]  # fmt: skip
    rows: list[Listed] = [
        [
            lookup.run(each.run), name_of(each.task), lookup.key(each.arm), shown.unit(each.value.value),
            f"[{shown.unit(each.lower_fence.value)}, {shown.unit(each.upper_fence.value)}]",
        ]
        for each in shown.amount.outliers
    ]  # fmt: skip
    found = table(
        identifier("outliers", shown.slug),
        shown.labelled(f"{shown.title}: outliers"),
        columns,
        rows,
        note="Outside Tukey's fences of their task and candidate. Flagged; none is removed.",
    )
    return table_of_figure(len(rows), found)


def overview(lookup: Lookup, shown: list[Metric]) -> Element:
    """A line per metric."""
    arms = lookup.report.design.arms
    columns = [
        Column("Metric", "head"), Column("Unit"),
        *(Column(tag("span", lookup.key(arm), " median (n)"), "number") for arm in arms),
    ]  # fmt: skip
    if lookup.paired:
        columns += [Column("Geometric mean of task ratios", "number"), Column("95 % interval", "number")]
    rows: list[Listed] = []
    for each in shown:
        medians = {arm.arm: _median(lookup, arm.passed, each.unit) for arm in each.amount.arms}
        mean = each.amount.ratios.geometric_mean
        ratio = (cells.value(lookup, mean, numbers.ratio), cells.interval(mean, numbers.ratio)) if lookup.paired else ()
        rows.append([each.title, each.unit.label or "count", *(medians.get(arm) for arm in arms), *ratio])
    title = "Secondary and other metrics among successful runs"
    words = "Described; no claim rests on them unless the rule names them."
    return table("other-amounts", title, columns, rows, note=words)
