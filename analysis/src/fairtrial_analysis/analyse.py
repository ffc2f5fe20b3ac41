"""The analysis from end to end: evidence in, report and tables and page out, and the package around them.

`analyse` reads and computes; the same source and settings give the same bytes, whether the source is the store or a
package that somebody fetched. `packaged` does so on the store, and lists what was read. Nothing here writes.
"""

from dataclasses import dataclass
from typing import Any

from fairtrial.evidence.layout import Layout
from fairtrial.evidence.objects import ObjectStore
from fairtrial_analysis.html.page import render
from fairtrial_analysis.load.results import load
from fairtrial_analysis.load.source import EvidenceSource, StoreSource
from fairtrial_analysis.package import bag
from fairtrial_analysis.package.build import Outputs, Package, build
from fairtrial_analysis.package.gather import Shelf, gather
from fairtrial_analysis.package.noting import Noting
from fairtrial_analysis.report import canonical, tables
from fairtrial_analysis.report.compute import Made, Signing, compute
from fairtrial_analysis.report.model import Report

Address = tuple[str, str, str]  # namespace, name and UID of a cohort


@dataclass(frozen=True)
class Settings:
    """All that the bytes depend on besides the evidence and this software. `request.json` of a package has it."""

    ledger_size: int | None = None  # entries to read; all there are if none is given
    image: str | None = None  # that the analysis runs in, by digest
    signing: Signing = "unknown"  # what the package will be signed with


@dataclass(frozen=True)
class Analysis:
    """What came of it."""

    report: Report
    outputs: Outputs
    preregistration: dict[str, Any]


def analyse(source: EvidenceSource, settings: Settings) -> Analysis:
    """Read a cohort's evidence and compute everything that is told about it."""
    report, preregistration = _computed(source, settings)
    outputs = Outputs(
        report_json=canonical.to_bytes(report),
        report_html=render(report),
        runs_csv=tables.runs_csv(report),
        runs_parquet=tables.runs_parquet(report),
    )
    return Analysis(report, outputs, preregistration)


def _computed(source: EvidenceSource, settings: Settings) -> tuple[Report, dict[str, Any]]:
    """The report, and what was sealed. The rows of 10,000 records end here: the report does without them."""
    loaded = load(source, settings.ledger_size)
    made = Made(bag.version(), settings.image, settings.signing)
    return compute(loaded, made), loaded.plan.document


def packaged(
    store: ObjectStore,
    where: tuple[Layout, str],
    cohort: Address,
    settings: Settings,
    *,
    trust: bytes | None = None,
    withhold: bool = False,
) -> tuple[Analysis, Package]:
    """Analyse a cohort in the store; `where` is its layout and the bucket's name. `publish` writes the package."""
    layout, bucket = where
    namespace, name, uid = cohort
    noting = Noting(StoreSource(store, layout, cohort, settings.ledger_size), name, uid)
    analysis = analyse(noting, settings)
    keys = noting.keys(layout, namespace)
    gathered = gather(noting, Shelf(store, keys), analysis.preregistration, withhold=withhold)
    package = build(gathered, analysis.report, analysis.outputs, analysis.preregistration, (keys, bucket), trust=trust)
    return analysis, package
