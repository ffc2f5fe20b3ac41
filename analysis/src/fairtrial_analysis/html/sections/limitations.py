"""Limitations and threats to validity: those declared before the first run, and those that show in the data."""

from fairtrial_analysis.html.lookup import Lookup
from fairtrial_analysis.html.markup import tag
from fairtrial_analysis.html.section import Section, bullets, paragraph, section


def limitations(lookup: Lookup) -> Section:
    """The section."""
    found = lookup.report.limitations
    declared = [each.says for each in found if each.source == "declared"]
    derived = [each.says for each in found if each.source == "derived"]
    return section(
        "limitations",
        "Limitations",
        tag("h3", "Declared before the first run"),
        bullets(declared) if declared else paragraph("None was declared."),
        tag("h3", "Seen in the data"),
        bullets(derived)
        if derived
        else paragraph("None was found by the analysis; that does not mean that there is none."),
    )
