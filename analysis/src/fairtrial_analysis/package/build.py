"""All files of a package from what was gathered and what was computed. Pure: the same inputs give the same digest."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fairtrial import documents
from fairtrial.attest.statement import PACKAGE, Statement
from fairtrial.evidence import package_paths as paths
from fairtrial.evidence.layout import sha256
from fairtrial.evidence.package_paths import PackageLayout
from fairtrial_analysis.package import bag, crate, papers
from fairtrial_analysis.package.gather import Gathered
from fairtrial_analysis.package.listing import File, Listing
from fairtrial_analysis.report.model import Report


@dataclass(frozen=True)
class Outputs:
    """What the analysis made, as bytes."""

    report_json: bytes
    report_html: bytes
    runs_csv: bytes
    runs_parquet: bytes


@dataclass(frozen=True)
class Package:
    """A package that is not written yet. What it lists lies in the store; `own` are the files that do not."""

    listing: Listing
    own: Mapping[str, bytes]  # by path below data/
    keys: PackageLayout
    bucket: str
    predicate: dict[str, Any]

    def manifest(self) -> Iterator[bytes]:
        """Lines of manifest-sha256.txt."""
        return bag.manifest(self.listing)

    def fetch(self) -> Iterator[bytes]:
        """Lines of fetch.txt."""
        return bag.fetch(self.listing, self.keys, self.bucket)

    @cached_property
    def digest(self) -> str:
        """The package's digest: SHA-256 of its manifest."""
        return bag.digest(self.manifest())

    @cached_property
    def tags(self) -> dict[str, bytes]:
        """The small tag files."""
        return {
            paths.BAGIT: bag.BAGIT,
            paths.BAG_INFO: bag.bag_info(self.keys, self.listing.size, self.listing.count),
            paths.VERIFY: bag.verify_md(),
        }

    @cached_property
    def digests(self) -> dict[str, str]:
        """The digests of what the statement is about, by name."""
        found = {name: sha256(data) for name, data in self.tags.items()}
        found |= {paths.MANIFEST: self.digest, paths.FETCH: bag.digest(self.fetch())}
        return {name: found[name] for name in paths.SUBJECTS}

    @property
    def tag_manifest(self) -> bytes:
        """tagmanifest-sha256.txt."""
        return bag.tag_manifest(self.digests)

    @property
    def statement(self) -> Statement:
        """What the analysis signs."""
        return Statement.of(self.digests.items(), PACKAGE, self.predicate)

    @property
    def uri(self) -> str:
        """Where the package is fetched from."""
        return f"s3://{self.bucket}/{self.keys.cohort_keys.package(self.digest)}"


def build(
    gathered: Gathered,
    report: Report,
    outputs: Outputs,
    preregistration: dict[str, Any],
    where: tuple[PackageLayout, str],
    *,
    trust: bytes | None = None,
) -> Package:
    """The package. Takes the listing over: what is gathered is good for one package."""
    request = papers.request(report)
    own = {
        paths.REPORT: outputs.report_json,
        "analysis/report.html": outputs.report_html,
        "analysis/runs.csv": outputs.runs_csv,
        "analysis/runs.parquet": outputs.runs_parquet,
        paths.REQUEST: documents.dump(request),
        paths.COMMITMENTS: papers.commitments(preregistration),
        paths.CRATE: crate.metadata(report),
    }
    if trust is not None:
        own[paths.TRUST] = trust
    if gathered.withheld:
        own[paths.WITHHELD] = papers.withheld(gathered.withheld)
    gathered.listing.add(*(File.of(path, data) for path, data in own.items()))
    predicate = request | {"verdict": report.executive.verdict}
    keys, bucket = where
    return Package(gathered.listing, own, keys, bucket, predicate)
