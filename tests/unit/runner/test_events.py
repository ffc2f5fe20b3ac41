"""Reading events beside the recorder: its clock, its bounds, and what its failures come to."""

import io
import json
from pathlib import Path

import pytest
from fairtrial_runner import events, normalizing
from fairtrial_runner.arrivals import Arrivals, arrival
from fairtrial_runner.events import EventWriter
from fairtrial_runner.normalizing import Job, Joined, Recorded, normalize
from fairtrial_runner.streams import StreamKeeper
from fairtrial_runner.uploads import Uploads
from hypothesis import given
from hypothesis import strategies as st

from fairtrial.documents import AgentPlan, Interaction, RunIdentity, Step
from tests.unit.runner.test_parts import Folder

ADAPTER = {"name": "tiny", "sources": [{"rules": [{"name": "n", "kind": "notice"}]}]}


@given(st.lists(st.tuples(st.integers(1, 50), st.floats(0, 0.5)), min_size=1, max_size=60), st.integers(1, 20))
def test_a_byte_came_at_most_a_little_later_than_its_mark_says(chunks, most):
    now = [100.0]
    arrivals = Arrivals(lambda: now[0], most)
    arrivals.begin()
    end, came = 0, []
    for size, pause in chunks:
        now[0] += pause
        end += size
        arrivals.add(end)
        came += [(now[0] - 100.0) * 1000] * size

    assert len(arrivals.marks) <= most
    found = [arrival(arrivals.marks, offset) for offset in range(end)]
    assert found == sorted(found)
    assert all(
        ms <= real + 1 and real - ms < 2 * arrivals._resolution + 1 for ms, real in zip(found, came, strict=True)
    )
    assert arrival(arrivals.marks, end) is None


def test_time_counts_from_the_first_step():
    now = [5.0]
    arrivals = Arrivals(lambda: now[0])
    arrivals.begin()
    now[0] = 7.0
    arrivals.begin()
    arrivals.add(1)

    assert arrivals.marks == [(1, 2000)]


@given(st.lists(st.binary(max_size=10), max_size=5), st.integers(1, 7))
def test_pieces_are_read_as_one_stream(tmp_path_factory, pieces, size):
    folder = tmp_path_factory.mktemp("pieces")
    files = [folder / str(number) for number in range(len(pieces))]
    for file, data in zip(files, pieces, strict=True):
        file.write_bytes(data)

    with Joined([str(file) for file in files]) as stream:
        assert b"".join(iter(lambda: stream.read(size), b"")) == b"".join(pieces)
    with io.BufferedReader(Joined([str(file) for file in files])) as stream:
        assert stream.read() == b"".join(pieces)


def job(tmp_path: Path, data: bytes, adapter=ADAPTER) -> Job:
    (tmp_path / "stdout.000000").write_bytes(data)
    return Job(adapter, {"stdout": Recorded([str(tmp_path / "stdout.000000")])})


def test_what_was_read_until_the_deadline_is_kept(tmp_path):
    times = iter([0.0, 0.0, 61.0])

    normalize(job(tmp_path, b"{}\n" * 1000), tmp_path, lambda: next(times))

    counts = json.loads((tmp_path / "interaction.json").read_bytes())
    assert counts["stopped"] == "deadline" and 0 < counts["events"] < 1000
    assert len((tmp_path / "events.jsonl").read_bytes().splitlines()) == counts["events"]


def test_events_that_grow_too_large_are_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(normalizing, "_EVENTS_BYTES", 1000)

    normalize(job(tmp_path, b"{}\n" * 1000), tmp_path)

    assert json.loads((tmp_path / "interaction.json").read_bytes())["stopped"] == "too_many_bytes"


def written(tmp_path: Path, data: bytes = b"{}\n", adapter=ADAPTER):
    store = Folder()
    uploads = Uploads(store, tmp_path / "journal")
    plan = AgentPlan(RunIdentity("ns", "run", "uid"), "0" * 64, [Step("main", ["x"], 60)], adapter=adapter)
    writer = EventWriter(plan, tmp_path)
    keeper = StreamKeeper("stdout", tmp_path, 1000, uploads, copies=writer.copies)
    keeper.add(data)
    keeper.finish()
    told: list[Interaction] = []
    return writer, keeper, uploads, store, told


def finished(writer, keeper, uploads, told) -> Interaction:
    writer.write([keeper], "agent/collected.tar", uploads, told.append)
    uploads.finish()
    return told[-1]


def test_both_documents_are_stored_before_they_count(tmp_path):
    writer, keeper, uploads, store, told = written(tmp_path)

    made = finished(writer, keeper, uploads, told)

    assert [one.state for one in told] == ["missing", "measured"]
    assert (made.events.name, made.counts.name) == ("agent/events.jsonl", "agent/interaction.json")
    assert set(store.stored) >= {"agent/events.jsonl", "agent/interaction.json", "agent/streams/stdout/000000"}


@pytest.mark.parametrize(
    ("interpreter", "why"),
    [
        (["/bin/false"], "ended with 1"),
        (["/nowhere/python"], "No such file"),
        (["sh", "-c", "echo boom >&2; kill -9 $$"], "ended with -9: boom"),
        (["sh", "-c", "exec sleep 60"], "took too long"),
        (["true"], "FileNotFoundError"),
    ],
)
def test_a_reader_that_fails_costs_the_events_only(tmp_path, monkeypatch, interpreter, why):
    writer, keeper, uploads, _, told = written(tmp_path)
    monkeypatch.setattr(events, "_interpreter", lambda: interpreter)
    if "sleep" in interpreter[-1]:  # for all others there is time
        monkeypatch.setattr(events, "SECONDS", 0.2)
        monkeypatch.setattr(events, "_PATIENCE_SECONDS", 0.2)

    made = finished(writer, keeper, uploads, told)

    assert made.state == "missing" and why in made.reason
    assert uploads.failures == []


def test_a_piece_that_could_not_be_kept_is_noticed(tmp_path):
    writer, keeper, uploads, _, told = written(tmp_path)
    next(writer.copies.iterdir()).rename(writer.copies / "stdout.000001")

    assert "could be kept" in finished(writer, keeper, uploads, told).reason


def test_a_stream_that_the_adapter_does_not_read_is_not_kept_twice(tmp_path):
    plan = AgentPlan(RunIdentity("ns", "run", "uid"), "0" * 64, [Step("main", ["x"], 60)], adapter=ADAPTER)
    writer = EventWriter(plan, tmp_path)

    assert writer.wants("stdout") and not writer.wants("stderr") and not writer.wants("file")
    assert EventWriter(AgentPlan(RunIdentity("ns", "run", "uid"), "0", []), tmp_path / "x").copies is None


def test_an_interaction_without_its_counts_is_not_measured(tmp_path):
    told: list[Interaction] = []
    made = events._Made(Interaction("measured", "tiny", summary={"a": 1}), told.append)

    assert [(one.state, one.summary) for one in told] == [("missing", {})]
    made.counts(None)
    assert len(told) == 1
