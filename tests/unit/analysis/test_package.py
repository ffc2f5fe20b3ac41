"""A package as it is built and written: closed, signed last, the same for the same evidence and no other."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fairtrial_analysis.analyse import Settings, packaged
from fairtrial_analysis.examples import Came, usual
from fairtrial_analysis.package.build import Package
from fairtrial_analysis.package.gather import PackageRefused
from fairtrial_analysis.package.publish import publish

from fairtrial.attest import dsse, trust
from fairtrial.cli.book import Book
from fairtrial.cli.release import release
from fairtrial.errors import Conflict
from fairtrial.evidence import package_paths as paths
from fairtrial.evidence.layout import sha256
from fairtrial.evidence.memory import MemoryStore
from fairtrial.signing import keys
from fairtrial.testing import CANDIDATE_IMAGE
from tests import stored_cohort
from tests.stored_cohort import BUCKET, Stored, known_keys, leaking

ROOT = Path(__file__).parents[3]
OWN = {
    "analysis/report.html", "analysis/report.json", "analysis/request.json", "analysis/runs.csv",
    "analysis/runs.parquet", "commitments.json", "ro-crate-metadata.json", "trust.json",
}  # fmt: skip


@pytest.fixture(scope="module")
def made() -> Stored:
    return stored_cohort.make()


@pytest.fixture(scope="module")
def package(made: Stored) -> Package:
    return build(made)


def build(made: Stored, bucket: str = BUCKET, **options: Any) -> Package:
    example = made.example
    good = {"trust": made.keys.trust.to_bytes()}
    where = (example.layout, bucket)
    return packaged(made.store, where, example.address, Settings(example.size), **good | options)[1]


def lines(package: Package) -> dict[str, str]:
    """The manifest's digests by path."""
    return {line[66:-1].decode(): line[:64].decode() for line in package.manifest()}


# --- what is in it ----------------------------------------------------------------------------------------------------
def test_the_manifest_is_what_sha256sum_reads_sorted_and_in_ascii(package: Package) -> None:
    found = list(package.manifest())

    assert all(re.fullmatch(rb"[0-9a-f]{64}  data/[a-z0-9][a-z0-9._/-]*\n", line) for line in found)
    assert found == sorted(found, key=lambda line: line[66:])
    assert package.digest == sha256(b"".join(found))


def test_every_file_is_either_fetched_from_its_own_key_or_stored_with_the_package(
    made: Stored, package: Package
) -> None:
    fetched = dict(line.decode().strip().split(" ")[::2][::-1] for line in package.fetch())

    assert {path.removeprefix("data/") for path in lines(package)} - {p.removeprefix("data/") for p in fetched} == OWN
    assert set(package.own) == OWN
    for path, uri in fetched.items():
        assert sha256(made.store.get(uri.removeprefix(f"s3://{BUCKET}/"))) == lines(package)[path]


def test_the_bag_says_whose_it_is_and_how_much_is_in_it_and_no_date(made: Stored, package: Package) -> None:
    sizes = [int(line.decode().split(" ")[1]) for line in package.fetch()] + [
        len(data) for data in package.own.values()
    ]
    text = package.tags[paths.BAG_INFO].decode()

    assert f"Payload-Oxum: {sum(sizes)}.{len(sizes)}\n" in text
    assert f"External-Identifier: {'/'.join(made.example.address)}\n" in text
    assert not re.search(r"20[0-9]{2}-", text)


def test_the_request_names_all_that_the_bytes_depend_on(made: Stored, package: Package) -> None:
    request = json.loads(package.own[paths.REQUEST])

    here = made.example.layout.cohort(*made.example.address)
    assert request["preregistrationSha256"] == sha256(made.store.get(here.preregistration()))
    assert request["ledger"] == {"size": made.ledger.size, "headSha256": made.ledger.head}
    assert request["analysis"]["seed"] == made.example.cohort.spec.analysis.seed  # type: ignore[union-attr]
    assert {"ruleSha256", "conventionsSha256", "signing"} <= set(request)


def test_hidden_parts_are_commitments(made: Stored, package: Package) -> None:
    held = json.loads(package.own[paths.COMMITMENTS])

    assert held["sealedArchives"] == [
        {"task": task.name, "sealedSha256": task.sealed_sha256} for task in made.example.cohort.spec.tasks
    ]
    assert not any("sealed/" in path for path in lines(package))


def test_released_parts_are_in_what_is_made_from_the_ledger_that_tells_of_them_and_in_nothing_made_before() -> None:
    made = stored_cohort.make(tasks=2)
    before = build(made)
    hidden = stored_cohort.hide(made)
    namespace, name, uid = made.example.address
    sealed = sha256(made.store.get(made.example.layout.cohort(*made.example.address).preregistration()))
    list(release(Book(made.store, made.example.layout, namespace, name, uid, sealed), made.keys.study_owner))

    size = stored_cohort.tell_of_release(made, made.store)

    where, trusted = (made.example.layout, BUCKET), made.keys.trust.to_bytes()
    again = packaged(made.store, where, made.example.address, Settings(made.example.size), trust=trusted)[1]
    after = packaged(made.store, where, made.example.address, Settings(size), trust=trusted)[1]
    assert (again.digest, again.digests) == (before.digest, before.digests)
    added = {path.removeprefix("data/") for path in set(lines(after)) - set(lines(before))}
    ledger = {f"ledger/{size:08d}.json", f"checkpoints/{size:08d}.note"}
    assert added == {paths.RELEASE, *map(paths.sealed, hidden)} | ledger
    fetched = dict(line.decode().strip().split(" ")[::2][::-1] for line in after.fetch())
    for path in (paths.RELEASE, *map(paths.sealed, hidden)):
        key = fetched[f"data/{path}"].removeprefix(f"s3://{BUCKET}/")
        assert "/release/" in key
        assert sha256(made.store.get(key)) == lines(after)[f"data/{path}"]


@pytest.mark.parametrize("gone", ["statement", "archive", "other"])
def test_a_release_that_the_ledger_names_and_that_is_not_all_there_is_refused(gone: str) -> None:
    made = stored_cohort.make(tasks=1)
    here, digests = made.example.layout.cohort(*made.example.address), stored_cohort.hide(made)
    made.store.put(here.release(), b"a statement")
    size = stored_cohort.tell_of_release(made, made.store)
    if gone != "archive":
        made.store.put(here.released(digests[0]), b"archive")
        del made.store.objects[here.release()]
    if gone == "other":
        made.store._digests.pop(here.release())
        made.store.put(here.release(), b"another statement")

    with pytest.raises(PackageRefused, match="fairtrial release"):
        packaged(made.store, (made.example.layout, BUCKET), made.example.address, Settings(size))


def test_the_metadata_for_people_refers_to_what_is_there_and_holds_no_date_but_the_ledgers(package: Package) -> None:
    graph = {one["@id"]: one for one in json.loads(package.own[paths.CRATE])["@graph"]}
    held = {path.removeprefix("data/") for path in lines(package)}

    refers = set(re.findall(r'"@id":"([^"]+)"', json.dumps(list(graph.values()), separators=(",", ":"))))
    assert refers - set(graph) == {"https://w3id.org/ro/crate/1.2"}
    for name, one in graph.items():
        if one["@type"] == "File":
            assert name in held
        if one["@type"] == "Dataset" and name != "./":
            assert any(path.startswith(name) for path in held)
    dates = set(re.findall(r"20[0-9]{2}-[0-9T:-]+Z?", package.own[paths.CRATE].decode()))
    assert dates == {graph["./"]["datePublished"]}


# --- one digest for one evidence --------------------------------------------------------------------------------------
PROGRAM = """
import sys
from tests import stored_cohort
from tests.unit.analysis.test_package import build
package = build(stored_cohort.make())
print(package.digest, *package.digests.values())
"""


def test_another_process_elsewhere_makes_the_same_bytes(package: Package, tmp_path: Path) -> None:
    environment = {
        **os.environ, "PYTHONHASHSEED": "7", "TZ": "Pacific/Kiritimati", "LC_ALL": "C", "PYTHONPATH": str(ROOT),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )

    assert done.stdout.split() == [package.digest, *package.digests.values()]


def test_the_order_in_which_objects_came_into_the_store_does_not_matter(made: Stored, package: Package) -> None:
    shuffled = MemoryStore()
    for key in sorted(made.store.objects, key=lambda key: sha256(key.encode())):
        shuffled.put(key, made.store.objects[key])
    other = replace(made, example=replace(made.example, store=shuffled))

    assert build(other).digests == package.digests


def test_any_other_evidence_is_another_package(package: Package) -> None:
    def slower(task: int, arm: str, repetition: int, attempt: int) -> Came:
        came = usual(task, arm, repetition, attempt)
        return replace(came, seconds=came.seconds + 1) if (arm, repetition) == ("plain", 1) else came

    made = stored_cohort.make()
    where = (made.example.layout, BUCKET)
    one_entry_less = packaged(made.store, where, made.example.address, Settings(made.example.size - 1))[1]
    digests = [
        package.digest,
        build(stored_cohort.make(slower)).digest,  # two records of twenty
        build(stored_cohort.make(tasks=3)).digest,
        build(stored_cohort.make(signed=False)).digest,
        build(stored_cohort.make(analysis={"version": "0.1.0", "image": CANDIDATE_IMAGE, "seed": 8})).digest,
        one_entry_less.digest,
        build(made, trust=None).digest,
    ]

    assert len(set(digests)) == len(digests)


def test_the_same_evidence_in_another_bucket_is_the_same_package_fetched_from_there(
    made: Stored, package: Package
) -> None:
    other = build(made, bucket="copy")

    assert other.digest == package.digest
    assert all(line.startswith(b"s3://copy/") for line in other.fetch())


# --- writing ----------------------------------------------------------------------------------------------------------
class Watched(MemoryStore):
    """Remembers in which order objects came, and what is put a second time."""

    def __init__(self) -> None:
        super().__init__()
        self.order: list[str] = []

    def put(self, key: str, data: bytes, **options: Any) -> Any:
        found = super().put(key, data, **options)
        if found.created:
            self.order.append(key)
        return found


def test_the_statement_is_written_last_and_covers_what_was_written(made: Stored, package: Package) -> None:
    store = Watched()

    done = publish(package, store, made.keys.analysis)

    base = package.keys.cohort_keys.package(package.digest)
    assert (done.digest, done.uri, done.signed) == (package.digest, f"s3://{BUCKET}/{base}", True)
    assert store.order[-2:] == [f"{base}{paths.MANIFEST}", f"{base}{paths.STATEMENT}"]
    said = dsse.verify(store.get(f"{base}{paths.STATEMENT}"), made.keys.trust, trust.PACKAGE).statement
    assert said.digests == {name: sha256(store.get(f"{base}{name.lower()}")) for name in paths.SUBJECTS}
    listed = dict(line.split("  ")[::-1] for line in store.get(f"{base}{paths.TAG_MANIFEST}").decode().splitlines())
    assert listed == said.digests


def test_writing_it_again_writes_nothing(made: Stored, package: Package) -> None:
    store = Watched()
    publish(package, store, made.keys.analysis)
    before = list(store.order)

    publish(package, store, made.keys.analysis)

    assert store.order == before


def test_a_statement_that_another_key_signed_first_stays(made: Stored, package: Package) -> None:
    store = Watched()
    publish(package, store, made.keys.analysis)
    before = dict(store.objects)

    publish(package, store, known_keys().operator)

    assert store.objects == before


def test_other_bytes_under_a_key_of_the_package_are_a_conflict_and_nothing_is_signed(
    made: Stored, package: Package
) -> None:
    store = Watched()
    base = package.keys.cohort_keys.package(package.digest)
    store.put(f"{base}data/analysis/report.html", b"<p>Trust me.</p>")

    with pytest.raises(Conflict):
        publish(package, store, made.keys.analysis)
    assert f"{base}{paths.STATEMENT}" not in store.objects


def test_without_a_key_it_is_unsigned_and_says_so(package: Package) -> None:
    store = Watched()

    done = publish(package, store, None)

    assert not done.signed
    assert store.order[-1].endswith(paths.MANIFEST)


def test_what_may_not_be_published_leaves_nothing_in_the_store() -> None:
    made = stored_cohort.make(calls=lambda label, found: leaking("request_head")(found))
    before = dict(made.store.objects)

    with pytest.raises(PackageRefused):
        build(made)
    assert made.store.objects == before

    held = json.loads(build(made, withhold=True).own[paths.WITHHELD])
    assert {one["path"].rpartition("/")[2] for one in held["files"]} == {"exchange.ftj", "exchange.json"}
    assert all(len(one["sha256"]) == 64 and one["size"] > 0 for one in held["files"])


def test_test_keys_are_told_apart_from_real_ones() -> None:
    assert all(key.development for key in known_keys().trust.keys)
    assert isinstance(known_keys().analysis, keys.SigningKey)
