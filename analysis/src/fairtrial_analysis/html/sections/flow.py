"""What became of every scheduled run."""

from fairtrial_analysis.html import numbers
from fairtrial_analysis.html.lookup import Lookup
from fairtrial_analysis.html.markup import Element, tag
from fairtrial_analysis.html.plots import flow as plot
from fairtrial_analysis.html.section import Section, figure, section
from fairtrial_analysis.html.tables import Column, Listed, Row, table
from fairtrial_analysis.report.accounts import Flow
from fairtrial_analysis.report.values import Number


def flow(lookup: Lookup) -> Section:
    """The section."""
    drawn = plot.drawing(
        tuple(_of_arm(lookup, each) for each in lookup.report.flow if each.arm is not None), "flow-figure"
    )
    return section(
        "flow",
        "Flow of runs",
        figure(
            drawn,
            "What became of every scheduled run",
            "A run is valid if it could be judged, whatever the judgement. Only a run that could not be judged for a "
            "reason outside the candidate may be replaced; the replacement keeps its place in the schedule.",
            _table(lookup),
        ),
        _reasons(lookup),
        _planned(lookup),
    )


def _of_arm(lookup: Lookup, flow: Flow) -> plot.ArmFlow:
    assert flow.arm is not None
    return plot.ArmFlow(
        arm=lookup.arm(flow.arm),
        scheduled=flow.scheduled,
        replacements=flow.replacements,
        invalid=tuple((each.name, each.count) for each in flow.invalid_by),
        void=flow.void,
        cancelled=flow.cancelled,
        not_run=flow.not_run,
        passed=flow.passed,
        failed=flow.failed,
    )


def _table(lookup: Lookup) -> Element:
    titles = (
        "Scheduled", "Replacements", "Passed", "Failed", "Invalid", "Void", "Cancelled", "Not run",
    )  # fmt: skip
    columns = [Column("Candidate", "head"), *(Column(title, "number") for title in titles), Column("Adds up")]
    rows: list[Listed] = []
    for each in sorted(lookup.report.flow, key=lambda flow: flow.arm is None):
        counts = (
            each.scheduled, each.replacements, each.passed, each.failed, each.invalid, each.void, each.cancelled,
            each.not_run,
        )  # fmt: skip
        name = "All" if each.arm is None else lookup.key(each.arm)
        linked = (lookup.count(count, each.arm) for count in counts)
        cells = [name, *linked, "yes" if each.balanced else "NO"]
        rows.append(Row(cells, class_="total" if each.arm is None else None))
    identity = "Scheduled + replacements = passed + failed + invalid + void + cancelled + not run."
    return table("flow-table", "Flow of runs", columns, rows, note=identity)


def _reasons(lookup: Lookup) -> Element | None:
    rows: list[Listed] = [
        [
            lookup.key(flow.arm),
            numbers.plain(each.name),
            lookup.count(each.count, flow.arm, each.runs),
            lookup.named(each.runs),
        ]
        for flow in lookup.report.flow
        if flow.arm is not None
        for each in flow.invalid_by
    ]
    if not rows:
        return None
    columns = [Column("Candidate", "head"), Column("Reason code"), Column("Runs", "number"), Column("Which", "wide")]
    return table("invalid-reasons", "Invalid runs by preregistered reason code", columns, rows)


def _planned(lookup: Lookup) -> Element | None:
    if not lookup.report.planned:
        return None
    rows: list[Listed] = [
        [each.what, _number(each.planned), _achieved(each.achieved)] for each in lookup.report.planned
    ]
    columns = [Column("What", "head"), Column("Planned", "number"), Column("Achieved", "number")]
    return table("planned", "Planned and achieved", columns, rows)


def _achieved(number: Number) -> Element | str:
    """A count of runs, or of blocks of them: all of them are behind it."""
    return tag("a", _number(number), href="#runs", class_="ev") if number.value else _number(number)


def _number(number: Number) -> str:
    return numbers.absent(number) if number.value is None else numbers.amount(number.value)
