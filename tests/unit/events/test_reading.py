"""Cutting bytes into records: every place is right, whatever the bytes are."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairtrial.events.reading import elements, lines

DOCUMENT = {"info": {"steps": [1, {"no": 1}]}, "steps": [{"a": ']}\\"'}, {"b": [{}]}, "text"], "more": {"steps": [{}]}}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text('a"\\[]{}:,é', max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abs"), inner, max_size=3),
    max_leaves=20,
)


@given(st.lists(st.binary(max_size=20).map(lambda data: data.replace(b"\n", b" ")), max_size=8), st.integers(1, 25))
def test_lines_are_where_they_are_said_to_be(parts, limit):
    data = b"\n".join(parts)

    pieces = list(lines(io.BytesIO(data), limit))

    assert [data[p.offset : p.offset + p.length] for p in pieces] == parts[: len(pieces)]
    assert all((p.data is None) == (p.length > limit) for p in pieces)
    assert all(p.data == data[p.offset : p.offset + p.length] for p in pieces if p.data is not None)


def test_a_long_line_is_not_held_and_the_next_one_is_read():
    data = b"x" * 300_000 + b"\nshort"

    first, second = lines(io.BytesIO(data), 1000)

    assert (first.data, first.length, first.reason) == (None, 300_000, "line_over_1000_bytes")
    assert second.data == b"short"


@given(JSON, st.sampled_from([None, 1]))
def test_items_of_a_document_are_found_as_json_finds_them(items, indent):
    document = {"s": items, "other": {"s": items}}
    data = json.dumps(document, indent=indent).encode()

    *found, rest = elements(data, ["s[]"], 10_000)

    wanted = [one for one in items if isinstance(one, list | dict)] if isinstance(items, list) else []
    assert [json.loads(piece.data) for piece in found] == wanted
    assert all(data[p.offset : p.offset + p.length] == p.data for p in found)
    assert rest.end and json.loads(rest.data)["other"] == {"s": items}


def test_the_document_without_its_records_is_the_last_piece():
    *items, rest = elements(json.dumps(DOCUMENT).encode(), ["steps[]"], 1000)

    assert [json.loads(item.data) for item in items] == DOCUMENT["steps"][:2]
    assert json.loads(rest.data) == DOCUMENT | {"steps": [None, None, "text"]}


@given(st.integers(0, 200))
def test_a_cut_document_keeps_the_items_before_the_cut(cut):
    data = json.dumps(DOCUMENT).encode()
    whole = [piece for piece in elements(data, ["steps[]"], 1000) if not piece.end]

    found = list(elements(data[:cut], ["steps[]"], 1000))

    assert [p for p in found if p.data and not p.end] == [p for p in whole if p.after <= min(cut, len(data))]
    assert cut >= len(data) or not data[:cut] or found[-1].data is None


@given(st.binary(max_size=200))
def test_no_bytes_break_it(data):
    for piece in elements(data, ["a[]", "a[].b[]"], 100):
        assert 0 <= piece.offset <= piece.offset + piece.length <= len(data)


@pytest.mark.parametrize(
    "data", [b"[" * 200_000, b'{"a":' * 100_000, b"]" * 10, b'"' + b"\\" * 100_000, b"[]" * 100_000]
)
def test_hostile_documents_take_no_time(data):
    list(elements(data, ["a[]"], 1000))
