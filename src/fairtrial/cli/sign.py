"""`fairtrial sign`: the study owner says, with a key that no cluster holds, that a preregistration is theirs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fairtrial import documents
from fairtrial.attest import trust
from fairtrial.cli.book import LIMIT, book_of
from fairtrial.cli.records import NotAsRecorded
from fairtrial.cohort import preregistration
from fairtrial.cohort.ledger import Ledger
from fairtrial.errors import InvalidInput
from fairtrial.evidence import layout, statements
from fairtrial.evidence.layout import CohortLayout
from fairtrial.evidence.objects import ObjectStore
from fairtrial.signing import keys, storing


def run(name: str, key: str, pin: str, namespace: str, context: str | None, *, dry_run: bool) -> Iterator[str]:
    """Sign the preregistration of a sealed cohort; tells what is signed before it is."""
    book = book_of(name, namespace, context)
    in_time(name, book.ledger())
    uri = key if ":" in key else f"file:{Path(key).resolve()}"
    yield from sign(book.store, book.keys, book.preregistration_sha256, "" if dry_run else uri, pin)


def in_time(name: str, ledger: Ledger) -> None:
    """Refuse what every verifier would find late: who signs after a run was admitted may have seen what came of it."""
    if ledger.tickets:
        raise InvalidInput(
            f"BenchmarkCohort {name}: runs were admitted already; a signature now would be found to be late.",
            next_move="Seal the next cohort with spec.suspend true, sign it, and resume it.",
        )


def sign(store: ObjectStore, where: CohortLayout, sha256: str, key: str, pin: str = "") -> Iterator[str]:
    """Check what lies in the store, tell what it says, and sign it; with no key, tell only."""
    data = store.get(where.preregistration(), limit=LIMIT)
    if (actual := layout.sha256(data)) != sha256:
        raise NotAsRecorded(where.preregistration(), sha256, actual)
    problems = preregistration.verify(data)
    if problems:
        raise InvalidInput(f"{where.preregistration()}: contradicts itself: {problems[0]}")
    held: dict[str, Any] = documents.load(dict[str, Any], data, name="preregistration")
    yield from told(held, sha256)
    if not key:
        return
    signer = keys.load(key, pin=pin)
    ours = storing.keep_statement(store, where.study_signature(), statements.preregistration(data, held), signer)
    yield f"{where.study_signature()}: {'signed' if ours else 'was signed before, with another key, which stays'}"
    yield f"key {signer.key_id}; an auditor's trust list needs it in the role {trust.STUDY_SIGNATURE[0]}"


def told(held: dict[str, Any], sha256: str) -> Iterator[str]:
    """What somebody who signs a preregistration should see of it."""
    cohort, spec = held["cohort"], held["spec"]
    yield f"preregistration of {cohort['namespace']}/{cohort['name']}, SHA-256 {sha256}"
    yield f"candidates: {', '.join(one['name'] for one in held['candidates'])}"
    yield f"tasks: {', '.join(one['name'] for one in held['tasks'])}"
    yield f"runs: {len(held['schedule']['entries'])}, {spec['repetitions']} repetitions of each"
    yield f"decision rule: {held['decisionRuleSha256'] or 'none'}"
