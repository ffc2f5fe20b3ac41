"""What happened, in which order: the pages of the ledger, chained, numbered without a gap, and possible."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from fairtrial.attest import canonical
from fairtrial.audit.documents import precedes, reading, value_of
from fairtrial.audit.findings import Findings
from fairtrial.audit.folder import Folder
from fairtrial.audit.preregistration import PATH as PREREGISTRATION
from fairtrial.audit.preregistration import Plan

FOLDER = "data/ledger/"
JsonObject = dict[str, Any]

# By kind: the fields that an entry must have besides kind and number, and those that it may have.
_KINDS: dict[str, tuple[set[str], set[str]]] = {
    "sealed": ({"sha256"}, set()),
    "capabilities": ({"sha256", "found"}, set()),
    "endorsement": ({"sha256"}, set()),
    "ticket": ({"run", "index"}, set()),
    "record": ({"run", "uid", "index", "sha256", "outcome", "reason"}, {"invalidity"}),
    "replacement": ({"run", "uid", "index", "code", "why"}, {"by"}),
    "lost": ({"run", "uid", "index", "why"}, set()),
    "cancelled": ({"reason"}, set()),
    "complete": ({"counts"}, set()),
    "correction": ({"sha256"}, {"run", "uid", "index", "reason", "why", "outcome"}),
    "release": ({"sha256"}, set()),
    "analysis": ({"sha256", "outcome"}, set()),
}
_PAGE = {"cohort", "uid", "at", "previousSha256", "entries", "schemaVersion"}
_NUMBERS = {"number", "index"}
AFTER_COMPLETE = ("endorsement", "correction", "release", "analysis")
_OBJECTS = {"counts", "found"}
CHECKPOINT_EVERY = 256  # entries


@dataclass(frozen=True)
class Entry:
    """One entry, and when its page was written."""

    kind: str
    number: int
    at: str
    path: str  # of its page
    said: JsonObject

    def __getitem__(self, key: str) -> Any:
        return self.said.get(key, 0 if key in _NUMBERS else "")


@dataclass
class Ledger:
    """All pages of a package, in order. By run: its ticket, its record, its loss, the decision about it."""

    entries: list[Entry] = field(default_factory=list)
    leaves: list[bytes] = field(default_factory=list)
    head: str = ""  # SHA-256 of the last page
    tickets: dict[str, Entry] = field(default_factory=dict)
    records: dict[str, Entry] = field(default_factory=dict)
    lost: dict[str, Entry] = field(default_factory=dict)
    decisions: dict[str, Entry] = field(default_factory=dict)
    granted: dict[str, Entry] = field(default_factory=dict)  # by the run that takes the place
    once: dict[str, Entry] = field(
        default_factory=dict
    )  # sealed, capabilities, endorsement, cancelled, complete, release
    corrections: list[Entry] = field(default_factory=list)
    page_ends: list[int] = field(default_factory=list)  # the ledger's size after each page
    begun: int = 0  # tickets of runs that take no other's place: counted as they come, not anew for each

    @property
    def size(self) -> int:
        """Number of entries."""
        return len(self.entries)

    @property
    def milestones(self) -> list[int]:
        """The sizes that are signed: the first page's end, each page that crosses so many entries, all from the end."""
        last = self.once["complete"].number if "complete" in self.once else self.size + 1
        pairs = zip([0, *self.page_ends], self.page_ends, strict=False)
        return [
            end
            for before, end in pairs
            if before == 0 or end // CHECKPOINT_EVERY > before // CHECKPOINT_EVERY or end >= last
        ]


def read(folder: Folder, plan: Plan | None) -> Ledger:
    """The ledger of a package, with findings for whatever can't be so."""
    made = Ledger()
    for path in folder.below(FOLDER):
        with reading(folder.findings, path):
            _page(made, folder, path, plan)
    for entry in made.entries:
        _place(made, entry, plan, folder.findings)
    if plan and "sealed" in made.once and made.once["sealed"]["sha256"] != plan.sha256:
        folder.findings.add("PREREG_CHANGED", PREREGISTRATION, "The ledger seals another preregistration.")
    return made


def kept(made: Ledger, findings: Findings) -> None:
    """Whether anything held the evidence in its store, as the store was found before the first run."""
    entry = made.once.get("capabilities")
    found = entry.said.get("found") if entry else None
    if not isinstance(found, dict):
        return
    lock = found.get("objectLock")
    if not found.get("retentionDays") and not (isinstance(lock, dict) and lock.get("days")):
        findings.remark(
            "Objects were under no retention: whoever administers the store could replace them, and only what was "
            "kept elsewhere would show it."
        )


def _page(made: Ledger, folder: Folder, path: str, plan: Plan | None) -> None:
    data, findings = folder.read(path) or b"", folder.findings
    page = value_of(data, path, findings)
    if not isinstance(page, dict) or page.get("schemaVersion") != 1:
        findings.add("VERSION_UNKNOWN", path, "Is no ledger page of schema version 1.")
        return
    if set(page) != _PAGE or not page["entries"]:
        findings.add("FIELD_INVALID", path, f"Has other fields: {sorted(set(page) ^ _PAGE)}, or no entries.")
    if plan and (page["cohort"], page["uid"]) != (plan.cohort, plan.uid):
        findings.add("COHORT_MISMATCH", path, f"Is of cohort {page['cohort']} ({page['uid']}).")
    if path != f"{FOLDER}{made.size + 1:08d}.json":
        findings.add("LEDGER_GAP", path, f"Entry {made.size + 1} belongs here.")
    if page["previousSha256"] != made.head:
        findings.add("LEDGER_CHAIN", path, f"Follows {page['previousSha256'] or 'nothing'}, not the page before it.")
    made.head = hashlib.sha256(data).hexdigest()
    for said in page["entries"]:
        entry = Entry(str(said["kind"]), said["number"], str(page["at"]), path, said)
        made.entries.append(entry)
        made.leaves.append(canonical.to_bytes(said))
        for code, says in _shape(entry, made.size):
            findings.add(code, path, f"Entry {made.size}: {says}")
    before = made.page_ends[-1] if made.page_ends else 0
    made.page_ends.append(made.size)
    if before and not precedes(made.entries[before - 1].at, str(page["at"])):
        findings.add("TIME_ORDER", path, "Was written before the page that it follows.")


def _shape(entry: Entry, number: int) -> Iterator[tuple[str, str]]:
    if entry.number != number:
        yield "LEDGER_GAP", f"calls itself {entry.number}."
    if entry.kind not in _KINDS:
        yield "LEDGER_INVALID", f"is of the unknown kind {entry.kind}."
        return
    must, may = _KINDS[entry.kind]
    has = set(entry.said) - {"kind", "number"}
    if not must <= has or has - must - may:
        yield "LEDGER_INVALID", f"has not the fields of a {entry.kind}: {sorted(has ^ must)}."
    for key, value in entry.said.items():
        wanted = int if key in _NUMBERS else dict if key in ("counts", "found") else str
        if not isinstance(value, wanted) or isinstance(value, bool):
            yield "LEDGER_INVALID", f"has a {key} that is not {wanted.__name__}."


def _place(made: Ledger, entry: Entry, plan: Plan | None, findings: Findings) -> None:
    """Put an entry where it belongs, if it can have happened after all before it."""
    run = str(entry["run"])
    for says in _impossible(made, entry, run, plan):
        findings.add("LEDGER_ORDER", entry.path, f"Entry {entry.number}: {says}")
    if entry.kind in ("sealed", "capabilities", "endorsement", "cancelled", "complete", "release"):
        if entry.kind in made.once:
            findings.add("LEDGER_INVALID", entry.path, f"Entry {entry.number}: is the second {entry.kind}.")
        made.once.setdefault(entry.kind, entry)
    elif entry.kind == "correction":
        made.corrections.append(entry)
    elif entry.kind in ("ticket", "record", "lost", "replacement"):
        of_kind = {
            "ticket": made.tickets,
            "record": made.records,
            "lost": made.lost,
            "replacement": made.decisions,
        }[entry.kind]
        if run in of_kind:
            findings.add("LEDGER_INVALID", entry.path, f"Entry {entry.number}: is the second {entry.kind} of {run}.")
        elif entry.kind == "ticket":
            made.begun += run not in made.granted
        of_kind.setdefault(run, entry)
        if entry.kind == "replacement" and entry["by"]:
            _grant(made, str(entry["by"]), entry)


def _grant(made: Ledger, run: str, entry: Entry) -> None:
    """That a run takes another's place; one that was admitted before it was granted is no longer a scheduled one."""
    made.begun -= run not in made.granted and run in made.tickets
    made.granted.setdefault(run, entry)


def _impossible(made: Ledger, entry: Entry, run: str, plan: Plan | None) -> Iterator[str]:
    if (entry.number == 1) != (entry.kind == "sealed"):
        yield "what seals the cohort, and nothing else, is the first."
    if "complete" in made.once and entry.kind not in AFTER_COMPLETE:
        yield f"a {entry.kind} after the cohort was complete."
    if "complete" not in made.once and entry.kind in ("analysis", "release"):
        yield f"a {entry.kind} before the cohort was complete."
    if entry.kind == "ticket" and "cancelled" in made.once:
        yield "a run is admitted after the cohort was cancelled."
    due = plan.slots[made.begun].run if plan and made.begun < len(plan.slots) else run
    if entry.kind == "ticket" and run not in made.granted and due != run and plan and run in plan.by_run:
        yield f"{due} is the next of the schedule, not {run}."
    if entry.kind in ("record", "lost") and run not in made.tickets:
        yield f"the end of {run}, which was not admitted before."
    if entry.kind == "record" and run in made.lost:
        yield f"a record of {run}, which was lost."
    if entry.kind == "replacement" and (run not in made.records or made.records[run]["outcome"] != "invalid"):
        yield f"a decision about {run}, which had not ended as invalid."
