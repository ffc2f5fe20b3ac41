"""A whole cohort as it lies in the store: an example of the analysis with every object that its records name, signed.

made = stored_cohort.make(tasks=2)    # in memory; `copy` puts it elsewhere
analysed = stored_cohort.package(made)                 # and its package beside it

Keys are made from their roles' names: the same evidence has the same bytes in every test run.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from fairtrial_analysis.examples import Came, Example, Story, archive_of, example, usual

from fairtrial import documents
from fairtrial.attest import note
from fairtrial.attest.note import Checkpoint
from fairtrial.attest.trust import TrustedKey, TrustList
from fairtrial.cohort import ledger as ledgers
from fairtrial.documents import Artifact
from fairtrial.evidence import statements
from fairtrial.evidence.layout import sha256
from fairtrial.evidence.objects import ObjectStore
from fairtrial.evidence.package_paths import PackageLayout
from fairtrial.evidence.record_model import load_record
from fairtrial.secrets.stored import ArtifactScan, found_in, unscanned
from fairtrial.signing import keys, storing
from fairtrial.signing.keys import SigningKey
from fairtrial.testing import check_result, evaluation_report
from fairtrial.usage.calls import ARTIFACT as CALLS
from fairtrial.usage.calls import Call, FoundLeak, ModelCalls
from fairtrial.usage.counters import Counters, Total
from fairtrial.usage.money import Cost

BUCKET = "evidence"
JsonObject = dict[str, Any]
Scans = Callable[[str], dict[str, ArtifactScan]]  # of a run's artifacts, by name; by "task/arm/repetition"
Change = Callable[[str, ModelCalls], ModelCalls]  # of a run's list of calls, by "task/arm/repetition"


@dataclass(frozen=True)
class Keys:
    """One key for each role that signs, and the list that trusts them."""

    operator: SigningKey
    evaluator: SigningKey
    analysis: SigningKey
    study_owner: SigningKey

    @property
    def trust(self) -> TrustList:
        """What an auditor would have from elsewhere."""
        roles = {"operator": self.operator, "evaluator": self.evaluator, "analysis": self.analysis}
        every = roles | {"studyOwner": self.study_owner}
        return TrustList(tuple(TrustedKey(role, key.public, development=True) for role, key in every.items()))


@dataclass
class Stored:
    """The cohort, the keys that signed, and what is under every run's digests."""

    example: Example
    keys: Keys
    contents: dict[str, bytes] = field(default_factory=dict)  # by SHA-256

    @property
    def store(self) -> Any:
        """The store in memory that all of it lies in."""
        return self.example.store

    @property
    def ledger(self) -> ledgers.Ledger:
        """The ledger, read."""
        here = self.example.layout.cohort(*self.example.address)
        pages = (self.store.get(key) for key in self.store.keys(here.ledger()))
        return ledgers.read(self.example.cohort.metadata.name, self.example.cohort.metadata.uid, pages)

    @property
    def paths(self) -> PackageLayout:
        """Where the files of its package lie."""
        uids = {run: entry.uid for run, entry in self.ledger.records.items()}
        return PackageLayout(self.example.layout, *self.example.address, uids)


def known_keys() -> Keys:
    """The same keys every time: nobody but tests may trust them."""

    def made(role: str) -> SigningKey:
        private = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(role.encode()).digest())
        return keys.of_private(private, development=True)

    return Keys(made("operator"), made("evaluator"), made("analysis"), made("studyOwner"))


def make(
    story: Story = usual,
    tasks: int = 2,
    repetitions: int = 5,
    *,
    calls: Change = lambda label, found: found,
    scans: Scans = lambda label: {},
    signed: bool = True,
    **spec: Any,
) -> Stored:
    """Carried out, recorded, and signed unless told otherwise."""
    contents: dict[str, bytes] = {}
    made = example(
        lambda *place: _with_files(story(*place), place, contents, (calls, scans)), tasks, repetitions, **spec
    )
    stored = Stored(made, known_keys(), contents)
    for run, entry in stored.ledger.records.items():
        _furnish(stored, run, entry.uid, signed=signed)
    if signed:
        _sign_cohort(stored)
    return stored


def copy(made: Stored, to: ObjectStore) -> None:
    """Put every object of the store in memory into another one, under the same keys."""
    for key in made.store.keys(""):
        to.put(key, made.store.get(key))


def hidden(made: Stored) -> dict[str, bytes]:
    """The hidden archives of its tasks, by digest."""
    found = [archive_of(task.name, "sealed") for task in made.example.cohort.spec.tasks]
    return {sha256(data): data for data in found}


def hide(made: Stored) -> list[str]:
    """Put the hidden archives of its tasks into the store; their digests."""
    for digest, data in hidden(made).items():
        made.store.put(made.example.layout.sealed_archive(digest), data)
    return sorted(hidden(made))


def tell_of_release(made: Stored, store: ObjectStore) -> int:
    """What the operator does once the statement of a release lies in `store`; how many entries the ledger has then."""
    here = made.example.layout.cohort(*made.example.address)
    return tell(made, store, ledgers.LedgerEntry("release", sha256=sha256(store.get(here.release()))))


def tell(made: Stored, store: ObjectStore, entry: ledgers.LedgerEntry) -> int:
    """Add an entry after the cohort's end, and sign the root; how many entries the ledger has then."""
    here, ledger = made.example.layout.cohort(*made.example.address), made.ledger
    page = ledger.page([entry], "2026-03-01T12:00:00Z").to_bytes()
    store.put(here.ledger_page(ledger.size + 1), page)
    ledger.take(page)
    said = Checkpoint(note.origin(*made.example.address), ledger.size, ledger.tree.root())
    storing.keep_checkpoint(store, here.checkpoint(ledger.size), said, made.keys.operator)
    return ledger.size


def _with_files(
    came: Came, place: tuple[int, str, int, int], contents: dict[str, bytes], changes: tuple[Change, Scans]
) -> Came:
    """The same result, with artifacts and model calls whose bytes are known."""
    if came.outcome not in ("passed", "failed"):
        return came
    label = "/".join(str(part) for part in place[:3])
    report = _evaluation(came, label)
    listed, scans = changes[0](label, _calls(label, contents)), changes[1](label)
    made = {
        "agent/diff.patch": f"+{label}\n".encode(),
        "agent/snapshot.tar": _snapshot(label),
        "agent/step-1.stdout.bin": f"Doing {label}.\n".encode(),
        "evaluation/report.json": documents.dump(report),
        CALLS: documents.dump(listed),
        **{name: documents.dump(scan) for name, scan in scans.items()},
    }
    contents.update({sha256(data): data for data in made.values()})
    listing = {name: documents.to_json(Artifact(name, len(data), sha256(data))) for name, data in made.items()}
    fields = {
        "artifacts": [listing[name] for name in sorted(listing)],
        "patch.diff": listing["agent/diff.patch"],
        "patch.snapshot.artifact": listing["agent/snapshot.tar"],
        "evaluation.snapshotSha256": _measured(sha256(_snapshot(label))),
        "interaction.streams": [],
        "usage.calls": listing[CALLS],
        "usage.leaks": _measured(len(listed.leaks) + len(found_in(scans.values()))),
    }
    if listed.unscanned or unscanned(scans.values()):
        fields["usage.leaks"] = {"state": "missing", "reason": "not_scanned"}
    return replace(came, fields=fields | dict(came.fields))


def _snapshot(label: str) -> bytes:
    return f"The workspace of {label}.\n".encode()


def _evaluation(came: Came, label: str) -> documents.EvaluationReport:
    check = check_result(came.outcome, category=came.category)
    verdict: Any = came.outcome
    return evaluation_report(verdict=verdict, checks=[check], snapshot_sha256=sha256(_snapshot(label)), artifacts=[])


def _calls(label: str, contents: dict[str, bytes]) -> ModelCalls:
    """One call of a model and one of a tool."""
    made = []
    for number, kind in enumerate(("generate", "tool")):
        page, journal = f'{{"{kind}":"{label}"}}'.encode(), f"frames of {kind} {label}".encode()
        contents |= {sha256(page): page, sha256(journal): journal}
        name = f"{1767268800000 + number}-0000000a"
        made.append(
            Call(
                name,
                len(page),
                sha256(page),
                kind,
                "complete",
                "",
                200,
                "model",
                "complete",
                len(journal),
                sha256(journal),
            )
        )
    return ModelCalls("provider", "model", made, 1, 1, {}, [], Total(1, Counters(), {}), Cost(reason="none"), ["model"])


def _furnish(stored: Stored, run: str, uid: str, *, signed: bool) -> None:
    """Everything that the record of a run names, and what was signed about it."""
    metadata = stored.example.cohort.metadata
    here = stored.example.layout.run(metadata.namespace, run, uid, metadata.name)
    data = stored.store.get(here.record())
    record = load_record(data)
    for artifact in record.artifacts:
        stored.store.put(here.artifact(artifact.name), stored.contents[artifact.sha256])
    if signed:
        storing.keep_statement(
            stored.store, here.record_statement(), statements.provenance(record, data), stored.keys.operator
        )
    if not record.artifacts:
        return
    for call in documents.load(ModelCalls, stored.store.get(here.artifact(CALLS))).calls:
        for file, digest in (("exchange.json", call.page_sha256), ("exchange.ftj", call.journal_sha256)):
            assert digest is not None
            stored.store.put(here.exchange(call.exchange, file, tool=call.kind == "tool"), stored.contents[digest])
    if signed:
        data = stored.store.get(here.artifact("evaluation/report.json"))
        task = record.identity.task
        report = replace(
            documents.load(documents.EvaluationReport, data),
            run=documents.RunIdentity(metadata.namespace, run, uid),
            bundle_sha256=str(task.public_sha256.value),
            sealed_sha256=str(task.sealed_sha256.value),
        )
        said = statements.evaluation(report, data)
        storing.keep_statement(stored.store, here.evaluation_statement(), said, stored.keys.evaluator)


def _sign_cohort(stored: Stored) -> None:
    here = stored.example.layout.cohort(*stored.example.address)
    data = stored.store.get(here.preregistration())
    held = documents.load(JsonObject, data)
    said = statements.preregistration(data, held)
    storing.keep_statement(stored.store, here.preregistration_signature(), said, stored.keys.operator)
    origin = note.origin(*stored.example.address)
    for size, root in stored.ledger.checkpoints.items():
        storing.keep_checkpoint(
            stored.store, here.checkpoint(size), Checkpoint(origin, size, root), stored.keys.operator
        )


def leaking(where: Any, exchange: int = 0) -> Callable[[ModelCalls], ModelCalls]:
    """A list of calls in one of which a scan found the provider's credential."""
    from fairtrial.journal.summary import Leak

    def changed(found: ModelCalls) -> ModelCalls:
        return replace(found, leaks=[FoundLeak(found.calls[exchange].exchange, Leak("key", "plain", where, 3))])

    return changed


def _measured(value: Any) -> JsonObject:
    return {"state": "measured", "value": value}
