"""Whether the verdict hangs on something: runs that were lost, missing values, a single task, the order of runs."""

from fairtrial_analysis.html import cells, numbers, words
from fairtrial_analysis.html.lookup import Lookup
from fairtrial_analysis.html.markup import Element, identifier, tag
from fairtrial_analysis.html.plots import tipping as plot
from fairtrial_analysis.html.section import Section, figure, paragraph, section
from fairtrial_analysis.html.tables import Column, Listed, Row, folded, table
from fairtrial_analysis.report.accounts import Sensitivity
from fairtrial_analysis.report.model import Variant


def sensitivity(lookup: Lookup) -> Section:
    """The section."""
    found = lookup.report.sensitivity
    return section(
        "sensitivity",
        "Sensitivity",
        *([] if found is None else [_bounds(lookup, found), _loss(lookup, found)]),
        tag("h3", "Verdict stability", id="stability"),
        _stability(lookup),
    )


def _bounds(lookup: Lookup, found: Sensitivity) -> Element:
    pooled = lookup.report.success.pooled.value
    strip = plot.Strip(
        observed=None if pooled is None else float(pooled),
        low=None if found.worst_case_low.value is None else float(found.worst_case_low.value),
        high=None if found.worst_case_high.value is None else float(found.worst_case_high.value),
        turned=None if found.tipping_point.value is None else int(found.tipping_point.value),
        of=found.tipping_point.n or 0,
        says=_tipping(found),
    )
    columns = [Column("What", "head"), Column("Value", "number")]
    rows: list[Listed] = [
        ["Difference observed, points", cells.value(lookup, lookup.report.success.pooled, numbers.points)],
        ["All lost runs against the treatment", cells.value(lookup, found.worst_case_low, numbers.points)],
        ["All lost runs for the treatment", cells.value(lookup, found.worst_case_high, numbers.points)],
        ["Runs to turn until no advantage is left", cells.value(lookup, found.tipping_point)],
    ]
    return figure(
        plot.drawing(strip, "tipping-figure"),
        "What the runs without a judgement could have changed",
        "Band: the success difference between the worst and the best that they could have been. Diamond: as observed "
        "among valid runs. Cells: one for each of these runs, filled as many as must have gone against the treatment.",
        table("bounds", "Bounds of the success difference", columns, rows),
    )


def _tipping(found: Sensitivity) -> str:
    point = found.tipping_point
    if not point.n:
        return "No place in the schedule is without a judgement: there is nothing to turn."
    if point.value is None:
        return numbers.plain(point.reason or "no tipping point").capitalize() + "."
    if point.value == 0:
        return "There is no advantage of the treatment to lose."
    turned = numbers.integer(int(point.value))
    return f"{turned} of {point.n} must have gone against the treatment."


def _loss(lookup: Lookup, found: Sensitivity) -> Element:
    columns = [Column("Candidate", "head"), Column("Lost of begun runs", "number"), Column("95 % interval", "number")]
    rows: list[Listed] = [
        Row([lookup.key(each.of.arm or "all"), cells.share(lookup, each), cells.interval(each, numbers.percent)])
        for each in found.lost
    ]
    p = found.differential_loss
    said = numbers.probability(p.value) if p.value is not None else numbers.absent(p)
    words_ = {
        True: " The arms lost runs at different rates: read every comparison with that in mind.",
        False: "",
        None: "",
    }
    return table(
        "loss",
        "Runs lost, by candidate",
        columns,
        rows,
        note=f"Fisher's two-sided p of one rate: {said}.{words_[found.unequal]}",
    )


def _stability(lookup: Lookup) -> Element:
    variants = lookup.report.stability
    if not variants:
        return paragraph("Without a decision rule there is no verdict that could change.")
    changed = [each for each in variants if each.changed]
    base = lookup.report.executive.verdict
    says = (
        f"{len(changed)} of {len(variants)} other readings of the same records change the verdict from {base}."
        if changed
        else f"None of {len(variants)} other readings of the same records changes the verdict, {base}."
    )
    shown = [each for each in variants if each.changed or not each.name.startswith("without_") or len(variants) <= 40]  # noqa: PLR2004
    hidden = [each for each in variants if each not in shown]
    parts = [paragraph(says), _variants(lookup, shown, "stability-table")]
    if hidden:
        parts.append(
            folded(
                f"{len(hidden)} readings that leave out one task and change nothing",
                _variants(lookup, hidden, "stability-rest"),
            )
        )
    return tag("div", *parts)


def _variants(lookup: Lookup, variants: list[Variant], name: str) -> Element:
    columns = [
        Column("Reading", "head"),
        Column("What if", "wide"),
        Column("Verdict"),
        Column("Changes it"),
        Column("Decided by", "mid"),
    ]
    usual = lookup.report.executive.because
    rows: list[Listed] = [
        Row(
            [
                numbers.plain(each.name), each.says, words.verdict(each.verdict), "yes" if each.changed else "no",
                _because(each.because) if each.because != usual else "the same rows",
            ],
            class_="decided" if each.changed else None,
        )
        for each in variants
    ]  # fmt: skip
    return table(
        name,
        "The verdict under other readings",
        columns,
        rows,
        note="None of them is the verdict. Those with a bar at their left change it. The same rows: as in the verdict.",
    )


def _because(names: list[str]) -> Element:
    parts: list[Element | str] = []
    for number, name in enumerate(names):
        parts += [", "] if number else []
        parts.append(tag("a", name, href=f"#{identifier('row', name)}", class_="ev"))
    return tag("span", *parts)
