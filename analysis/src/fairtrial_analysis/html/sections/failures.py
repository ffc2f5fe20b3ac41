"""Runs that failed and why, and runs that could not be judged and what became of them."""

from fairtrial_analysis.html import numbers
from fairtrial_analysis.html.lookup import Lookup
from fairtrial_analysis.html.markup import Element, name_of, tag
from fairtrial_analysis.html.plots import taxonomy as plot
from fairtrial_analysis.html.section import Section, figure, note, paragraph, section
from fairtrial_analysis.html.tables import Column, Listed, Row, folded, lines, table
from fairtrial_analysis.report.accounts import ArmFailures, Lost

_LISTED = 500


def failures(lookup: Lookup) -> Section:
    """The section."""
    return section(
        "failures",
        "Failures and invalid runs",
        paragraph(
            "A failure is a judgement and stays in every denominator. A run without a judgement is neither success nor "
            "failure; what it could have changed is under ",
            tag("a", "Sensitivity", href="#sensitivity"),
            ".",
            class_="lead",
        ),
        *_taxonomy(lookup),
        _failed(lookup),
        tag("h3", "Runs without a judgement", id="lost"),
        _lost(lookup),
    )


def _taxonomy(lookup: Lookup) -> list[Element]:
    by_arm = {each.arm: each for each in lookup.report.failures}
    arms = tuple(arm for arm in lookup.arms if arm.name in by_arm)
    names = list(dict.fromkeys(each.name for found in by_arm.values() for each in found.primary))
    counts = {name: {each.name: each.count for each in found.primary} for name, found in by_arm.items()}
    categories = tuple(plot.Category(name, tuple(counts[arm.name].get(name, 0) for arm in arms)) for name in names)
    if not arms or not any(sum(category.counts) for category in categories):
        return [paragraph("No valid run failed.")]
    columns = [Column("Category", "head"), *(Column(lookup.key(arm.name), "number") for arm in arms)]
    rows = [Row([numbers.plain(name), *(_counted(lookup, by_arm[arm.name], name) for arm in arms)]) for name in names]
    every = (lookup.count(by_arm[arm.name].failures, arm.name) for arm in arms)
    rows.append(Row(["All", *every], class_="total"))
    words = "Primary category, from the evaluator's evidence. " + " ".join(
        f"{arm.name}: {by_arm[arm.name].ambiguous} ambiguous." for arm in arms
    )
    drawn = plot.drawing(categories, arms, "taxonomy-figure")
    found = table("taxonomy-table", "Failed runs by primary category", columns, rows, note=words)
    return [
        figure(
            drawn,
            "Failed runs by primary category",
            "Every category has its row, also those that never occurred.",
            found,
        ),
        *_tags(lookup),
    ]


def _counted(lookup: Lookup, found: ArmFailures, name: str) -> Element | str:
    """How many runs of a candidate failed in this way; several lead to the list that names each one's category."""
    counted = next((each for each in found.primary if each.name == name), None)
    if counted is None or len(counted.runs) <= 1:
        return lookup.count(counted.count if counted else 0, found.arm, counted.runs if counted else ())
    return tag("a", numbers.integer(counted.count), href="#failed-runs", class_="ev")


def _tags(lookup: Lookup) -> list[Element]:
    rows: list[Listed] = [
        [
            kind,
            numbers.plain(each.name),
            lookup.key(found.arm),
            lookup.count(each.count, found.arm, each.runs),
            lookup.named(each.runs),
        ]
        for found in lookup.report.failures
        for kind, listed in (("Secondary tag", found.tags), ("Cause", found.causes))
        for each in listed
    ]
    columns = [
        Column("Kind"),
        Column("Name", "head"),
        Column("Candidate"),
        Column("Runs", "number"),
        Column("Which", "wide"),
    ]
    return (
        [
            folded(
                f"Secondary tags and causes, {len(rows)} rows",
                table("tags", "Secondary tags and causes", columns, rows),
            )
        ]
        if rows
        else []
    )


def _failed(lookup: Lookup) -> Element | None:
    runs = lookup.report.failed_runs
    if not runs:
        return None
    columns = [
        Column("Run", "head"), Column("Task"), Column("Candidate"), Column("Category"), Column("Tags"),
        Column("Cause"), Column("Reason", "wide"),
    ]  # fmt: skip
    rows: list[Listed] = [
        [
            lookup.run(each.run), name_of(each.task), lookup.key(each.arm),
            numbers.plain(each.category or "unclassified") + (" (ambiguous)" if each.ambiguous else ""),
            ", ".join(map(numbers.plain, each.tags)), numbers.plain(each.cause), each.reason,
        ]
        for each in runs[:_LISTED]
    ]  # fmt: skip
    found = table("failed-runs", "Failed runs", columns, rows)
    return folded(f"All failed runs, {len(runs)}", found, *_more(len(runs)))


def _more(count: int) -> list[Element]:
    if count <= _LISTED:
        return []
    return [
        note(f"{count - _LISTED} more: column ", tag("code", "outcome"), " of runs.csv, and failedRuns of report.json.")
    ]


def _lost(lookup: Lookup) -> Element:
    runs = lookup.report.lost_runs
    columns = [
        Column("Run", "head"), Column("Task"), Column("Candidate"), Column("Repetition", "number"), Column("Outcome"),
        Column("Reason", "wide"), Column("Replaced by", "mid"),
    ]  # fmt: skip
    rows: list[Listed] = [
        [
            lookup.run(each.run), name_of(each.task), lookup.key(each.arm), str(each.repetition),
            lines([numbers.plain(each.outcome), tag("code", each.code) if each.code else None]),
            lines(part for part in (numbers.plain(each.reason), each.message) if part), _replaced(lookup, each),
        ]
        for each in runs[:_LISTED]
    ]  # fmt: skip
    found = table("lost-runs", "Runs without a judgement", columns, rows)
    long = len(runs) > 24  # noqa: PLR2004 - a page
    return folded(f"All runs without a judgement, {len(runs)}", found, *_more(len(runs))) if long else found


def _replaced(lookup: Lookup, lost: Lost) -> Element | str:
    parts: list[Element | str] = [lookup.run(lost.replaced_by)] if lost.replaced_by else ["not replaced"]
    if lost.decision and lost.decision != "allowed":
        parts.append(tag("code", lost.decision))
    if lost.why:
        parts.append(tag("span", lost.why, class_="of"))
    if lost.replaces:
        parts.append(tag("span", "itself replaces ", lookup.run(lost.replaces), class_="of"))
    return lines(parts)
