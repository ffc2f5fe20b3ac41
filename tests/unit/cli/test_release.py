"""`fairtrial release`: all hidden archives of a complete cohort, checked first, published once, signed last."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fairtrial_analysis.examples import archive_of, example

from fairtrial.attest import dsse, statement, trust
from fairtrial.attest.trust import TrustedKey, TrustList
from fairtrial.cli.book import Book
from fairtrial.cli.records import NotAsRecorded
from fairtrial.cli.release import key_of, release, run
from fairtrial.errors import Conflict, InvalidInput, SigningFailed, Unproven
from fairtrial.evidence.layout import CohortLayout, sha256
from fairtrial.evidence.memory import MemoryStore
from fairtrial.signing import keys
from fairtrial.signing.keys import SigningKey
from tests.stored_cohort import known_keys

OWNER = known_keys().study_owner
HIDDEN = [archive_of(f"task-{number:02}", "sealed") for number in (1, 2)]


@pytest.fixture
def book() -> Iterator[Book]:
    made = example(tasks=2)
    namespace, name, uid = made.address
    sealed = sha256(made.store.get(made.layout.cohort(*made.address).preregistration()))
    for data in HIDDEN:
        made.store.put(made.layout.sealed_archive(sha256(data)), data)
    yield Book(made.store, made.layout, namespace, name, uid, sealed)


def keys_of(book: Book) -> CohortLayout:
    return book.layout.cohort(book.namespace, book.cohort, book.uid)


def objects(book: Book) -> dict[str, bytes]:
    assert isinstance(book.store, MemoryStore)
    return dict(book.store.objects)


def damaged(book: Book, data: bytes) -> Book:
    """The same cohort with other bytes under the digest of its first hidden archive."""
    store = MemoryStore()
    key = book.layout.sealed_archive(sha256(HIDDEN[0]))
    for one, held in objects(book).items():
        store.put(one, data if one == key else held)
    return replace(book, store=store)


def test_all_archives_lie_where_auditors_read_and_one_statement_names_them(book: Book):
    told = "\n".join(release(book, OWNER))

    where = keys_of(book)
    for data in HIDDEN:
        assert book.store.get(where.released(sha256(data))) == data
        assert f"sha256:{sha256(data)}, {len(data)} bytes" in told
    listed = TrustList((TrustedKey("studyOwner", OWNER.public),))
    said = dsse.verify(book.store.get(where.release()), listed, trust.RELEASE).statement
    assert said.predicate_type == statement.RELEASE
    assert said.digests == {f"sealed/sha256/{sha256(data)}": sha256(data) for data in HIDDEN}
    address = {"namespace": book.namespace, "name": book.cohort, "uid": book.uid}
    assert said.predicate["cohort"].items() >= address.items()
    assert said.predicate["preregistrationSha256"] == book.preregistration_sha256
    assert [one["task"] for one in said.predicate["sealedArchives"]] == ["task-01", "task-02"]


def test_released_again_nothing_changes_and_another_owner_is_told(book: Book):
    first = list(release(book, OWNER))
    before = objects(book)

    assert list(release(book, OWNER)) == first
    assert "was released before, with another key" in "\n".join(release(book, known_keys().operator))
    assert objects(book) == before


def test_a_dry_run_tells_the_same_and_publishes_nothing(book: Book):
    before = objects(book)

    told = list(release(book, None))

    assert objects(book) == before
    assert told == list(release(book, OWNER))[: len(told)]
    assert len(told) == 4


def test_what_was_stopped_before_its_statement_is_finished_by_the_next_attempt(
    book: Book, monkeypatch: pytest.MonkeyPatch
):
    def stopped(*_: Any) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr("fairtrial.cli.release.storing.keep_statement", stopped)
    with pytest.raises(KeyboardInterrupt):
        list(release(book, OWNER))
    assert keys_of(book).release() not in objects(book)
    assert keys_of(book).released(sha256(HIDDEN[1])) in objects(book)
    monkeypatch.undo()

    list(release(book, OWNER))

    assert keys_of(book).release() in objects(book)


# --- what is refused --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("key", [None, OWNER], ids=["dry run", "release"])
def test_a_cohort_whose_agents_may_still_run_is_refused(book: Book, key: SigningKey | None):
    store = MemoryStore()
    ends = [one for one in objects(book) if one.startswith(keys_of(book).ledger())][-1]
    for one, held in objects(book).items():
        if one != ends:
            store.put(one, held)

    with pytest.raises(InvalidInput, match="is not complete"):
        list(release(replace(book, store=store), key))


@pytest.mark.parametrize("key", [None, OWNER], ids=["dry run", "release"])
def test_an_archive_that_is_not_the_one_committed_to_keeps_all_from_being_published(book: Book, key: SigningKey | None):
    other = damaged(book, b"made easier")
    before = objects(other)

    with pytest.raises(NotAsRecorded, match=sha256(HIDDEN[0])):
        list(release(other, key))
    assert objects(other) == before


def cohort(name: str, sealed: str, complete: str = "", variant: str = "f" * 64) -> dict[str, Any]:
    task = {"name": "t", "sealedSha256": sealed, "variants": [{"candidate": "c", "sealedSha256": variant}]}
    conditions = [{"type": "Complete", "status": complete}] if complete else []
    status = {"conditions": [{"type": "Sealed", "status": "True"}, *conditions]}
    return {"metadata": {"namespace": "lab", "name": name}, "spec": {"tasks": [task]}, "status": status}


def test_a_cohort_under_way_with_the_same_hidden_archives_is_not_spoilt(book: Book):
    digest = sha256(HIDDEN[1])
    done, other = cohort("done", digest, "True"), cohort("other", "0" * 64)
    draft = {**cohort("draft", "0" * 64, variant=digest), "status": None}
    before = objects(book)

    with pytest.raises(InvalidInput, match="lab/draft, lab/now has the same hidden archives"):
        list(release(book, OWNER, [done, cohort("now", digest, "False"), other, draft]))
    assert objects(book) == before
    assert len(list(release(book, OWNER, [done, other]))) > 4


def test_the_command_looks_at_all_cohorts_or_says_that_it_saw_those_of_a_namespace(
    book: Book, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "items.json").write_text('{"items": []}')
    script = (
        '#!/bin/sh\ncd "$(dirname "$0")"\ncase "$*" in *--all-namespaces*) cat all.json ;; *) cat items.json ;; esac\n'
    )
    (tmp_path / "kubectl").write_text(script)
    (tmp_path / "kubectl").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr("fairtrial.cli.release.book_of", lambda *_: book)

    told = list(run("example", OWNER, "trials", None))
    assert "Only cohorts of namespace trials were looked at: kubectl get: " in told[0]
    assert told[-1].endswith("bcohort example -n trials fairtrial.dev/analyse=$(date +%s)")
    (tmp_path / "all.json").write_text(json.dumps({"items": [cohort("now", sha256(HIDDEN[0]))]}))
    with pytest.raises(InvalidInput, match="lab/now"):
        list(run("example", None, "trials", None))


def test_an_archive_that_is_gone_and_another_preregistration_are_told(book: Book):
    store = MemoryStore()
    for one, held in objects(book).items():
        if "sealed/sha256/" not in one:
            store.put(one, held)

    with pytest.raises(InvalidInput, match="is not in the store"):
        list(release(replace(book, store=store), OWNER))
    with pytest.raises(NotAsRecorded, match=r"preregistration\.json"):
        list(release(replace(book, preregistration_sha256="0" * 64), OWNER))


def test_something_else_in_its_place_is_not_written_over(book: Book):
    book.store.put(keys_of(book).release(), b"something else")

    with pytest.raises(Conflict):
        list(release(book, OWNER))


def test_a_key_that_may_not_release_is_refused_before_anything_is_read(tmp_path: Path):
    made = keys.new(tmp_path / "study.pem")
    file = str(tmp_path / "study.pem")

    assert key_of(file, environment={}).key_id == made.key_id
    assert key_of(file, "", TrustList((TrustedKey("studyOwner", made.public),)), {}).key_id == made.key_id
    with pytest.raises(InvalidInput, match="--key: is missing"):
        key_of("", environment={})
    with pytest.raises(SigningFailed, match="can't be read"):
        key_of(str(tmp_path / "nowhere.pem"), environment={})
    with pytest.raises(InvalidInput, match=r"development key, as FAIRTRIAL_SIGNING_DEVELOPMENT"):
        key_of(file, environment={keys.DEVELOPMENT_VARIABLE: "true"})
    with pytest.raises(InvalidInput, match="development key, as --trust"):
        key_of(file, "", TrustList((TrustedKey("studyOwner", made.public, development=True),)), {})
    with pytest.raises(Unproven, match="needs studyOwner"):
        key_of(file, "", TrustList((TrustedKey("operator", made.public),)), {})
