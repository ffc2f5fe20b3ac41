"""Success: per task and over all tasks, as a difference, and in the ways that answer other questions."""

from collections.abc import Iterator

from fairtrial_analysis.html import cells, numbers
from fairtrial_analysis.html.lookup import Lookup
from fairtrial_analysis.html.markup import Element, name_of, tag
from fairtrial_analysis.html.plots import forest as plot
from fairtrial_analysis.html.section import Section, bullets, figure, paragraph, section
from fairtrial_analysis.html.sections.leaderboard import leaderboard
from fairtrial_analysis.html.tables import Column, Listed, Row, folded, table, table_of_figure
from fairtrial_analysis.report.measured import Success
from fairtrial_analysis.report.values import Number


def outcomes(lookup: Lookup) -> Section:
    """The section."""
    success = lookup.report.success
    if not lookup.paired:
        words = "The cohort has no treatment and control to compare; each candidate's rate stands for itself."
        board = leaderboard(lookup) if len(success.rates) > 1 else ()
        tables = (_by_task(lookup, success), _categories(lookup, success))
        return section("outcomes", "Outcomes", paragraph(words), *board, *tables)
    return section("outcomes", "Outcomes", *_parts(lookup, success))


def _parts(lookup: Lookup, success: Success) -> Iterator[Element]:
    ours, theirs = lookup.sides
    tasks = success.tasks
    yield paragraph(
        "Difference of success rates, ", name_of(ours), " minus ", name_of(theirs),
        ", in percentage points. Each task's interval rests on its own few runs and is wide.", class_="lead",
    )  # fmt: skip
    yield figure(
        plot.drawings(_forest(lookup, success), "success-forest"),
        "Success difference by task, and over all tasks",
        "Squares: tasks, with Newcombe's interval. Diamonds: all tasks. The upper one pools the counts and speaks of "
        "these tasks only; the lower one takes each task as one observation and speaks of the tasks they stand for.",
        table_of_figure(len(tasks), _by_task(lookup, success)),
    )
    yield _together(lookup, success)
    if len(success.rates) > 2:  # noqa: PLR2004 - of two, the difference above says it all
        yield from leaderboard(lookup)
    if success.categories:
        yield _categories(lookup, success)
    yield tag("h3", "Blocks")
    yield _blocks(success, ours, theirs)


def _forest(lookup: Lookup, success: Success) -> plot.Forest:
    rows = [_row(each.task, _counts(each.rates), each.difference, "task") for each in success.tasks]
    pooled = _counts(success.rates)
    rows += [
        _row("All runs pooled", pooled, success.pooled, "aggregate"),
        _row("Mean over tasks", f"{len(success.tasks)} tasks", success.over_tasks, "aggregate"),
    ]
    ours, theirs = lookup.sides
    ends = success.over_tasks
    says = (
        f"{len(success.tasks)} tasks. Mean difference over tasks "
        f"{numbers.points(ends.value) + ' points' if ends.value is not None else numbers.absent(ends)}, "
        f"interval {cells.interval(ends, numbers.points)}. The table gives every task."
    )
    return plot.Forest(
        title="Success difference by task",
        says=says,
        axis="percentage points",
        counts="passed / valid",
        estimate="difference [95 % interval]",
        rows=tuple(rows),
        towards=(f"{theirs} better", f"{ours} better"),
        limits=(-1, 1),
        percent=True,
    )


def _row(label: str, counts: str, number: Number, kind: plot.Kind) -> plot.Row:
    if number.value is None:
        return plot.Row(label, counts, None, None, None, numbers.absent(number), kind)
    found = number.interval
    low, high = (found.low, found.high) if found else (None, None)
    words = f"{numbers.points(number.value)} {numbers.between(found, numbers.points)}"
    return plot.Row(label, counts, float(number.value), low, high, words, kind)


def _counts(rates: list[Number]) -> str:
    return " v ".join(f"{rate.numerator}/{rate.denominator}" for rate in rates[:2])


def _by_task(lookup: Lookup, success: Success) -> Element:
    arms = lookup.report.design.arms
    columns = [Column("Task", "head"), *(Column(lookup.key(arm), "number") for arm in arms)]
    if lookup.paired:
        columns += [Column("Difference, points", "number"), Column("95 % interval", "number")]
    rows: list[Listed] = [
        [
            name_of(each.task),
            *(cells.share(lookup, rate) for rate in each.rates),
            *(_difference(lookup, each.difference) if lookup.paired else ()),
        ]
        for each in success.tasks
    ]
    words = "Intervals are Newcombe's." if lookup.paired else None
    return table("success-by-task", "Passed of valid runs by task", columns, rows, note=words)


def _difference(lookup: Lookup, number: Number) -> tuple[Element | str, str]:
    return cells.value(lookup, number, numbers.points), cells.interval(number, numbers.points)


def _together(lookup: Lookup, success: Success) -> Element:
    columns = [
        Column("Over all tasks", "head"), Column("Value", "number"), Column("95 % interval", "number"),
        Column("Interval speaks of"), Column("Method", "mid"),
    ]  # fmt: skip
    listed = [
        ("Pooled counts", success.pooled), ("Mean of task differences", success.over_tasks),
        ("Wider of both intervals", success.widest), ("Mantel-Haenszel", success.mantel_haenszel),
    ]  # fmt: skip
    rows: list[Listed] = [
        [
            title,
            cells.value(lookup, number, numbers.points),
            cells.interval(number, numbers.points),
            cells.about(number),
            method(number),
        ]
        for title, number in listed
    ]
    rows += [
        [
            "Exchange of labels by task, two-sided p",
            cells.value(lookup, success.sign_flip, numbers.probability),
            numbers.NO_VALUE,
            numbers.NO_VALUE,
            method(success.sign_flip),
        ],
        [
            "Probability that the treatment's rate is higher",
            cells.value(lookup, success.superiority, numbers.percent),
            numbers.NO_VALUE,
            numbers.NO_VALUE,
            method(success.superiority),
        ],
    ]
    words = "Differences in percentage points. The last line is descriptive: uniform priors, pooled counts."
    return table("success-together", "Success difference over all tasks", columns, rows, note=words)


def method(number: Number) -> Element:
    """The name of a number's method, leading to its definition."""
    return tag("a", numbers.plain(number.method), href=f"#method-{number.method}", class_="ev")


def _categories(lookup: Lookup, success: Success) -> Element:
    columns = [
        Column("Category", "head"), Column("Tasks", "number"),
        *(Column(lookup.key(arm), "number") for arm in lookup.report.design.arms),
    ]  # fmt: skip
    rows: list[Listed] = [
        [name_of(each.category), str(len(each.tasks)), *(cells.share(lookup, rate) for rate in each.rates)]
        for each in success.categories
    ]
    return table("success-by-category", "Passed of valid runs by category of task", columns, rows)


def _blocks(success: Success, ours: str, theirs: str) -> Element:
    blocks = success.blocks
    columns = [
        Column("", "head"),
        Column(tag("span", name_of(theirs), " passed"), "number"),
        Column(tag("span", name_of(theirs), " failed"), "number"),
    ]
    rows: list[Listed] = [
        Row([tag("span", name_of(ours), " passed"), _blocks_of(blocks.both_passed), _blocks_of(blocks.only_treatment)]),
        Row([tag("span", name_of(ours), " failed"), _blocks_of(blocks.only_control), _blocks_of(blocks.neither)]),
    ]
    words = (
        "A block is one repetition of one task. Runs are random, so that two runs of a block are no pair in the "
        "statistical sense; this describes and tests nothing. Incomplete: "
        f"{numbers.counted(len(blocks.incomplete), 'block')}."
    )
    found = table("success-blocks", "How the runs of a block ended", columns, rows, note=words)
    if not blocks.incomplete:
        return found
    summary = numbers.counted(len(blocks.incomplete), "incomplete block")
    return tag("div", found, folded(summary, bullets(map(name_of, blocks.incomplete))))


def _blocks_of(count: int) -> Element | str:
    return tag("a", numbers.integer(count), href="#runs", class_="ev") if count else "0"
