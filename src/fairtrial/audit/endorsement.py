"""The study owner's signature on the preregistration: worth something if it was made before any run could be seen.

The ledger says when: its entry has to stand before that of the first run. Nobody has to sign; that nobody did is said.
"""

from fairtrial.attest import statement, trust
from fairtrial.attest.trust import TrustList
from fairtrial.audit import signatures
from fairtrial.audit.files import Listed
from fairtrial.audit.folder import Folder
from fairtrial.audit.ledger import Ledger
from fairtrial.audit.preregistration import PATH as PREREGISTRATION
from fairtrial.audit.times import Times

PATH = "data/preregistration.study.sigstore.json"


def check(folder: Folder, listed: Listed, trusted: TrustList, ledger: Ledger, times: Times) -> None:
    """That the signature is the one that the ledger names, in time, and the study owner's."""
    named, findings = ledger.once.get("endorsement"), folder.findings
    if PATH not in folder:
        if named is not None:
            says = f"Entry {named.number} of the ledger names a study owner's signature, which is not there."
            findings.add("LEDGER_SUBJECT_MISSING", PATH, says)
        findings.remark("No study owner signed the preregistration: its operator alone vouches for it.")
        return
    if named is None:
        findings.add("ENDORSEMENT_NOT_IN_LEDGER", PATH, "No entry of the ledger tells of it: it was added afterwards.")
    elif listed.payload.get(PATH) != named["sha256"]:
        findings.add("ENDORSEMENT_NOT_IN_LEDGER", PATH, f"Entry {named.number} of the ledger names another signature.")
    first = min((entry.number for entry in ledger.tickets.values()), default=None)
    if named is not None and first is not None and named.number > first:
        says = f"Entry {named.number} of the ledger tells of it; entry {first} had admitted the first run."
        findings.add("ENDORSEMENT_LATE", PATH, says)
    known = times.of(named)
    said = signatures.statement(folder, trusted, PATH, trust.STUDY_SIGNATURE, statement.PREREGISTRATION, known=known)
    signatures.covers(folder, PATH, said, [("preregistration.json", listed.payload.get(PREREGISTRATION, ""))])
