"""report.json is written entry by entry, in the very bytes that RFC 8785 gives for the whole."""

from dataclasses import dataclass
from typing import Any

import rfc8785
from fairtrial_analysis.report.canonical import to_bytes, to_json
from hypothesis import given
from hypothesis import strategies as st

NAMES = st.text(max_size=6)  # also beyond U+FFFF, where UTF-16's order is not that of code points, and surrogates
LEAVES = st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(-1e300, 1e300) | NAMES
TREES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4), max_leaves=20
)


@dataclass(frozen=True)
class Pair:
    """An object of which a field may be left out."""

    first_part: Any
    a_part: Any = None


@given(TREES, TREES)
def test_the_bytes_are_those_of_the_whole(first: Any, second: Any) -> None:
    for value in (first, Pair(first, second), [Pair(first), (Pair(second, {"x": Pair(first, [])}),)]):
        assert to_bytes(value) == rfc8785.dumps(to_json(value))


def test_names_are_sorted_by_their_utf_16_units_at_every_level() -> None:
    names = {"\ufb33": 1, "\U0001f600": 2, "z": 3}
    assert to_bytes([names]) == '[{"z":3,"\U0001f600":2,"\ufb33":1}]'.encode()
    assert to_bytes([[[[names]]]]) == '[[[[{"z":3,"\U0001f600":2,"\ufb33":1}]]]]'.encode()
