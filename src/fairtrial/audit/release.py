"""What was hidden from agents and later published: by the study owner, all of it, and what was committed to."""

from collections.abc import Iterator
from typing import Any

from fairtrial.attest import statement, trust
from fairtrial.attest.statement import Statement
from fairtrial.attest.trust import TrustList
from fairtrial.audit import signatures
from fairtrial.audit.documents import reading
from fairtrial.audit.files import Listed
from fairtrial.audit.folder import Folder
from fairtrial.audit.preregistration import Plan
from fairtrial.audit.times import Times

PATH, ARCHIVES = "data/release.sigstore.json", "data/sealed/"
JsonObject = dict[str, Any]


def check(folder: Folder, listed: Listed, trusted: TrustList, plan: Plan, times: Times) -> None:
    """The release that the ledger names, and nothing that it does not. Archives' own bytes are checked with the lists.

    What was made before there was a release holds none of it, and is complete.
    """
    named, findings = times.ledger.once.get("release"), folder.findings
    if named is None:
        for path in (one for one in (PATH, *folder.below(ARCHIVES)) if one in folder):
            findings.add("RELEASE_NOT_IN_LEDGER", path, "No entry of the ledger tells of a release.")
    elif PATH not in folder:
        says = f"Entry {named.number} of the ledger names release {named['sha256']}, which is not there."
        findings.add("LEDGER_SUBJECT_MISSING", PATH, says)
    elif listed.payload.get(PATH) != named["sha256"]:
        findings.add("RELEASE_NOT_IN_LEDGER", PATH, f"Entry {named.number} of the ledger names another release.")
    if named is None and PATH not in folder:
        return
    said = signatures.statement(folder, trusted, PATH, trust.RELEASE, statement.RELEASE, known=times.of(named))
    with reading(findings, PATH):
        for code, says in _differences(said, plan) if said is not None else ():
            findings.add(code, PATH, says)
        for digest in sorted(_committed(plan)):
            path = f"{ARCHIVES}sha256/{digest}"
            if path not in listed.manifest:
                findings.add("FILE_MISSING", path, "A hidden archive that was committed to, and not released.")


def _differences(said: Statement, plan: Plan) -> Iterator[tuple[str, str]]:
    """Where the study owner released something else than this cohort's preregistration commits to."""
    if said.digests != {f"sealed/sha256/{digest}": digest for digest in _committed(plan)}:
        yield "COMMITMENT_MISMATCH", "Is about other archives than the preregistration commits to."
    tasks = plan.raw["resolved"]["tasks"]
    archives = [{"task": name, "sealedSha256": tasks[name]["sealedSha256"]} for name in sorted(tasks)]
    if said.predicate["sealedArchives"] != archives:
        yield "COMMITMENT_MISMATCH", "Gives tasks other archives than the preregistration."
    if (said.predicate["cohort"], said.predicate["preregistrationSha256"]) != (plan.raw["cohort"], plan.sha256):
        yield "COHORT_MISMATCH", "Is the release of another cohort, or of another preregistration."


def _committed(plan: Plan) -> set[str]:
    return {str(task["sealedSha256"]) for task in plan.raw["resolved"]["tasks"].values()}
