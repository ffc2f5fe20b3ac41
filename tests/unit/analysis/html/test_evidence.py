"""The report's figures and numbers: each plot is there with its table, and each number leads to the runs behind it."""

import re
from html.parser import HTMLParser
from typing import Any

import pytest
from fairtrial_analysis.examples import example, example_report, troubled
from fairtrial_analysis.html.lookup import DOCUMENTS
from fairtrial_analysis.html.numbers import NO_VALUE
from fairtrial_analysis.html.page import render
from fairtrial_analysis.load.results import load

from fairtrial.evidence.correction import Correction, Superseded
from fairtrial.testing import CANDIDATE_IMAGE
from tests.unit.analysis.test_spending import FRAMEWORK, OTHERS, PLAIN, RUNTIME, log
from tests.unit.analysis.test_spending import report as report_with

# Drawing of each of the twelve plots, by the beginning of its id, and the table of its numbers.
PLOTS = {
    "flow of runs": ("flow-figure", "flow-table"),
    "success difference by task and over all": ("success-forest", "success-by-task"),
    "token ratio by task on a logarithmic axis": ("ratio-forest_", "by-task_"),
    "paired slopes of each task": ("slope_", "values_"),
    "empirical distribution": ("ecdf_", "values_"),
    "pass^k": ("reliability-figure", "reliability-suite"),
    "order of runs": ("timeline-figure", "timeline-table"),
    "missing values": ("missing-figure", "missing-table"),
    "failure taxonomy": ("taxonomy-figure", "taxonomy-table"),
    "leaderboard": ("leaderboard", "leaderboard-table"),
    "tipping point": ("tipping-figure", "bounds"),
}
# Tables of what no run is behind: rules, words, prices, digests.
ELSEWHERE = {"gates", "prices", "origins", "methods-table", "conventions"}
ABSENT = (NO_VALUE, "missing", "n/a", "void")


class Page(HTMLParser):
    """Figures with the ids of the drawings, tables and links in them, and tables as rows of numbers and links."""

    def __init__(self, data: bytes) -> None:
        super().__init__(convert_charrefs=True)
        self.figures: list[tuple[list[str], list[str], list[str]]] = []  # drawings, tables, links
        self.rows: dict[str, list[tuple[list[str], list[str]]]] = {}  # by table: texts of numbers, and links
        self.drawn: list[str] = []
        self._figure = self._number = False
        self._table = ""
        self.feed(data.decode())
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        found = {key: value or "" for key, value in attrs}
        if tag == "figure":
            self._figure = True
            self.figures.append(([], [], []))
        elif tag == "table":
            self._table = found["id"]
            self.rows[self._table] = []
        elif tag == "tr":
            self.rows[self._table].append(([], []))
        elif tag == "td" and found.get("class") == "n":
            self._number = True
            self.rows[self._table][-1][0].append("")
        elif tag == "a" and self.rows.get(self._table):
            self.rows[self._table][-1][1].append(found["href"])
        if tag == "svg" and "id" in found:
            self.drawn.append(found["id"])
        if self._figure and tag in ("svg", "table", "a") and (name := found.get("id") or found.get("href")):
            self.figures[-1][("svg", "table", "a").index(tag)].append(name)

    def handle_endtag(self, tag: str) -> None:
        self._figure = self._figure and tag != "figure"
        self._number = self._number and tag != "td"
        if tag == "table":
            self._table = ""

    def handle_data(self, data: str) -> None:
        if self._number:
            self.rows[self._table][-1][0][-1] += data


@pytest.fixture(scope="module")
def page() -> Page:
    return Page(render(example_report(story=troubled)))


@pytest.fixture(scope="module")
def ranked() -> Page:
    """Three candidates, so that there is a leaderboard."""
    candidates = [
        {"name": name, "role": role, "version": "1.0", "image": CANDIDATE_IMAGE, "argv": ["/bin/agent", "{prompt}"]}
        for name, role in (("plain", "control"), ("framework", "treatment"), ("other", "control"))
    ]
    return Page(render(example_report(tasks=3, candidates=candidates)))


@pytest.fixture(scope="module")
def spent() -> Page:
    """With a construction log and runtime results."""
    documents = {"construction": log(FRAMEWORK, PLAIN, *OTHERS), "runtime": RUNTIME}
    return Page(render(report_with(**documents)))


@pytest.mark.parametrize("plot", PLOTS)
def test_each_plot_stands_above_the_table_of_its_numbers(plot: str, page: Page, ranked: Page):
    drawing, table = PLOTS[plot]
    shown = ranked if plot == "leaderboard" else page

    holds = [figure for figure in shown.figures if any(name.startswith(drawing) for name in figure[0])]

    assert holds, shown.drawn
    for _, tables, links in holds:
        assert [name for name in (*tables, *(link.removeprefix("#") for link in links)) if name.startswith(table)]


def test_no_figure_is_without_its_numbers(page: Page, ranked: Page):
    for shown in (page, ranked):
        for drawings, tables, links in shown.figures:
            assert drawings
            assert tables or {link.removeprefix("#") for link in links} & set(shown.rows), drawings


def test_the_verdict_has_a_table_and_so_has_its_stability(page: Page):
    assert len(page.rows["verdict-table"]) > 10
    assert len(page.rows["stability-table"]) == 19


def test_every_number_leads_to_what_is_behind_it(page: Page, ranked: Page, spent: Page):
    for shown in (page, ranked, spent):
        lost = [
            (table, values)
            for table, rows in shown.rows.items()
            if table not in ELSEWHERE
            for values, links in rows
            if any(re.search("[1-9]", value) and not value.startswith(ABSENT) for value in values)
            and not any(
                link.startswith(("#run", "#lost", "#failed-runs", "../../data/runs/", *DOCUMENTS.values()))
                for link in links
            )
        ]

        assert lost == []


@pytest.mark.parametrize(
    "table",
    ["flow-table", "result-counts", "taxonomy-table", "timeline-table", "covariates", "success-blocks", "planned"],
)
def test_every_count_of_runs_is_a_link_of_its_own(table: str, page: Page):
    for values, links in page.rows[table]:
        counts = [
            value
            for value in values
            if re.fullmatch(r"[1-9]\d*(/\d+)?", value.replace("\N{NARROW NO-BREAK SPACE}", ""))
        ]
        planned, machines = (
            (1 if table == "planned" and counts else 0),
            (1 if table == "timeline-table" and counts else 0),
        )

        assert len(links) >= len(counts) - planned - machines, (values, links)


def test_runtime_and_construction_stand_apart_and_lead_to_their_documents(spent: Page):
    measured, saved = spent.rows["runtime-table"], spent.rows["break-even_tokens"]

    assert [links for _, links in measured if links] == [["../runtime.json"]] * 2
    assert saved[1] == (["30\N{NARROW NO-BREAK SPACE}000", NO_VALUE], ["../construction.json"])
    assert not set(spent.rows["other-amounts"][0][1]) & set(DOCUMENTS.values())


def test_corrections_and_deviations_are_shown_with_their_effect():
    rows = load(example().source()).rows
    row, plan = next(row for row in rows if row.valid), load(example().source()).plan
    void = Correction(
        1, "void", *plan.cohort, plan.sha256, "", "solution_accessed", "It read the solution.", "auditor",
        "2026-01-03T00:00:00Z", Superseded(row.run, row.uid, row.record_sha256, row.index),
    )  # fmt: skip
    told = Correction(
        2, "deviation", *plan.cohort, plan.sha256, void.sha256, "protocol_deviation", "A node was replaced.",
        "operator", "2026-01-03T00:00:00Z",
    )  # fmt: skip

    text = render(example_report(corrections=[void, told])).decode()

    assert "changes it" in text
    for words in ("solution accessed", "It read the solution.", "A node was replaced."):
        assert words in text, words


def test_each_task_has_its_median_quartiles_and_range_for_each_candidate(page: Page):
    report = example_report(story=troubled)
    amount = next(each for each in report.amounts if each.metric == "accounted_tokens")

    for (values, _), task in zip(page.rows["by-task_accounted-tokens"][1:], amount.tasks, strict=True):
        for value, told in zip(values, task.passed, strict=False):
            ends = (told.median, told.minimum, told.q1, told.q3, told.maximum)
            shown = [f"{each.value:,.0f}".replace(",", "\N{NARROW NO-BREAK SPACE}") for each in ends if each]
            assert value == f"{shown[0]} ({told.n})" + " · ".join(shown[1:])
