"""`fairtrial record` and `fairtrial artifacts`: nothing is handed out that differs from what was recorded."""

import hashlib
from pathlib import Path

import pytest

from fairtrial.api import RecordReference
from fairtrial.cli.records import NotAsRecorded, download, read_record
from fairtrial.documents import Artifact, dump
from fairtrial.errors import InvalidInput, NotStored
from fairtrial.evidence.layout import Layout, sha256, uri
from fairtrial.evidence.record import assemble
from fairtrial.evidence.store import MemoryStore
from fairtrial.testing import RUN_UID, agent_report, make_finished_run
from fairtrial.usage.calls import ARTIFACT, Call, ModelCalls
from fairtrial.usage.counters import Counters, Total
from fairtrial.usage.money import Cost

RUN = Layout("p").run("trials", "run-1", RUN_UID)
CONTENT = b"what the agent said"


def stored(name: str = "agent/step-1.stdout.bin", content: bytes = CONTENT) -> tuple[MemoryStore, RecordReference]:
    """A store with one run: its record names one artifact, which lies there if `name` is a good name."""
    store = MemoryStore()
    artifact = Artifact(name, len(CONTENT), sha256(CONTENT))
    record = assemble(make_finished_run(), agent_report(artifacts=[artifact]), None).to_bytes()
    store.put(RUN.record(), record)
    if ".." not in name:
        store.put(RUN.artifact(name), content)
    return store, RecordReference(uri=uri("evidence", RUN.record()), sha256=sha256(record))


def test_everything_is_downloaded_as_it_was_recorded(tmp_path: Path):
    store, named = stored()

    assert download(store, named, tmp_path / "new" / "evidence") == 1

    made = tmp_path / "new" / "evidence"
    assert hashlib.sha256((made / "record.json").read_bytes()).hexdigest() == named.sha256
    assert (made / "artifacts/agent/step-1.stdout.bin").read_bytes() == CONTENT
    assert [path.name for path in made.parent.iterdir()] == ["evidence"]


def test_an_artifact_that_was_replaced_together_with_its_metadata_is_refused(tmp_path: Path):
    # The store itself finds nothing wrong: the object has the digest that the store knows.
    store, named = stored(content=b"what somebody would like")

    with pytest.raises(NotAsRecorded, match="replaced or damaged"):
        download(store, named, tmp_path / "evidence")

    assert list(tmp_path.iterdir()) == []


def test_a_record_that_is_not_the_one_in_the_status_is_refused(tmp_path: Path):
    store, named = stored()
    other = named.model_copy(update={"sha256": "0" * 64})

    with pytest.raises(NotAsRecorded):
        read_record(store, other)
    with pytest.raises(NotAsRecorded):
        download(store, other, tmp_path / "evidence")


def test_an_artifact_that_is_gone_is_an_error_and_leaves_no_folder(tmp_path: Path):
    store, named = stored()
    del store.objects[RUN.artifact("agent/step-1.stdout.bin")]

    with pytest.raises(NotStored):
        download(store, named, tmp_path / "evidence")
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_leads_out_of_the_folder_is_refused(tmp_path: Path):
    store, named = stored(name="../../outside.txt")

    with pytest.raises(InvalidInput, match="segment"):
        download(store, named, tmp_path / "evidence")
    assert list(tmp_path.iterdir()) == []


# --- model calls ------------------------------------------------------------------------------------------------------
def with_a_call(journal: bytes) -> tuple[MemoryStore, RecordReference]:
    """A run with one model call, whose list names the journal `JOURNAL`, and whose store holds `journal`."""
    name, page, kept = "1767268800000-0000000a", (len(PAGE), sha256(PAGE)), (len(JOURNAL), sha256(JOURNAL))
    call = Call(name, *page, "generate", "complete", "", 200, "m", "complete", *kept)
    listed = ModelCalls("p", "m", [call], 1, 1, {}, [], Total(1, Counters(), {}), Cost(reason="none"), ["m"])
    data, store = dump(listed), MemoryStore()
    artifact = Artifact(ARTIFACT, len(data), sha256(data))
    record = assemble(make_finished_run(), None, None, (artifact,), listed).to_bytes()
    store.put(RUN.record(), record)
    store.put(RUN.artifact(ARTIFACT), data)
    store.put(RUN.exchange(call.exchange, "exchange.json"), PAGE)
    store.put(RUN.exchange(call.exchange, "exchange.ftj"), journal)
    return store, RecordReference(uri=uri("evidence", RUN.record()), sha256=sha256(record))


PAGE, JOURNAL = b"{}", b"frames"


def test_model_calls_are_downloaded_by_the_list_that_the_record_names(tmp_path: Path):
    store, named = with_a_call(JOURNAL)

    assert download(store, named, tmp_path / "evidence") == 3

    assert (tmp_path / "evidence/model/1767268800000-0000000a/exchange.ftj").read_bytes() == JOURNAL


def test_a_journal_that_was_replaced_is_refused(tmp_path: Path):
    store, named = with_a_call(b"other frames")

    with pytest.raises(NotAsRecorded, match=r"exchange\.ftj"):
        download(store, named, tmp_path / "evidence")
