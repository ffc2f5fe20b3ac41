"""Who said it: bundles and time-stamps against the trust list that you brought, and no key of the package's own."""

from collections.abc import Collection, Iterable
from datetime import datetime

from fairtrial.attest import dsse, timestamp
from fairtrial.attest.statement import Statement
from fairtrial.attest.trust import TrustList
from fairtrial.audit.documents import note
from fairtrial.audit.folder import Folder
from fairtrial.errors import Unproven

DEVELOPMENT = "signed by a development key: anybody may have a copy of it, so it shows form and no more"


def statement(
    folder: Folder, trusted: TrustList, path: str, roles: Collection[str], predicate: str, *, missing: str = ""
) -> Statement | None:
    """The statement in a bundle, if a trusted key of one of `roles` signed it; a finding otherwise.

    `missing` is the code for there being no bundle; without one it need not be there.
    """
    data = folder.read(path)
    if data is None:
        if missing:
            folder.findings.add(missing, path, f"Nothing is there that is signed by {' or '.join(roles)}.")
        return None
    try:
        found = dsse.verify(data, trusted, roles, name=path)
    except Unproven as refused:
        note(refused, path, folder.findings)
        return None
    if found.key.development:
        folder.findings.remark(f"{found.key.role}: {DEVELOPMENT}.")
    if found.statement.predicate_type != predicate:
        folder.findings.add("VERSION_UNKNOWN", path, f"Its predicate is {found.statement.predicate_type}.")
        return None
    return found.statement


def covers(folder: Folder, path: str, said: Statement | None, subjects: Iterable[tuple[str, str]]) -> None:
    """That a statement is about these names and digests and no others."""
    if said is not None and dict(subjects) != said.digests:
        folder.findings.add("SUBJECT_MISMATCH", path, "Its subjects are not the documents that it lies beside.")


def stamp(folder: Folder, trusted: TrustList, path: str, about: bytes | None, *, needed: bool) -> datetime | None:
    """When an authority of the trust list saw the bytes `about`, at the latest; None, with a finding, if none did."""
    data = folder.read(path)
    if data is None or about is None:
        if data is None and needed and trusted.timestamp_authorities:
            folder.findings.add("TS_MISSING", path, "Your trust list names an authority, and none stamped this.")
        return None
    try:
        return timestamp.verify(data, about, trusted.timestamp_authorities, name=path).at
    except Unproven as refused:
        note(refused, path, folder.findings)
    except ImportError:
        folder.findings.add("TS_UNCHECKED", path, "Install rfc3161-client, or check it with `openssl ts -verify`.")
    return None


def trust_copy(folder: Folder, trusted: TrustList) -> None:
    """That the copy of the trust list in the package is what you brought; it is never what is trusted."""
    data = folder.read("data/trust.json")
    if data is not None and data != trusted.to_bytes():
        folder.findings.add("TRUST_MISMATCH", "data/trust.json", "Is not the list that you brought; yours was used.")
