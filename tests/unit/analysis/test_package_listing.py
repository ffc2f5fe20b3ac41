"""What a package lists: all that was read and all that records name, by the hashes given there, and no more."""

import json
from dataclasses import replace
from typing import Any

import pytest
from fairtrial_analysis.examples import Came, usual
from fairtrial_analysis.load.results import load
from fairtrial_analysis.package.gather import Gathered, PackageRefused, Shelf, gather
from fairtrial_analysis.package.listing import File, Listing, Packed
from fairtrial_analysis.package.noting import Noting
from fairtrial_analysis.package.runs import Recorded, files_of, recorded

from fairtrial.cohort.ledger import LedgerEntry
from fairtrial.documents import RunIdentity, dump
from fairtrial.evidence.layout import sha256
from fairtrial.evidence.memory import MemoryStore
from fairtrial.secrets.stored import AGENT, EVALUATION, ArtifactScan, StoredLeak
from fairtrial.usage.calls import ModelCalls
from tests import stored_cohort
from tests.stored_cohort import Stored, leaking

RUN = "example-00001"
RUN_IDENTITY = RunIdentity("trials", "a-run", "uid")


@pytest.fixture(scope="module")
def made() -> Stored:
    return stored_cohort.make()


def gathered(made: Stored, **options: Any) -> Gathered:
    """What is listed after the analysis has read it."""
    example, size = made.example, made.ledger.size
    noting = Noting(example.source(size), example.cohort.metadata.name, example.cohort.metadata.uid)
    plan = load(noting, size).plan
    shelf = Shelf(made.store, noting.keys(example.layout, example.cohort.metadata.namespace))
    return gather(noting, shelf, plan.document, **options)


# --- the listing ------------------------------------------------------------------------------------------------------
def test_files_are_in_the_order_of_their_paths_however_they_came() -> None:
    runs = {name: [File(f"runs/{name}/{file}", 1, "0" * 64) for file in ("record.json", "a/b.txt")]
            for name in ("run-1", "run-1-r1", "run-10")}  # fmt: skip
    one, other = Listing(), Listing()
    for listing, names in ((one, sorted(runs)), (other, sorted(runs, reverse=True))):
        listing.add(File("trust.json", 2, "1" * 64), File("analysis/report.json", 3, "2" * 64))
        for name in names:
            listing.add_run(name, Packed.of(runs[name]))

    found = [file.path for file in one]

    assert found == sorted(found)
    assert list(one) == list(other)
    assert (one.count, one.size) == (len(found), 6 + 2 + 3)


# --- a whole cohort ---------------------------------------------------------------------------------------------------
def test_every_object_of_the_cohort_is_listed_with_the_bytes_that_lie_there(made: Stored) -> None:
    found = {made.paths.key(file.path): file for file in gathered(made).listing}

    assert set(found) == set(made.store.keys(""))
    for key, file in found.items():
        data = made.store.get(key)
        assert (file.size, file.sha256) == (len(data), sha256(data)), file.path


def test_a_study_owners_signature_comes_along_if_the_ledger_tells_of_it() -> None:
    made = stored_cohort.make(tasks=1)
    here = made.example.layout.cohort(*made.example.address)
    before = {file.path for file in gathered(made).listing}
    made.store.put(here.study_signature(), b"signed")
    assert {file.path for file in gathered(made).listing} == before, "nothing says when it was made"
    stored_cohort.tell(made, made.store, LedgerEntry("endorsement", sha256=sha256(b"signed")))

    more = {file.path for file in gathered(made).listing} - before

    assert "preregistration.study.sigstore.json" in more
    other = stored_cohort.make(tasks=1)
    other.store.put(here.study_signature(), b"exchanged")
    stored_cohort.tell(other, other.store, LedgerEntry("endorsement", sha256=sha256(b"signed")))
    with pytest.raises(PackageRefused, match="study owner's signature"):
        gathered(other)


def test_time_stamps_come_along_where_there_are_any() -> None:
    made = stored_cohort.make(tasks=1)
    before = {file.path for file in gathered(made).listing}
    here = made.example.layout.cohort(*made.example.address)
    made.store.put(here.preregistration_timestamp(), b"stamped")
    for size in made.ledger.checkpoints:
        made.store.put(here.checkpoint_timestamp(size), b"stamped")

    more = {file.path for file in gathered(made).listing} - before

    stamps = {f"checkpoints/{size:08d}.note.tsr" for size in made.ledger.checkpoints}
    assert more == {"preregistration.tsr"} | stamps


def test_no_artifact_is_read_but_the_list_of_calls(made: Stored, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    get, head = MemoryStore.get, MemoryStore.head
    monkeypatch.setattr(MemoryStore, "get", lambda self, key, **limit: asked.append(key) or get(self, key, **limit))
    monkeypatch.setattr(MemoryStore, "head", lambda self, key: asked.append(key) or head(self, key))

    gathered(made)

    below_runs = [key for key in asked if "/runs/" in key]
    assert {key.partition("/runs/")[2].partition("/")[2].partition("/")[2] for key in below_runs} == {
        "record.json", "record.sigstore.json", "evaluation.sigstore.json", "artifacts/model/calls.json",
    }  # fmt: skip
    assert len(below_runs) == len(set(below_runs)), "nothing is asked for twice"
    assert len([key for key in asked if "tasks/sha256" in key]) == 2, "archives by their sizes, once each"


def test_a_task_archive_that_is_gone_is_named_with_what_brings_it_back(made: Stored) -> None:
    other = stored_cohort.make()
    [first, *_] = [key for key in other.store.objects if key.startswith("tasks/")]
    del other.store.objects[first]

    with pytest.raises(PackageRefused, match=first.rpartition("/")[2]) as refused:
        gathered(other)
    assert "fairtrial task push" in refused.value.next_move


def test_a_correction_that_the_ledger_does_not_name_yet_is_left_to_the_next_package() -> None:
    made = stored_cohort.make(tasks=1)
    before = [file.path for file in gathered(made).listing]
    here = made.example.layout.cohort(*made.example.address)
    made.store.put(here.correction(1), b"{}")

    assert [file.path for file in gathered(made).listing] == before


# --- records that can't be trusted ------------------------------------------------------------------------------------
def record(**changes: Any) -> bytes:
    made = stored_cohort.make(tasks=1)
    raw = json.loads(made.store.get(made.paths.key(f"runs/{RUN}/record.json")))
    return dump(raw | changes)


def artifact(name: str, size: int = 1, digest: str = "3" * 64) -> dict[str, Any]:
    return {"name": name, "size": size, "sha256": digest}


@pytest.mark.parametrize(
    "artifacts",
    [
        None,
        "x",
        [artifact("../outside.txt")],
        [artifact("/etc/passwd")],
        [artifact("a\u202e.txt")],
        [artifact("agent/a.txt", size=-1)],
        [artifact("agent/a.txt", size=2**60)],
        [artifact("agent/a.txt", digest="short")],
        [artifact("agent/a.txt"), artifact("agent/a.txt", digest="4" * 64)],
        [{"name": "agent/a.txt"}],
    ],
)
def test_a_record_with_bad_artifacts_is_listed_itself_and_no_more(artifacts: Any) -> None:
    data = record(artifacts=artifacts)

    found = recorded(RUN, data, sha256(data))

    assert [file.path for file in found.files] == [f"runs/{RUN}/record.json"]


def test_a_record_that_the_ledger_does_not_name_is_listed_as_it_is_and_no_more() -> None:
    data = record()

    found = recorded(RUN, data, "0" * 64)

    assert [(file.path, file.sha256) for file in found.files] == [(f"runs/{RUN}/record.json", sha256(data))]


def test_a_list_of_calls_that_the_record_does_not_name_lists_nothing() -> None:
    made = stored_cohort.make(tasks=1)
    data = made.store.get(made.paths.key(f"runs/{RUN}/record.json"))
    listed = recorded(RUN, data, sha256(data))
    calls = made.store.get(made.paths.key(f"runs/{RUN}/artifacts/model/calls.json"))

    ours = files_of(RUN, listed, {"artifacts/model/calls.json": calls})
    foreign = files_of(RUN, listed, {"artifacts/model/calls.json": calls.replace(b'"model"', b'"other"')})

    assert {file.path.split("/")[2] for file in ours.files} == {"record.json", "artifacts", "model", "tool"}
    assert {file.path.split("/")[2] for file in foreign.files} == {"record.json", "artifacts"}


# --- credentials ------------------------------------------------------------------------------------------------------
FIRST = "1/framework/1"


def with_calls(change: Any, label: str = FIRST) -> Stored:
    return stored_cohort.make(tasks=1, calls=lambda one, found: change(found) if one == label else found)


def run_of(made: Stored, label: str) -> str:
    task, arm, repetition = label.split("/")
    entries = made.example.cohort, made.ledger.records
    from fairtrial.cohort.schedule import schedule_of

    return next(
        entry.run
        for entry in schedule_of(entries[0]).entries
        if (entry.task, entry.candidate, entry.repetition) == (f"task-{int(task):02}", arm, int(repetition))
    )


def test_a_found_credential_refuses_the_package_and_names_the_run() -> None:
    made = with_calls(leaking("request_body"))

    with pytest.raises(PackageRefused, match=run_of(made, FIRST)) as refused:
        gathered(made)
    assert "Renew the secret" in refused.value.next_move


def withheld(made: Stored) -> set[str]:
    found = gathered(made, withhold=True)
    paths = {file.path for file in found.withheld}
    assert not paths & {file.path for file in found.listing}, "withheld is not listed"
    run = run_of(made, FIRST)
    assert all(path.startswith(f"runs/{run}/") for path in paths), "no other run is touched"
    return {path.removeprefix(f"runs/{run}/") for path in paths}


def test_withholding_keeps_back_the_files_of_that_call_alone() -> None:
    assert withheld(with_calls(leaking("request_body"))) == {
        "model/1767268800000-0000000a/exchange.ftj",
        "model/1767268800000-0000000a/exchange.json",
    }


def test_what_the_agent_was_sent_may_be_in_anything_that_it_left() -> None:
    held = withheld(with_calls(leaking("response_text", exchange=1)))

    assert {"tool/1767268800001-0000000a/exchange.ftj", "artifacts/agent/snapshot.tar"} < held
    assert "model/1767268800000-0000000a/exchange.ftj" not in held
    assert not {"record.json", "artifacts/model/calls.json", "record.sigstore.json"} & held


def test_calls_that_nobody_scanned_are_held_back_like_those_with_a_credential() -> None:
    def unscanned(found: ModelCalls) -> ModelCalls:
        return replace(found, unscanned=1)

    made = with_calls(unscanned)

    with pytest.raises(PackageRefused, match="not searched to the end"):
        gathered(made)
    assert {path.split("/")[0] for path in withheld(made)} == {"model", "tool"}


def echoing(label: str) -> dict[str, ArtifactScan]:
    leak = StoredLeak("canary:canaries/one", "base64", "agent/streams/stdout", 42)
    return {AGENT: ArtifactScan(RUN_IDENTITY, "done", leaks=[leak])} if label == FIRST else {}


def unsearched(label: str) -> dict[str, ArtifactScan]:
    return {EVALUATION: ArtifactScan(RUN_IDENTITY, "failed", "too_slow")} if label == FIRST else {}


def searched(_: str) -> dict[str, ArtifactScan]:
    return {name: ArtifactScan(RUN_IDENTITY, "done", secrets=["canary:a/b"]) for name in (AGENT, EVALUATION)}


def test_a_canary_that_the_agent_wrote_refuses_the_package_and_says_where_to_look() -> None:
    made = stored_cohort.make(tasks=1, scans=echoing)

    with pytest.raises(PackageRefused, match=run_of(made, FIRST)) as refused:
        gathered(made)
    assert "scan/*.json" in refused.value.next_move and "not searched" not in refused.value.message


def test_withholding_then_keeps_back_all_that_the_agent_left_and_none_of_its_calls() -> None:
    assert withheld(stored_cohort.make(tasks=1, scans=echoing)) == {
        "artifacts/agent/diff.patch",
        "artifacts/agent/snapshot.tar",
        "artifacts/agent/step-1.stdout.bin",
        "artifacts/evaluation/report.json",
    }


def test_artifacts_that_were_not_searched_to_the_end_are_held_back_alike() -> None:
    made = stored_cohort.make(tasks=1, scans=unsearched)

    with pytest.raises(PackageRefused, match="not searched to the end"):
        gathered(made)
    assert "artifacts/agent/snapshot.tar" in withheld(made)


def test_a_scan_that_the_record_names_and_nobody_finds_vouches_for_nothing() -> None:
    made = stored_cohort.make(tasks=1, scans=searched)
    name = next(key for key in made.store.keys("") if key.endswith("artifacts/scan/agent.json"))
    del made.store.objects[name]

    with pytest.raises(PackageRefused, match="not searched to the end"):
        gathered(made)


def test_a_cohort_that_was_searched_and_holds_no_secret_is_published_with_its_scans() -> None:
    made = stored_cohort.make(tasks=1, scans=searched)
    found = gathered(made)

    assert not found.withheld
    assert sum(file.path.endswith("/artifacts/scan/agent.json") for file in found.listing) == len(made.ledger.records)


def test_a_count_of_credentials_without_their_places_holds_every_call_back() -> None:
    def story(task: int, arm: str, repetition: int, attempt: int) -> Came:
        came = usual(task, arm, repetition, attempt)
        leaks = {"usage.leaks": {"state": "measured", "value": 1}}
        return replace(came, fields=leaks) if f"{task}/{arm}/{repetition}" == FIRST else came

    assert {path.split("/")[0] for path in withheld(stored_cohort.make(story, tasks=1))} == {"model", "tool"}


def test_a_record_is_packed_into_few_bytes() -> None:
    files = [File(f"runs/run-1/artifacts/agent/{number}.txt", number, sha256(b"%d" % number)) for number in range(500)]

    packed = Packed.of(files)

    assert sorted(packed) == sorted(files)
    assert len(packed.data) < 50 * len(files)
    assert Recorded(tuple(files)).leaks == 0
