"""The page made from a report: its structure, what is escaped, where its links lead, and that its bytes repeat."""

import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

import pytest
from fairtrial_analysis.examples import Came, example_report, usual
from fairtrial_analysis.html.page import POLICY, render
from fairtrial_analysis.html.words import VERDICTS
from fairtrial_analysis.report.model import Report

from fairtrial.testing import CANDIDATE_IMAGE
from tests.renamed_report import ATTRIBUTE, LONG, MARKUP, TURNING, renamed

EMPTY = {"meta", "link", "br", "hr", "col"}
DRAWN = {"path", "line", "rect", "polyline", "use"}


class Parsed(HTMLParser):
    """Elements with their attributes in order, and the errors that a browser would have repaired."""

    def __init__(self, data: bytes) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.text: list[str] = []
        self.feed(data.decode())
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.elements.append((tag, {key: value or "" for key, value in attrs}))
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.elements.append((tag, {key: value or "" for key, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def all(self, name: str) -> list[dict[str, str]]:
        return [attributes for tag, attributes in self.elements if tag == name]

    @property
    def ids(self) -> list[str]:
        return [attributes["id"] for _, attributes in self.elements if "id" in attributes]


def lost(task: int, arm: str, repetition: int, attempt: int) -> Came:
    return Came("invalid", None)


def silent(task: int, arm: str, repetition: int, attempt: int) -> Came:
    return replace(usual(task, arm, repetition, attempt), tokens=None)


def candidates(*names: str) -> list[dict[str, Any]]:
    return [
        {"name": name, "role": "treatment" if name == "framework" else "control", "version": "1.0"}
        | {"image": CANDIDATE_IMAGE, "argv": ["/bin/agent", "--arm", name, "{prompt}"]}
        for name in names
    ]


@pytest.fixture(scope="module")
def report() -> Report:
    return example_report()


@pytest.fixture(scope="module")
def page(report: Report) -> Parsed:
    return Parsed(render(report))


@pytest.fixture(
    scope="module", params=["usual", "no_valid_run", "no_tokens", "one_candidate", "four_candidates", "hostile"]
)
def any_page(request: pytest.FixtureRequest, report: Report) -> Parsed:
    """Reports of every kind that a cohort may come to."""
    if request.param == "hostile":
        names = {"task-01": MARKUP, "task-02": ATTRIBUTE, "task-03": LONG, "plain": TURNING, "framework": "a b\x00c"}
        return Parsed(render(renamed(report, names)))
    if request.param == "one_candidate":
        pilot: dict[str, Any] = {"stage": "pilot", "decisionRule": None, "treatment": None}
        return Parsed(render(example_report(tasks=3, candidates=candidates("plain"), **pilot)))
    if request.param == "four_candidates":
        return Parsed(render(example_report(tasks=3, candidates=candidates("plain", "framework", "hybrid", "other"))))
    story = {"usual": usual, "no_valid_run": lost, "no_tokens": silent}[request.param]
    return Parsed(render(example_report(story=story, tasks=3)))


def test_elements_are_nested_as_they_are_closed(any_page: Parsed):
    assert any_page.wrong == []
    assert any_page.open == []


def test_every_id_is_there_once_and_every_link_within_the_page_leads_to_one(any_page: Parsed):
    links = {each["href"][1:] for each in any_page.all("a") if each["href"].startswith("#")}

    assert [name for name, count in Counter(any_page.ids).items() if count > 1] == []
    assert links - set(any_page.ids) == set()


def test_labels_refer_to_what_is_there(any_page: Parsed):
    named = {name for _, each in any_page.elements for name in each.get("aria-labelledby", "").split()}

    assert named
    assert named - set(any_page.ids) == set()


def test_headings_follow_each_other_without_a_gap(any_page: Parsed):
    levels = [int(tag[1]) for tag, _ in any_page.elements if tag in ("h1", "h2", "h3", "h4")]

    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_every_table_has_a_caption_and_headings_with_their_scope(any_page: Parsed):
    assert len(any_page.all("caption")) == len(any_page.all("table")) > 10
    assert {each.get("scope") for each in any_page.all("th")} <= {"col", "row", "rowgroup"}


def test_every_figure_has_a_caption_and_every_drawing_says_what_it_shows(any_page: Parsed):
    drawings = [each for each in any_page.all("svg") if each.get("aria-hidden") != "true"]

    assert len(any_page.all("figcaption")) == len(any_page.all("figure")) > 3
    assert drawings
    assert {each["role"] for each in drawings} == {"img"}


def test_nothing_is_loaded_or_run(any_page: Parsed):
    names = {tag for tag, _ in any_page.elements}
    addresses = [value for _, each in any_page.elements for key, value in each.items() if key in ("href", "src")]

    assert names & {"script", "img", "iframe", "object", "embed", "link", "form", "input", "base"} == set()
    assert [each for each in addresses if ":" in each or each.startswith("/")] == []
    assert [key for _, each in any_page.elements for key in each if key.startswith("on")] == []
    assert {"http-equiv": "Content-Security-Policy", "content": POLICY} in any_page.all("meta")


def test_a_reader_can_skip_to_the_result_and_find_every_section(page: Parsed):
    contents = [each["href"] for each in page.all("a")]

    assert page.all("a")[0] == {"href": "#result", "class": "skip"}
    assert {f"#{each['id']}" for each in page.all("section")} <= set(contents)
    assert {"header", "nav", "main", "footer"} <= {tag for tag, _ in page.elements}


def test_every_run_stands_in_the_appendix_with_its_record_and_digest(report: Report, page: Parsed):
    text = "".join(page.text)
    addresses = {each["href"] for each in page.all("a")}

    assert len(report.runs) == 102
    for run in report.runs:
        assert f"../../{run.record}" in addresses
        assert run.record_sha256 in text


def test_a_record_outside_the_package_is_shown_and_leads_nowhere(report: Report):
    stray = replace(report, runs=[replace(report.runs[0], record="data/../../../etc/passwd"), *report.runs[1:]])

    page = Parsed(render(stray))

    assert "data/../../../etc/passwd" in "".join(page.text)
    assert [each["href"] for each in page.all("a") if "passwd" in each["href"]] == []


def test_very_many_runs_are_counted_by_cell_and_found_in_the_table(report: Report):
    many = [replace(run, run=f"{run.run}-{copy}") for run in report.runs for copy in range(20)]

    data = render(replace(report, runs=many))

    page = Parsed(data)
    assert not any(name.startswith("run_") for name in page.ids)
    assert sum(name.startswith("runs-of_") for name in page.ids) == 20
    assert {"href": "runs.csv"} in page.all("a")


@pytest.mark.parametrize("verdict", [*VERDICTS, None])
def test_the_permitted_sentence_is_permitted_only_by_the_verdict_that_permits_it(report: Report, verdict: Any):
    shown = replace(report, executive=replace(report.executive, verdict=verdict))

    text = " ".join(" ".join(Parsed(render(shown)).text).split())

    assert f"“{report.cohort.permitted_claim}”" in text
    assert ("The sentence that this verdict permits" in text) == (verdict == "SUPPORTED")
    assert ("permit the sentence that was to be shown" in text or "permits the sentence that was" in text) == (
        verdict != "SUPPORTED"
    )


def test_what_others_wrote_is_never_markup(report: Report):
    evil = f"{MARKUP}<b>&amp;{TURNING}"
    cohort = replace(report.cohort, question=evil, permitted_claim=evil)
    failed = [replace(each, reason=evil) for each in report.failed_runs]

    data = render(replace(report, cohort=cohort, failed_runs=failed)).decode()

    assert "<script" not in data
    assert "<b>&amp;" not in data
    assert "&lt;b&gt;&amp;amp;" in data
    assert "\u202e" not in data
    assert "⟨U+202E⟩" in data


def test_a_lone_surrogate_does_not_stop_the_page(report: Report):
    broken = replace(report, cohort=replace(report.cohort, question="half \ud83d of a character"))

    assert "half ⟨U+D83D⟩ of a character".encode() in render(broken)


def test_the_same_report_gives_the_same_bytes_in_another_process_and_place(tmp_path):
    program = (
        "import sys; from fairtrial_analysis.examples import example_report; "
        "from fairtrial_analysis.html.page import render; sys.stdout.buffer.write(render(example_report(tasks=2)))"
    )
    elsewhere = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=os.environ | {"PYTHONHASHSEED": "4711", "TZ": "Asia/Tokyo", "LC_ALL": "C"},
        capture_output=True,
        check=True,
    )

    assert elsewhere.stdout == render(example_report(tasks=2))
