"""Signed checkpoints: each names the RFC 6962 root of the ledger's first entries, which is computed again.

A checkpoint that you kept, or that somebody else did, shows whether the ledger was cut off or written anew since.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from fairtrial.attest import merkle, note, trust
from fairtrial.attest.note import Checkpoint
from fairtrial.attest.trust import TrustedKey, TrustList
from fairtrial.audit import documents, signatures
from fairtrial.audit.findings import Findings
from fairtrial.audit.folder import Folder
from fairtrial.audit.ledger import Ledger
from fairtrial.audit.preregistration import Plan
from fairtrial.audit.times import Times
from fairtrial.errors import Unproven

FOLDER = "data/checkpoints/"
GIVEN = "--checkpoint"


@dataclass(frozen=True)
class _Signed:
    path: str
    data: bytes
    said: Checkpoint
    keys: list[TrustedKey]


def check(folder: Folder, plan: Plan, ledger: Ledger, trusted: TrustList, given: bytes | None) -> dict[int, datetime]:
    """Every checkpoint of the package, and the one that was brought; by size, when an authority saw a signed root."""
    origin = note.origin(plan.namespace, plan.cohort, plan.uid)
    found = []
    for path in folder.below(FOLDER):
        if not path.endswith(".tsr") and (
            one := _read(folder.read(path) or b"", path, origin, trusted, folder.findings)
        ):
            found.append(one)
            if path != f"{FOLDER}{one.said.size:08d}.note":
                folder.findings.add("CHECKPOINT_FOREIGN", path, f"Is about {one.said.size} entries.")
    brought = None if given is None else _read(given, GIVEN, origin, trusted, folder.findings)
    sizes = {one.said.size for one in found} | ({brought.said.size} if brought else set())
    roots = merkle.prefix_roots(ledger.leaves, sizes)
    for one in found:
        _compare(one, roots, ledger, "LEDGER_ROOT_MISMATCH", folder.findings)
    stamps = {
        one.said.size: signatures.stamp(folder, trusted, f"{one.path}.tsr", one.data, needed=False) for one in found
    }
    times = Times(ledger, {size: at for size, at in stamps.items() if at is not None})
    for one in found:
        for key in one.keys:
            signatures.in_time(folder, one.path, key, times.of_size(one.said.size))
    if brought:
        _compare(brought, roots, ledger, "LEDGER_FORK", folder.findings)
    elif given is None:
        folder.findings.remark(
            "No checkpoint from elsewhere was given, so nothing shows that this is the only history."
        )
    signed = {one.said.size for one in found}
    for size in sorted({*ledger.milestones, *([ledger.size] if ledger.size else [])} - signed):
        says = f"No signed checkpoint is about the first {size} entries."
        folder.findings.add("CHECKPOINT_MISSING", f"{FOLDER}{size:08d}.note", says)
    for path in folder.below(FOLDER):
        if path.endswith(".tsr") and path.removesuffix(".tsr") not in folder:
            folder.findings.add("TS_INVALID", path, "Stamps a checkpoint that is not there.")
    return dict(times.stamps)


def _read(data: bytes, path: str, origin: str, trusted: TrustList, findings: Findings) -> _Signed | None:
    try:
        read = note.parse(data, name=path)
        said = note.checkpoint(read.text, name=path)
        if said.origin != origin:
            findings.add("CHECKPOINT_FOREIGN", path, f"Is of the ledger {said.origin}.")
            return None
        keys = {one.key.key_id: one for one in trusted.of(trust.CHECKPOINT)}
        signed = note.verify(read, [one.key for one in keys.values()], key_name=origin, name=path)
    except Unproven as refused:
        documents.note(refused, path, findings)
        return None
    return _Signed(path, data, said, [keys[one.key_id] for one in signed])


def _compare(one: _Signed, roots: Mapping[int, bytes], ledger: Ledger, code: str, findings: Findings) -> None:
    if one.said.size > ledger.size:
        findings.add("LEDGER_TRUNCATED", one.path, f"Knows {one.said.size} entries; the ledger has {ledger.size}.")
    elif roots[one.said.size] != one.said.root:
        findings.add(code, one.path, f"Signs another root of the first {one.said.size} entries.")
