"""How every number was made, and what the words mean."""

from fairtrial_analysis.html import numbers
from fairtrial_analysis.html.lookup import Lookup
from fairtrial_analysis.html.markup import Element, tag
from fairtrial_analysis.html.section import Section, paragraph, section
from fairtrial_analysis.html.tables import Column, Listed, Row, folded, table

_TERMS = {
    "Candidate": "What is compared: an agent, a tool or a way of working, pinned by digests. In a comparison of two, "
    "the treatment is the one that the claim is about.",
    "Run": "One attempt of one candidate at one task, in a fresh place of its own, judged by an evaluator that it "
    "never saw.",
    "Block": "The runs of one task and one repetition, one of each candidate, in random order.",
    "Cell": "All runs of one candidate at one task.",
    "Valid run": "A run that could be judged. Passed and failed runs are valid; timeouts and giving up are failures.",
    "Invalid run": "A run that could not be judged, for a reason outside the candidate that was listed before the "
    "first run.",
    "Void run": "A run that was judged or begun, and may not be used; the reason is on record.",
    "Replacement": "A run that takes the place in the schedule of one that could not be judged. It was decided before "
    "any score was read.",
    "Success rate": "Passed runs of valid runs.",
    "95 % interval": "Made by a method that covers the true value in about 95 of 100 repetitions of the whole "
    "experiment. Its label says whether that is a value of these tasks or of the tasks that they stand for.",
    "pass^k, pass@k": "The chance that all of k runs of one task succeed, and that at least one does.",
    "Ratio of medians": "The treatment's median over the control's, within one task. Below 1 the treatment needs less.",
    "Gate": "What must be shown before the data may speak. A gate that is not passed makes the verdict INCONCLUSIVE.",
    "Missing, not applicable, void": "Three different reasons for there being no value. None of them is zero.",
    "Tipping point": "How few runs without a judgement, had they gone against the treatment, leave it no advantage.",
}


def methods(lookup: Lookup) -> Section:
    """The section on methods."""
    rows = [
        Row([numbers.plain(name), _defined(says)], f"method-{name}")
        for name, says in sorted(lookup.report.methods.items())
    ]
    settings: list[Listed] = [[tag("code", name), str(value)] for name, value in lookup.report.conventions.items()]
    columns = [Column("Setting", "head"), Column("Value", "mid")]
    title = "Settings that another analyst might have chosen otherwise"
    return section(
        "methods",
        "Methods",
        paragraph(
            "Counts and rates are exact fractions until they are printed, and comparisons are made on exact values. "
            "Quantities that need a root, a logarithm or a distribution have twelve digits in report.json."
        ),
        table("methods-table", "Definitions", [Column("Method", "head"), Column("Definition", "wide")], rows),
        folded(f"Conventions, {len(settings)} settings", table("conventions", title, columns, settings)),
    )


def _defined(says: str) -> Element:
    """A definition, in which what stands between backticks is code."""
    return tag("span", *(tag("code", part) if at % 2 else part for at, part in enumerate(says.split("`"))))


def glossary(lookup: Lookup) -> Section:
    """The section on words."""
    del lookup
    terms = [element for term, says in _TERMS.items() for element in (tag("dt", term), tag("dd", says))]
    return section("glossary", "Glossary", tag("dl", *terms, class_="terms"))
