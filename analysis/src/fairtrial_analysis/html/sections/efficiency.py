"""What the runs took: tokens, money, time and effort, metric by metric, the primary ones with figures.

Amounts are compared among successful runs and, beside that, over all valid runs and per success. No failed run is given
an artificial amount.
"""

from collections.abc import Iterator

from fairtrial_analysis.html import numbers
from fairtrial_analysis.html.lookup import Lookup
from fairtrial_analysis.html.markup import Element, tag
from fairtrial_analysis.html.section import Section, paragraph, section
from fairtrial_analysis.html.sections import amount_figures as figures
from fairtrial_analysis.html.sections import amount_tables as tables
from fairtrial_analysis.html.sections.amount import Metric
from fairtrial_analysis.html.sections.conduct import METRICS as CONDUCT
from fairtrial_analysis.html.tables import folded


def efficiency(lookup: Lookup) -> Section:
    """The section: primary metrics at length, others folded; how runs were carried out has a section of its own."""
    shown = [Metric(each) for each in lookup.report.amounts]
    primary = [each for each in shown if each.amount.role == "primary"]
    others = [
        each
        for each in shown
        if each.amount.role == "secondary" or (each.amount.role == "other" and each.name not in CONDUCT)
    ]
    if not shown:
        return section("efficiency", "Efficiency", paragraph("No amount was recorded in any run."))
    body: list[Element] = [
        paragraph(
            "Amounts are compared among successful runs, task by task, so that no large task decides. Which runs "
            "succeed is itself an outcome: the tables also give all valid runs and the amount per success.",
            class_="lead",
        )
    ]
    for each in primary:
        body += [tag("h3", each.title), *(_at_length(lookup, each) if each.measured else [_nothing(each)])]
    if others:
        body += [tag("h3", "Secondary and other metrics"), tables.overview(lookup, others)]
        body += [
            folded(f"{each.title}: tables and distribution", *_in_short(lookup, each))
            for each in others
            if each.measured
        ]
    return section("efficiency", "Efficiency", *body)


def _at_length(lookup: Lookup, shown: Metric) -> Iterator[Element]:
    if shown.amount.contradiction:
        says = "Pooled medians and task-normalised ratios point in different directions for this metric."
        yield tag("div", tag("p", says), class_="warnings", role="note")
    yield from tables.by_arm(lookup, shown)
    if lookup.paired:
        yield figures.ratios(lookup, shown)
        yield tables.ratios(lookup, shown)
        yield tables.within_blocks(lookup, shown)
    yield figures.distribution(lookup, shown)
    if lookup.paired:
        yield figures.blocks(lookup, shown)
    yield tables.outliers(lookup, shown)


def _in_short(lookup: Lookup, shown: Metric) -> Iterator[Element]:
    yield from tables.by_arm(lookup, shown)
    if lookup.paired:
        yield tables.by_task(lookup, shown)
        yield tables.ratios(lookup, shown)
        yield tables.within_blocks(lookup, shown)
    yield figures.distribution(lookup, shown)
    yield tables.outliers(lookup, shown)


def _nothing(shown: Metric) -> Element:
    reasons = sorted({numbers.plain(arm.valid.reason) for arm in shown.amount.arms if arm.valid.reason})
    return paragraph(f"No valid run has this metric: {', '.join(reasons) or 'there is no valid run'}.")
