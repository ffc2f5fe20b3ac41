"""Artifacts are read as they were written: the pieces of a stream as one text."""

from fairtrial.documents import RunIdentity
from fairtrial.secrets.stored import ArtifactScan, StoredLeak, found_in, joined, unscanned

RUN = RunIdentity("team", "r1", "uid")


def test_the_pieces_of_a_stream_are_one_text_in_their_order() -> None:
    names = [
        "agent/streams/stdout/000010",
        "agent/streams/stdout/000009",
        "agent/streams/stderr/000000",
        "agent/snapshot.tar",
        "agent/steps/1.json",
        "agent/streams/stdout/1000000",
    ]

    assert dict(joined(names)) == {
        "agent/snapshot.tar": ["agent/snapshot.tar"],
        "agent/steps/1.json": ["agent/steps/1.json"],
        "agent/streams/stderr": ["agent/streams/stderr/000000"],
        "agent/streams/stdout": [f"agent/streams/stdout/{number}" for number in ("000009", "000010", "1000000")],
    }


def test_a_scan_that_did_not_end_is_not_one_that_found_nothing() -> None:
    leak = StoredLeak("canary:a/b", "plain", "agent/diff.patch", 9)
    found = [ArtifactScan(RUN, "done"), ArtifactScan(RUN, "failed", "too_slow", leaks=[leak])]

    assert found_in(found) == [leak]
    assert unscanned(found) and not unscanned(found[:1])
