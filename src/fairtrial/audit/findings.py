"""What a verification can find: every code with its meaning and how much it matters. Data, and one small collector.

A finding never ends a verification: all are collected, and any finding at all makes the exit code 1. A remark is no
finding: it says what could not be shown because nobody asked for it, such as a checkpoint kept elsewhere.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

Severity = Literal["altered", "unproven", "inconsistent", "malformed"]

# altered: bytes or history are not what was signed or sealed. unproven: nothing shows who said it, or when.
# inconsistent: parts of the evidence contradict each other. malformed: can't be read the one way that it may be.
CODES: dict[str, tuple[Severity, str]] = {
    # --- files ---
    "HASH_MISMATCH": ("altered", "A file's SHA-256 is not the one that a list or a record names."),
    "FILE_MISSING": ("altered", "A list or a record names a file that is not there."),
    "FILE_UNLISTED": ("altered", "A file that no list and no record names: added by somebody."),
    "FILE_UNKNOWN": ("malformed", "A listed file of a kind that no package has."),
    "FILE_UNREADABLE": ("malformed", "A file that the operating system does not let you read."),
    "PATH_UNSAFE": ("malformed", "A path that leaves the package, a link, a device, or folders nested too deep."),
    "NAME_UNSAFE": ("malformed", "A name with anything but a-z, 0-9, dot, dash and underscore, such as a bidi mark."),
    "KEY_COLLISION": ("malformed", "Two names that some file system can't tell apart."),
    "LIST_MALFORMED": ("malformed", "A line of a manifest or of fetch.txt that is not of its form."),
    "LIST_DUPLICATE": ("malformed", "A list names one path twice."),
    "PACKAGE_INCOMPLETE": ("malformed", "A file that every package has is missing: it was never written to its end."),
    "TAGMANIFEST_MISSING": ("altered", "The list of the tag files is missing, or leaves one out."),
    "FETCH_MISMATCH": ("inconsistent", "fetch.txt names a file that the manifest does not, or gives it another size."),
    "BAG_INFO_MISMATCH": ("inconsistent", "bagit.txt or bag-info.txt differ from what the package gives."),
    # --- documents ---
    "DOCUMENT_TOO_LARGE": ("malformed", "A document larger than any that is made; it was not read."),
    "JSON_INVALID": ("malformed", "Not JSON, or not in UTF-8."),
    "JSON_TOO_LARGE": ("malformed", "A JSON document larger than any that is made."),
    "JSON_TOO_DEEP": ("malformed", "JSON nested deeper than any that is made."),
    "JSON_NUMBER": ("malformed", "A number that is none, or that not every reader can keep."),
    "JSON_DUPLICATE_KEY": ("malformed", "An object has one key twice: readers disagree on which one counts."),
    "JSON_NOT_CANONICAL": ("malformed", "The same meaning in other bytes than the canonical ones."),
    "VERSION_UNKNOWN": ("malformed", "A schema version, kind or predicate that this verifier does not know."),
    "FIELD_INVALID": ("malformed", "A field that is missing, unknown, or of another type than it has."),
    # --- signatures, time ---
    "SIG_MISSING": ("unproven", "A document that must be signed has no signature."),
    "SIG_INVALID": ("altered", "A signature that does not fit what it is beside."),
    "SIG_UNTRUSTED_KEY": ("unproven", "Signed by a key that is not in your trust list."),
    "SIG_KEY_NOT_VALID": ("unproven", "Signed by a key that your list trusts only from a later time on, or no more."),
    "SIG_WRONG_ROLE": ("unproven", "Signed by a trusted key whose role may not sign this."),
    "BUNDLE_INVALID": ("malformed", "A signature file that is not a Sigstore bundle with one signature by a key."),
    "STATEMENT_INVALID": ("malformed", "Signed content that is not an in-toto statement."),
    "SUBJECT_MISMATCH": ("altered", "A statement whose subjects are not the documents that it lies beside."),
    "STATEMENT_MISMATCH": ("inconsistent", "What a signed statement says differs from the document it is about."),
    "TRUST_MISMATCH": ("inconsistent", "The package's own copy of the trust list differs from yours."),
    "TS_MISSING": ("unproven", "Your trust list names a time-stamp authority, and there is no token."),
    "TS_INVALID": ("altered", "A time-stamp token of another document, or none at all."),
    "TS_UNTRUSTED": ("unproven", "A time-stamp token of an authority that your trust list does not name."),
    "TS_UNCHECKED": ("unproven", "There is a token, and what reads tokens (rfc3161-client) is not installed here."),
    "TS_AFTER_FIRST_RUN": ("altered", "The preregistration was stamped after its first run was ticketed."),
    # --- preregistration ---
    "PREREG_INVALID": ("altered", "A digest in the preregistration is not that of what stands beside it."),
    "PREREG_CHANGED": ("altered", "Records or the ledger follow another preregistration than this one."),
    "ENDORSEMENT_LATE": ("unproven", "The study owner signed the preregistration only after a run was admitted."),
    "ENDORSEMENT_NOT_IN_LEDGER": ("altered", "A study owner's signature that the ledger does not tell of."),
    "SCHEDULE_NOT_FROM_SEED": ("altered", "The schedule is not the one that its committed seed makes."),
    "COHORT_MISMATCH": ("altered", "A document of another cohort, or of an earlier one of the same name."),
    "COMMITMENT_MISMATCH": ("altered", "A task's archive is not the one that was committed to."),
    # --- ledger ---
    "LEDGER_GAP": ("altered", "An entry or a page is missing in the middle of the ledger, or numbered twice."),
    "LEDGER_CHAIN": ("altered", "A page does not name the hash of the one before it."),
    "LEDGER_ORDER": ("altered", "Entries stand in an order in which they can't have happened."),
    "LEDGER_INVALID": ("malformed", "An entry of an unknown kind, or without what its kind needs."),
    "LEDGER_ROOT_MISMATCH": ("altered", "The entries do not make the root that a signed checkpoint names."),
    "LEDGER_TRUNCATED": ("altered", "A checkpoint, or the analysis, knows more entries than the ledger has."),
    "LEDGER_FORK": ("altered", "Your own checkpoint and this ledger tell two histories."),
    "LEDGER_SUBJECT_MISSING": ("altered", "The ledger names a record, correction or release that is not there."),
    "CHECKPOINT_MISSING": ("unproven", "The end of the ledger is under no signed checkpoint."),
    "CHECKPOINT_FOREIGN": ("altered", "A checkpoint of another ledger, or under another size than its name says."),
    "NOTE_INVALID": ("malformed", "A checkpoint that is not a signed note."),
    "ACCOUNTING_MISMATCH": ("inconsistent", "The counts of the ledger's last word are not those of its entries."),
    # --- completeness ---
    "SLOT_UNACCOUNTED": ("altered", "A scheduled run of which nothing says what became of it."),
    "SLOT_UNPLANNED": ("altered", "A run that no entry of the schedule and no allowed replacement leads to."),
    "RUN_NO_TICKET": ("altered", "A run that the ledger did not admit before it was recorded."),
    "RUN_NOT_IN_LEDGER": ("altered", "A record that the ledger does not name."),
    "ATTEMPT_GAP": ("altered", "A replacement whose replaced run is not there."),
    "DUP_VALID": ("altered", "Two valid runs for one entry of the schedule."),
    "REPLACEMENT_NOT_ALLOWED": ("altered", "A run was replaced that may not be, or without a decision before it."),
    "REPLACEMENT_CAP": ("altered", "A task and candidate had more replacements than were preregistered."),
    "DECISION_MISMATCH": ("altered", "A decision about a replacement is missing, or not what the sealed policy gives."),
    "REASON_UNKNOWN": ("altered", "An invalid run without one of the known reason codes."),
    "LINEAGE_MISMATCH": ("altered", "A record names another place in the schedule, or replaces another run."),
    # --- records ---
    "IDENTITY_MISMATCH": ("altered", "A record that lies under another run's name."),
    "ARM_MISMATCH": ("altered", "A record of another candidate or configuration than the schedule has there."),
    "TASK_MISMATCH": ("altered", "A record of another task, or of other archives, than the schedule has there."),
    "IMAGE_MISMATCH": ("altered", "A container's image is not the one that was preregistered."),
    "RECORD_DISAGREES": ("altered", "A record's outcome, code or reason is not what the ledger says."),
    "OUTCOME_MISMATCH": ("altered", "A record's outcome is not what its own parts say."),
    "TIME_ORDER": ("inconsistent", "Times that can't have followed each other, even if clocks differ by a minute."),
    "EVAL_MISSING": ("unproven", "A judged run without a signed statement of the evaluator."),
    "EVAL_SUBJECT_MISMATCH": ("altered", "The evaluator's statement is about another snapshot than the record's."),
    "EVAL_RESULT_MISMATCH": ("altered", "The evaluator's statement tells another result than the record."),
    "TEST_SET_MISMATCH": ("altered", "The checks of an evaluation are not the same for all runs of the task."),
    # --- corrections ---
    "CORRECTION_UNREADABLE": ("malformed", "A correction without the fields that its kind has."),
    "CORRECTION_FOREIGN": ("altered", "A correction of another cohort or preregistration."),
    "CORRECTION_GAP": ("altered", "A number among the corrections is missing, or one calls itself another."),
    "CORRECTION_CHAIN": ("altered", "A correction does not name the hash of the one before it."),
    "CORRECTION_OF_NOTHING": ("altered", "A correction of a run of which there is no record."),
    "CORRECTION_DIGEST": ("altered", "A correction names another record than the run has."),
    "CORRECTION_FORK": ("altered", "Two corrections take the place of one document."),
    "CORRECTION_CYCLE": ("altered", "A correction takes the place of one that comes after it."),
    "CORRECTION_MISSING": ("altered", "A correction takes the place of one that is not there."),
    "CORRECTION_CHANGES": ("altered", "A correction of what can't be corrected, or of what the record never said."),
    "CORRECTION_NOT_IN_LEDGER": ("altered", "A correction that the ledger does not name."),
    "RELEASE_NOT_IN_LEDGER": ("altered", "A release, or a hidden archive, that the ledger does not tell of."),
    # --- analysis ---
    "WITHHELD_INVALID": ("inconsistent", "Something is called withheld that is there, or that no record names."),
    "LEAK_PUBLISHED": (
        "inconsistent",
        "Calls or artifacts that hold a credential or a canary, or that were not searched to their end, are published.",
    ),
    "ANALYSIS_NOT_PREREGISTERED": ("altered", "Rule, conventions or version of the analysis are not those sealed."),
    "REQUEST_MISMATCH": ("inconsistent", "request.json names other inputs than those in the package."),
    "FLOW_MISMATCH": ("altered", "The report's account of runs is not the one that records and ledger give."),
    "REPORT_NOT_RECOMPUTABLE": ("altered", "A number of the report that does not follow from the records."),
    "VERDICT_MISMATCH": ("altered", "The verdict is not what the sealed rule makes of the records."),
    "TABLE_MISMATCH": ("altered", "runs.csv is not the table that the records give."),
}  # fmt: skip


@dataclass(frozen=True, order=True)
class Finding:
    """One thing that is wrong: where, and in a sentence what was found there."""

    path: str
    code: str
    says: str

    @property
    def severity(self) -> Severity:
        """How much it matters."""
        return CODES[self.code][0]


@dataclass
class Findings:
    """All that was found, and all that could not be shown."""

    found: set[Finding] = field(default_factory=set)
    remarks: list[str] = field(default_factory=list)

    def add(self, code: str, path: str, says: str) -> None:
        """Note a finding. Both texts may hold what somebody else wrote: they are made safe to print."""
        if code not in CODES:
            raise KeyError(code)
        self.found.add(Finding(printable(path), code, printable(says)))

    def remark(self, says: str) -> None:
        """Note what this verification can't show."""
        if says not in self.remarks:
            self.remarks.append(says)

    def __iter__(self) -> Iterator[Finding]:
        return iter(sorted(self.found))

    @property
    def codes(self) -> set[str]:
        """The codes that were found."""
        return {one.code for one in self.found}


def printable(text: str, limit: int = 400) -> str:
    """Text that is safe on a terminal: whatever is not plain ASCII is written as its escape."""
    plain = "".join(one if " " <= one <= "~" else ascii(one)[1:-1] for one in text[:limit])
    return plain if len(text) <= limit else f"{plain}..."
