"""A cohort's ledger: what was decided and what happened, in order, append-only and chained by SHA-256. Pure.

Entries are numbered from 1 without a gap. They lie in pages: all that was new at one moment is one object, whose key is
the number of its first entry, so that a decision and what follows from it are stored together or not at all, and ten
thousand runs do not wait for twenty thousand objects one after the other. A page names the SHA-256 of the one before.

All entries together are the leaves of a Merkle tree (RFC 6962). Some of its sizes are checkpoints: their roots are
signed, so that somebody who keeps one can tell later whether anything before it was changed.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from fairtrial import documents
from fairtrial.attest.merkle import Tree
from fairtrial.errors import InvalidInput

Kind = Literal[
    "sealed", "capabilities", "endorsement", "ticket", "record", "replacement", "lost", "cancelled", "complete",
    "correction", "release", "analysis",
]  # fmt: skip
AFTER_COMPLETE = ("endorsement", "correction", "release", "analysis")  # nothing else may follow a cohort's end
CHECKPOINT_EVERY = 256  # entries


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One entry. What a kind has nothing to say about is left empty."""

    kind: Kind
    number: int = 0  # given by the page
    run: str = ""  # ticket, record, replacement, lost: the run that it is about
    uid: str = ""  # record, replacement, lost: its UID
    index: int = 0  # its place in the schedule
    sha256: str = ""  # of the document that the kind is about; endorsement: of the signature; analysis: the package's
    outcome: str = ""  # record: how the run ended; analysis: the verdict
    invalidity: str = ""
    reason: str = ""  # record: the finer reason; cancelled: why
    by: str = ""  # replacement: name of the run that takes the place; empty where there is none
    code: str = ""  # replacement: allowed, or why not
    why: str = ""  # replacement, lost: in a sentence
    counts: dict[str, int] | None = None  # complete: where every run ended
    found: dict[str, Any] | None = None  # capabilities: what the store was found to do

    def to_json(self) -> dict[str, Any]:
        """The entry without what is empty, as a page holds it."""
        return {key: value for key, value in documents.to_json(self).items() if value}


@dataclass(frozen=True)
class LedgerPage:
    """What is stored as one object."""

    cohort: str
    uid: str
    at: str  # when it was written
    previous_sha256: str  # of the page before; empty in the first
    entries: list[LedgerEntry]
    schema_version: int = 1

    def to_bytes(self) -> bytes:
        """The canonical bytes, without what is empty."""
        made = documents.to_json(self)
        made["entries"] = [one.to_json() for one in self.entries]
        return documents.dump(made)


@dataclass
class Ledger:
    """What all pages so far say. Pages are taken in order; a page that does not follow is refused."""

    cohort: str
    uid: str
    size: int = 0
    head: str = ""
    at: str = ""  # when the last page was written
    sealed: LedgerEntry | None = None
    complete: LedgerEntry | None = None
    cancelled: LedgerEntry | None = None
    tickets: dict[str, LedgerEntry] = field(default_factory=dict)  # by run: what may be created, once
    records: dict[str, LedgerEntry] = field(default_factory=dict)  # by run
    lost: dict[str, LedgerEntry] = field(default_factory=dict)  # by run
    decisions: dict[str, LedgerEntry] = field(default_factory=dict)  # by the invalid run
    replaces: dict[str, LedgerEntry] = field(default_factory=dict)  # the allowed decisions by the run that follows
    open: dict[str, LedgerEntry] = field(default_factory=dict)  # tickets of runs that did not end yet, in order
    capabilities: LedgerEntry | None = None
    endorsement: LedgerEntry | None = None  # the study owner's signature on the preregistration
    release: LedgerEntry | None = None  # of the hidden archives
    corrections: list[LedgerEntry] = field(default_factory=list)
    analyses: list[LedgerEntry] = field(default_factory=list)
    analysable: int = 0  # entries up to the last that is not itself an analysis: what an analysis reads
    scheduled: int = 0  # tickets of scheduled runs, which are given in the order of the schedule
    tree: Tree = field(default_factory=Tree)
    checkpoints: dict[int, bytes] = field(default_factory=dict)  # sizes whose roots have to be signed, with them

    def page(self, entries: Sequence[LedgerEntry], at: str) -> LedgerPage:
        """The next page."""
        numbered = [replace(one, number=self.size + place) for place, one in enumerate(entries, start=1)]
        return LedgerPage(self.cohort, self.uid, at, self.head, numbered)

    def take(self, data: bytes) -> None:
        """Read the next page; InvalidInput where it is none of this cohort, or does not follow."""
        name = f"ledger page {self.size + 1}"
        page: LedgerPage = documents.load(LedgerPage, data, name=name)
        if (page.cohort, page.uid) != (self.cohort, self.uid):
            raise InvalidInput(f"{name}: is of cohort {page.cohort} ({page.uid}).")
        if page.previous_sha256 != self.head:
            raise InvalidInput(f"{name}: follows {page.previous_sha256 or 'nothing'}, not {self.head or 'nothing'}.")
        before = self.size
        for entry in page.entries:
            if entry.number != self.size + 1:
                raise InvalidInput(f"{name}: holds entry {entry.number} where {self.size + 1} belongs.")
            self._add(entry, name)
            self.tree.add(documents.dump(entry.to_json()))
        milestone = self.size // CHECKPOINT_EVERY > before // CHECKPOINT_EVERY
        if before == 0 or milestone or self.complete is not None:
            self.checkpoints[self.size] = self.tree.root()
        self.head, self.at = hashlib.sha256(data).hexdigest(), page.at

    def _add(self, entry: LedgerEntry, name: str) -> None:
        if self.complete is None and entry.kind in ("analysis", "release"):
            raise InvalidInput(f"{name}: holds a {entry.kind} before the end.")
        if self.complete is not None and entry.kind not in (*AFTER_COMPLETE, "complete"):
            raise InvalidInput(f"{name}: holds a {entry.kind} after the end.")
        self.size = entry.number
        if entry.kind == "analysis":
            self.analyses.append(entry)
            return
        self.analysable = entry.number
        if entry.kind == "correction":
            self.corrections.append(entry)
            return
        if entry.kind in ("sealed", "capabilities", "endorsement", "complete", "cancelled", "release"):
            if getattr(self, entry.kind) is not None:
                raise InvalidInput(f"{name}: holds a second {entry.kind}.")
            setattr(self, entry.kind, entry)
            return
        place: dict[str, LedgerEntry] = {
            "ticket": self.tickets,
            "record": self.records,
            "lost": self.lost,
            "replacement": self.decisions,
        }[entry.kind]
        if entry.run in place:
            raise InvalidInput(f"{name}: holds a second {entry.kind} of {entry.run}.")
        place[entry.run] = entry
        if entry.kind == "ticket":
            self.open[entry.run] = entry
        elif entry.kind in ("record", "lost"):
            self.open.pop(entry.run, None)
        if entry.kind == "replacement" and entry.by:
            self.replaces[entry.by] = entry
        self.scheduled += entry.kind == "ticket" and entry.run not in self.replaces


def read(cohort: str, uid: str, pages: Iterable[bytes]) -> Ledger:
    """The ledger that these pages, in order, make up."""
    made = Ledger(cohort, uid)
    for data in pages:
        made.take(data)
    return made
