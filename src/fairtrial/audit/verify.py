"""One verification, from a folder to findings: each part in turn, none stopping the others."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from fairtrial.attest import trust
from fairtrial.attest.trust import TrustList
from fairtrial.audit import (
    checkpoints,
    corrections,
    endorsement,
    files,
    flow,
    ledger,
    papers,
    preregistration,
    records,
    release,
    signatures,
    statements,
)
from fairtrial.audit.documents import precedes, reading
from fairtrial.audit.findings import Findings
from fairtrial.audit.folder import Folder, scan
from fairtrial.audit.lists import MANIFEST
from fairtrial.audit.numbers import compare
from fairtrial.audit.preregistration import Plan
from fairtrial.audit.times import Known, Times
from fairtrial.errors import InvalidInput

PREREGISTRATION_TOKEN, PACKAGE_TOKEN = "data/preregistration.tsr", "manifest-sha256.txt.tsr"


@dataclass(frozen=True)
class Result:
    """What a verification came to."""

    package_sha256: str
    cohort: str
    files: int
    size: int
    runs: int
    ledger_entries: int
    verdict: str  # as recomputed; empty where it can't be
    findings: Findings


def verify(root: Path, trusted: TrustList, checkpoint: bytes | None = None) -> Result:
    """Verify an unpacked package; InvalidInput where there is nothing to look at."""
    findings = Findings()
    try:
        folder = scan(root, findings)
    except OSError as error:
        raise InvalidInput(f"{root}: can't be read: {error.strerror}.", next_move="Name a fetched package.") from error
    listed = files.check(folder)
    signatures.trust_copy(folder, trusted)
    plan = preregistration.read(folder)
    told = ledger.read(folder, plan)
    verdict, runs = "", 0
    if plan is not None:
        runs = len(told.records)
        verdict = _planned(folder, listed, trusted, plan, told, checkpoint)
    else:
        times = Times(told, {})
        statements.preregistration(folder, listed, trusted, times)
        endorsement.check(folder, listed, trusted, told, times)
        statements.package(folder, listed, trusted, None)
    size = sum(folder.sizes.values())
    cohort = f"{plan.namespace}/{plan.cohort}" if plan else ""
    digest = papers.digest_of_package(folder)
    return Result(digest, cohort, len(folder.sizes), size, runs, told.size, verdict, findings)


def _planned(
    folder: Folder,
    listed: files.Listed,
    trusted: TrustList,
    plan: Plan,
    told: ledger.Ledger,
    checkpoint: bytes | None,
) -> str:
    """What can be checked once there is a plan; the verdict, computed again."""
    papers.bag_info(folder, plan)
    ledger.kept(told, folder.findings)
    papers.archives(folder, listed, plan)
    packed, times = _times(folder, trusted, told, checkpoints.check(folder, plan, told, trusted, checkpoint))
    statements.preregistration(folder, listed, trusted, times)
    endorsement.check(folder, listed, trusted, told, times)
    release.check(folder, listed, trusted, plan, times)
    held = records.read(folder, told)
    places = flow.placed(plan, told)
    flow.check(folder, plan, told, places, held)
    records.check(plan, told, places, held, folder.findings)
    records.files(folder, listed, papers.withheld(folder), held)
    statements.runs(folder, listed, trusted, held, times)
    found = corrections.read(folder, plan, told)
    request = papers.request(folder, plan, told)
    predicate = statements.package(folder, listed, trusted, request, packed)
    applied = corrections.corrected(held, found, folder.findings)
    may_count = flow.usable(folder.findings, told.records)
    seen = compare.Evidence(folder, plan, told, places, held, found, applied, request, may_count)
    return compare.check(seen, predicate)


def _times(
    folder: Folder, trusted: TrustList, told: ledger.Ledger, stamps: Mapping[int, datetime]
) -> tuple[Known, Times]:
    """By when the package was there, and everything in it."""
    if not trusted.timestamp_authorities:
        folder.findings.remark("Your trust list names no time-stamp authority: the operator's clock alone says when.")
    packed = signatures.stamp(folder, trusted, PACKAGE_TOKEN, folder.read(MANIFEST), needed=False)
    at = signatures.stamp(folder, trusted, PREREGISTRATION_TOKEN, folder.read(preregistration.PATH), needed=True)
    first = min((entry.at for entry in told.tickets.values()), default="")
    with reading(folder.findings, PREREGISTRATION_TOKEN):
        if at is not None and first and not precedes(at.isoformat(), first):
            says = f"Stamped at {at:%Y-%m-%dT%H:%M:%SZ}; the first run was admitted at {first}."
            folder.findings.add("TS_AFTER_FIRST_RUN", PREREGISTRATION_TOKEN, says)
    return Known(stamped=packed), Times(told, stamps, at)


def load_trust(path: Path) -> TrustList:
    """The trust list that you brought; Unproven where it is none."""
    try:
        return trust.load(path.read_bytes(), name=str(path))
    except OSError as error:
        raise InvalidInput(f"{path}: can't be read: {error.strerror}.", next_move="Name your trust list.") from error
