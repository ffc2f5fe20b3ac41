"""The page: sections in the order in which a careful reader asks, in one file that needs nothing else. Pure."""

from importlib import resources

from fairtrial_analysis.html.lookup import Lookup
from fairtrial_analysis.html.markup import Element, name_of, tag
from fairtrial_analysis.html.section import Section
from fairtrial_analysis.html.sections.changes import changes
from fairtrial_analysis.html.sections.conduct import conduct
from fairtrial_analysis.html.sections.construction import construction
from fairtrial_analysis.html.sections.efficiency import efficiency
from fairtrial_analysis.html.sections.failures import failures
from fairtrial_analysis.html.sections.flow import flow
from fairtrial_analysis.html.sections.limitations import limitations
from fairtrial_analysis.html.sections.methods import glossary, methods
from fairtrial_analysis.html.sections.missing import missing
from fairtrial_analysis.html.sections.order import order
from fairtrial_analysis.html.sections.outcomes import outcomes
from fairtrial_analysis.html.sections.provenance import provenance
from fairtrial_analysis.html.sections.reliability import reliability
from fairtrial_analysis.html.sections.result import result
from fairtrial_analysis.html.sections.runs import runs
from fairtrial_analysis.html.sections.runtime import runtime
from fairtrial_analysis.html.sections.sensitivity import sensitivity
from fairtrial_analysis.html.sections.verdict import verdict
from fairtrial_analysis.report.model import Report

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_SECTIONS = (
    result, verdict, flow, outcomes, efficiency, reliability, conduct, failures, missing, sensitivity, order, runtime,
    construction, provenance, changes, limitations, methods, glossary, runs,
)  # fmt: skip
_STAGES = {
    "smoke": "Smoke cohort, excluded from evidence", "pilot": "Pilot cohort", "confirmatory": "Confirmatory cohort",
}  # fmt: skip


def render(report: Report) -> bytes:
    """report.html: the same report gives the same bytes."""
    lookup = Lookup(report)
    sections = [each(lookup) for each in _SECTIONS]
    page = tag("html", _head(report), _body(report, sections), lang="en", dir="ltr")
    return f"<!doctype html>\n{page}\n".encode("utf-8", "replace")


def style() -> str:
    """The style sheet, which lies beside this module."""
    return resources.files(__package__).joinpath("style.css").read_text("utf-8")


def _head(report: Report) -> Element:
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", f"{report.cohort.name}: {report.executive.verdict or 'no verdict'}"),
        tag("style", style()),
    )


def _body(report: Report, sections: list[Section]) -> Element:
    contents = tag("ol", *(tag("li", tag("a", each.title, href=f"#{each.id}")) for each in sections))
    return tag(
        "body",
        tag("a", "Skip to the result", href="#result", class_="skip"),
        tag(
            "div",
            _top(report),
            tag(
                "div",
                tag(
                    "nav", tag("h2", "Contents", id="contents"), contents, class_="contents", aria_labelledby="contents"
                ),
                tag("main", *(each.element for each in sections)),
                class_="columns",
            ),
            _bottom(report),
            class_="page",
        ),
    )


def _top(report: Report) -> Element:
    cohort, design = report.cohort, report.design
    facts = [
        ("Stage", _STAGES[cohort.stage]), ("Mode", cohort.mode),
        ("Treatment", name_of(design.treatment) if design.treatment else "none"),
        ("Control", name_of(design.control) if design.control else "none"),
        ("Records until", report.provenance.as_of),
        ("Preregistration", tag("span", cohort.preregistration_sha256[:16], class_="digest")),
    ]  # fmt: skip
    return tag(
        "header",
        tag("p", "Fairtrial report · ", name_of(cohort.namespace), class_="kicker"),
        tag("h1", name_of(cohort.name)),
        tag("p", cohort.question, class_="question") if cohort.question else None,
        tag("dl", *(tag("div", tag("dt", term), tag("dd", value)) for term, value in facts), class_="facts"),
        class_="top",
    )


def _bottom(report: Report) -> Element:
    return tag(
        "footer",
        tag(
            "p",
            "Made from report.json alone by Fairtrial analysis ", name_of(report.provenance.analysis_version),
            ". It holds no script and asks for nothing from the network. Preregistration SHA-256 ",
            tag("span", report.cohort.preregistration_sha256, class_="digest"), ".",
        ),
    )  # fmt: skip
