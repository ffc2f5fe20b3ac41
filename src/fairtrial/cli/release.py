"""`fairtrial release`: the study owner publishes what was hidden from agents: all of it, at once, for good.

The archives are copied beside the cohort's documents, where auditors may read, and the signed statement about them is
written last: it is what says that they are published. All is checked before anything is.
"""

import hashlib
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairtrial import documents, names
from fairtrial.api.conditions import COMPLETE
from fairtrial.attest import trust
from fairtrial.attest.statement import Statement
from fairtrial.attest.trust import TrustList
from fairtrial.cli.book import LIMIT, Book, book_of
from fairtrial.cli.kubectl import Kubectl, KubectlFailed
from fairtrial.cli.push import MEDIA_TYPE
from fairtrial.cli.records import NotAsRecorded
from fairtrial.errors import InvalidInput, NotStored
from fairtrial.evidence import layout, statements
from fairtrial.evidence.objects import ObjectStore
from fairtrial.signing import keys, storing
from fairtrial.signing.keys import SigningKey

COHORTS = "benchmarkcohorts.fairtrial.dev"
JsonObject = dict[str, Any]


def run(name: str, key: SigningKey | None, namespace: str, context: str | None) -> Iterator[str]:
    """Release the hidden archives of a cohort on a cluster; tells which, and what follows."""
    cohorts, told = _cohorts(namespace, context)
    yield from told
    yield from release(book_of(name, namespace, context), key, cohorts)
    if key is not None:
        again = f"{names.ANALYSE_ANNOTATION}=$(date +%s)"
        yield f"Analyse again: kubectl annotate --overwrite bcohort {name} -n {namespace} {again}"


def key_of(
    given: str, pin: str = "", trusted: TrustList | None = None, environment: Mapping[str, str] = os.environ
) -> SigningKey:
    """The study owner's key: a file or a URI. A release can't be taken back, so no development key may sign one."""
    if not given:
        raise InvalidInput("--key: is missing.", next_move="Name the study owner's key, or look first: --dry-run.")
    if environment.get(keys.DEVELOPMENT_VARIABLE, "").lower() == "true":
        raise _development(keys.DEVELOPMENT_VARIABLE)
    key = keys.load(given if ":" in given else f"file:{Path(given).resolve()}", pin=pin)
    if trusted is not None and trusted.signer(key.key_id, trust.RELEASE, name="--key").development:
        raise _development("--trust")
    return key


def _development(said_by: str) -> InvalidInput:
    return InvalidInput(
        f"--key: is a development key, as {said_by} says; a release can't be taken back.",
        next_move="Sign it with the key that the published trust list gives the study owner.",
    )


def release(book: Book, key: SigningKey | None, cohorts: Sequence[JsonObject] = ()) -> Iterator[str]:
    """Check everything, tell what would be published, and publish it; without a key, tell only.

    `cohorts` are those known to the cluster: one under way with the same hidden parts would be spoilt.
    """
    if book.ledger().complete is None:
        raise InvalidInput(
            f"cohort {book.cohort}: is not complete; its agents could still see what is released.",
            next_move="Wait for its condition Complete.",
        )
    said = _statement(book)
    if spoilt := under_way(cohorts, said.digests.values()):
        raise InvalidInput(
            f"cohort {book.cohort}: {', '.join(spoilt)} has the same hidden archives and is not complete.",
            next_move="Wait for it, or delete it: its agents could be given what is released.",
        )
    sizes = {digest: _checked(book.store, book.layout.sealed_archive(digest), digest) for digest in _digests(said)}
    yield f"release of {book.namespace}/{book.cohort}, preregistration SHA-256 {book.preregistration_sha256}"
    for one in said.predicate["sealedArchives"]:
        digest = one["sealedSha256"]
        yield f"task {one['task']}: sha256:{digest}, {sizes[digest]} bytes"
    yield "Whoever reads this cohort's evidence can read them; a later cohort with these tasks hides nothing any more."
    if key is None:
        return
    for digest in sizes:
        _copy(book.store, book.layout.sealed_archive(digest), book.keys.released(digest), digest)
    ours = storing.keep_statement(book.store, book.keys.release(), said, key)
    yield f"{book.keys.release()}: {'released' if ours else 'was released before, with another key, which stays'}"
    yield f"key {key.key_id}; an auditor's trust list needs it in the role {trust.RELEASE[0]}"


def under_way(cohorts: Iterable[JsonObject], digests: Collection[str]) -> list[str]:
    """The cohorts, as namespace/name, that are not complete and hide an archive with one of these digests."""
    made = []
    for one in cohorts:
        ended = any(
            (told["type"], told["status"]) == (COMPLETE, "True")
            for told in (one.get("status") or {}).get("conditions", ())
        )
        fixtures = [each for task in one["spec"].get("tasks", ()) for each in (task, *task.get("variants", ()))]
        if not ended and any(each["sealedSha256"] in digests for each in fixtures):
            made.append(f"{one['metadata']['namespace']}/{one['metadata']['name']}")
    return sorted(made)


def _cohorts(namespace: str, context: str | None) -> tuple[list[JsonObject], list[str]]:
    """All cohorts of the cluster, or of the namespace where its user may see no others, which is told."""
    told = []
    try:
        found = Kubectl(context).get(COHORTS, "--all-namespaces")
    except KubectlFailed as error:
        told.append(f"Only cohorts of namespace {namespace} were looked at: {error.message}")
        found = Kubectl(context, namespace).get(COHORTS)
    return found["items"], told


def _statement(book: Book) -> Statement:
    """What is to be signed, from the preregistration that the cohort's status names."""
    key = book.keys.preregistration()
    data = book.store.get(key, limit=LIMIT)
    if (actual := layout.sha256(data)) != book.preregistration_sha256:
        raise NotAsRecorded(key, book.preregistration_sha256, actual)
    held: JsonObject = documents.load(JsonObject, data, name="preregistration")
    return statements.release(data, held)


def _digests(said: Statement) -> list[str]:
    return sorted(said.digests.values())


def _checked(store: ObjectStore, key: str, digest: str) -> int:
    """The size of an archive whose bytes have its digest; they are read through to the end."""
    found, size = hashlib.sha256(), 0
    try:
        for chunk in store.open(key):
            found.update(chunk)
            size += len(chunk)
    except NotStored as error:
        raise InvalidInput(
            f"{key}: the hidden archive is not in the store.",
            next_move="Push that version of the task again: fairtrial task push.",
        ) from error
    if found.hexdigest() != digest:
        raise NotAsRecorded(key, digest, found.hexdigest())
    return size


def _copy(store: ObjectStore, source: str, to: str, digest: str) -> None:
    """Create the published copy, or adopt the one of an earlier attempt."""
    upload = store.open_upload(to, media_type=MEDIA_TYPE, sha256=digest)
    try:
        for chunk in store.open(source):
            upload.write(chunk)
        upload.commit()
    except BaseException:
        upload.abort()
        raise
