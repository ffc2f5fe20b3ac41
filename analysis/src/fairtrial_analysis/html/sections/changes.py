"""What went otherwise than planned: deviations, and corrections of records after the fact."""

from fairtrial_analysis.html import numbers, words
from fairtrial_analysis.html.lookup import Lookup
from fairtrial_analysis.html.markup import Element, tag
from fairtrial_analysis.html.section import Section, section
from fairtrial_analysis.html.tables import Column, Listed, lines, table
from fairtrial_analysis.report.accounts import Correction


def changes(lookup: Lookup) -> Section:
    """The section."""
    return section("deviations", "Deviations and corrections", _deviations(lookup), _corrections(lookup))


def _deviations(lookup: Lookup) -> Element:
    columns = [Column("Code", "head"), Column("What", "wide"), Column("Runs", "mid")]
    rows: list[Listed] = [
        [numbers.plain(each.code), each.says, lookup.named(each.runs)] for each in lookup.report.deviations
    ]
    return table(
        "deviations-table", "Deviations from the protocol", columns, rows, note="Found by a machine, or told by people."
    )


def _corrections(lookup: Lookup) -> Element:
    columns = [
        Column("Number", "head"), Column("Kind"), Column("Run"), Column("Why", "wide"),
        Column("Before and after", "mid"), Column("By, at"), Column("Verdict without it"),
    ]  # fmt: skip
    rows = [_row(lookup, each) for each in lookup.report.corrections]
    return table(
        "corrections",
        "Corrections and voids",
        columns,
        rows,
        note="The old records stay as they are; each correction names the one that it supersedes.",
    )


def _row(lookup: Lookup, each: Correction) -> list[Element | str]:
    verdict: Element | str = numbers.NO_VALUE
    if each.verdict_without in words.VERDICTS:
        verdict = lines(
            [words.verdict(each.verdict_without or ""), "changes it" if each.changes_verdict else "the same"]
        )
    changed = lines(f"{field.field}: {field.before} → {field.after}" for field in each.fields)
    return [
        str(each.number), each.kind, lookup.run(each.run) if each.run else numbers.NO_VALUE,
        lines([numbers.plain(each.reason), tag("span", each.says, class_="of")]),
        changed if each.fields else numbers.NO_VALUE,
        lines([each.role, tag("span", each.at, class_="of")]), verdict,
    ]  # fmt: skip
