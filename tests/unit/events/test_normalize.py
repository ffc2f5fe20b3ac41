"""Events from records: pairing, merging, times, and what hostile bytes come to."""

import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairtrial.errors import InvalidInput
from fairtrial.events import Limits, Normalizer, load
from fairtrial.events.model import EVENT_KINDS, STATUSES

RULES = [
    {"name": "say", "kind": "assistant_message", "merge": True, "when": [{"path": "t", "equals": "say"}], "id": "id",
     "output": "text"},
    {"name": "start", "kind": "session_start", "when": [{"path": "t", "equals": "start"}], "cwd": "cwd"},
    {"name": "call", "kind": "tool_call", "when": [{"path": "t", "equals": "call"}], "id": "id", "tool": "tool",
     "input": "in", "paths": "in.path", "command": "in.cmd"},
    {"name": "more", "kind": "tool_progress", "when": [{"path": "t", "equals": "more"}], "id": "id", "input": "in",
     "paths": "in.path", "exitCode": "code"},
    {"name": "result", "kind": "tool_result", "when": [{"path": "t", "equals": "result"}], "id": "id", "output": "out",
     "exitCode": "code", "status": {"path": "ok", "values": {"true": "ok", "false": "error"}},
     "effectReceipt": "receipt"},
    {"name": "turn", "kind": "turn_start", "when": [{"path": "t", "equals": "turn"}], "id": "id", "once": True},
    {"name": "noise", "kind": "ignore", "when": [{"path": "t", "startsWith": "noise"}]},
]  # fmt: skip
PLAN = {
    "name": "mini",
    "capabilities": {"sh": "run_command", "cat": "read_file"},
    "sources": [{"time": {"path": "at", "unit": "ms"}, "rules": RULES}],
}


def plan(**changes):
    return load(PLAN | changes)


def normalized(*records, adapter=None, limits=None, **more):
    data = b"\n".join(r if isinstance(r, bytes) else json.dumps(r).encode() for r in records)
    normalizer = Normalizer(adapter or plan(), limits=limits)
    return list(normalizer.events(normalizer.adapter.sources[0], "out", io.BytesIO(data), **more)), normalizer.counts


def test_a_result_inherits_what_its_call_said():
    events, counts = normalized(
        {"t": "call", "id": 1, "tool": "sh", "in": {"cmd": "python3 -m pytest -q"}, "at": 100},
        {"t": "result", "id": 1, "out": "1 passed", "ok": True, "code": 0, "at": 150, "receipt": "r-1"},
    )
    call, result = events

    assert (call.kind, call.capability, call.status, call.monotonic_ms) == ("tool_call", "run_tests", "started", 0)
    assert (result.capability, result.status, result.monotonic_ms) == ("run_tests", "ok", 50)
    assert result.input_hash == call.input_hash and result.input_hash.startswith("sha256:")
    assert (result.detail.tool, result.detail.paired, result.detail.exit_code) == ("sh", True, 0)
    assert result.effect_receipt == "r-1" and call.effect_receipt == "not_applicable"
    assert counts.unpaired_results == 0


def test_what_is_learned_of_a_call_before_it_counts_is_kept():
    events, _ = normalized(
        {"t": "more", "id": "a", "in": {"path": "x.py"}},
        {"t": "call", "id": "a", "tool": "cat"},
        {"t": "call", "id": "a", "tool": "cat"},
        {"t": "more", "id": "a", "code": 3},
        {"t": "result", "id": "a", "ok": True},
    )

    assert [event.kind for event in events] == ["tool_call", "tool_result"]
    assert events[0].detail.paths == ("x.py",)
    assert (events[1].status, events[1].detail.exit_code) == ("error", 3)


def test_calls_without_an_id_belong_to_the_next_result_without_one():
    events, _ = normalized(
        {"t": "call", "tool": "cat", "in": {"path": "a"}},
        {"t": "result", "ok": True},
        {"t": "call", "tool": "cat"},
        {"t": "call", "tool": "sh"},
        {"t": "result", "ok": True},
    )

    assert [(e.kind, e.detail.tool, e.detail.paths) for e in events] == [
        ("tool_call", "cat", ("a",)),
        ("tool_result", "cat", ("a",)),
        ("tool_call", "cat", ()),
        ("tool_call", "sh", ()),
        ("tool_result", "sh", ()),
    ]


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ({"equals": "x"}, [True, False, False, False]),
        ({"oneOf": ["x", "true"]}, [True, True, False, False]),
        ({"noneOf": ["x", "12"]}, [False, True, False, True]),
        ({"startsWith": "1"}, [False, False, True, False]),
        ({"exists": True}, [True, True, True, False]),
        ({"exists": False}, [False, False, False, True]),
        ({"exists": True, "noneOf": ["x"]}, [False, True, True, False]),
    ],
)
def test_conditions(condition, holds):
    rule = {"name": "r", "kind": "notice", "when": [{"path": "v", **condition}]}
    adapter = plan(sources=[{"rules": [rule]}])

    found = [bool(normalized({"v": value}, adapter=adapter)[0]) for value in ("x", True, 12, None)]

    assert found == holds


def test_a_word_that_the_table_of_statuses_lacks_is_unknown_and_none_is_not_applicable():
    events, _ = normalized({"t": "result", "ok": "maybe"}, {"t": "result"}, {"t": "result", "ok": [1]})

    assert [event.status for event in events] == ["unknown", "not_applicable", "not_applicable"]


def test_results_without_a_call_and_the_same_result_twice_are_counted_as_unpaired():
    events, counts = normalized(
        {"t": "result", "id": "x", "ok": True},
        {"t": "call", "id": "y", "tool": "cat"},
        {"t": "result", "id": "y", "ok": True},
        {"t": "result", "id": "y", "ok": True},
    )

    assert [event.detail.paired for event in events if event.kind == "tool_result"] == [False, True, False]
    assert counts.unpaired_results == 2
    assert {event.capability for event in events} == {"other", "read_file"}


def test_pieces_of_a_message_become_one_event_that_refers_to_all_of_them():
    events, _ = normalized(
        {"t": "say", "text": "Hel"},
        b"",
        {"t": "say", "text": "lo"},
        {"t": "say", "text": "!", "id": "other"},
        {"t": "noise"},
        {"t": "say", "text": "again", "id": "other"},
    )

    assert [event.output_preview for event in events] == ["Hello", "!", "again"]
    assert [event.sequence for event in events] == [0, 1, 2]
    assert events[0].raw_event_ref == "out#0+55" and events[0].detail.output_bytes == 5


def test_a_rule_with_once_gives_one_event_for_each_id():
    events, _ = normalized({"t": "turn", "id": 1}, {"t": "turn", "id": 1}, {"t": "turn", "id": 2})

    assert [event.detail.call_id for event in events] == ["1", "2"]


def test_paths_are_relative_to_the_folder_that_the_harness_names():
    events, _ = normalized(
        {"t": "call", "id": 1, "tool": "cat", "in": {"path": "/workspace/project/src/../a.py"}},
        {"t": "start", "cwd": "/srv/work"},
        {"t": "call", "id": 2, "tool": "cat", "in": {"path": "/srv/work/b.py"}},
        {"t": "call", "id": 3, "tool": "cat", "in": {"path": "/etc/passwd"}},
    )

    assert [e.detail.paths for e in events if e.kind == "tool_call"] == [("a.py",), ("b.py",), ("/etc/passwd",)]


def test_times_never_go_back_and_the_recorders_clock_goes_first():
    records = [{"t": "turn", "id": n, "at": at} for n, at in enumerate([1000, 900, "1500", None, 1e300])]

    events, counts = normalized(*records)
    assert [event.monotonic_ms for event in events] == [0, 0, 500, "not_applicable", "not_applicable"]
    assert counts.time_source == "stream"

    events, counts = normalized(*records, arrival=lambda offset: offset)
    assert events[0].monotonic_ms > 0 and counts.time_source == "arrival"
    assert [e.monotonic_ms for e in events] == sorted(e.monotonic_ms for e in events)


def test_previews_are_cut_and_can_be_redacted():
    shown, _ = normalized({"t": "say", "text": "x" * 500})
    hidden, _ = normalized({"t": "say", "text": "x" * 500}, {"t": "turn"}, adapter=plan(redactPreviews=True))

    assert shown[0].output_preview == "x" * 200 and shown[0].detail.output_bytes == 500
    assert hidden[0].output_preview == "redacted" and hidden[1].output_preview == "not_applicable"


def test_what_no_rule_knows_is_counted_and_what_cannot_be_read_is_an_event():
    events, counts = normalized(
        {"t": "new kind"}, b"not json", b"[" * 100_000, b"9" * 5000, b"\xff\xfe", b'{"t": "turn"}', b"x" * 2000,
        limits=Limits(record_bytes=100_000),
    )  # fmt: skip

    assert [event.detail.reason for event in events if event.kind == "unreadable"] == [
        "not_json", "nested_too_deep", "not_json", "not_json", "not_json",
    ]  # fmt: skip
    assert (counts.records, counts.unknown, counts.unreadable, counts.invalid_utf8) == (7, 1, 5, 1)
    assert counts.unknown_refs == ["out#0+17"]


def test_bounds_are_kept():
    many = [{"t": "call", "id": n, "tool": "cat"} for n in range(30)]
    events, counts = normalized(*many, limits=Limits(events=10))
    assert (len(events), counts.stopped) == (10, "too_many_events")

    events, counts = normalized(*many, {"t": "result", "id": 0}, {"t": "result", "id": 29}, limits=Limits(open_calls=5))
    assert [event.detail.paired for event in events[-2:]] == [False, True]

    events, counts = normalized(*[b"?"] * 30, limits=Limits(unreadable_events=3))
    assert (len(events), counts.unreadable) == (3, 30)

    events, counts = normalized(*many, give_up=lambda: "deadline")
    assert (events, counts.stopped) == ([], "deadline")


def test_a_record_that_a_part_is_missing_from_is_not_read():
    one, two = json.dumps({"t": "turn", "id": 1}).encode(), json.dumps({"t": "turn", "id": 2}).encode()

    events, _ = normalized(one, two, seam=len(one) + 5, base=1000)
    whole, _ = normalized(one, two, seam=len(one) + 1)

    assert [(event.kind, event.detail.reason) for event in events] == [
        ("turn_start", ""),
        ("unreadable", "part_was_not_kept"),
    ]
    assert events[1].raw_event_ref == f"out#{1000 + len(one) + 1}+{len(two)}"
    assert [event.kind for event in whole] == ["turn_start", "turn_start"]


VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=6) | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
RECORD = st.fixed_dictionaries(
    {"t": st.sampled_from(["call", "result", "more", "say", "turn", "start", "noise", "?"])},
    optional=dict.fromkeys(("id", "in", "tool", "out", "code", "ok", "at", "text", "cwd", "receipt"), VALUE),
)


@given(st.lists(RECORD | st.binary(max_size=30), max_size=12))
@settings(max_examples=300, deadline=None)
def test_whatever_is_in_the_fields_events_keep_their_form(records):
    events, counts = normalized(*records)

    assert [event.sequence for event in events] == list(range(len(events)))
    assert {event.kind for event in events} <= set(EVENT_KINDS)
    assert {event.status for event in events} <= set(STATUSES)
    assert counts.events == len(events)


NOTICE = {"name": "a", "kind": "notice"}


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({"sources": []}, "sources"),
        ({"capabilities": {"x": "fly"}}, "capabilities"),
        ({"lacks": {"nothing": "so"}}, "lacks"),
        ({"extra": 1}, "extra"),
        ({"sources": [{"rules": [{"name": "a", "kind": "event"}]}]}, "kind"),
        ({"sources": [{"rules": [{"name": "a", "kind": "notice", "id": "a..b"}]}]}, "id"),
        ({"sources": [{"rules": [{"name": "a", "kind": "usage"}]}]}, "usage"),
        ({"sources": [{"rules": [{"name": "a", "kind": "notice", "line": "x"}]}]}, "line"),
        ({"sources": [{"format": "text", "rules": [NOTICE]}]}, "line"),
        ({"sources": [{"rules": [{"name": "a", "kind": "notice", "once": True}]}]}, "once"),
        ({"sources": [{"rules": [{"name": "a", "kind": "notice", "at": "end"}]}]}, "at"),
        ({"sources": [{"read": "file", "rules": [NOTICE]}]}, "file"),
        ({"sources": [{"format": "jsonDocument", "rules": [NOTICE]}]}, "records"),
        ({"sources": [{"format": "jsonDocument", "records": ["a"], "rules": [NOTICE]}]}, "records"),
        ({"sources": [{"rules": [{"name": "a", "kind": "notice", "when": [{"path": "@.x"}]}]}]}, "when"),
        ({"sources": [{"rules": [{"name": "a", "kind": "notice", "status": {}}]}]}, "status"),
        ({"sources": [{"rules": [{"name": "a", "kind": "notice", "status": {"always": "fine"}}]}]}, "status"),
    ],
)
def test_a_wrong_adapter_is_refused_with_the_field(changes, wrong):
    with pytest.raises(InvalidInput, match=wrong):
        plan(**changes)
