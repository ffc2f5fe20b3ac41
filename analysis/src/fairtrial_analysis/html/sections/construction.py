"""What runs cost, what construction cost, and how many tasks would pay for it."""

from fairtrial_analysis.html import cells, numbers
from fairtrial_analysis.html.lookup import Lookup
from fairtrial_analysis.html.markup import Element, identifier, name_of, tag
from fairtrial_analysis.html.section import Section, note, paragraph, section
from fairtrial_analysis.html.tables import Column, Listed, table
from fairtrial_analysis.report.accounts import BreakEven


def construction(lookup: Lookup) -> Section:
    """The section."""
    found = lookup.report.construction
    body: list[Element] = [
        tag("h3", "Cost of the runs"),
        _totals(lookup),
        _prices(lookup),
        tag("h3", "Construction and break-even"),
    ]
    if not found.units:
        reason = numbers.plain(found.reason) if found.reason else "there is none"
        says = f"No construction cost: {reason}. Break-even is unavailable; it is never inferred from sizes."
        body.append(paragraph(says))
    else:
        body += [_break_even(lookup, each) for each in found.units]
        if found.document_sha256:
            body.append(note("Source: SHA-256 ", tag("span", found.document_sha256, class_="digest"), "."))
    return section("construction", "Construction and cost", *body)


def _totals(lookup: Lookup) -> Element:
    columns = [Column("Candidate", "head"), Column("Cost of all begun runs", "number"), Column("Currency")]
    rows: list[Listed] = [
        [lookup.key(each.of.arm or "all"), cells.value(lookup, each, _money), each.unit or numbers.NO_VALUE]
        for each in lookup.report.money.totals
    ]
    words = "From token counts and the price snapshots below; unavailable as soon as one count or price is missing."
    return table("cost", "Total by candidate", columns, rows, note=words)


def _money(value: float) -> str:
    return f"{value:.2f}" if abs(value) >= 1 else f"{value:.4f}"


def _prices(lookup: Lookup) -> Element:
    columns = [
        Column("Snapshot", "head"), Column("Model"), Column("Tier"), Column("Effective"), Column("Currency"),
        Column("Prices per million tokens", "wide"),
    ]  # fmt: skip
    rows: list[Listed] = [
        [
            name_of(each.snapshot), name_of(each.model), each.service_tier, each.effective_date, each.currency,
            ", ".join(f"{numbers.plain(price.name)} {price.price or 'unknown'}" for price in each.prices),
        ]
        for each in lookup.report.money.snapshots
    ]  # fmt: skip
    return table("prices", "Price snapshots", columns, rows)


def _break_even(lookup: Lookup, unit: BreakEven) -> Element:
    columns = [Column("What", "head"), Column("Value", "number"), Column("95 % interval", "number")]
    listed = [
        *((f"Spent on {numbers.plain(part.part)}", part.spent) for part in unit.parts),
        ("Main numerator", unit.main),
        ("All of it", unit.inclusive),
        ("Control's median per task", unit.control_median),
        ("Treatment's median per task", unit.treatment_median),
        ("Break-even, tasks", unit.break_even),
        ("Break-even of all of it, tasks", unit.break_even_inclusive),
    ]
    rows: list[Listed] = [[title, cells.value(lookup, number), cells.interval(number)] for title, number in listed]
    needed = f" That is {numbers.integer(unit.tasks_needed)} whole tasks." if unit.tasks_needed is not None else ""
    words = f"Construction cost over what one task saves. No or negative savings have no break-even.{needed}"
    return table(identifier("break-even", unit.unit), f"Break-even in {unit.unit}", columns, rows, note=words)
