"""Who said it: bundles and time-stamps against the trust list that you brought, and no key of the package's own."""

from collections.abc import Collection, Iterable
from datetime import datetime

from fairtrial.attest import dsse, timestamp, trust
from fairtrial.attest.statement import Statement
from fairtrial.attest.trust import TrustedKey, TrustList
from fairtrial.audit.documents import note
from fairtrial.audit.folder import Folder
from fairtrial.audit.times import NOWHERE, Known, outside
from fairtrial.errors import Unproven

DEVELOPMENT = "signed by a development key: anybody may have a copy of it, so it shows form and no more"


def statement(
    folder: Folder,
    trusted: TrustList,
    path: str,
    roles: Collection[str],
    predicate: str,
    *,
    known: Known = NOWHERE,
    missing: str = "",
) -> Statement | None:
    """The statement in a bundle, if a trusted key of one of `roles` signed it; a finding otherwise.

    `known` is by when it was there: a key may be limited in time. `missing` is the code for there being no bundle;
    without one it need not be there.
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
    in_time(folder, path, found.key, known)
    if found.key.development:
        folder.findings.remark(f"{found.key.role}: {DEVELOPMENT}.")
    if found.statement.predicate_type != predicate:
        folder.findings.add("VERSION_UNKNOWN", path, f"Its predicate is {found.statement.predicate_type}.")
        return None
    return found.statement


def in_time(folder: Folder, path: str, key: TrustedKey, known: Known) -> None:
    """That a key was to be trusted when it signed."""
    for says in outside(key, known):
        folder.findings.add("SIG_KEY_NOT_VALID", path, says)


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
    if data is None or data == trusted.to_bytes():
        return
    try:
        same = trust.load(data).unlimited.to_bytes() == trusted.unlimited.to_bytes()
    except Unproven:
        same = False
    if same:
        folder.findings.remark("Your trust list limits keys in time otherwise than the package's copy; yours was used.")
    else:
        folder.findings.add("TRUST_MISMATCH", "data/trust.json", "Is not the list that you brought; yours was used.")
