"""What the report was made from and by, so that anybody can make it again; and what is wrong with the records."""

from fairtrial_analysis.html import numbers
from fairtrial_analysis.html.lookup import Lookup
from fairtrial_analysis.html.markup import Element, name_of, tag
from fairtrial_analysis.html.section import Section, paragraph, section
from fairtrial_analysis.html.tables import Column, Listed, table

_SIGNING = {
    "none": "None: nothing shows who made these records.",
    "development": "Development keys: they show integrity against accidents, and not who signed.",
    "production": "Production keys; check them with a trust list from outside the package.",
    "unknown": "Unknown here; the verifier tells.",
}


def provenance(lookup: Lookup) -> Section:
    """The section."""
    return section(
        "provenance",
        "Integrity and provenance",
        _integrity(lookup),
        _origins(lookup),
        paragraph(
            "To check all of it offline: ", tag("code", "fairtrial verify FOLDER --trust trust.json"),
            "; to make this page again from the package: ", tag("code", "python -m fairtrial_analysis again FOLDER"),
            ". VERIFY.md in the package tells how to check hashes and signatures with common tools alone.",
        ),
    )  # fmt: skip


def _integrity(lookup: Lookup) -> Element:
    found = lookup.report.integrity
    if not found:
        return paragraph(
            "No integrity error: every record belongs to the schedule, and everything scheduled is accounted for."
        )
    columns = [Column("Code", "head"), Column("Where", "mid"), Column("What", "wide")]
    rows: list[Listed] = [[tag("code", each.code), name_of(each.where), each.says] for each in found]
    return table(
        "integrity",
        f"{len(found)} integrity errors",
        columns,
        rows,
        note="Each of them stops a confirmatory verdict. None was dropped.",
    )


def _origins(lookup: Lookup) -> Element:
    from_, cohort = lookup.report.provenance, lookup.report.cohort
    listed: list[tuple[str, Element | str]] = [
        ("Cohort", name_of(f"{cohort.namespace}/{cohort.name}")),
        ("Cohort UID", _digest(cohort.uid)),
        ("Preregistration, SHA-256", _digest(cohort.preregistration_sha256)),
        ("Decision rule, SHA-256", _digest(from_.rule_sha256)),
        ("Conventions, SHA-256", _digest(from_.conventions_sha256)),
        ("Ledger", f"{numbers.integer(from_.ledger_size)} entries, the last at {from_.as_of}"),
        ("Ledger head", _digest(from_.ledger_head)),
        ("Signatures", _SIGNING[from_.signing]),
        ("Analysis", _against(from_.analysis_version, from_.preregistered_version)),
        ("Analysis image", _against(from_.analysis_image, from_.preregistered_image)),
        ("Seed of resampling", str(from_.seed)),
        ("Amends", cohort.amends or "no earlier cohort"),
    ]
    return table(
        "origins", "What this report was made from and by", [Column("What", "head"), Column("Which", "wide")], listed
    )


def _digest(value: str | None) -> Element | str:
    return tag("span", value, class_="digest") if value else numbers.NO_VALUE


def _against(used: str | None, planned: str | None) -> Element | str:
    shown = tag("span", used or "not recorded", class_="digest")
    if planned is None:
        return tag("span", shown, " (none was preregistered)")
    if planned == used:
        return tag("span", shown, " (as preregistered)")
    return tag("span", shown, "; preregistered was ", tag("span", planned, class_="digest"))
