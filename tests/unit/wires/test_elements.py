"""The objects of an array come out the same however it is cut."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from fairtrial.wires.elements import Splitter

_JSON = st.recursive(
    st.none() | st.integers() | st.text(alphabet='a"\\{}[],\N{EURO SIGN}', max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None)
@given(
    values=st.lists(st.dictionaries(st.text(max_size=3), _JSON, max_size=3), max_size=5),
    size=st.integers(1, 50),
    indent=st.sampled_from([None, 2]),
    escaped=st.booleans(),
)
def test_any_chunking_gives_the_same_objects(values: list, size: int, indent: int | None, escaped: bool):
    data = json.dumps(values, indent=indent, ensure_ascii=escaped).encode()
    splitter = Splitter()
    found = [part for start in range(0, len(data), size) for part in splitter.feed(data[start : start + size])]
    assert [json.loads(part) for part in found] == values


def test_an_object_over_the_limit_is_left_out_and_told():
    splitter = Splitter(100)
    found = splitter.feed(b'[{"a": "' + b"x" * 500 + b'"}, {"b": 1}')
    assert found == [b'{"b": 1}']
    assert splitter.problem
    for _ in range(100):
        splitter.feed(b', {"never": "ends ')
        assert len(splitter._kept) <= 100
