"""Candidates by rank, with the ranks that chance allows and who is tied with whom. Pure."""

from collections.abc import Iterator

from fairtrial_analysis.html import cells, numbers
from fairtrial_analysis.html.lookup import Lookup
from fairtrial_analysis.html.markup import Element, group, name_of, tag
from fairtrial_analysis.html.plots import leaderboard as plot
from fairtrial_analysis.html.section import bullets, figure
from fairtrial_analysis.html.tables import Cell, Column, Listed, folded, table, table_of_figure
from fairtrial_analysis.report.measured import Leaderboard, Standing


def leaderboard(lookup: Lookup) -> Iterator[Element]:
    """The board with its table, and every pair."""
    board = lookup.report.leaderboard
    says = (
        "In the order of their ranks: by the mean of the tasks' own rates, each task with one weight. Intervals are "
        "Wilson's, of the pooled counts, and speak of these tasks only. Possible ranks, and the bars along candidates "
        "that are tied, rest on all pairs: exchange of labels by task, adjusted by Holm, at 5 % together. "
    )
    yield figure(
        plot.drawing(_entries(lookup, board), "leaderboard"),
        "Candidates by success rate",
        says + _resolution(board),
        _standings(lookup, board),
    )
    yield table_of_figure(len(board.pairs), _pairs(lookup, board))
    if board.left_out:
        words = (
            f"{numbers.counted(len(board.left_out), 'task')} without a valid run of every ranked candidate: left out"
        )
        yield folded(words, bullets(map(name_of, board.left_out)))


def _resolution(board: Leaderboard) -> str:
    found = board.smallest
    if found.value is None:
        return "So few tasks can't tell any two candidates apart, however much they differ."
    least = numbers.points(found.value).lstrip("+")
    return f"Even at best, one pair alone must differ by {least} points to be told apart by this design."


def _entries(lookup: Lookup, board: Leaderboard) -> tuple[plot.Entry, ...]:
    at = {one.arm: place for place, one in enumerate(board.standings)}
    return tuple(
        plot.Entry(
            lookup.arm(one.arm),
            f"{one.rate.numerator}/{one.rate.denominator}",
            None if one.rate.value is None else float(one.rate.value),
            one.rate.interval.low if one.rate.interval else None,
            one.rate.interval.high if one.rate.interval else None,
            _possible(one),
            frozenset(at[each] for each in one.tied_with),
        )
        for one in board.standings
    )


def _possible(one: Standing) -> str:
    found = one.rank.interval
    if one.rank.value is None or found is None or found.low is None or found.high is None:
        return ""
    return str(found.low) if found.low == found.high else f"{found.low}–{found.high}"  # noqa: RUF001 - a range


def _standings(lookup: Lookup, board: Leaderboard) -> Element:
    columns = [
        Column("Candidate", "head"), Column("Rank", "number"), Column("Possible ranks", "number"),
        Column("Tied with"), Column("Passed of valid", "number"), Column("95 % interval", "number"),
        Column("Mean over tasks", "number"),
    ]  # fmt: skip
    rows: list[Listed] = [
        [
            lookup.key(one.arm),
            cells.value(lookup, one.rank),
            _possible(one) or None,
            _named(one.tied_with),
            cells.share(lookup, one.rate),
            cells.interval(one.rate, numbers.percent),
            cells.value(lookup, one.score, numbers.percent),
        ]
        for one in board.standings
    ]
    words = "Equal rates share a rank. Tied: not told apart, which is no proof that they are equal."
    return table("leaderboard-table", "Candidates by success rate", columns, rows, note=words)


def _named(names: list[str]) -> Cell:
    parts = [part for name in names for part in (", ", name_of(name))][1:]
    return group(tag("span", part) if isinstance(part, str) else part for part in parts) if parts else None


def _pairs(lookup: Lookup, board: Leaderboard) -> Element:
    columns = [
        Column("Pair", "head"), Column("Difference, points", "number"), Column("95 % interval", "number"),
        Column("p", "number"), Column("p by Holm", "number"), Column("Told apart"),
    ]  # fmt: skip
    rows: list[Listed] = [
        [
            tag("span", name_of(one.arm), f" {numbers.MINUS} ", name_of(one.against)),
            cells.value(lookup, one.difference, numbers.points),
            cells.interval(one.difference, numbers.points),
            cells.value(lookup, one.p, numbers.probability),
            cells.value(lookup, one.adjusted, numbers.probability),
            "yes" if one.apart else "no",
        ]
        for one in board.pairs
    ]
    words = "Mean of task differences with Student's interval, which is each pair's own and not adjusted."
    return table("leaderboard-pairs", "Every pair of candidates", columns, rows, note=words)
