"""Undoing an encoding piece by piece gives what undoing it at once gives."""

import base64
import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fairtrial.secrets import encodings

_HOSTILE = st.text(alphabet='\\\\\\u"n04dD8cC%a-x ', max_size=60).map(str.encode)


def _in_pieces(undo: encodings.Undo, data: bytes, size: int) -> bytes:
    done, rest = b"", b""
    for start in range(0, len(data), size):
        undone, rest = undo(rest + data[start : start + size])
        done += undone
    return done + rest


@pytest.mark.parametrize(
    "undo", [encodings.nothing, encodings.percent, encodings.json, encodings.base64_text, encodings.hex_text]
)
def test_pieces_make_no_difference(undo: encodings.Undo):
    @settings(max_examples=100, deadline=None)
    @given(data=_HOSTILE, size=st.integers(1, 30))
    @example(data=b"\\" * 13 + b"u0041", size=13)
    @example(data=b"\\ud83d\\ude00" * 3, size=7)
    def check(data: bytes, size: int):
        assert _in_pieces(undo, data, size) == _in_pieces(undo, data, len(data) or 1)

    check()


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=40))
def test_json_undoes_what_json_writes(text: str):
    undone, rest = encodings.json(json.dumps(text)[1:-1].encode())
    assert undone + rest == text.encode("utf-8", "surrogatepass")


@pytest.mark.parametrize("alignment", [0, 1, 2])
def test_every_base64_text_with_the_secret_holds_a_core(alignment: int):
    for after in (b"", b"a", b"ab"):
        text = base64.b64encode(b"q" * alignment + b"secret-value" + after)
        assert encodings.base64_cores(b"secret-value")[alignment] in text
