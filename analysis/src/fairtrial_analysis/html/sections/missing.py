"""Which fields the records have, and which are missing from whom."""

from fairtrial_analysis.html import numbers
from fairtrial_analysis.html.lookup import Lookup
from fairtrial_analysis.html.plots import missingness as plot
from fairtrial_analysis.html.section import Section, figure, paragraph, section
from fairtrial_analysis.html.tables import Column, Listed, folded, table
from fairtrial_analysis.report.accounts import Missing


def missing(lookup: Lookup) -> Section:
    """The section."""
    found = lookup.report.missingness
    if not found:
        return section("missing", "Missing values", paragraph("No run could be judged, so that no field is expected."))
    columns = [
        Column("Field", "head"), Column("Candidate"), Column("Valid runs", "number"), Column("Present", "number"),
        Column("Of it zero", "number"), Column("Missing", "number"), Column("Void", "number"), Column("n/a", "number"),
        Column("Reasons", "mid"),
    ]  # fmt: skip
    rows: list[Listed] = [
        [
            numbers.metric(each.field), lookup.key(each.arm),
            *(
                lookup.count(count, each.arm)
                for count in (each.n, each.present, each.zeros, each.missing, each.void, each.not_applicable)
            ),
            "; ".join(f"{numbers.plain(reason.name)} {reason.count}" for reason in each.reasons),
        ]
        for each in found
    ]  # fmt: skip
    full = table("missing-table", "Fields of valid runs", columns, rows)
    return section(
        "missing",
        "Missing values",
        figure(
            plot.drawing(_heat(lookup, found), "missing-figure"),
            "Missing values by field and candidate",
            "Of valid runs to which the field applies. A measured zero is present; a missing value is never zero.",
            folded(f"Data table, {len(rows)} rows", full),
        ),
    )


def _heat(lookup: Lookup, found: list[Missing]) -> plot.HeatMap:
    by_cell = {(each.field, each.arm): each for each in found}
    arms = tuple(arm for arm in lookup.arms if any(each.arm == arm.name for each in found))
    fields = dict.fromkeys(each.field for each in found)
    return plot.HeatMap(
        arms,
        tuple(
            (numbers.metric(field), tuple(_cell(by_cell.get((field, arm.name))) for arm in arms)) for field in fields
        ),
    )


def _cell(found: Missing | None) -> plot.Cell:
    if found is None:
        return plot.Cell(None, 0, 0)
    lost, applies = found.missing + found.void, found.n - found.not_applicable
    return plot.Cell(lost / applies if applies else None, lost, applies)
