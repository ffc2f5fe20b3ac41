"""The evidence: every run with where its record lies in the package and its hash. Numbers above lead here.

Very many runs are counted by cell instead; runs.csv, which lies beside this page, has a line for each.
"""

from collections import Counter
from collections.abc import Iterator
from urllib.parse import quote

from fairtrial_analysis.html import numbers
from fairtrial_analysis.html.lookup import LISTED, Lookup
from fairtrial_analysis.html.markup import Element, group, identifier, name_of, tag
from fairtrial_analysis.html.section import Section, paragraph, section
from fairtrial_analysis.html.tables import Column, Group, Listed, Row, lines, table
from fairtrial_analysis.report.model import Run

_UP = "../../"  # from data/analysis/report.html to the package's root
_OUTCOMES = ("passed", "failed", "invalid", "void", "cancelled", "not_run")


def runs(lookup: Lookup) -> Section:
    """The section."""
    body: list[Element] = [
        paragraph(
            f"{numbers.integer(len(lookup.report.runs))} lines, by task, candidate and place in the schedule. Links to "
            "records work where the whole package has been fetched and this page lies in its folder. ",
            tag("a", "runs.csv", href="runs.csv"), " has every value of every run; ",
            tag("a", "report.json", href="report.json"), " has every number of this page.",
            class_="lead",
        ),
        _by_arm(lookup),
    ]  # fmt: skip
    if lookup.listed:
        body.append(_listed(lookup))
    else:
        most = numbers.integer(LISTED)
        says = f"With more than {most} runs, this page counts them by task and candidate; runs.csv lists them."
        body += [paragraph(says), _counted(lookup)]
    return section("runs", "Appendix: runs and their records", *body)


def _by_arm(lookup: Lookup) -> Element:
    columns = [
        Column("Candidate", "head"),
        *(Column(each.replace("_", " ").capitalize(), "number") for each in _OUTCOMES),
        Column("Runs of each task", "wide"),
    ]
    rows: list[Listed] = []
    for arm in lookup.arms:
        counts = Counter(run.outcome for run in lookup.report.runs if run.arm == arm.name)
        rows.append(
            Row(
                [
                    lookup.key(arm.name),
                    *(numbers.integer(counts[each]) for each in _OUTCOMES),
                    _cells(lookup, arm.name),
                ],
                identifier("runs-of-arm", arm.name),
            )
        )
    return table("runs-by-arm", "Runs by candidate", columns, rows)


def _cells(lookup: Lookup, arm: str) -> Element:
    parts: list[Element | str] = []
    for task, other in sorted(lookup.cells):
        if other == arm:
            parts += [", "] if parts else []
            parts.append(tag("a", name_of(task), href="#" + identifier("runs-of", task, arm), class_="ev"))
    return tag("span", *parts)


def _groups(lookup: Lookup) -> Iterator[tuple[str, str, list[Run], bool]]:
    """Cells by task and candidate, in the order of the design; whether it is the first of its task."""
    order = {arm.name: arm.index for arm in lookup.arms}
    seen: set[str] = set()
    for task, arm in sorted(lookup.cells, key=lambda cell: (cell[0], order[cell[1]])):
        yield task, arm, lookup.cells[task, arm], task not in seen
        seen.add(task)


def _task(task: str, *, first: bool) -> Element:
    """A task's name; the first time it carries the anchor of the whole task."""
    return tag("span", name_of(task), id=identifier("runs-of-task", task) if first else None)


def _listed(lookup: Lookup) -> Element:
    columns = [
        Column("Run", "head"), Column("Repetition", "number"), Column("Place", "number"), Column("Outcome"),
        Column("Why", "mid"), Column("Model, machine"), Column("Record and its SHA-256", "wide"),
    ]  # fmt: skip
    seen: set[str] = set()
    groups = []
    for task, arm, found, first in _groups(lookup):
        rows: list[Row] = []
        for run in found:
            anchor = None if run.run in seen else identifier("run", run.run)
            seen.add(run.run)
            rows.append(Row(_cells_of(lookup, run), anchor))
        title = tag("span", _task(task, first=first), ", ", lookup.key(arm))
        groups.append(Group(identifier("runs-of", task, arm), title, rows))
    return table("runs-table", "Every run", columns, groups)


def _cells_of(lookup: Lookup, run: Run) -> list[Element | str]:
    where = [name_of(each) for each in (*run.models, run.node) if each]
    return [
        name_of(run.run), str(run.repetition), str(run.index), numbers.plain(run.outcome), _why(lookup, run),
        lines(where) if where else numbers.NO_VALUE, _record(run),
    ]  # fmt: skip


def _why(lookup: Lookup, run: Run) -> Element | str:
    parts: list[Element | str] = []
    if run.category:
        parts.append(", ".join(map(numbers.plain, [run.category, *run.tags])))
    if run.code:
        parts.append(tag("code", run.code))
    elif run.reason:
        parts.append(numbers.plain(run.reason))
    if run.replaces:
        parts.append(tag("span", "replaces ", lookup.run(run.replaces)))
    if run.corrected:
        numbered = ", ".join(map(str, run.corrected))
        parts.append(tag("a", f"corrected: {numbered}", href="#corrections", class_="ev"))
    return lines(parts) if parts else numbers.NO_VALUE


def _record(run: Run) -> Element | str:
    if run.record is None:
        return numbers.NO_VALUE
    parts = run.record.split("/")
    # A path that would leave the package is shown, and leads nowhere. Escaping dots does not help: browsers undo it.
    inside = all(part.strip(".") for part in parts)
    address = _UP + "/".join(quote(part, safe="") for part in parts) if inside else None
    link = tag("a" if inside else "span", run.record, href=address, class_="digest")
    return group([link, tag("br"), tag("span", run.record_sha256 or "", class_="digest of")])


def _counted(lookup: Lookup) -> Element:
    columns = [
        Column("Task", "head"),
        Column("Candidate"),
        *(Column(each.replace("_", " ").capitalize(), "number") for each in _OUTCOMES),
    ]
    rows: list[Listed] = []
    for task, arm, found, first in _groups(lookup):
        counts = Counter(run.outcome for run in found)
        counted = [numbers.integer(counts[each]) for each in _OUTCOMES]
        anchor = identifier("runs-of", task, arm)
        rows.append(Row([_task(task, first=first), lookup.key(arm), *counted], anchor))
    return table("runs-table", "Runs by task and candidate", columns, rows)
