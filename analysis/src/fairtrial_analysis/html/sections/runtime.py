"""Runtime and developer experience: a separate experiment, kept apart from the agents' efficiency."""

from fairtrial_analysis.html import numbers
from fairtrial_analysis.html.lookup import Lookup
from fairtrial_analysis.html.markup import Element, tag
from fairtrial_analysis.html.numbers import Unit
from fairtrial_analysis.html.section import Section, paragraph, section
from fairtrial_analysis.html.tables import Column, table
from fairtrial_analysis.report.accounts import RuntimeMetric
from fairtrial_analysis.report.values import Exact


def runtime(lookup: Lookup) -> Section:
    """The section."""
    found = lookup.report.runtime
    if not found.metrics:
        reason = numbers.plain(found.reason) if found.reason else "there are none"
        return section("runtime", "Runtime", paragraph(f"No runtime results: {reason}."))
    columns = [
        Column("Metric", "head"), Column("Candidate"), Column("Unit"), Column("n", "number"), Column("Least", "number"),
        Column("Q1", "number"), Column("Median", "number"), Column("Q3", "number"), Column("95 %", "number"),
        Column("Greatest", "number"),
    ]  # fmt: skip
    digest = tag("span", found.document_sha256, class_="digest") if found.document_sha256 else "unknown"
    rows = [_row(lookup, each) for each in found.metrics]
    source = tag("span", "Source: SHA-256 ", digest)
    return section(
        "runtime",
        "Runtime",
        paragraph(
            "A separate experiment on frozen states. It contributes to the verdict only through budgets that were "
            "fixed before.",
            class_="lead",
        ),
        table("runtime-table", "Runtime measurements", columns, rows, note=source),
    )


def _row(lookup: Lookup, metric: RuntimeMetric) -> list[Element | str]:
    summary, printed = metric.summary, Unit(metric.unit)
    p95 = numbers.NO_VALUE if metric.p95.value is None else printed(metric.p95.value)
    middle = [_exact(each, printed) for each in (summary.minimum, summary.q1, summary.median, summary.q3)]
    return [
        numbers.metric(metric.metric).capitalize(),
        lookup.key(metric.arm),
        metric.unit,
        tag("a", str(summary.n), href=lookup.behind(summary.of), class_="ev"),
        *middle,
        f"{p95} (interpolated)" if metric.p95_interpolated else p95,
        _exact(summary.maximum, printed),
    ]


def _exact(value: Exact | None, printed: Unit) -> str:
    return numbers.NO_VALUE if value is None else printed(value.value)
