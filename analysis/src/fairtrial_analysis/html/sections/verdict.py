"""The decision rule, row by row: what was asked, what was observed, and what it led to."""

from fairtrial_analysis.html import numbers, words
from fairtrial_analysis.html.lookup import Lookup
from fairtrial_analysis.html.markup import Element, identifier, name_of, tag
from fairtrial_analysis.html.section import Section, note, paragraph, section
from fairtrial_analysis.html.tables import Column, Group, Row, folded, lines, table
from fairtrial_analysis.report.model import Evidence, VerdictLine
from fairtrial_analysis.report.values import Exact, Real

RECORDS = "records"  # evidence that is every valid run's own record
_COMPARED = {"below": "below", "atMost": "at most", "above": "above", "atLeast": "at least"}
_BOUNDS = {"lower95": "by the lower end", "upper95": "by the upper end"}
_KINDS = {"gate": "Gate", "condition": "Condition", "budget": "Budget"}


def verdict(lookup: Lookup) -> Section:
    """The section."""
    report = lookup.report
    if report.rule is None:
        return section("verdict", "Verdict table", paragraph("The cohort has no decision rule."))
    return section(
        "verdict",
        "Verdict table",
        paragraph(
            "The rule was fixed before the first run and is evaluated by machine on exact values. Rows with a bar at "
            "their left decided.",
            class_="lead",
        ),
        _rows(lookup),
        _gates(lookup),
        folded("The rule in words", tag("pre", report.rule.english)),
        note("Rule ", name_of(report.rule.name), ", SHA-256 ", tag("span", report.rule.sha256, class_="digest"), "."),
    )


def _rows(lookup: Lookup) -> Element:
    columns = [
        Column("Row", "head"), Column("What must hold", "wide"), Column("Observed, 95 % interval", "number"),
        Column("Threshold", "number"), Column("State"), Column("Evidence", "mid"),
    ]  # fmt: skip
    rows = [_row(lookup, line) for line in lookup.report.verdict_table]
    return table("verdict-table", "Gates, conditions and budgets", columns, rows)


def _row(lookup: Lookup, line: VerdictLine) -> Row:
    says = (line.sentence or line.says).removeprefix(f"{line.name}: ")
    asked = lines([says, tag("span", numbers.plain(line.reason), class_="quiet") if line.reason else None])
    cells = [
        lines([name_of(line.name), tag("span", _KINDS[line.kind], class_="of")]),
        asked,
        _observed(line),
        _threshold(line),
        words.state(line.state, gate=line.kind == "gate"),
        _evidence(lookup, line),
    ]
    return Row(cells, identifier("row", line.name), "decided" if line.decided else None)


def _observed(line: VerdictLine) -> Element | str:
    if line.interval is None:
        return _exact(line.observed)
    return lines([_exact(line.observed), tag("span", numbers.between(line.interval, _value), class_="of")])


def _threshold(line: VerdictLine) -> Element | str:
    if line.threshold is None or line.comparison is None:
        return numbers.NO_VALUE
    bound = _BOUNDS.get(line.bound or "")
    return lines(
        [
            f"{_COMPARED.get(line.comparison, line.comparison)} {_exact(line.threshold)}",
            tag("span", bound, class_="of") if bound else None,
        ]
    )


def _exact(number: Exact | None) -> str:
    return numbers.NO_VALUE if number is None else _value(number.value)


def _value(value: Real) -> str:
    text = numbers.amount(value)
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


def _evidence(lookup: Lookup, line: VerdictLine) -> Element | str:
    parts: list[Element | str] = [_link(each) for each in line.evidence]
    if line.runs == "valid":
        parts.append(tag("a", f"{lookup.report.executive.valid} valid runs", href="#runs", class_="ev"))
    elif line.runs == "begun":
        parts.append(tag("a", "all runs that were begun", href="#runs", class_="ev"))
    return lines(parts) if parts else numbers.NO_VALUE


def _link(evidence: Evidence) -> Element:
    """Evidence by its address as text: the page itself never leads out of the package."""
    if evidence.uri == RECORDS:
        return tag("a", evidence.says or "the records of the runs", href="#runs", class_="ev")
    digest = tag("span", f" sha256:{evidence.sha256}", class_="digest") if evidence.sha256 else None
    return tag(
        "span", evidence.says + " " if evidence.says else None, tag("code", evidence.uri, class_="digest"), digest
    )


def _gates(lookup: Lookup) -> Element | None:
    gates = lookup.report.gates
    if not gates:
        return None
    columns = [Column("Gate", "head"), Column("What it asks", "wide"), Column("What shows it", "wide"), Column("State")]
    rows: list[Row | Group] = [
        Row(
            [
                name_of(gate.name),
                lines([gate.says, tag("span", numbers.plain(gate.reason), class_="quiet") if gate.reason else None]),
                lines(map(_link, gate.evidence)) if gate.evidence else gate.needed,
                words.state(gate.state, gate=True),
            ]
        )
        for gate in gates
    ]
    return table("gates", "Gates that the cohort named, and their evidence", columns, rows)
